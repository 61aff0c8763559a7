"""Metrics of the default settings on molecules: `python -m benchmarks.molecules esol-random`; needs the data.

Each seed writes a record in results/molecules. With --validate a tenth of the training set replaces the test set, and
nothing is recorded: settings are compared in this way.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path
from typing import Any

from edgecond.data.splits import random_split
from edgecond.files import data_directory
from edgecond.paper.records import reproduce
from edgecond.runs import user_data
from edgecond.runs.recipe import parse_settings

ESOL = "measured log solubility in mols per litre"
TOX21 = ["NR-AR", "NR-AR-LBD", "NR-AhR", "NR-Aromatase", "NR-ER", "NR-ER-LBD", "NR-PPAR-gamma"]
TOX21 += ["SR-ARE", "SR-ATAD5", "SR-HSE", "SR-MMP", "SR-p53"]
TASKS: dict[str, tuple[str, dict[str, Any]]] = {
    "esol-random": ("delaney-processed.csv", {"target": [ESOL]}),
    "esol-scaffold": ("delaney-processed.csv", {"target": [ESOL], "scaffold": True}),
    "tox21-scaffold": ("tox21.csv", {"target": TOX21, "scaffold": True}),
}
"""File of MoleculeNet (Wu et al. 2018), and the options to read it with."""


def run(task: str, seed: int, settings: dict[str, Any], *, validate: bool) -> dict[str, float]:
    """Train as `edgecond train` does, and return the metrics."""
    file, options = TASKS[task]
    dataset = user_data.read(data_directory() / "moleculenet" / file, seed=seed, settings=settings, **options)
    parts, results = (dataset.train, dataset.test), Path("results")
    recipe = dataset.recipe.model_copy(update={"name": f"molecules/{task}"})
    with tempfile.TemporaryDirectory() as runs:
        if validate:
            train, _, validation = random_split(len(parts[0]), (0.9, 0.0, 0.1), seed=seed)
            parts, results = (parts[0].take(train.tolist()), parts[0].take(validation.tolist())), Path(runs)
        return reproduce(recipe, 0, seed, runs=Path(runs), results=results, parts=parts)["metrics"]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("task", choices=TASKS)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--validate", action="store_true")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE")
    given = parser.parse_args()
    for seed in range(given.seeds):
        metrics = run(given.task, seed, parse_settings(given.set), validate=given.validate)
        print(given.task, seed, given.set, {name: round(value, 3) for name, value in metrics.items()}, flush=True)
