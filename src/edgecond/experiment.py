"""Rows of the paper's tables, rerun: from a recipe, a fold and a seed to a record (Section 4)."""

from __future__ import annotations

import hashlib
import json
import platform
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime, UTC
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset

from edgecond import datasets, evaluation
from edgecond.augment import augment, rotated
from edgecond.checkpoint import load_checkpoint, save_checkpoint
from edgecond.convolution import native
from edgecond.datasets import Examples
from edgecond.graph import Sample
from edgecond.labels import distinct_offsets
from edgecond.network import Network
from edgecond.pyramid import cloud_pyramid, levels_of
from edgecond.recipe import Recipe
from edgecond.samples import Batches, Builder
from edgecond.training import Schedule, Step, Training

SAVE_EVERY = 60.0  # seconds between checkpoints within a run
Observer = Callable[[Step, int, int], bool]  # step, batches per epoch, epochs -> whether to go on


class Interrupted(Exception):
    """A run was asked to stop; it is saved and can be taken up again."""


class _Positions(Dataset[Sample]):
    """The batches of all epochs as a dataset, which a loader's workers can build."""

    def __init__(self, batches: Batches) -> None:
        self.batches = batches

    def __getitem__(self, position: int) -> Sample:
        return self.batches.batch(position // len(self.batches), position % len(self.batches))


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
            **ahead,  # type: ignore[arg-type]
        )
        return iter(loader)


def network_of(recipe: Recipe, example: Sample, seed: int) -> Network:
    """The recipe's network for samples like the example, its parameters drawn from the seed."""
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        return Network(
            recipe.network,
            example.x.shape[1],
            [graph.labels.width for graph in example.pyramid.graphs],
            hidden=recipe.hidden,
            identity=recipe.identity,
            degree_factor=recipe.degree_factor,
            dropout=recipe.dropout,
        )


def builder_of(recipe: Recipe, examples: Examples) -> Builder:
    """What makes samples of the recipe's clouds; a one-hot label has an element per offset of the first example."""
    levels = levels_of(recipe.network, recipe.input.resolution, recipe.input.radius, radius_scale=recipe.radius_scale)
    strided, known = recipe.network.strided, None
    if recipe.labels == "one-hot":
        known = distinct_offsets(cloud_pyramid([examples.clouds[0]], levels, strided=strided))
    return Builder(levels, recipe.labels, strided=strided, known=known)


def reproduce(
    recipe: Recipe,
    fold: int,
    seed: int,
    *,
    runs: Path,
    results: Path,
    epochs: int | None = None,
    workers: int = 1,
    observe: Observer = lambda step, batches, epochs: True,
) -> dict[str, Any]:
    """Train and test one fold of a row, and write its record.

    A run that was stopped is taken up where it stood. The network of the last epoch is tested, as in the paper.

    Args:
        recipe: The row.
        fold: The test fold, from 0.
        seed: Of everything random.
        runs: Directory of checkpoints and logs.
        results: Directory of records, `DATASET/ROW/foldK-seedS.json`.
        epochs: Instead of the paper's.
        workers: Processes that build batches ahead.
        observe: Called after every step; the run stops, saved, when it returns False.
    """
    train, test = datasets.load(recipe.dataset, fold, **recipe.options)
    builder = builder_of(recipe, train)
    change = None if recipe.augment == type(recipe.augment)() else partial(augment, **recipe.augment.model_dump())
    batches = Batches(train, builder, recipe.train.batch, change, seed=seed)
    network = network_of(recipe, batches.sample([0], 0), seed)
    schedule = Schedule(epochs or recipe.train.epochs, recipe.train.rate, recipe.train.drops)
    training = Training(network, schedule, seed)
    name = f"fold{fold}-seed{seed}"
    directory = runs / recipe.name / name
    settings = {"recipe": recipe.model_dump(mode="json", exclude={"paper"}, fallback=str), "data": train.digest}
    spent, history = _take_up(training, directory, settings)
    spent, history = _train(training, Ahead(batches, workers), directory, settings, spent, history, observe)
    record = {
        "row": recipe.name,
        "fold": fold,
        "seed": seed,
        "epochs": schedule.epochs,
        "metrics": {**_test(recipe, network, test, builder), "train_accuracy": history[-1]["accuracy"]},
        "paper": [claim.model_dump(exclude_none=True) for claim in recipe.paper],
        "seconds": round(spent, 1),
        "date": datetime.now(UTC).date().isoformat(),
        "data": train.digest,
        "recipe": hashlib.sha256(json.dumps(settings["recipe"], sort_keys=True).encode()).hexdigest()[:16],
        "threads": torch.get_num_threads(),
        "kernels": native.instruction_set(),
        "versions": {
            "python": platform.python_version(),
            **{package: version(package) for package in ("edgecond", "torch", "numpy", "scipy")},
        },
    }
    path = results / recipe.name / f"{name}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(record, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    return record


def _take_up(training: Training, directory: Path, settings: dict[str, Any]) -> tuple[float, list[dict[str, Any]]]:
    """Go on from the checkpoint of an earlier run with the same settings, if there is one."""
    path = directory / "checkpoint.safetensors"
    if not path.exists():
        return 0.0, []
    tensors, about = load_checkpoint(path)
    if about["settings"] != settings:
        return 0.0, []
    training.restore(tensors, about["position"])
    return about["seconds"], about["history"]


def _train(
    training: Training,
    batches: Ahead,
    directory: Path,
    settings: dict[str, Any],
    spent: float,
    history: list[dict[str, Any]],
    observe: Observer,
) -> tuple[float, list[dict[str, Any]]]:
    """Learn to the end of the schedule, saving from time to time; returns seconds and the figures of each epoch."""
    start, saved = time.monotonic() - spent, time.monotonic()
    sums = np.zeros(3)  # loss, hits and examples of the epoch so far

    def save() -> None:
        tensors, position = training.state()
        about = {"settings": settings, "position": position, "seconds": time.monotonic() - start, "history": history}
        save_checkpoint(directory / "checkpoint.safetensors", tensors, about)

    for step in training.steps(batches):
        sums += (step.loss * step.count, step.correct, step.count)
        if step.last:
            loss, accuracy = (sums[:2] / sums[2]).tolist()
            history.append({"epoch": step.epoch + 1, "loss": loss, "accuracy": accuracy, "rate": step.rate})
            sums[:] = 0
        go_on = observe(step, len(batches), training.schedule.epochs)
        if training.finished or not go_on or time.monotonic() - saved > SAVE_EVERY:
            save()
            saved = time.monotonic()
        if not go_on and not training.finished:
            raise Interrupted(f"stopped in epoch {step.epoch + 1}; saved in {directory}, the same command goes on.")
    return time.monotonic() - start, history


def _test(recipe: Recipe, network: Network, test: Examples, builder: Builder) -> dict[str, float]:
    """The figures of the last epoch's network on the test examples, in every orientation if the recipe has several."""
    looks = []
    for turn in range(recipe.orientations):
        change = partial(_turned, angle=2 * np.pi * turn / recipe.orientations) if turn else None
        batches = Batches(test, builder, recipe.train.batch, change, shuffle=False)
        scores, y = evaluation.predict(network, batches.epoch(0))
        looks.append(scores)
    classes = len(test.classes)
    every = np.concatenate([look.argmax(1) for look in looks])
    found = evaluation.metrics(np.tile(y, len(looks)), every, classes)
    if len(looks) > 1:
        voted = evaluation.metrics(y, evaluation.vote(looks), classes)
        found |= {f"{name}_votes": value for name, value in voted.items()}
    return found


def _turned(cloud: Any, rng: np.random.Generator, *, angle: float) -> Any:
    return rotated(cloud, angle)
