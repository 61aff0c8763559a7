"""Pretrained models are verified, found by their names, and have the metrics of their records."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from edgecond.errors import CheckpointError
from edgecond.runs import pretrained
from edgecond.runs.model import Model
from edgecond.runs.prediction import predictions
from tests.sentences import refused

ROOT = Path(__file__).parents[2]
NAMES = list(pretrained.index())


@pytest.mark.parametrize("name", NAMES)
def test_a_model_has_the_metrics_of_its_record_and_its_card(name: str):
    short = name.removeprefix(pretrained.PREFIX)
    model = Model.load(name)
    record = json.loads((ROOT / model.about["card"]["record"]).read_text())

    tested, entry = model.about["tested"], pretrained.index()[name]
    assert tested["metrics"] == {k: v for k, v in record["metrics"].items() if not k.startswith("train_")}
    assert tested["data"] == record["data"] == model.about["data"]
    assert (pretrained.FOLDER / short / "README.md").read_text() == model.card()
    assert (entry.kind, entry.task) == (model.kind.name, model.task.name)
    assert entry.bytes == pretrained.model_file(Path(name)).stat().st_size < 2e6


def test_the_index_has_every_directory():
    folders = {path.name for path in pretrained.FOLDER.iterdir() if (path / pretrained.FILE).exists()}

    assert {f"{pretrained.PREFIX}{name}" for name in folders} == set(NAMES)


def test_a_path_comes_before_a_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    assert pretrained.locate(Path(NAMES[0])).is_absolute()

    Path(NAMES[0]).mkdir(parents=True)

    assert pretrained.locate(Path(NAMES[0])) == Path(NAMES[0])
    assert pretrained.locate(Path("model")) == Path("model")


def test_a_shape_of_any_unit_needs_nothing_but_positions(tmp_path: Path):
    """The shapes of ModelNet are scaled to one size, and their signal is 1: arrays, files and other columns agree."""
    model, points = Model.load("model/modelnet10"), np.random.default_rng(0).random((300, 3))
    np.save(tmp_path / "centimetres.npy", 100 * points)
    np.save(tmp_path / "coloured.npy", np.column_stack([points, points]))

    files = [row["probability"] for row in predictions(model, sorted(tmp_path.iterdir()), views=1, report=pytest.fail)]
    arrays = model.predict([points, 100 * points, np.column_stack([points, points])], views=1).max(1)

    np.testing.assert_allclose([*files, *arrays], files[0], rtol=1e-3)


def test_an_unknown_name_is_an_error_that_suggests_one():
    with pytest.raises(CheckpointError, match="Did you mean model/esol"):
        Model.load("model/esoll")


def test_a_directory_of_folds_is_an_error_that_names_the_first(tmp_path: Path):
    for fold in (1, 0):
        pretrained.fetch("model/esol", tmp_path / f"fold{fold}")

    with refused(
        f"{tmp_path} must be a model file, or the directory of a run with its model in model.safetensors: it has a run "
        f"for each fold. Name one of them, as {tmp_path / 'fold0'}.",
        CheckpointError,
    ):
        Model.load(tmp_path)


def test_a_file_that_was_changed_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    pretrained.index()  # before its directory is another
    folder = pretrained.fetch("model/esol", tmp_path / "esol")
    monkeypatch.setattr(pretrained, "FOLDER", tmp_path)
    assert pretrained.verified("model/esol") == folder

    with (folder / pretrained.FILE).open("r+b") as file:
        file.seek(-1, 2)
        file.write(b"\0")

    with pytest.raises(CheckpointError, match="SHA-256"):
        Model.load("model/esol")


def test_a_model_is_copied_into_the_data_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("EDGECOND_DATA", str(tmp_path))

    folder = pretrained.fetch("model/esol")

    assert folder == tmp_path / "models" / "esol"
    assert Model.load(folder).card() == Model.load("model/esol").card()
