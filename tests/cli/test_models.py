"""The verb `models`."""

from pathlib import Path

from typer.testing import CliRunner

from edgecond.cli import app
from edgecond.runs.model import Model
from edgecond.runs.pretrained import index

run = CliRunner().invoke


def test_every_model_is_listed_with_data_task_metric_and_size():
    lines = run(app, ["models"]).stdout.splitlines()

    assert len(lines) == 2 + len(index())
    for name, entry in index().items():
        (line,) = [line for line in lines if line.startswith(f"{name} ")]
        assert entry.data in line
        assert entry.task in line
        assert entry.metric in line


def test_the_card_of_a_model_is_printed_by_its_name_or_its_path(trained: tuple[Path, str]):
    short, long = run(app, ["models", "esol"]), run(app, ["models", "model/esol"])
    user = run(app, ["models", str(trained[0])])

    assert short.stdout == long.stdout
    assert short.stdout.rstrip() == Model.load("model/esol").card().rstrip()
    assert "On 4 examples of a test set" in user.stdout  # which `train` has kept


def test_an_unknown_name_is_one_sentence():
    result = run(app, ["models", "model/nothing"])

    assert result.exit_code == 2
    assert len(result.stderr.splitlines()) == 1


def test_a_pretrained_model_predicts_and_is_tested(tmp_path: Path):
    table = tmp_path / "new.csv"
    table.write_text("smiles\nCCO\nc1ccccc1\n")
    words = ["predict", "model/esol", str(table), "--coverage", "0.9", "--applicability", "--jobs", "1"]

    result = run(app, words)
    missing = run(app, ["evaluate", "model/esol"])

    assert result.exit_code == 0, result.output
    assert result.stdout.splitlines()[0].endswith(",lower,upper,distance")
    assert len(result.stdout.splitlines()) == 3
    assert missing.exit_code == 2
    assert "--data" in missing.stderr
