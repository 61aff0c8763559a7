"""Compares the default settings with chemprop and a random forest on the same splits of molecules; needs the data.

    python -m benchmarks.molecules --method ours --case esol-random --seeds 5
    python -m benchmarks.molecules --method chemprop --chemprop ENVIRONMENT/bin/chemprop

Each case, method and seed writes a record, results/molecules/CASE/METHOD/fold0-seedS.json; where there is one already,
nothing is done. The seed is that of the split (80 % training, 10 % validation, 10 % test) and of the training. With
--validate the validation set replaces the test set, and nothing is recorded: settings are compared in this way.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, UTC
from functools import cached_property
from pathlib import Path
from typing import Any
from urllib.parse import quote

import torch
from jaxtyping import Float
from numpy import ndarray as Array

from benchmarks import peers
from benchmarks.processes import measured
from benchmarks.records import processor, ROOT
from edgecond.data.formats import smiles
from edgecond.data.kinds import kind_of_path, ReadOptions
from edgecond.data.splits import random_split, scaffold_split, Split
from edgecond.errors import DataError
from edgecond.files import data_directory, sha256, write_atomic
from edgecond.nn import tasks
from edgecond.paper.records import reproduce
from edgecond.runs import ensemble as ensembles
from edgecond.runs.baselines import BASELINES
from edgecond.runs.model import versions
from edgecond.runs.recipe import parse_settings, Recipe, with_settings
from edgecond.runs.sampling import kind_for, sample_settings
from edgecond.runs.user_data import recipe_for

RECORDS = ROOT / "results" / "molecules"
SEEDS, MEMBERS = 5, 5
FRACTIONS = (0.8, 0.1, 0.1)
TOX21 = ("NR-AR", "NR-AR-LBD", "NR-AhR", "NR-Aromatase", "NR-ER", "NR-ER-LBD", "NR-PPAR-gamma")
TOX21 += ("SR-ARE", "SR-ATAD5", "SR-HSE", "SR-MMP", "SR-p53")


@dataclass(frozen=True)
class Case:
    """A table of MoleculeNet (Wu et al. 2018) and the way it is split.

    Attributes:
        title: Name of the data set.
        file: Its file.
        target: Columns to predict.
        metric: The metric that is compared.
        scaffold: Whether molecules with the same scaffold stay together, instead of a split at random.
    """

    title: str
    file: str
    target: tuple[str, ...]
    metric: str
    scaffold: bool

    @property
    def path(self) -> Path:
        return data_directory() / "moleculenet" / self.file

    @cached_property
    def molecules(self) -> smiles.Molecules:
        return smiles.read(self.path, target=self.target)

    @property
    def classes(self) -> bool:
        """Whether the targets are 0 and 1."""
        return any(self.molecules.classes)

    def split(self, seed: int) -> Split:
        if self.scaffold:
            return scaffold_split(self.molecules.smiles, FRACTIONS, seed=seed)
        return random_split(len(self.molecules), FRACTIONS, seed=seed)

    def metrics(self, indices: Array, predictions: Float[Array, "n t"]) -> dict[str, float]:
        """Return the metrics of predictions for some molecules, computed as those of a model are."""
        task = tasks.for_targets(self.molecules.classes)
        assert task is not None
        y = self.molecules.targets[indices]
        return task.fit(torch.from_numpy(y), y.shape[1]).evaluate(y, predictions[None])


DATASETS = {
    "esol": ("ESOL", "delaney-processed.csv", ("measured log solubility in mols per litre",), "rmse"),
    "freesolv": ("FreeSolv", "SAMPL.csv", ("expt",), "rmse"),
    "tox21": ("Tox21", "tox21.csv", TOX21, "roc_auc"),
}
CASES = {
    f"{name}-{way}": Case(*dataset, scaffold=way == "scaffold")
    for name, dataset in DATASETS.items()
    for way in ("random", "scaffold")
}


# Methods: each returns the metrics on the test set, and what the record holds of its circumstances


def ours(case: Case, split: Split, seed: int, given: argparse.Namespace) -> dict[str, Any]:
    """Train one network with the default settings, which need no validation set."""
    recipe, (train, _, test) = _read(case, split, given)
    with tempfile.TemporaryDirectory() as folder:
        os.environ["EDGECOND_CACHE"] = folder  # what others have computed before must not save time
        places = {"runs": Path(folder, "runs"), "results": Path(folder, "results")}
        return reproduce(recipe, 0, seed, parts=(train, test), **places)


def ensemble(case: Case, split: Split, seed: int, given: argparse.Namespace) -> dict[str, Any]:
    """Train an ensemble of five networks that see all descriptors, calibrated by the validation set."""
    recipe, (train, validation, test) = _read(case, split, given, descriptors=True)
    recipe = with_settings(recipe, {"ensemble": MEMBERS})
    with tempfile.TemporaryDirectory() as folder:
        os.environ["EDGECOND_CACHE"] = folder
        trained = ensembles.train(recipe, 0, seed, directory=None, parts=(train, test), calibration=validation)
    return {"metrics": trained.metrics(), "versions": versions()}


def _read(case: Case, split: Split, given: argparse.Namespace, **options: Any) -> tuple[Recipe, list[Any]]:
    """Return the recipe for a table, and the training, validation and test set."""
    reading = ReadOptions(target=case.target, **options)
    kind = kind_of_path(case.path, reading)
    data = kind.read(case.path, reading)
    task = tasks.for_targets(data.targets, data.per_vertex)
    assert task is not None
    recipe = with_settings(recipe_for(kind, task, data), parse_settings(given.set))
    return recipe, [data.examples.take(part.tolist()) for part in split]


def chemprop(case: Case, split: Split, seed: int, given: argparse.Namespace) -> dict[str, Any]:
    """Train chemprop with its defaults."""
    if given.chemprop is None:
        raise DataError("chemprop must be installed in its own environment: name its command with --chemprop.")
    molecules, options = case.molecules, [f"--{option}" for option in given.set]
    predictions = peers.chemprop(
        given.chemprop, molecules.smiles, molecules.targets, split, classes=case.classes, seed=seed, options=options
    )
    return {"metrics": case.metrics(split.test, predictions), "versions": peers.chemprop_versions(given.chemprop)}


def forest(case: Case, split: Split, seed: int, given: argparse.Namespace) -> dict[str, Any]:
    """Fit random forests to fingerprints and descriptors."""
    if given.set:
        raise DataError(f"the forest has no settings: got {given.set[0]}. Leave --set out.")
    recipe, (train, _, test) = _read(case, split, given)
    baseline = BASELINES["forest"]
    kind, task = kind_for(recipe), tasks.find(recipe.task)
    metrics = baseline.measure(train, test, kind, task, seed, settings=sample_settings(recipe))
    return {"metrics": metrics, "versions": versions() | baseline.versions()}


METHODS: dict[str, Callable[[Case, Split, int, argparse.Namespace], dict[str, Any]]] = {
    "ours": ours,
    "ensemble": ensemble,
    "chemprop": chemprop,
    "forest": forest,
}


# Records


def run(name: str, method: str, seed: int, given: argparse.Namespace) -> dict[str, Any]:
    """Train and test a method on a split of a case, and return its record."""
    case = CASES[name]
    split = case.split(seed)
    if given.validate:
        split = split._replace(test=split.validation)
    result = measured(METHODS[method], case, split, seed, given)
    return {
        **result,
        "row": f"molecules/{name}/{method}",
        "fold": 0,
        "seed": seed,
        "date": datetime.now(UTC).date().isoformat(),
        "data": sha256(case.path),
        "split": split_digest(split),
        "sizes": [len(part) for part in split],
        "settings": given.set,
        "threads": 1,
        "processor": processor(),
    }


def split_digest(split: Split) -> str:
    """Return a checksum of a split: methods are compared only if theirs are equal."""
    return sha256(json.dumps([part.tolist() for part in split]).encode())


def record_path(folder: Path, name: str, method: str, seed: int, settings: list[str]) -> Path:
    """Return the file of a record; other settings than the defaults have a folder, as experiments have."""
    experiment = [quote(",".join(sorted(settings)), safe="=,+()[]{}")] if settings else []
    return folder.joinpath(name, method, *experiment, f"fold0-seed{seed}.json")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--method", choices=METHODS, action="append", help="all by default; may be repeated")
    parser.add_argument("--case", choices=CASES, action="append", help="all by default; may be repeated")
    parser.add_argument("--seeds", type=int, default=SEEDS, help="number of splits")
    parser.add_argument(
        "--set", action="append", default=[], metavar="NAME=VALUE", help="another setting of the method"
    )
    parser.add_argument("--chemprop", type=Path, metavar="PATH", help="the command of an environment with chemprop")
    parser.add_argument("--validate", action="store_true", help="test on the validation set, and record nothing")
    parser.add_argument("--restart", action="store_true", help="replace records")
    given = parser.parse_args()
    for name in given.case or CASES:
        for method in given.method or METHODS:
            for seed in range(given.seeds):
                path = record_path(RECORDS, name, method, seed, given.set)
                if path.exists() and not given.validate and not given.restart:
                    continue
                record = run(name, method, seed, given)
                if not given.validate:
                    write_atomic(path, (json.dumps(record, indent=1) + "\n").encode())
                metrics = {metric: round(value, 3) for metric, value in record["metrics"].items()}
                print(name, method, seed, *given.set, metrics, f"{record['processor_seconds']} s", flush=True)


if __name__ == "__main__":
    main()
