"""A training run in a directory of its own: checkpoint, log of the epochs and, in the end, the model."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, ExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import torch
from torch import Tensor

from edgecond.data import datasets
from edgecond.data.kinds import LabelledExamples
from edgecond.data.preparation import no_progress, Progress
from edgecond.errors import CheckpointError, EdgecondError, listed, RecipeError, ReportedError
from edgecond.files import sha256, write_atomic
from edgecond.nn import parallel
from edgecond.nn.checkpoint import load_checkpoint, save_checkpoint
from edgecond.nn.schedules import Schedule
from edgecond.nn.tasks.conformal import CoverageError
from edgecond.nn.training import Step, Training
from edgecond.runs.ahead import Ahead
from edgecond.runs.blocks import Checkpoint, read_history
from edgecond.runs.finetuning import Start
from edgecond.runs.lock import AGAIN, locked
from edgecond.runs.model import FILE, Model
from edgecond.runs.recipe import first_error, Recipe, with_epochs
from edgecond.runs.selection import Selection
from edgecond.runs.train import SCHEDULE_SETTINGS, Train

SAVE_EVERY = 60.0  # seconds between checkpoints within a run
KEPT = ("settings", "seconds", "history", "sums")  # of a run, in its checkpoint
Observer = Callable[[Step, int, int], bool]  # step, batches per epoch, epochs -> whether to go on


class Interrupted(EdgecondError):
    """A run was asked to stop; it is saved and can be resumed."""


class Callback(Protocol):
    """Follows runs, in the first process if there are several. A run that is stopped has no end; an error stops it."""

    def begin(self, run: Run) -> None:
        """Take a run that is about to begin, or to be resumed after the epochs of its history."""

    def epoch(self, metrics: Mapping[str, float]) -> None:
        """Take the metrics of an epoch that has ended: its number `epoch`, from 1, `loss`, `learning_rate` and more."""

    def end(self, trained: Trained) -> None:
        """Take what a run has resulted in; its model is saved."""


@dataclass
class Run:
    """A training run and its directory.

    Attributes:
        directory: Directory of checkpoint, log and model; none for a run that keeps nothing.
        settings: Settings, data, fold and seed; a checkpoint is resumed by a run with the same ones only.
        training: The network and its state.
        seconds: Duration so far.
        history: Metrics of each epoch that has ended.
        sums: Loss, metric and number of examples of the current epoch.
        selection: Choice of the epoch by a validation set; none for the last epoch.
        callbacks: What follows the run.
    """

    directory: Path | None
    settings: dict[str, Any]
    training: Training
    seconds: float = 0.0
    history: list[dict[str, Any]] = field(default_factory=list)
    sums: list[float] = field(default_factory=lambda: [0.0, 0.0, 0.0])
    selection: Selection | None = None
    callbacks: Sequence[Callback] = ()

    @property
    def checkpoint(self) -> Path:
        assert self.directory is not None
        return self.directory / "checkpoint.safetensors"

    def resume(self, batches: int) -> None:
        """Resume from the checkpoint, if there is one.

        The settings must be the same. The schedule may be another, if its learning rates so far are the same.

        Args:
            batches: Number of batches per epoch.
        """
        try:
            if not self.checkpoint.exists():
                return
        except OSError as error:
            raise CheckpointError(f"{self.directory} must be readable: {error.strerror}.") from error
        tensors, about = load_checkpoint(self.checkpoint)
        try:
            self._resume(tensors, about, batches)
        except ValueError as error:
            raise CheckpointError(
                f"{self.checkpoint} must be the checkpoint of a run: {first_error(error)} "
                "Name another directory, or start again with --restart."
            ) from error

    def _resume(self, tensors: dict[str, Tensor], about: dict[str, Any], batches: int) -> None:
        if missing := [name for name in (*KEPT, "position") if name not in about]:
            raise ValueError(f"it lacks {', '.join(missing)}.")
        saved = Checkpoint.model_validate(about)
        position, history = saved.position, read_history(about["history"])
        if any(self.training.task.training_metric not in epoch for epoch in history):
            raise ValueError(f"every epoch of its history must have the {self.training.task.training_metric}.")
        held = {"split": self.settings.get("split"), **_completed(about["settings"])}  # which former runs did not keep
        differs = _difference(*map(_apart_from_schedule, (held, self.settings)))
        if differs or (before := _schedule(held)) is None:
            raise CheckpointError(
                f"{self.directory} must hold a run with the same settings: it differs in {differs or 'the schedule'}. "
                "Name another directory, or start again with --restart."
            )
        schedule, epochs = self.training.schedule, self.training.schedule.epochs
        if (begun := position.epoch + (position.batch > 0)) > epochs:
            raise CheckpointError(
                f"{self.directory} must hold a run of at most {epochs} epochs: it has begun epoch {begun}. "
                "Ask for as many, name another directory, or start again with --restart."
            )
        if position.epoch != len(history) or position.batch >= batches or position.seed != self.training.seed:
            raise ValueError(
                f"its next step must follow the {len(history)} epochs of its history, in one of {batches} batches and "
                f"with seed {self.training.seed}: found epoch {position.epoch}, batch {position.batch} and seed "
                f"{position.seed}."
            )
        if not schedule.agrees_with(before, position.epoch, position.batch, batches):
            raise CheckpointError(
                f"{self.directory} must hold a run whose learning rates so far are those of the schedule asked for: it "
                f"has begun epoch {begun} with {before.description}, and {epochs} epochs have {schedule.description}. "
                "Ask for the former epochs and schedule, name another directory, or start again with --restart."
            )
        if self.selection is not None:
            tensors = self.selection.restore(tensors, saved.best)
        self.training.restore(tensors, position.model_dump())
        self.seconds, self.sums, self.history = saved.seconds, saved.sums, history

    def learn(self, batches: Ahead, observe: Observer) -> None:
        """Train to the end of the schedule, saving from time to time."""
        start, saved = time.monotonic() - self.seconds, time.monotonic()
        self._log()
        for step in () if self.finished else self.training.steps(batches):
            new = (step.loss * step.count, step.metric, step.count)
            self.sums = [a + b for a, b in zip(self.sums, new, strict=True)]
            self.seconds = time.monotonic() - start
            if step.last:
                self._end_epoch(step)
            go_on = parallel.agreed(observe(step, len(batches), self.training.schedule.epochs))
            if self.finished or not go_on or parallel.agreed(time.monotonic() - saved > SAVE_EVERY):
                self.save()
                saved = time.monotonic()
            if self.finished:
                break
            if not go_on:
                parallel.agreed(True)  # no process ends before the first has saved
                where = f"saved in {self.directory}, the same command goes on" if self.directory else "nothing is kept"
                raise Interrupted(f"stopped in epoch {step.epoch + 1}; {where}.")

    @property
    def finished(self) -> bool:
        """Whether no step is left."""
        return self.training.finished or (self.selection is not None and self.selection.exhausted(len(self.history)))

    @property
    def chosen_epoch(self) -> int:
        """The epoch whose weights the model has: the best on the validation set, or the last."""
        best = None if self.selection is None else self.selection.best
        return len(self.history) if best is None else best.epoch

    def settle(self) -> None:
        """Give the network the weights of the model."""
        best = {} if self.selection is None else self.selection.weights
        self.training.network.load_state_dict(best or self.training.weights())

    def save(self) -> None:
        """Write the checkpoint."""
        tensors, position = self.training.state()
        about = {name: getattr(self, name) for name in KEPT}
        if self.selection is not None:
            weights, best = self.selection.state()
            tensors, about = tensors | weights, about | best
        if self.directory is not None and parallel.rank() == 0:
            save_checkpoint(self.checkpoint, tensors, about | {"position": position})

    def _end_epoch(self, step: Step) -> None:
        loss, metric, count = self.sums
        known = count or 1.0
        means = {"loss": loss / known, self.training.task.training_metric: metric / known}
        about = {"learning_rate": step.learning_rate, "seconds": round(self.seconds, 1)}
        validation = {} if self.selection is None else self.selection.end_epoch(step.epoch + 1)
        self.history.append({"epoch": step.epoch + 1, **means, **validation, **about})
        self.sums = [0.0, 0.0, 0.0]
        self._log()
        for callback in self.callbacks:
            callback.epoch(self.history[-1])

    def _log(self) -> None:
        """Write the epochs so far."""
        if self.directory is not None and parallel.rank() == 0:
            write_log(self.directory, self.history)


@dataclass(frozen=True, eq=False)
class Trained:
    """The result of a run: its model, the test set, and the metrics of each epoch."""

    model: Model
    test: LabelledExamples
    history: list[dict[str, Any]]
    seconds: float

    def metrics(self) -> dict[str, float]:
        """Return the metrics on the test set, and that of the last epoch during training, as the paper does."""
        model, metric = self.model, self.model.task.training_metric
        members, y = model.outputs_per_member(self.test), self.test.ys.numpy()
        metrics = model.metrics([view.mean(0) for view in members], y)
        with suppress(CoverageError):  # without a calibration set, or with one that is too small
            metrics |= model.certainty(members, y)
        return {**metrics, f"train_{metric}": self.history[-1][metric]}

    def keep(self, metrics: Mapping[str, float], directory: Path) -> None:
        """Write the metrics on the test set into the model file of a run, for its card."""
        tested = {name: value for name, value in metrics.items() if not name.startswith("train_")}
        self.model.with_metrics(self.test, tested).save(directory / FILE)


def train(
    recipe: Recipe,
    fold: int = 0,
    seed: int = 0,
    *,
    directory: Path | None,
    epochs: int | None = None,
    workers: int = 0,
    restart: bool = False,
    observe: Observer = lambda step, batches, epochs: True,
    progress: Progress = no_progress,
    ready: Callable[[], object] = lambda: None,
    parts: tuple[LabelledExamples, LabelledExamples] | None = None,
    validation: LabelledExamples | None = None,
    split: str | None = None,
    device: torch.device | None = None,
    start: Start | None = None,
    member: int = 0,
    callbacks: Sequence[Callback] = (),
) -> Trained:
    """Train the network of a recipe on all folds but one; a run that was stopped is resumed.

    The directory is locked meanwhile: it is an error if another process trains in it.

    Args:
        recipe: Data set, network and settings.
        fold: The test fold, from 0.
        seed: Random seed.
        directory: Directory of checkpoint, log and model; none to keep nothing, not even the pyramids of graphs.
        epochs: Number of epochs instead of the recipe's; each learning rate keeps its share of them.
        workers: Number of processes that build batches ahead.
        restart: Start from the beginning, whatever is in the directory.
        observe: Called after every step; the run stops, saved, when it returns False.
        progress: Called while the pyramids of graphs are computed.
        ready: Called before the first step, when all is prepared.
        parts: Training set and test set instead of those that the recipe names.
        validation: Validation set, which chooses the epoch; none for the last.
        split: Digest of the split, if the parts were given; a run is resumed on the same one only.
        device: Device of the network; a GPU if there is one by default.
        start: A model to start from, instead of random weights; the examples have its vocabulary (`Start.extended`).
        member: Number of the network of an ensemble.
        callbacks: What follows the run; see `Callback`.
    """
    recipe = with_epochs(recipe, epochs)
    if start is not None:
        start.check(recipe)
    with _locked_by_first(directory):
        examples, test = parts or datasets.load(recipe.dataset, fold, **recipe.options)
        with parallel.first_alone():  # pyramids of graphs are computed once, and then read from the cache
            like = None if start is None else start.model
            model = Model.new(recipe, examples, seed, progress, transient=directory is None, start=like)
        if start is not None:
            start.begin(model, member)
        model.network.to(device or parallel.device())
        batches = model.batches(examples, seed, (parallel.rank(), parallel.ranks()))
        made_of = {"recipe": recipe.settings(), "data": examples.digest, "fold": fold, "seed": seed, "split": split}
        made_of |= {} if examples.weights is None else {"weights": sha256(examples.weights.numpy().tobytes())}
        made_of |= {} if start is None else start.about
        run = Run(directory, made_of, _training(model, seed))
        run.selection = _selection(model, run.training, validation)
        if directory is not None and not restart:
            run.resume(len(batches))
        run.callbacks = callbacks if parallel.rank() == 0 else ()
        for callback in run.callbacks:
            callback.begin(run)
        ready()
        run.learn(Ahead(batches, workers), observe)
        run.settle()
        model.about.update(fold=fold, epochs=run.chosen_epoch)
        if directory is not None and parallel.rank() == 0:
            model.save(directory / FILE)
        trained = Trained(model, test, run.history, run.seconds)
        for callback in run.callbacks:
            callback.end(trained)
    return trained


def _training(model: Model, seed: int) -> Training:
    """Return the training of a new model, by the settings of its recipe."""
    settings = model.recipe.train
    if settings.label_smoothing and not model.task.smooths_labels:
        raise RecipeError(
            f"train.label_smoothing is for tasks with classes: got {settings.label_smoothing:g} for {model.task.name}. "
            "Leave it out."
        )
    return Training(
        model.network,
        settings.make_schedule(),
        seed,
        task=model.task,
        optimizer=settings.make_optimizer(),
        gradient_clip=settings.gradient_clip,
        ema=settings.ema,
        label_smoothing=settings.label_smoothing,
        precision=settings.precision,
    )


def _selection(model: Model, training: Training, validation: LabelledExamples | None) -> Selection | None:
    """Return the choice of an epoch by the task's metric on one view of a validation set, if there is one."""
    if validation is None:
        if model.recipe.train.patience is not None:
            raise RecipeError(
                f"train.patience needs a validation set, whose metric it waits for: got {model.recipe.train.patience} "
                "without one. Name one with --validation, or leave it out."
            )
        return None

    def measure() -> float:
        return model.evaluate(validation, views=1)[model.task.validation_metric]

    return Selection(measure, training, model.recipe.train.patience)


def write_log(directory: Path, history: Sequence[Mapping[str, Any]]) -> None:
    """Write a line of JSON for each epoch."""
    write_atomic(directory / "log.jsonl", "".join(json.dumps(epoch) + "\n" for epoch in history).encode())


@contextmanager
def _locked_by_first(directory: Path | None) -> Iterator[None]:
    """Lock the directory of a run in process 0; if it cannot be locked, no process goes on."""
    with ExitStack() as stack:
        if directory is not None and parallel.rank() == 0:
            try:
                stack.enter_context(locked(directory, wait=AGAIN in os.environ))
            except CheckpointError:
                parallel.agreed(False)
                raise
        if not parallel.agreed(True):
            raise ReportedError("process 0 cannot lock the directory of the run, and reports why.")
        yield


def _completed(held: dict[str, Any]) -> dict[str, Any]:
    """Return the settings of a checkpoint, with defaults for those that are newer than it."""
    try:
        return {**held, "recipe": Recipe.model_validate({**held["recipe"], "paper": ()}).settings()}
    except (KeyError, TypeError, ValueError):  # not the settings of any version: the difference tells
        return held


def _apart_from_schedule(made_of: dict[str, Any]) -> dict[str, Any]:
    """Return the settings of a run without those of its schedule."""
    try:
        train = {name: value for name, value in made_of["recipe"]["train"].items() if name not in SCHEDULE_SETTINGS}
        return {**made_of, "recipe": {**made_of["recipe"], "train": train}}
    except (KeyError, TypeError, AttributeError):  # not the settings of any version
        return made_of


def _schedule(made_of: dict[str, Any]) -> Schedule | None:
    """Return the schedule that a run had; None if its settings are not those of any."""
    try:
        return Train.model_validate(made_of["recipe"]["train"]).make_schedule()
    except (KeyError, TypeError, ValueError):
        return None


def _difference(one: dict[str, Any], other: dict[str, Any]) -> str:
    """Return the names of the settings that differ."""
    names = [name for name in sorted(one.keys() | other.keys()) if one.get(name) != other.get(name)]
    if names == ["recipe"] and "recipe" in one:
        return f"the recipe's {_difference(one['recipe'], other['recipe'])}"
    return listed(names)
