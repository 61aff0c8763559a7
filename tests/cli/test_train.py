"""The verb `train`."""

from pathlib import Path

from typer.testing import CliRunner

from edgecond.cli import app

run = CliRunner().invoke


def test_notes_metrics_and_the_next_command_are_printed(trained: tuple[Path, str]):
    directory, output = trained

    assert "12 clouds in 2 classes: ball, box" in output
    assert "8 training examples, 4 test examples" in output
    assert "4 test examples: " in output
    assert output.splitlines()[-1].startswith(f"The model is in {directory}")
    assert f"edgecond report {directory}" in output
    assert {"model.safetensors", "log.jsonl", "data.json"} <= {path.name for path in directory.iterdir()}


def test_a_name_of_a_data_set_is_no_path(tmp_path: Path, monkeypatch):
    """A folder with the name of a data set does not hide the data set."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "synthetic").mkdir()

    result = run(app, ["train", "synthetic", "--epochs", "1", "--set", "options={train=12,test=6,points=50}"])

    assert result.exit_code == 0, result.output
    assert "6 test examples: " in result.output
    assert (tmp_path / "runs/train/synthetic/model.safetensors").exists()
