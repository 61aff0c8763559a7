"""Compares training from scratch with training from a model, on a tenth of the data; needs the data sets.

    python -m benchmarks.finetuning --case freesolv --seeds 5

FreeSolv starts from a model of ESOL, and half of the classes of ModelNet10 from a model of the other half. Each seed
draws another tenth of the data to train on; the metric is that of the last epoch on the others. The training from
scratch takes all epochs of the default recipe; that from a model takes half and a quarter of them, and half of them
with all convolutions frozen.
results/benchmarks/finetuning.json has a record for each seed, and where there is one nothing is done.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from benchmarks.molecules import DATASETS
from benchmarks.records import circumstances, FINETUNING, read, write
from edgecond.data import datasets
from edgecond.data.examples import Examples
from edgecond.data.kinds import LabelledExamples, ReadOptions, Split
from edgecond.data.splits import stratified_share
from edgecond.files import data_directory
from edgecond.notation import C
from edgecond.runs import run, user_data
from edgecond.runs.finetuning import Start
from edgecond.runs.model import Model
from edgecond.runs.recipe import find, Recipe, with_epochs, with_settings

SHARE, PARTS = 0.1, {"half": 2, "quarter": 4}
POINTS, START_EPOCHS, VALIDATED = 256, 20, 500
"""ModelNet10: points per cloud, epochs of the model to start from, and clouds to validate on."""


@dataclass(frozen=True)
class Case:
    """A data set to train on, the recipe for a tenth of it, and the training of a model to start from."""

    metric: str
    start: Callable[[], Model]
    parts: Callable[[int], tuple[Recipe, LabelledExamples, LabelledExamples]]


def table(name: str) -> user_data.Loaded:
    """Return a table of molecules."""
    _, file, target, _ = DATASETS[name]
    return user_data.load(data_directory() / "moleculenet" / file, ReadOptions(target=target), Split())


def esol() -> Model:
    """Train on all of ESOL."""
    loaded = table("esol")
    recipe = user_data.recipe_for(loaded.kind, loaded.task, loaded.data)
    every = loaded.data.examples
    return run.train(recipe, directory=None, parts=(every, every)).model


def freesolv(seed: int) -> tuple[Recipe, LabelledExamples, LabelledExamples]:
    """Return a tenth of FreeSolv, the rest, and the recipe that fits the tenth."""
    loaded = table("freesolv")
    every = loaded.data.examples
    order = np.random.default_rng(seed).permutation(len(every)).tolist()
    count = round(SHARE * len(every))
    few, rest = every.take(order[:count]), every.take(order[count:])
    return user_data.recipe_for(loaded.kind, loaded.task, replace(loaded.data, examples=few)), few, rest


def half(second: bool) -> tuple[Recipe, Examples]:
    """Return the training shapes of half of the classes of ModelNet10, and the recipe for them."""
    shapes, _ = datasets.load("modelnet10", points=POINTS)
    numbers = range(5, 10) if second else range(5)
    chosen = np.flatnonzero(np.isin(shapes.ys.numpy(), numbers)).tolist()
    some = shapes.take(chosen)
    names = tuple(shapes.classes[number] for number in numbers)
    examples = Examples(some.name, names, some.clouds, some.ys - numbers[0], some.digest, some.names)
    network = str(find("plus/modelnet10").network).replace("FC(10)", "FC(5)")
    return with_settings(find("plus/modelnet10"), {"network": network, "options": {"points": POINTS}}), examples


def first_half() -> Model:
    """Train on the first five classes."""
    recipe, examples = half(second=False)
    return run.train(with_epochs(recipe, START_EPOCHS), directory=None, parts=(examples, examples)).model


def second_half(seed: int) -> tuple[Recipe, LabelledExamples, LabelledExamples]:
    """Return a tenth of the shapes of the other five classes, and some of the others."""
    recipe, examples = half(second=True)
    few = stratified_share(examples.ys.numpy(), SHARE, seed)
    rest = np.random.default_rng(seed).permutation(np.setdiff1d(np.arange(len(examples)), few))[:VALIDATED]
    return recipe, examples.take(few.tolist()), examples.take(rest.tolist())


CASES = {
    "freesolv": Case("rmse", esol, freesolv),
    "modelnet10": Case("accuracy", first_half, second_half),
}


def measured(case: Case, model: Model, seed: int) -> dict[str, Any]:
    """Train from scratch and from a model, and return the metrics."""
    recipe, train, rest = case.parts(seed)
    start, convolutions = Start(model), sum(isinstance(layer, C) for layer in recipe.network)
    epochs = recipe.train.epochs
    # The same network from scratch: only its weights and the units of its features differ.
    recipe = with_settings(recipe, start.settings(recipe.network.classes or 0))
    found: dict[str, Any] = {"seed": seed, "epochs": epochs, "examples": len(train), "validated": len(rest)}
    begun = time.process_time()

    def metric(epochs: int, start: Start | None) -> float:
        parts = (train, rest) if start is None else (start.extended(train), start.extended(rest))
        trained = run.train(recipe, 0, seed, directory=None, epochs=epochs, parts=parts, start=start)
        return trained.model.evaluate(parts[1], views=1)[case.metric]

    found["scratch"] = metric(epochs, None)
    found |= {name: metric(epochs // part, start) for name, part in PARTS.items()}
    found["frozen"] = metric(epochs // 2, Start(model, freeze=convolutions))
    return found | {"processor_seconds": round(time.process_time() - begun, 1)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--case", choices=CASES, action="append", help="all by default; may be repeated")
    parser.add_argument("--seeds", type=int, default=5, help="number of tenths of the data")
    parser.add_argument("--first", type=int, default=0, help="first random seed")
    parser.add_argument("--starts", type=Path, default=Path(tempfile.gettempdir()), help="where start models are kept")
    given = parser.parse_args()
    torch.set_num_threads(1)
    for name in given.case or CASES:
        file = given.starts / f"start-{name}.safetensors"
        if not file.exists():
            CASES[name].start().save(file)
        for seed in range(given.first, given.first + given.seeds):
            record = read(FINETUNING)
            known = record.get(name, [])
            if any(each["seed"] == seed for each in known):
                continue
            known.append(measured(CASES[name], Model.load(file), seed))
            print(name, json.dumps(known[-1]), flush=True)
            write(FINETUNING, {**circumstances(), **{case: record.get(case, []) for case in CASES}, name: known})


if __name__ == "__main__":
    main()
