"""User data: what a path holds, how it is split, and a recipe with settings that fit it."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Int

from edgecond.data.formats.columns import number
from edgecond.data.kinds import (
    check_options,
    Kind,
    kind_of_path,
    LabelledExamples,
    leakage,
    METHODS,
    ReadOptions,
    Split,
    UserData,
)
from edgecond.data.splits import Split as Parts
from edgecond.errors import counted, DataError, RecipeError
from edgecond.files import digest, sha256
from edgecond.nn import tasks
from edgecond.nn.tasks import Task
from edgecond.runs.finetuning import Start
from edgecond.runs.recipe import find, Recipe, with_epochs, with_settings

CALIBRATION = 0.1
"""Share of the training set that calibrates an ensemble, unless another is asked for."""
Indices = Int[np.ndarray, " some"]


@dataclass(frozen=True, eq=False)
class Dataset:
    """User data, ready to train on.

    Attributes:
        recipe: Recipe with settings that fit the data.
        train: The training set.
        test: The test set.
        notes: What was found and what was chosen, in sentences.
        validation: The validation set, if one was asked for.
        parts: The numbers of the examples in each part.
        loaded: The data that were split.
        calibration: Examples of the training set that calibrate the model instead, if the recipe holds some out.
    """

    recipe: Recipe
    train: LabelledExamples
    test: LabelledExamples
    notes: tuple[str, ...]
    validation: LabelledExamples | None
    parts: Parts
    loaded: Loaded
    calibration: LabelledExamples | None = None

    @property
    def everything(self) -> LabelledExamples:
        """All examples."""
        return self.loaded.data.examples

    @property
    def places(self) -> list[dict[str, Any]]:
        """Where each test example is from."""
        return [self.loaded.data.places[index] for index in self.parts.test.tolist()]

    @property
    def split_digest(self) -> str:
        """Digest of the split."""
        return digest({str(part): sha256(numbers.astype("<i8").tobytes()) for part, numbers in enumerate(self.parts)})

    @cached_property
    def leakage(self) -> tuple[str, ...]:
        """Sentences about test and validation examples that are in the training set, too, or nearly so."""
        kind = self.loaded.kind
        return tuple(leakage.notes(self.parts, self.loaded.keys, kind.name, kind.equality, self.loaded.fingerprints))


@dataclass(frozen=True, eq=False)
class Loaded:
    """User data that were read and are not split yet.

    Attributes:
        path: Where they are.
        kind: Their kind.
        data: The examples.
        task: The task that fits the targets.
    """

    path: Path
    kind: Kind
    data: UserData
    task: type[Task]

    @cached_property
    def keys(self) -> Sequence[Hashable]:
        """What equal examples have in common."""
        return self.kind.keys(self.data.examples)

    @cached_property
    def fingerprints(self) -> Sequence[Any] | None:
        """What near-duplicates are found by, if they are looked for."""
        return self.kind.fingerprints(self.data.examples)

    def starting_from(self, start: Start) -> Loaded:
        """Return the data with the vocabulary of a model to start from, extended by theirs."""
        start.check_kind(self.kind)
        return replace(self, data=replace(self.data, examples=start.extended(self.data.examples)))

    def split(self, split: Split, *, epochs: int | None = None, settings: Mapping[str, Any] | None = None) -> Dataset:
        """Split the data and derive a recipe; see `read`."""
        if "options" in (settings or {}):
            raise RecipeError("options follow from the data and cannot be set. Leave them out.")
        data, kind, every = self.data, self.kind, self.data.examples
        strata = self.task.strata(every.ys.numpy())
        parts, split_notes = kind.split(data, split, strata)
        if not len(parts.train) or not len(parts.test):
            raise DataError(
                f"{self.path} must be split into a training set and a test set: got {len(parts.train)} and "
                f"{len(parts.test)} examples. Choose another split."
            )
        recipe = recipe_for(kind, self.task, data)
        notes = [*data.notes, kind.settings_note(recipe.dotted()), f"task: {self.task.name}", *split_notes]
        recipe = with_settings(with_epochs(recipe, epochs), settings or {})
        if recipe.ensemble > 1 and self.task.calibrates and "calibration" not in (settings or {}):
            recipe = with_settings(recipe, {"calibration": CALIBRATION})
        sizes = {name: len(part) for name, part in zip(("training", "validation", "test"), parts, strict=True)}
        if not sizes["validation"]:
            if split.share:
                raise DataError(
                    f"{self.path} must have an example for the validation set: a share of {split.share:g} of "
                    f"{sizes['training']} training examples has none. Ask for a larger share."
                )
            del sizes["validation"]
        counts = ", ".join(counted(size, f"{name} example") for name, size in sizes.items())
        calibration = None
        if recipe.calibration:
            held = self._calibration_set(split, parts.train, recipe.calibration)
            calibration = every.take(held.tolist())
            counts += f"; {len(held)} of the first calibrate the model"
            parts = parts._replace(train=np.setdiff1d(parts.train, held))
        notes += [counts, *training_notes(recipe)]
        train, validation, test = (every.take(part.tolist()) for part in parts)
        kept = tuple(note for note in notes if note)
        return Dataset(recipe, train, test, kept, validation if len(validation) else None, parts, self, calibration)

    def everything(self, split: Split, share: float) -> tuple[LabelledExamples, LabelledExamples | None]:
        """Return all examples as a training set and, if a share of them is to calibrate a model, a calibration set.

        Args:
            split: How a test set would be chosen, and the calibration set is.
            share: Share of the examples in the calibration set.
        """
        every, numbers = self.data.examples, np.arange(len(self.data.examples))
        if not share:
            return every, None
        held = self._calibration_set(split, numbers, share)
        return every.take(np.setdiff1d(numbers, held).tolist()), every.take(held.tolist())

    def _calibration_set(self, split: Split, train: Indices, share: float) -> Indices:
        """Return the examples of a training set that calibrate a model instead, chosen as the test set is."""
        self.task.check_calibrates("calibration", share)
        strata = self.task.strata(self.data.examples.ys.numpy())
        held = self.kind.hold_out(self.data, split, strata, train, share)
        if not 0 < len(held) < len(train):
            raise DataError(
                f"a calibration set must have some of the {len(train)} training examples: a share of {share:g} has "
                f"{len(held)}. Ask for another share, or leave it out."
            )
        return held


def read(
    path: str | Path,
    *,
    epochs: int | None = None,
    settings: Mapping[str, Any] | None = None,
    split: str | Path | None = None,
    validation: str | Path | float | None = None,
    scaffold: bool = False,
    **options: Any,
) -> Dataset:
    """Read user data, split them, and derive a recipe.

    Args:
        path: A folder with a sub-folder of clouds or meshes per class; a CSV file of SMILES; a folder or zip of TU
            files; or a .safetensors file with the tensors of a PyG batch.
        epochs: Number of epochs instead of the one that fits the data.
        settings: Other settings by their dotted names, instead of those that fit the data.
        split: How to split the data, one of `METHODS`, or a CSV file with the part of each example.
        validation: Data to validate on, or the share of the training set to take for it.
        scaffold: Whether to split by scaffold; short for `split="scaffold"`.
        options: How to read and split the data: the fields of `ReadOptions` and of `Split`.
    """
    chosen = {name: options.pop(name) for name in [field.name for field in fields(Split)] if name in options}
    if "test" in chosen and chosen["test"] is not None:
        chosen["test"] = Path(chosen["test"])
    how = split_of("scaffold" if scaffold and split is None else split, validation, **chosen)
    return load(Path(path), ReadOptions(**options), how).split(how, epochs=epochs, settings=settings)


def split_of(split: str | Path | None, validation: str | Path | float | None, **fields: Any) -> Split:
    """Return the split that options ask for.

    Args:
        split: One of `METHODS`, or a CSV file with the part of each example.
        validation: A path, or a share between 0 and 1 as a number or a text.
        fields: Other fields of `Split`.
    """
    chosen = Split(**fields)
    if split is not None and str(split) not in METHODS and (isinstance(split, Path) or Path(split).exists()):
        chosen = replace(chosen, file=Path(split))
    elif split is not None:
        chosen = replace(chosen, method=str(split))
    if validation is None:
        return chosen
    try:
        share = float(validation)  # type: ignore[arg-type]  # a path is no number
    except (TypeError, ValueError):
        return replace(chosen, validation=Path(str(validation)))
    if not 0 < share < 1:
        raise DataError(
            f"a validation set must be a file or a share of the training set between 0 and 1, as 0.1: got {validation}."
        )
    return replace(chosen, share=share)


def load(path: Path, options: ReadOptions, split: Split) -> Loaded:
    """Read user data, and the data of the same kind that a split names beside them."""
    kind = kind_of_path(path, options)
    check_options(kind, path, options)
    for part, other in split.files.items():
        if (found := kind_of_path(other, options)) != kind:
            raise DataError(f"--{part} must be {kind.name}, as {path} is: {other} holds {found.name}.")
    data = kind.read(path, options, split.files)
    task = _task(data, path, kind)
    try:
        task.check_targets(data.examples.ys, data.examples.classes)
    except ValueError as error:
        raise DataError(f"{path} {error}") from error
    return Loaded(path, kind, data, task)


def training_notes(recipe: Recipe) -> list[str]:
    """Return how a recipe trains, in sentences."""
    several = f"ensemble of {recipe.ensemble} networks: " if recipe.ensemble > 1 else "network: "
    notes = [f"{several}{recipe.network}", *recipe.train.description.splitlines()]
    return [*notes, "rare classes count as much as frequent ones"] if recipe.balanced else notes


def recipe_for(kind: Kind, task: type[Task], data: UserData) -> Recipe:
    """Return the recipe that fits some data: the settings of the row `kind.base`, in the units of the data."""
    row, examples = find(kind.base), data.examples
    base = row.model_copy(
        update={
            "name": data.name,
            "paper": (),
            "folds": 1,
            "dataset": data.dataset,
            "options": data.options,
            "task": task.name,
        }
    )
    fitting = kind.settings(examples, row.dotted(), data.dataset, data.per_vertex)
    return with_settings(base, fitting | task.settings(examples.ys.numpy()))


def _task(data: UserData, path: Path, kind: Kind) -> type[Task]:
    """The task that fits the targets of the data."""
    task = tasks.for_targets(data.targets, data.per_vertex)
    if task is None:
        names = [
            f"{name} ({'classes' if classes else 'numbers'})"
            for name, classes in zip(data.examples.classes, data.targets, strict=False)
        ]
        raise DataError(
            f"{path} must have targets of one sort, all numbers or all yes and no, or a single one of several classes: "
            f"got {', '.join(names)}. Train a network for each sort{_or_numbers(data, kind)}."
        )
    return task


def _or_numbers(data: UserData, kind: Kind) -> str:
    """Return the other way out where targets are of several sorts, if all classes are numbers."""
    are_numbers = all(number(name) is not None for classes in data.targets for name in classes)
    return ", or predict numbers alone with --numbers" if are_numbers and "numbers" in kind.options else ""
