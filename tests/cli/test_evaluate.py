"""The verb `evaluate`."""

import shutil
from pathlib import Path

from typer.testing import CliRunner

from edgecond.cli import app

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
