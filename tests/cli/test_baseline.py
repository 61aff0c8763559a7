"""The verb `baseline`."""

import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from edgecond.cli import app
from edgecond.runs.baselines.forest import ShapeForest

run = CliRunner().invoke


@pytest.fixture(autouse=True)
def few_trees(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ShapeForest, "trees", 5)
    monkeypatch.chdir(tmp_path)


def test_a_fold_has_a_line_and_a_record_and_is_not_missing_then(tmp_path: Path):
    result = run(app, ["baseline", "shape", "synthetic/ecc", "--missing"])

    assert result.exit_code == 0, result.output
    assert re.match(r"shape on synthetic/ecc fold 0 seed 0: f1 \d", result.output)
    assert (tmp_path / "results/baselines/shape/synthetic/ecc/fold0-seed0.json").is_file()
    assert run(app, ["baseline", "shape", "synthetic/ecc", "--missing"]).output == "every fold has a record.\n"


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["voxnett", "sydney/ecc"], "Did you mean voxnet"),
        (["wl", "sydny/ecc"], "a row must be one of those"),
        (["wl", "synthetic/ecc"], "the baseline wl is for graphs and molecules: these data are clouds"),
    ],
)
def test_what_cannot_be_fitted_is_one_sentence(words: list[str], sentence: str):
    result = run(app, ["baseline", *words])

    assert (result.exit_code, result.stderr.count("\n")) == (2, 1)
    assert sentence in result.stderr
