"""Rows of the paper's tables, rerun: from a recipe, a fold and a seed to a model and a record (Section 4)."""

from __future__ import annotations

import hashlib
import json
import os
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import datetime, UTC
from pathlib import Path
from typing import Any

import torch
from pydantic import ValidationError
from torch.utils.data import DataLoader, Dataset

from edgecond.data import datasets
from edgecond.data.samples import Batches
from edgecond.errors import CheckpointError, EdgecondError
from edgecond.files import write_atomic
from edgecond.graph import Sample
from edgecond.nn import kernels as native
from edgecond.nn import parallel
from edgecond.nn.checkpoint import load_checkpoint, save_checkpoint
from edgecond.nn.training import Schedule, Step, Training
from edgecond.runs.model import FILE, Learnable, Model, settings, versions
from edgecond.runs.preparation import Progress, unseen
from edgecond.runs.recipe import Recipe

SAVE_EVERY = 60.0  # seconds between checkpoints within a run
KEPT = ("settings", "seconds", "history", "sums")  # of a run, in its checkpoint
Observer = Callable[[Step, int, int], bool]  # step, batches per epoch, epochs -> whether to go on


class Interrupted(EdgecondError):
    """A run was asked to stop; it is saved and can be taken up again."""


class _Positions(Dataset[Sample]):
    """The batches of all epochs as a dataset, which a loader's workers can build."""

    def __init__(self, batches: Batches) -> None:
        self.batches = batches

    def __getitem__(self, position: int) -> Sample:
        return self.batches.batch(position // len(self.batches), position % len(self.batches))


def _end_with_parent(_: int) -> None:
    """Torch's workers notice a killed parent too, but then may wait forever for it to read what they have built."""
    parent = os.getppid()

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(1)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


@dataclass(frozen=True)
class Ahead:
    """Batches built ahead of their use by worker processes; by this process if there are none."""

    batches: Batches
    workers: int = 1

    def __len__(self) -> int:
        return len(self.batches)

    def run(self, epoch: int, batch: int, epochs: int) -> Iterator[Sample]:
        positions = range(epoch * len(self) + batch, epochs * len(self))
        ahead = {"prefetch_factor": 4} if self.workers else {}
        loader: DataLoader[Sample] = DataLoader(
            _Positions(self.batches),
            batch_size=None,
            sampler=positions,
            num_workers=self.workers,
            worker_init_fn=_end_with_parent,
            **ahead,  # type: ignore[arg-type]
        )
        return iter(loader)


@dataclass
class Run:
    """A run on its way, in a directory of its own: checkpoint, log of the epochs, and the model when it is trained.

    Attributes:
        directory: Where it is kept; none for a run that is not.
        settings: What it is made of; a checkpoint is taken up by a run of the same settings alone.
        training: The network, and where it stands.
        seconds: Spent so far.
        history: Figures of each epoch that has ended.
        sums: Loss, figure and examples of the epoch that has not.
    """

    directory: Path | None
    settings: dict[str, Any]
    training: Training
    seconds: float = 0.0
    history: list[dict[str, Any]] = field(default_factory=list)
    sums: list[float] = field(default_factory=lambda: [0.0, 0.0, 0.0])

    @property
    def checkpoint(self) -> Path:
        assert self.directory is not None
        return self.directory / "checkpoint.safetensors"

    def take_up(self) -> None:
        """Go on from the checkpoint, if there is one."""
        try:
            if not self.checkpoint.exists():
                return
        except OSError as error:
            raise CheckpointError(f"{self.directory} must be readable: {error.strerror}.") from error
        tensors, about = load_checkpoint(self.checkpoint)
        if missing := [name for name in (*KEPT, "position") if name not in about]:
            raise CheckpointError(
                f"{self.checkpoint} must be the checkpoint of a run: it lacks {', '.join(missing)}. "
                "Name another directory, or begin anew with --anew."
            )
        if (held := _completed(about["settings"])) != self.settings:
            differs = _difference(held, self.settings)
            raise CheckpointError(
                f"{self.directory} must hold a run of the same settings: it differs in {differs}. "
                "Name another directory, or begin anew with --anew."
            )
        position, epochs = about["position"], self.training.schedule.epochs
        if (begun := position["epoch"] + (position["batch"] > 0)) > epochs:
            raise CheckpointError(
                f"{self.directory} must hold a run of at most {epochs} epochs: it has begun epoch {begun}. "
                "Ask for as many, name another directory, or begin anew with --anew."
            )
        self.training.restore(tensors, position)
        self.seconds, self.history, self.sums = about["seconds"], about["history"], about["sums"]

    def learn(self, batches: Ahead, observe: Observer) -> None:
        """To the end of the schedule, saving from time to time."""
        start, saved = time.monotonic() - self.seconds, time.monotonic()
        self._log()
        for step in self.training.steps(batches):
            new = (step.loss * step.count, step.figure, step.count)
            self.sums = [a + b for a, b in zip(self.sums, new, strict=True)]
            self.seconds = time.monotonic() - start
            if step.last:
                self._end_epoch(step)
            go_on = parallel.agreed(observe(step, len(batches), self.training.schedule.epochs))
            if self.training.finished or not go_on or parallel.agreed(time.monotonic() - saved > SAVE_EVERY):
                self.save()
                saved = time.monotonic()
            if not go_on and not self.training.finished:
                where = f"saved in {self.directory}, the same command goes on" if self.directory else "nothing is kept"
                raise Interrupted(f"stopped in epoch {step.epoch + 1}; {where}.")

    def save(self) -> None:
        """Write the checkpoint."""
        tensors, position = self.training.state()
        about = {name: getattr(self, name) for name in KEPT}
        if self.directory is not None and parallel.rank() == 0:
            save_checkpoint(self.checkpoint, tensors, about | {"position": position})

    def _end_epoch(self, step: Step) -> None:
        loss, figure, count = self.sums
        known = count or 1.0
        means = {"loss": loss / known, self.training.objective.figure: figure / known}
        about = {"rate": step.rate, "seconds": round(self.seconds, 1)}
        self.history.append({"epoch": step.epoch + 1, **means, **about})
        self.sums = [0.0, 0.0, 0.0]
        self._log()

    def _log(self) -> None:
        """One line of JSON for each epoch so far."""
        lines = "".join(json.dumps(epoch) + "\n" for epoch in self.history)
        if self.directory is not None and parallel.rank() == 0:
            write_atomic(self.directory / "log.jsonl", lines.encode())


@dataclass(frozen=True, eq=False)
class Trained:
    """What came of a run: the model of its last epoch, the test examples, and the figures of each epoch."""

    model: Model
    test: Learnable
    history: list[dict[str, Any]]
    seconds: float

    def metrics(self) -> dict[str, float]:
        """The figures of the last epoch's network, as in the paper: on the test examples, and on the way there."""
        figure = self.model.objective.figure
        return {**self.model.figures(self.test), f"train_{figure}": self.history[-1][figure]}


def train(
    recipe: Recipe,
    fold: int = 0,
    seed: int = 0,
    *,
    directory: Path | None,
    epochs: int | None = None,
    workers: int = 0,
    anew: bool = False,
    observe: Observer = lambda step, batches, epochs: True,
    progress: Progress = unseen,
    parts: tuple[Learnable, Learnable] | None = None,
    device: torch.device | None = None,
) -> Trained:
    """Train a recipe's network on all folds but one; a run that was stopped is taken up where it stood.

    Args:
        recipe: What to train on what.
        fold: The test fold, from 0.
        seed: Of everything random.
        directory: Of checkpoint, log and model; none to keep nothing, not even the pyramids of graphs.
        epochs: Instead of the recipe's.
        workers: Processes that build batches ahead.
        anew: Begin from the beginning, whatever is in the directory.
        observe: Called after every step; the run stops, saved, when it returns False.
        progress: Called while the pyramids of graphs are computed.
        parts: Training and test examples instead of those that the recipe names.
        device: Instead of a GPU if there is one.
    """
    examples, test = parts or datasets.load(recipe.dataset, fold, **recipe.options)
    with parallel.first_alone():  # pyramids of graphs are computed once, and then read from the cache
        model = Model.new(recipe, examples, seed, progress, passing=directory is None)
    model.network.to(device or parallel.device())
    batches = model.batches(examples, seed, (parallel.rank(), parallel.ranks()))
    how = recipe.train
    schedule = Schedule(epochs or how.epochs, how.rate, how.drops, momentum=how.momentum, weight_decay=how.weight_decay)
    made_of = {"recipe": settings(recipe), "data": examples.digest, "fold": fold, "seed": seed}
    run = Run(directory, made_of, Training(model.network, schedule, seed, objective=model.objective))
    if directory is not None and not anew:
        run.take_up()
    run.learn(Ahead(batches, workers), observe)
    model.about.update(fold=fold, epochs=schedule.epochs)
    if directory is not None and parallel.rank() == 0:
        model.save(directory / FILE)
    return Trained(model, test, run.history, run.seconds)


def reproduce(
    recipe: Recipe,
    fold: int,
    seed: int,
    *,
    runs: Path,
    results: Path,
    about: dict[str, Any] | None = None,
    **options: Any,
) -> dict[str, Any]:
    """Train and test one fold of a row, and write its record.

    Args:
        recipe: The row.
        fold: The test fold, from 0.
        seed: Of everything random.
        runs: Directory of runs, each in `DATASET/ROW/foldK-seedS`.
        results: Directory of records, `DATASET/ROW/foldK-seedS.json`.
        about: What else the record says.
        options: Of `train`.
    """
    name = f"{recipe.name}/fold{fold}-seed{seed}"
    trained = train(recipe, fold, seed, directory=runs / name, **options)
    if parallel.rank():
        return {}
    record = {
        "row": recipe.name,
        "fold": fold,
        "seed": seed,
        "epochs": trained.model.about["epochs"],
        "metrics": trained.metrics(),
        "paper": [claim.model_dump(exclude_none=True) for claim in recipe.paper],
        "seconds": round(trained.seconds, 1),
        "date": datetime.now(UTC).date().isoformat(),
        "data": trained.test.digest,
        **trained.model.preparation.about,
        "recipe": hashlib.sha256(json.dumps(settings(recipe), sort_keys=True).encode()).hexdigest()[:16],
        "threads": torch.get_num_threads(),
        "processes": parallel.ranks(),
        "device": parallel.device().type,
        "kernels": native.instruction_set(),
        "versions": versions(),
        **(about or {}),
    }
    write_atomic(results / f"{name}.json", (json.dumps(record, indent=1, ensure_ascii=False) + "\n").encode())
    return record


def _completed(held: dict[str, Any]) -> dict[str, Any]:
    """The settings of a checkpoint; those that its version of edgecond did not have are at their defaults."""
    try:
        return {**held, "recipe": settings(Recipe.model_validate({**held["recipe"], "paper": ()}))}
    except (KeyError, TypeError, ValidationError):  # not the settings of any version: the difference tells
        return held


def _difference(one: dict[str, Any], other: dict[str, Any]) -> str:
    """The names of what two settings do not have in common."""
    names = [name for name in sorted(one.keys() | other.keys()) if one.get(name) != other.get(name)]
    if names == ["recipe"] and "recipe" in one:
        return f"the recipe's {_difference(one['recipe'], other['recipe'])}"
    return ", ".join(names)
