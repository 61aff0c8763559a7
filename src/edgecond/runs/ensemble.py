"""The training of a whole model: one network or an ensemble, and the calibration of what they predict."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from edgecond.data import datasets, MAX_SEED
from edgecond.data.kinds import LabelledExamples
from edgecond.errors import RecipeError
from edgecond.nn import parallel, tasks
from edgecond.runs import run
from edgecond.runs.model import FILE, Model
from edgecond.runs.recipe import Recipe, with_epochs
from edgecond.runs.run import Trained


def train(
    recipe: Recipe,
    fold: int = 0,
    seed: int = 0,
    *,
    directory: Path | None,
    epochs: int | None = None,
    parts: tuple[LabelledExamples, LabelledExamples] | None = None,
    calibration: LabelledExamples | None = None,
    compared: bool = False,
    **options: Any,
) -> Trained:
    """Train the networks of a recipe, one after the other, and calibrate the model; see `edgecond.runs.run.train`.

    Each network of an ensemble is a run with its own seed, `seed + k`, in its own directory `memberK`; all have the
    same training set. The calibration set is one that none of them has seen.

    Args:
        recipe: Data set, networks and settings.
        fold: The test fold, from 0.
        seed: Random seed, of the first network.
        directory: Directory of the runs and the model; none to keep nothing.
        epochs: Number of epochs instead of the recipe's.
        parts: Training set and test set instead of those that the recipe names.
        calibration: Calibration set instead of a random share of the training set.
        compared: Whether the model keeps embeddings of training examples, to compare new ones with.
        options: Other arguments of `edgecond.runs.run.train`.
    """
    recipe = with_epochs(recipe, epochs)
    if recipe.calibration:
        tasks.find(recipe.task).check_calibrates("calibration", recipe.calibration)
    if seed + recipe.ensemble - 1 > MAX_SEED:
        raise RecipeError(f"the seeds of an ensemble must be at most {MAX_SEED}: got {recipe.ensemble} from {seed}.")
    examples, test = parts or datasets.load(recipe.dataset, fold, **recipe.options)
    if recipe.calibration and calibration is None:
        examples, calibration = held_out(examples, recipe.calibration, seed)
    options |= {"parts": (examples, test)}
    trained = _runs(recipe, fold, seed, directory, options)
    model = _combined(recipe, [each.model for each in trained])
    if calibration is not None:
        model = model.calibrated(calibration)
        model.about["calibrated"] = len(calibration)
    if compared and len(examples) > 1 and not model.task.per_vertex:
        model = model.compared_with(examples, seed)
    first, seconds = trained[0], sum(each.seconds for each in trained)
    if directory is not None and parallel.rank() == 0 and model is not first.model:
        run.write_log(directory, first.history)
        model.save(directory / FILE)
    return Trained(model, test, first.history, seconds)


def _runs(recipe: Recipe, fold: int, seed: int, directory: Path | None, options: Mapping[str, Any]) -> list[Trained]:
    """Train each network in a run of its own."""
    if recipe.ensemble == 1:
        return [run.train(recipe, fold, seed, directory=directory, **options)]
    one, found = recipe.model_copy(update={"ensemble": 1}), []
    for k in range(recipe.ensemble):
        member = None if directory is None else directory / f"member{k}"
        found.append(run.train(one, fold, seed + k, directory=member, member=k, **options))
    return found


def _combined(recipe: Recipe, models: Sequence[Model]) -> Model:
    """Return the model of an ensemble, whose networks were trained on the same examples."""
    first, *others = models
    if not others:
        return first
    return replace(first, recipe=recipe, members=tuple(model.network for model in others))


def held_out(examples: LabelledExamples, share: float, seed: int) -> tuple[LabelledExamples, LabelledExamples]:
    """Split examples at random into those to train on and a share of them to calibrate with."""
    order = np.random.default_rng(seed).permutation(len(examples))
    count = round(share * len(examples))
    if not 0 < count < len(examples):
        raise RecipeError(
            f"a calibration set must have at least one example: got a share of {share:g} of {len(examples)}. "
            "Ask for a larger share, or leave calibration out."
        )
    return examples.take(sorted(order[count:].tolist())), examples.take(sorted(order[:count].tolist()))
