"""Callbacks follow a run, and event files have each epoch once, however often a run was stopped."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest
from typer.testing import CliRunner

from edgecond.cli import app
from edgecond.errors import RecipeError
from edgecond.runs import run as runs
from edgecond.runs.recipe import find, Recipe, with_settings
from edgecond.runs.run import Interrupted, Run, train, Trained
from edgecond.runs.tracking import FOLDER, TensorBoard, trackers


@pytest.fixture
def recipe() -> Recipe:
    settings = {"train.epochs": 4, "train.batch_size": 8, "network": "C(4)-GMP-FC(6)", "train.drops": []}
    tiny = find("synthetic/ecc").model_copy(update={"options": {"train": 16, "test": 6, "points": 20}})
    return with_settings(tiny, settings)


class Notes(list):
    """A callback that notes what it is called with."""

    def begin(self, run: Run) -> None:
        self.append(("begin", len(run.history), run.directory))

    def epoch(self, metrics: Mapping[str, float]) -> None:
        self.append(("epoch", metrics["epoch"], metrics["loss"]))

    def end(self, trained: Trained) -> None:
        self.append(("end", len(trained.history), None))


def stopping_in(epoch: int):
    """Return an observer that stops a run after the first batch of an epoch, from 0."""
    return lambda step, batches, epochs: (step.epoch, step.batch) != (epoch, 0)


def curves(directory: Path) -> dict[str, list[tuple[int, float]]]:
    """Read the points of all curves back, with TensorBoard's own reader, one file after the other."""
    event_file_loader = pytest.importorskip("tensorboard.backend.event_processing.event_file_loader")
    tensor_util = pytest.importorskip("tensorboard.util.tensor_util")
    points: dict[str, list[tuple[int, float]]] = {}
    for file in sorted((directory / FOLDER).iterdir()):
        for event in event_file_loader.EventFileLoader(str(file)).Load():
            for value in event.summary.value:
                if value.metadata.plugin_data.plugin_name == "scalars":
                    number = float(tensor_util.make_ndarray(value.tensor))
                    points.setdefault(value.tag, []).append((event.step, number))
    return points


def test_a_callback_is_called_at_the_beginning_after_each_epoch_and_at_the_end(recipe: Recipe, tmp_path: Path):
    notes = Notes()

    history = train(recipe, directory=tmp_path, callbacks=[notes]).history

    epochs = [("epoch", epoch["epoch"], epoch["loss"]) for epoch in history]
    assert notes == [("begin", 0, tmp_path), *epochs, ("end", 4, None)]


def test_a_run_that_was_stopped_has_no_end_and_its_callback_gets_the_other_epochs(recipe: Recipe, tmp_path: Path):
    first, second = Notes(), Notes()
    with pytest.raises(Interrupted):
        train(recipe, directory=tmp_path, observe=stopping_in(2), callbacks=[first])

    train(recipe, directory=tmp_path, callbacks=[second])

    assert [kind for kind, *_ in first] == ["begin", "epoch", "epoch"]
    assert second[0] == ("begin", 2, tmp_path)
    assert [number for kind, number, _ in second if kind == "epoch"] == [3, 4]


def test_a_curve_is_continued_without_doubled_points(recipe: Recipe, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """A killed run repeats the epochs since its checkpoint: here the second, which the first process had logged."""
    killed = RuntimeError("killed")

    def kill(step, batches, epochs):
        if (step.epoch, step.batch) == (0, 1):
            monkeypatch.setattr(runs, "SAVE_EVERY", 0.0)  # the first epoch is in the checkpoint
        elif (step.epoch, step.batch) == (1, 0):
            monkeypatch.setattr(runs, "SAVE_EVERY", 60.0)  # nothing after it is
        elif (step.epoch, step.batch) == (2, 0):
            raise killed
        return True

    with pytest.raises(RuntimeError, match="killed"):
        train(recipe, directory=tmp_path, observe=kill, callbacks=[TensorBoard()])
    assert [step for step, _ in curves(tmp_path)["loss"]] == [1, 2]

    trained = train(recipe, directory=tmp_path, callbacks=[TensorBoard()])

    found = curves(tmp_path)
    assert sorted(found) == ["accuracy", "learning_rate", "loss"]
    for name, points in found.items():
        assert points == [(epoch["epoch"], pytest.approx(epoch[name], rel=1e-6)) for epoch in trained.history]


def test_the_command_line_writes_event_files_for_train_and_reproduce(tmp_path: Path):
    small = ["--set", "network=C(4)-GMP-FC(6)", "--set", "train.batch_size=128", "--log", "tensorboard"]
    places = ["--runs", str(tmp_path / "runs"), "--results", str(tmp_path / "results")]

    one = CliRunner().invoke(app, ["train", "synthetic", "--epochs", "2", *small, "--out", str(tmp_path / "one")])
    two = CliRunner().invoke(app, ["reproduce", "synthetic/ecc", "--epochs", "1", *small, *places])

    assert (one.exit_code, two.exit_code) == (0, 0), one.output + two.output
    losses = [json.loads(line)["loss"] for line in (tmp_path / "one" / "log.jsonl").read_text().splitlines()]
    assert [value for _, value in curves(tmp_path / "one")["loss"]] == pytest.approx(losses, rel=1e-6)
    (log,) = (tmp_path / "runs").rglob("log.jsonl")
    assert [step for step, _ in curves(log.parent)["loss"]] == [1]


def test_an_unknown_tracker_and_a_missing_library_are_one_sentence(monkeypatch: pytest.MonkeyPatch):
    assert trackers(None) == ()
    with pytest.raises(RecipeError, match=r"must be one of tensorboard: got 'tensorbord'\. Did you mean tensorboard"):
        trackers("tensorbord")

    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard", None)
    with pytest.raises(RecipeError, match=r"pip install 'edgecond\[track\]'"):
        trackers("tensorboard")
