"""The verb `explain`."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pytest
from typer.testing import CliRunner

from edgecond.cli import app

run = CliRunner().invoke


def test_rows_of_each_cloud_add_up_to_its_output_and_a_page_is_written(
    trained: tuple[Path, str], clouds: Path, tmp_path: Path
):
    pytest.importorskip("plotly")
    files = [str(clouds / "ball" / f"{number}.npy") for number in range(2)]
    page = tmp_path / "page.html"

    result = run(app, ["explain", str(trained[0]), *files, "--views", "1", "--target", "box", "--page", str(page)])

    assert result.exit_code == 0, result.output
    rows = list(csv.DictReader(io.StringIO(result.stdout)))
    place = ["file", "target", "element", "index", "other", "x", "y", "z"]
    assert list(rows[0]) == [*place, "attribution", "total", "region"]
    for file in files:
        own = [row for row in rows if row["file"] == file]
        sums = [sum(float(row[name] or 0) for row in own) for name in ("attribution", "total")]
        assert sums[0] == pytest.approx(sums[1], abs=1e-3)
        assert [row["element"] for row in own].count("point") == 20
    assert {row["target"] for row in rows} == {"box"}
    assert "2 explained; attributions add up to the difference of outputs within" in result.stderr
    assert "Attributions" in page.read_text()


def test_edges_are_left_out_and_an_unknown_class_is_a_sentence(trained: tuple[Path, str], clouds: Path):
    words = ["explain", str(trained[0]), str(clouds / "box" / "0.npy"), "--views", "1"]

    rows = list(csv.DictReader(io.StringIO(run(app, [*words, "--no-edges"]).stdout)))
    wrong = run(app, [*words, "--target", "bell"])

    assert {row["element"] for row in rows} == {"point", "baseline", "rest"}
    assert wrong.exit_code == 2
    assert "it has no 'bell'. Did you mean ball?" in wrong.stderr


def test_a_file_that_cannot_be_read_is_reported_and_the_status_is_1(trained: tuple[Path, str], tmp_path: Path):
    (tmp_path / "damaged.npy").write_bytes(b"none")

    result = run(app, ["explain", str(trained[0]), str(tmp_path / "damaged.npy")])

    assert result.exit_code == 1
    assert str(tmp_path / "damaged.npy") in result.stderr
