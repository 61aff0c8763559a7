"""The verb `predict` with `--to`: copies of point files with the predicted classes."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import laspy
import numpy as np
import pytest
from typer.testing import CliRunner

from edgecond.cli import app
from edgecond.runs import scans
from tests.data.formats.scans import differences, scan

run = CliRunner().invoke
SMALL = ["--folds", "2", "--fold", "0", "--epochs", "1", "--set", "network=C(4)-MP(30,40)-C(4)-V-FC(2)"]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory of a run on four scans of 60 points."""
    folder = tmp_path_factory.mktemp("scans")
    for number in range(4):
        file = laspy.read(io.BytesIO(scan(0, "1.2", count=60)))
        file.classification = np.arange(60) % 2 * 4 + 2
        file.write(str(folder / f"{number}.las"))
    result = run(app, ["train", str(folder), "--vertices", "classification", *SMALL, "--out", str(folder / "run")])
    assert result.exit_code == 0, result.output
    return folder / "run"


def test_copies_have_the_classes_that_rows_have(model: Path, tmp_path: Path):
    (path := tmp_path / "scan.laz").write_bytes(scan(1, "1.4", count=50, compressed=True))
    words = ["predict", str(model), str(path)]

    rows = list(csv.DictReader(io.StringIO(run(app, words).stdout)))
    copies = run(app, [*words, "--to", "las", "--out", str(tmp_path / "out"), "--probabilities", "--json"])

    to = tmp_path / "out" / "scan.las"
    assert copies.exit_code == 0, copies.output
    assert json.loads(copies.stdout) == {"file": str(path), "written": str(to)}
    assert differences(path, to) == {"classification", "probability", "vlrs"}
    file = laspy.read(to)
    assert np.asarray(file.classification).tolist() == [int(row["class"]) for row in rows]
    assert file["probability"].tolist() == pytest.approx([float(row["probability"]) for row in rows], abs=1e-4)


def test_scans_go_to_as_many_processes_as_are_asked_for(model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    asked: list[int] = []
    monkeypatch.setattr(scans, "written", lambda *_, jobs, **__: asked.append(jobs) or [])
    monkeypatch.setattr(scans, "processes", lambda: 7)
    words = ["predict", str(model), str(tmp_path), "--to", "laz", "--out", str(tmp_path / "out")]

    for more in (["--jobs", "3"], []):
        result = run(app, [*words, *more])
        assert result.exit_code == 0, result.output

    assert asked == [3, 7]


def test_a_directory_is_needed_and_nothing_else(model: Path, tmp_path: Path):
    words = ["predict", str(model), str(tmp_path), "--to", "laz"]

    for more in ([], ["--ply", "elsewhere", "--out", "out"]):
        result = run(app, [*words, *more])
        assert result.exit_code == 2
        assert "--to needs the directory of the files to write, and no --ply: name it with --out." in result.output


def test_a_model_of_whole_clouds_writes_no_copies(trained: tuple[Path, str], clouds: Path, tmp_path: Path):
    result = run(app, ["predict", str(trained[0]), str(clouds), "--to", "ply", "--out", str(tmp_path / "out")])

    assert result.exit_code == 2
    assert "--to is for models that predict for points" in result.output


def test_a_file_that_cannot_be_read_is_reported_and_the_status_is_1(model: Path, tmp_path: Path):
    (tmp_path / "bad.las").write_bytes(b"none")
    (tmp_path / "good.las").write_bytes(scan(0, "1.2", count=50))

    result = run(app, ["predict", str(model), str(tmp_path), "--to", "ply", "--out", str(tmp_path / "out")])

    assert result.exit_code == 1
    assert "bad.las cannot be read" in result.stderr
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["good.ply"]
