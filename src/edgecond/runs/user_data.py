"""User data: what a path holds, how it is split, and a recipe with settings that fit it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from edgecond.data.kinds import check_options, Kind, kind_of_path, LabelledExamples, ReadOptions, Split, UserData
from edgecond.errors import DataError, RecipeError
from edgecond.nn import tasks
from edgecond.nn.tasks import Task
from edgecond.runs.recipe import find, Recipe, with_epochs, with_settings


@dataclass(frozen=True, eq=False)
class Dataset:
    """User data, ready to train on.

    Attributes:
        recipe: Recipe with settings that fit the data.
        train: The training set.
        test: The test set.
        notes: What was found and what was chosen, in sentences.
    """

    recipe: Recipe
    train: LabelledExamples
    test: LabelledExamples
    notes: tuple[str, ...]


def read(
    path: str | Path, *, epochs: int | None = None, settings: Mapping[str, Any] | None = None, **options: Any
) -> Dataset:
    """Read user data, split them, and derive a recipe.

    Args:
        path: A folder with a sub-folder of clouds or meshes per class; a CSV file of SMILES; a folder or zip of TU
            files; or a .safetensors file with the tensors of a PyG batch.
        epochs: Number of epochs instead of the one that fits the data.
        settings: Other settings by their dotted names, instead of those that fit the data.
        options: How to read and split the data: the fields of `ReadOptions` and of `Split`.
    """
    split = {name: options.pop(name) for name in [field.name for field in fields(Split)] if name in options}
    return read_split(Path(path), ReadOptions(**options), Split(**split), epochs=epochs, settings=settings)


def read_split(
    path: Path,
    options: ReadOptions,
    split: Split,
    *,
    epochs: int | None = None,
    settings: Mapping[str, Any] | None = None,
) -> Dataset:
    """Read user data by given options and split; see `read`."""
    if "options" in (settings or {}):
        raise RecipeError("options follow from the data and cannot be set. Leave them out.")
    kind = kind_of_path(path, options)
    check_options(kind, path, options)
    data = kind.read(path, options)
    task = _task(data, path)
    try:
        task.check_targets(data.examples.ys, data.examples.classes)
    except ValueError as error:
        raise DataError(f"{path} {error}") from error
    train, test = kind.split(data, split, task.strata(data.examples.ys.numpy()))
    if not len(train) or not len(test):
        raise DataError(
            f"{path} must be split into a training set and a test set: got {len(train)} and {len(test)} examples. "
            "Choose another split."
        )
    recipe = recipe_for(kind, task, data)
    notes = [*data.notes, kind.settings_note(recipe.dotted()), f"task: {task.name}"]
    recipe = with_settings(with_epochs(recipe, epochs), settings or {})
    notes += [f"{len(train)} training examples, {len(test)} test examples", *training_notes(recipe)]
    return Dataset(
        recipe, data.examples.take(train.tolist()), data.examples.take(test.tolist()), tuple(filter(None, notes))
    )


def training_notes(recipe: Recipe) -> list[str]:
    """Return how a recipe trains, in sentences."""
    notes = [f"network: {recipe.network}", recipe.train.description]
    return [*notes, "rare classes count as much as frequent ones"] if recipe.balanced else notes


def recipe_for(kind: Kind, task: type[Task], data: UserData) -> Recipe:
    """Return the recipe that fits some data: the settings of a row of the paper, in the units of the data."""
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


def _task(data: UserData, path: Path) -> type[Task]:
    """The task that fits the targets of the data."""
    task = tasks.for_targets(data.targets, data.per_vertex)
    if task is None:
        names = [
            f"{name} ({'classes' if classes else 'numbers'})"
            for name, classes in zip(data.examples.classes, data.targets, strict=False)
        ]
        raise DataError(
            f"{path} must have targets of one sort, all numbers or all yes and no, or a single one of several classes: "
            f"got {', '.join(names)}. Train a network for each sort."
        )
    return task
