"""The verb `export`; the exported networks are tested in tests/test_export.py."""

from pathlib import Path

from typer.testing import CliRunner

from edgecond.cli import app

run = CliRunner().invoke


def test_the_program_is_written_and_its_inputs_are_listed(trained: tuple[Path, str], tmp_path: Path):
    result = run(app, ["export", str(trained[0]), "--to", "torch", "--out", str(tmp_path / "model.pt2")])

    lines = result.output.splitlines()
    assert result.exit_code == 0, result.output
    assert lines[0] == str(tmp_path / "model.pt2")
    assert (tmp_path / "model.pt2").exists()
    assert [line.split()[0] for line in lines[3:]] == ["x", "source_0", "degree_0", "labels_0", "sizes"]


def test_an_unknown_format_is_an_error(trained: tuple[Path, str]):
    result = run(app, ["export", str(trained[0]), "--to", "tflite"])

    assert (result.exit_code, result.stderr.count("\n")) == (2, 1)
    assert "onnx or torch" in result.stderr
    assert "'tflite'" in result.stderr
