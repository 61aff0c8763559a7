"""Paper and rerun side by side: the tables of Section 4 and the appendices from the records in results/."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from math import sqrt
from pathlib import Path
from statistics import mean, stdev
from urllib.parse import unquote

from edgecond.nn.tasks.combinations import combined_name, SCORES, split_name
from edgecond.paper.records import read_records
from edgecond.runs.blocks import Record
from edgecond.runs.recipe import find, Recipe, recipes

TITLES = {
    1: "Sydney Urban Objects: F1, weighted by class frequency",
    2: "ModelNet: mean accuracy of classes and of instances",
    4: "Graph classification, 10 folds",
    5: "MNIST",
    6: "Edge labels on Sydney, F1",
    7: "Identity connections",
    8: "Vertex degrees in edge labels",
    9: "Learned normalisation by degree",
}
"""What each table of the paper is about."""
DATASETS = {
    "sydney": "Sydney",
    "modelnet10": "ModelNet10",
    "modelnet40": "ModelNet40",
    "mnist": "MNIST",
    "nci1": "NCI1",
    "nci109": "NCI109",
    "mutag": "MUTAG",
    "enzymes": "ENZYMES",
    "dd": "D&D",
}
"""Names of the data sets, in the order of the paper."""
METRICS = {
    "f1": "F1",
    "accuracy": "accuracy",
    "class_accuracy": "mean class accuracy",
    "train_accuracy": "training accuracy",
}
"""Names of the metrics of records."""
PLUS = "plus"
"""Family of the rows with the training practice of today."""


@dataclass(frozen=True)
class Entry:
    """One number of a table: the paper's, and that of the reruns.

    Attributes:
        row: Name of the row in the paper.
        recipe: The recipe that reruns it.
        metric: Name of the metric in records.
        paper: The paper's number.
        folds: Mean over seeds of each fold that has records.
        seeds: Number of seeds that have records.
        epochs: Smallest and largest number of epochs of the records.
    """

    row: str
    recipe: Recipe
    metric: str
    paper: float
    folds: tuple[float, ...]
    seeds: int
    epochs: tuple[int, int] | None

    @property
    def rerun(self) -> float | None:
        """Mean over folds; none if a fold is missing."""
        return mean(self.folds) if len(self.folds) == self.recipe.folds else None

    @property
    def spread(self) -> float | None:
        """Standard deviation over folds."""
        return stdev(self.folds) if len(self.folds) > 1 else None

    def written(self, number: float) -> str:
        """Return a number in per cent, with as many decimals as the paper's numbers of this data set have."""
        return f"{100 * number:.{_decimals(self.recipe.name.partition('/')[0])}f}"


@cache
def _decimals(dataset: str) -> int:
    """Return the number of decimals in per cent that the paper prints: as many as the number with the most has."""
    rows = [row for name, row in recipes().items() if name.startswith(f"{dataset}/")]
    numbers = [number for row in rows for claim in row.paper for number in claim.metrics.values()]
    return 1 if all(round(number, 3) == number for number in numbers) else 2


@dataclass(frozen=True)
class Comparison:
    """A row of the paper beside another row, or beside itself with other settings, on the folds and seeds of both.

    Attributes:
        recipe: The row.
        change: Name of the other row, or the settings that differ, NAME=VALUE.
        metric: Name of the metric.
        folds: Metric of the row and of the change in each fold, means over seeds.
        paper: Gain of the change in the paper, if the paper has it.
    """

    recipe: Recipe
    change: str
    metric: str
    folds: tuple[tuple[float, float], ...]
    paper: float | None = None

    @property
    def differences(self) -> list[float]:
        """Gain of the change in each fold."""
        return [changed - plain for plain, changed in self.folds]

    @property
    def in_the_paper(self) -> str:
        """Gain of the change in the paper, in per cent."""
        return "" if self.paper is None else f"{100 * self.paper:+.1f}"

    @property
    def cells(self) -> list[str]:
        """Metric of the row, of the change, and their difference with its standard error over folds, in per cent."""
        if not self.folds:
            return ["-"] * 3
        gain = f"{100 * mean(self.differences):+.1f}"
        if len(self.folds) > 1:
            gain += f" ± {100 * stdev(self.differences) / sqrt(len(self.folds)):.1f}"
        return [*(f"{100 * mean(metrics):.1f}" for metrics in zip(*self.folds, strict=True)), gain]


def entries(table: int, results: Path) -> list[Entry]:
    """Return all numbers of a table that a recipe reruns, in the order of the recipes."""
    found = []
    for recipe in recipes().values():
        claims = [claim for claim in recipe.paper if claim.table == table]
        records = read_records(results / recipe.name, *(metric for claim in claims for metric in claim.metrics))
        for claim in claims:
            found += [_entry(claim.row, recipe, metric, number, records) for metric, number in claim.metrics.items()]
    return found


def _entry(row: str, recipe: Recipe, metric: str, paper: float, records: Sequence[Record]) -> Entry:
    folds = [
        mean(record.metrics[metric] for record in records if record.fold == fold)
        for fold in sorted({record.fold for record in records})
    ]
    epochs = [record.epochs for record in records]
    seeds = len({record.seed for record in records})
    return Entry(row, recipe, metric, paper, tuple(folds), seeds, (min(epochs), max(epochs)) if epochs else None)


def plus(results: Path) -> list[Entry]:
    """Return the rows `plus/DATASET` beside the best number that the paper has for ECC on that data set."""
    found, known = [], recipes()
    for name, recipe in known.items():
        family, _, dataset = name.partition("/")
        if family != PLUS:
            continue
        records = read_records(results / name)
        for metric in _plus_metrics(recipe):
            claims = {
                number: claim.row
                for row in known.values()
                if row.name.startswith(f"{dataset}/")
                for claim in row.paper
                for claimed, number in claim.metrics.items()
                if split_name(claimed)[0] == split_name(metric)[0]
            }
            best = max(claims)
            found.append(_entry(claims[best], recipe, metric, best, records))
    return found


def _plus_metrics(recipe: Recipe) -> list[str]:
    """Return the metrics of a row `plus/DATASET`: the paper's, of mean scores where an example has several views."""
    combination = SCORES if max(recipe.orientations, recipe.sparsifications) > 1 else ""
    claimed = find(f"{recipe.name.partition('/')[2]}/ecc").paper[0].metrics
    return [combined_name(metric, combination) for metric in claimed if not metric.startswith("train_")]


def experiments(results: Path) -> list[Comparison]:
    """Return what `edgecond reproduce --set` recorded, each beside its row, in the order of the recipes."""
    found = []
    for recipe in recipes().values():
        for folder in sorted((results / recipe.name).glob("*=*")):
            if recipe.name.startswith(f"{PLUS}/"):
                metric = _plus_metrics(recipe)[0]
            else:
                metric = next((metric for claim in recipe.paper for metric in claim.metrics), "accuracy")
            folds = paired(results / recipe.name, folder, metric)
            found.append(Comparison(recipe, unquote(folder.name), metric, folds))
    return found


def gains(results: Path) -> list[Comparison]:
    """Return the gains of the paper's changes to the plain network, in the order of the recipes."""
    found, known = [], recipes()
    for recipe in known.values():
        plain = known.get(f"{recipe.name.split('/')[0]}/ecc", recipe)
        numbers = {(claim.table, metric): number for claim in plain.paper for metric, number in claim.metrics.items()}
        for claim in recipe.paper if recipe != plain else ():
            for metric, number in claim.metrics.items():
                if (claim.table, metric) in numbers:
                    folds = paired(results / plain.name, results / recipe.name, metric)
                    gain = number - numbers[claim.table, metric]
                    found.append(Comparison(plain, recipe.name, metric, folds, gain))
    return found


def paired(plain: Path, changed: Path, metric: str) -> tuple[tuple[float, float], ...]:
    """Return the metrics of two rows in each fold, means over the seeds that both have."""
    by_run = {(record.fold, record.seed): record.metrics[metric] for record in read_records(plain, metric)}
    pairs: dict[int, list[tuple[float, float]]] = {}
    for record in read_records(changed, metric):
        if (run := (record.fold, record.seed)) in by_run:
            pairs.setdefault(run[0], []).append((by_run[run], record.metrics[metric]))
    return tuple((mean(a for a, _ in each), mean(b for _, b in each)) for _, each in sorted(pairs.items()))


def tables() -> list[int]:
    """Return the numbers of the tables that recipes rerun."""
    return sorted({claim.table for recipe in recipes().values() for claim in recipe.paper if claim.table is not None})
