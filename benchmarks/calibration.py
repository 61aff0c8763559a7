"""Compares calibration sets of Sydney that share objects with the training set with ones that do not; needs the data.

    python -m benchmarks.calibration --jobs 2

Some objects of Sydney were scanned more than once, and no object is in two of its folds. For each test fold the row
plus/sydney is trained twice on two thirds of the training set and calibrated on the rest: on a whole fold, and on as
many objects at random. results/benchmarks/calibration.json has the weighted F1, the coverage of sets of classes for
90 % and the calibration error on the test fold.
"""

from __future__ import annotations

import argparse
import json
from concurrent.futures import ProcessPoolExecutor
from itertools import product
from multiprocessing import get_context
from typing import Any

import numpy as np
import torch

from benchmarks.records import CALIBRATION, circumstances, write
from edgecond.data import datasets
from edgecond.runs.ensemble import train
from edgecond.runs.recipe import find, with_settings

ROW = "plus/sydney"
HELD_OUT = ("fold", "random")
METRICS = ("f1_scores", "coverage", "calibration_error", "calibration_error_by_chance")


def measured(fold: int, held_out: str) -> dict[str, Any]:
    """Train on two thirds of the training set of a test fold, calibrate on the rest, and return the metrics."""
    torch.set_num_threads(1)
    recipe = find(ROW)
    examples, test = datasets.load(recipe.dataset, fold)
    _, other = datasets.load(recipe.dataset, (fold + 1) % recipe.folds)
    inside = np.isin(examples.names, other.names)
    if held_out == "random":
        inside = np.random.default_rng(fold).permutation(inside)
    parts = (examples.take(np.flatnonzero(~inside).tolist()), test)
    calibration = examples.take(np.flatnonzero(inside).tolist())
    share = len(calibration) / len(examples)
    trained = train(
        with_settings(recipe, {"calibration": share}), fold, directory=None, parts=parts, calibration=calibration
    )
    metrics = trained.metrics()
    sizes = {"training": len(parts[0]), "calibration": len(calibration), "test": len(test)}
    return {"fold": fold, "held_out": held_out, **sizes, **{name: metrics[name] for name in METRICS}}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jobs", type=int, default=1, help="number of processes, one thread each")
    given = parser.parse_args()
    runs = list(product(range(find(ROW).folds), HELD_OUT))
    with ProcessPoolExecutor(given.jobs, get_context("spawn")) as pool:
        found = list(pool.map(measured, *zip(*runs, strict=True)))
    for each in found:
        print(json.dumps(each))
    mean = {
        held_out: {
            name: float(np.mean([each[name] for each in found if each["held_out"] == held_out])) for name in METRICS
        }
        for held_out in HELD_OUT
    }
    write(CALIBRATION, {**circumstances(), "folds": found, "mean": mean})


if __name__ == "__main__":
    main()
