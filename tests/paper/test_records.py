"""A row is trained and tested from recipe to record."""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path

import pytest

from edgecond.errors import CheckpointError, DataWarning
from edgecond.nn.training import Step
from edgecond.paper.records import is_of, read_records, reproduce
from edgecond.runs.recipe import find, read, Recipe
from tests.runs.test_run import RECIPE


@pytest.fixture
def recipe() -> Recipe:
    return read(RECIPE, "synthetic.toml")["synthetic/ecc"]


def test_a_record_holds_the_metrics_and_what_they_were_measured_with(recipe, tmp_path):
    record = reproduce(recipe, 0, 0, runs=tmp_path / "runs", results=tmp_path / "results", epochs=2)

    path = tmp_path / "results" / "synthetic" / "ecc" / "fold0-seed0.json"
    assert json.loads(path.read_text()) == record
    assert record["epochs"] == 2
    assert {"f1", "accuracy", "class_accuracy", "accuracy_votes", "train_accuracy"} <= record["metrics"].keys()
    assert record["paper"] == [{"table": 1, "row": "ECC", "f1": 0.9}]
    assert {"torch", "python"} <= record["versions"].keys()
    assert record["data"]


def test_the_settings_of_a_record_are_kept_under_their_digest(recipe, tmp_path):
    """The digest is the SHA-256 of the file, so that nobody changes one without the other."""
    record = reproduce(recipe, 0, 0, runs=tmp_path / "runs", results=tmp_path / "results", epochs=2)

    text = (tmp_path / "results/settings" / f"{record['recipe']}.json").read_text().strip()
    assert hashlib.sha256(text.encode()).hexdigest().startswith(record["recipe"])
    assert json.loads(text)["train"]["epochs"] == 2
    (held,) = read_records(tmp_path / "results/synthetic/ecc")
    assert is_of(held, recipe, tmp_path / "results")
    assert not is_of(held, recipe.model_copy(update={"identity": True}), tmp_path / "results")


def test_a_shorter_run_leaves_the_record_of_a_longer_one(recipe, tmp_path):
    """A first try with --epochs 1 must not replace what the tables show."""
    options = {"runs": tmp_path / "runs", "results": tmp_path / "results", "restart": True}
    path = tmp_path / "results/synthetic/ecc/fold0-seed0.json"
    reproduce(recipe, 0, 0, epochs=2, **options)
    before = path.read_text()

    with pytest.warns(DataWarning, match=r"fold0-seed0\.json holds a record of 2 epochs and is kept: this run has 1\."):
        shorter = reproduce(recipe, 0, 0, epochs=1, **options)

    assert (shorter["epochs"], path.read_text()) == (1, before)
    assert reproduce(recipe, 0, 0, epochs=3, **options) == json.loads(path.read_text())


def test_a_record_that_cannot_be_written_costs_no_training(recipe, tmp_path):
    (tmp_path / "taken").write_text("")
    with pytest.raises(CheckpointError, match="must be written: Not a directory"):
        reproduce(recipe, 0, 0, runs=tmp_path / "runs", results=tmp_path / "taken", epochs=1)

    steps: list[Step] = []
    record = reproduce(
        recipe,
        0,
        0,
        runs=tmp_path / "runs",
        results=tmp_path / "free",
        epochs=1,
        observe=lambda step, *_: not steps.append(step),
    )

    assert steps == []
    assert record["epochs"] == 1


def test_graphs_are_trained_and_tested_from_file_to_record(tmp_path, monkeypatch):
    """Section 4.3: one run, 5 votes and 5 scores; the record has the digests of data and pyramids."""
    data = Path(os.environ.get("EDGECOND_DATA") or Path(__file__).parents[3] / "shared" / "data")
    if not (data / "tu" / "MUTAG.zip").is_file():
        pytest.skip(f"needs {data / 'tu' / 'MUTAG.zip'}")
    monkeypatch.setenv("EDGECOND_DATA", str(data))
    monkeypatch.setenv("EDGECOND_CACHE", str(tmp_path / "cache"))

    record = reproduce(find("mutag/bonds"), 0, 0, runs=tmp_path / "runs", results=tmp_path, epochs=4)

    assert record == json.loads((tmp_path / "mutag/bonds/fold0-seed0.json").read_text())
    assert len(record["pyramids"]) == len(record["data"]) == 64
    assert {"accuracy", "accuracy_votes", "accuracy_scores"} <= record["metrics"].keys()
    assert record["metrics"]["train_accuracy"] > 0.75  # two of three graphs are of one class
