"""Metrics of settings on a validation part of a training set: `python -m benchmarks.choose plus/sydney --set ...`.

The settings of the rows `plus/...` and of user data are chosen by these metrics: the training set of a test fold is
split into five parts, classes spread evenly, and one of them validates. No test fold is read. Each run appends a line
to results/choices.jsonl.
"""

from __future__ import annotations

import argparse
import json
import time
from datetime import datetime, UTC
from pathlib import Path
from typing import Any

import numpy as np

from edgecond.data import datasets
from edgecond.data.splits import stratified_folds
from edgecond.nn import tasks
from edgecond.runs import user_data
from edgecond.runs.ensemble import train
from edgecond.runs.model import versions
from edgecond.runs.recipe import find, parse_settings, Recipe, with_settings

RECORD = Path("results/choices.jsonl")
PARTS = 5


def training_set(row: str, fold: int, **options: Any) -> tuple[Recipe, Any]:
    """Return a row, or the recipe for a file of user data, and the training set of a test fold."""
    if Path(row).exists():
        dataset = user_data.read(row, fold=fold, **options)
        return dataset.recipe, dataset.train
    recipe = find(row)
    return recipe, datasets.load(recipe.dataset, fold, **recipe.options)[0]


def measure(recipe: Recipe, examples: Any, part: int, seed: int) -> dict[str, float]:
    """Train on four parts of a training set, and return the metrics on the fifth."""
    ys = examples.ys.numpy()
    strata = tasks.find(recipe.task).strata(ys)
    if strata is None:
        strata = np.zeros(len(examples), np.int64)
    split = stratified_folds(strata, PARTS, seed=0)[part]
    parts = (examples.take(split.train.tolist()), examples.take(split.test.tolist()))
    return train(recipe, 0, seed, directory=None, parts=parts).metrics()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("row", help="a row of `edgecond list`, or a CSV of SMILES")
    parser.add_argument("--fold", type=int, default=0, help="test fold, which is left out")
    parser.add_argument("--parts", type=int, default=1, help="number of parts that validate, one after the other")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--target", action="append", default=[])
    parser.add_argument("--descriptors", action=argparse.BooleanOptionalAction, help="all of molecules, or none")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE")
    given = parser.parse_args()
    base, examples = training_set(given.row, given.fold, target=given.target, descriptors=given.descriptors)
    recipe = with_settings(base, parse_settings(given.set))
    for part in range(given.parts):
        begun = time.process_time()
        metrics = measure(recipe, examples, part, given.seed)
        line = {
            "row": Path(given.row).name if Path(given.row).exists() else given.row,
            "fold": given.fold,
            "part": part,
            "seed": given.seed,
            "settings": [*([] if given.descriptors is None else [f"descriptors={given.descriptors}"]), *given.set],
            "metrics": {name: round(value, 4) for name, value in metrics.items()},
            "seconds": round(time.process_time() - begun, 1),
            "date": datetime.now(UTC).date().isoformat(),
            "versions": versions(),
        }
        with RECORD.open("a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")
        print(json.dumps({name: line[name] for name in ("part", "settings", "metrics", "seconds")}), flush=True)
