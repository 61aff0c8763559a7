"""A baseline is fitted and tested on the folds of a row, and tables show its records."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from edgecond.paper.baselines import columns, folder_of, record_baseline, without_record
from edgecond.paper.check import findings
from edgecond.paper.records import read_records, write_record
from edgecond.paper.tables import entries
from edgecond.runs.baselines import BASELINES
from edgecond.runs.baselines.forest import ShapeForest
from edgecond.runs.recipe import find

ROW = "synthetic/ecc"


@pytest.fixture
def recorded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The records of a small forest on the synthetic row."""
    monkeypatch.setattr(ShapeForest, "trees", 10)
    record_baseline(BASELINES["shape"], find(ROW), 0, 0, results=tmp_path)
    return tmp_path


def quoted(results: Path, name: str, row: str, folds: dict[int, float], metric: str = "f1") -> None:
    """Write records of a baseline, with its present settings."""
    from edgecond.paper.baselines import made_with

    baseline, recipe = BASELINES[name], find(row)
    for fold, value in folds.items():
        record = {"fold": fold, "seed": 0, "metrics": {metric: value}, "baseline": made_with(baseline, recipe)}
        write_record(folder_of(baseline, recipe, results) / f"fold{fold}-seed0.json", record)


def test_a_record_has_metrics_settings_versions_and_the_digest_of_the_data(recorded: Path):
    record = json.loads((recorded / "baselines/shape/synthetic/ecc/fold0-seed0.json").read_text())

    assert {"f1", "accuracy", "class_accuracy"} <= record["metrics"].keys()
    assert record["metrics"]["accuracy"] > 0.5  # six shapes
    assert record["baseline"]["name"] == "shape"
    assert record["baseline"]["row"]["dataset"] == "synthetic"
    assert {"torch", "scikit-learn"} <= record["versions"].keys()
    assert record["data"]
    assert len(read_records(recorded / "baselines/shape/synthetic/ecc", "f1")) == 1


def test_a_fold_is_missing_until_it_has_a_record_of_the_present_settings(
    recorded: Path, monkeypatch: pytest.MonkeyPatch
):
    wanted = [(0, 0), (0, 1)]

    assert without_record(BASELINES["shape"], find(ROW), wanted, recorded) == [(0, 1)]
    monkeypatch.setattr(ShapeForest, "trees", 11)
    assert without_record(BASELINES["shape"], find(ROW), wanted, recorded) == wanted


def test_a_record_of_other_settings_fails_the_check(recorded: Path, monkeypatch: pytest.MonkeyPatch):
    assert list(findings(recorded, recorded)) == []

    monkeypatch.setattr(ShapeForest, "trees", 11)

    (finding,) = findings(recorded, recorded)
    assert "baselines/shape/synthetic/ecc/fold0-seed0.json was measured with settings" in finding


def test_a_column_has_the_mean_of_a_baseline_beside_every_row_of_the_same_data(tmp_path: Path):
    """By hand: (0.70 + 0.72 + 0.74 + 0.76) / 4 = 0.73, for the three rows of Table 1, which have the same folds."""
    quoted(tmp_path, "voxnet", "sydney/ecc", {0: 0.70, 1: 0.72, 2: 0.74, 3: 0.76})
    quoted(tmp_path, "pointnet", "sydney/ecc", {0: 0.70})

    found = columns(entries(1, tmp_path), tmp_path)

    assert found == {"voxnet": ["73.0"] * 3, "pointnet": ["1/4 folds"] * 3}


def test_votes_have_no_column_of_their_own(tmp_path: Path):
    """A baseline has one view: it is beside a single run, votes and scores alike, and not beside other data."""
    quoted(tmp_path, "wl", "nci1/ecc", dict.fromkeys(range(10), 0.85), "accuracy")

    table = entries(4, tmp_path)
    (cells,) = columns(table, tmp_path).values()

    assert {entry.recipe.dataset for entry, cell in zip(table, cells, strict=True) if cell} == {"nci1"}
    assert set(cells) == {"85.00", ""}


def test_a_table_without_records_of_baselines_has_no_more_columns(tmp_path: Path):
    assert columns(entries(1, tmp_path), tmp_path) == {}
