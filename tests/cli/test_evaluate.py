"""The verb `evaluate`."""

import json
import re
import shutil
from pathlib import Path

import pytest
from typer.testing import CliRunner

from edgecond.cli import app
from edgecond.runs.baselines.forest import ShapeForest

run = CliRunner().invoke


def metrics(output: str) -> str:
    return next(line for line in output.splitlines() if "test examples: " in line)


def test_the_metrics_are_those_of_the_end_of_training(trained: tuple[Path, str]):
    directory, printed = trained

    result = run(app, ["evaluate", str(directory)])

    assert result.exit_code == 0, result.output
    assert result.output.startswith("shapes, fold 0, seed 0, 1 epochs\n")
    assert metrics(result.output) == metrics(printed)


def test_data_that_were_moved_are_named(trained: tuple[Path, str], clouds: Path, tmp_path: Path):
    moved = shutil.copytree(clouds, tmp_path / "shapes")

    result = run(app, ["evaluate", str(trained[0]), "--data", str(moved)])

    assert result.exit_code == 0, result.output
    assert metrics(result.output) == metrics(trained[1])


def test_other_data_of_the_same_classes_are_noted(trained: tuple[Path, str], clouds: Path, tmp_path: Path):
    other = shutil.copytree(clouds, tmp_path / "shapes")
    shutil.copy(other / "ball" / "0.npy", other / "ball" / "9.npy")

    result = run(app, ["evaluate", str(trained[0]), "--data", str(other)])

    assert result.exit_code == 0, result.output
    assert result.stderr.startswith("note: ")


def test_another_fold_is_noted_as_training_data(trained: tuple[Path, str]):
    """The three folds share no example, and the run was trained on all but fold 0."""
    other, own = (run(app, ["evaluate", str(trained[0]), "--fold", number]) for number in "10")

    assert other.exit_code == 0, other.output
    assert other.stderr == "note: the network was trained on these examples: its test set is fold 0.\n"
    assert own.stderr == ""


def test_a_baseline_is_fitted_to_the_training_set_and_kept_for_the_report(
    trained: tuple[Path, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """Both classes are clouds of uniform points: the model and the forest have the same four test clouds."""
    monkeypatch.setattr(ShapeForest, "trees", 10)
    directory = shutil.copytree(trained[0], tmp_path / "run")

    result = run(app, ["evaluate", str(directory), "--baseline"])
    page = run(app, ["report", str(directory)])

    assert result.exit_code == 0, result.output
    last = result.output.splitlines()[-1]
    accuracy = re.search(r"baseline, random forest on shape features: .*\baccuracy (\d+\.\d+)", last)
    assert accuracy, last
    assert json.loads((directory / "baseline.json").read_text())["name"] == "shape"
    assert page.exit_code == 0, page.output
    text = (directory / "report.html").read_text("utf-8")
    assert "Baseline: random forest on shape features" in text
    row = re.search(r'<th scope="row">Accuracy</th><td>[\d.]+</td><td>([\d.]+)</td>', text)
    assert row
    assert float(row[1]) == float(accuracy[1])


def test_without_the_option_no_baseline_is_fitted(trained: tuple[Path, str]):
    result = run(app, ["evaluate", str(trained[0])])

    assert "baseline" not in result.output
    assert not (trained[0] / "baseline.json").exists()
