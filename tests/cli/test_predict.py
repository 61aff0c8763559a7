"""The verb `predict`."""

import csv
import io
import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from edgecond.cli import app

run = CliRunner().invoke


def test_a_row_is_written_for_each_file(trained: tuple[Path, str], clouds: Path):
    result = run(app, ["predict", str(trained[0]), str(clouds), "--probabilities"])

    rows = list(csv.DictReader(io.StringIO(result.stdout)))
    assert list(rows[0]) == ["file", "class", "probability", "p(ball)", "p(box)"]
    assert [row["file"] for row in rows] == [str(path) for path in sorted(clouds.rglob("*.npy"))]
    for row in rows:
        assert float(row["p(ball)"]) + float(row["p(box)"]) == pytest.approx(1, abs=1e-5)


def test_json_and_a_file_have_the_same_rows(trained: tuple[Path, str], clouds: Path, tmp_path: Path):
    words = ["predict", str(trained[0]), str(clouds)]
    expected = list(csv.DictReader(io.StringIO(run(app, words).stdout)))

    run(app, [*words, "--json", "--out", str(tmp_path / "rows.jsonl")])

    rows = [json.loads(line) for line in (tmp_path / "rows.jsonl").read_text().splitlines()]
    assert [{name: str(value) for name, value in row.items()} for row in rows] == expected


def test_a_file_that_cannot_be_read_is_reported_and_the_status_is_1(
    trained: tuple[Path, str], clouds: Path, tmp_path: Path
):
    (tmp_path / "damaged.npy").write_bytes(b"none")

    result = run(app, ["predict", str(trained[0]), str(tmp_path / "damaged.npy"), str(clouds / "ball" / "0.npy")])

    assert result.exit_code == 1
    assert str(tmp_path / "damaged.npy") in result.stderr
    assert len(result.stdout.splitlines()) == 2
