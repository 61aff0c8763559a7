"""The verb `table`."""

import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from edgecond.cli import app

run = CliRunner().invoke


@pytest.fixture(autouse=True)
def directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_a_table_has_the_numbers_of_the_paper_and_marks_what_is_missing():
    """Table 1: weighted F1 of 78.4 for ECC on Sydney, over four folds."""
    assert re.search(r"sydney/ecc +f1 +78\.4 +- +0/4", run(app, ["table", "1"]).output)


def test_a_directory_of_records_that_does_not_exist_is_named():
    result = run(app, ["table", "1", "--results", "resluts"])

    assert "resluts does not exist, so nothing is rerun" in result.stderr


def test_gains_are_beside_those_of_the_paper_and_missing_ones_are_marked():
    """Table 4: without edge labels NCI1 loses 83.80 - 76.82 points."""
    assert re.search(r"nci1/no-labels +acc +-7\.0 +- +- +- +0\n", run(app, ["table", "gains"]).output)


def test_without_experiments_the_command_that_records_one_is_named():
    result = run(app, ["table", "experiments"])

    assert "no experiments" in result.output
    assert "edgecond reproduce" in result.output


@pytest.mark.parametrize("number", ["3", "x"])
def test_an_unknown_table_is_an_error(number: str):
    """Table 3 counts the graphs of the data sets, and has no results."""
    result = run(app, ["table", number])

    assert (result.exit_code, result.stderr.count("\n")) == (2, 1)
    assert "1, 2, 4, 5, 6, 7, 8, 9, gains, plus, fair and experiments" in result.stderr
    assert f"got {number}." in result.stderr


@pytest.mark.parametrize("content", ["{", "[]", '{"fold": 0, "seed": 0, "epochs": 1, "metrics": {}}'])
@pytest.mark.parametrize("table", ["1", "gains"])
def test_a_damaged_record_is_named(tmp_path: Path, table: str, content: str):
    (tmp_path / "results/sydney/ecc").mkdir(parents=True)
    (tmp_path / "results/sydney/ecc/fold0-seed0.json").write_text(content)

    result = run(app, ["table", table])

    assert result.exit_code == 2
    assert "sydney/ecc/fold0-seed0.json must be a record of `edgecond reproduce`" in result.stderr


def test_a_number_that_is_not_that_of_its_records_fails_the_check(tmp_path: Path):
    (tmp_path / "README.md").write_text("It has 81.3.\n")

    result = run(app, ["table", "--check"])

    assert (result.exit_code, result.stderr) == (
        1,
        "README.md: 81.3 has no source: name its records in a comment.\n",
    )


def test_the_check_passes_where_every_number_has_its_records(tmp_path: Path):
    (tmp_path / "README.md").write_text("No number.\n")

    assert run(app, ["table", "--check"]).output == "every published number is that of its records.\n"
