"""Paper and rerun side by side: the tables of Section 4 and the appendices from the records in results/."""

from __future__ import annotations

import json
from dataclasses import dataclass
from math import sqrt
from pathlib import Path
from statistics import mean, stdev
from typing import Any
from urllib.parse import unquote

from edgecond.runs.recipe import Recipe, recipes


@dataclass(frozen=True)
class Entry:
    """One number of a table: the paper's, and the mean over what has been rerun.

    Attributes:
        row: As the paper calls it.
        recipe: The row that reruns it.
        metric: Its name in the records.
        paper: The paper's number.
        folds: Mean over seeds of each rerun fold.
        seeds: How many seeds have records.
        epochs: Epochs of the records, smallest and largest.
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
        """The mean over folds; none if a fold is missing."""
        return mean(self.folds) if len(self.folds) == self.recipe.folds else None

    @property
    def spread(self) -> float | None:
        """The standard deviation over folds."""
        return stdev(self.folds) if len(self.folds) > 1 else None

    def written(self, number: float) -> str:
        """A number in per cent, with as many decimals as the paper's numbers of this row have."""
        return f"{100 * number:.{self.recipe.decimals}f}"


@dataclass(frozen=True)
class Comparison:
    """A row of the paper beside another one, or beside itself with other settings, on the folds and seeds of both.

    Attributes:
        recipe: The row.
        change: The other row, or the settings that differ, NAME=VALUE.
        metric: The figure.
        folds: Of each fold, the figure of the row and that of the change, means over seeds.
        paper: What the change gains in the paper, if it is there.
    """

    recipe: Recipe
    change: str
    metric: str
    folds: tuple[tuple[float, float], ...]
    paper: float | None = None

    @property
    def differences(self) -> list[float]:
        """What the change gains in each fold."""
        return [changed - plain for plain, changed in self.folds]

    @property
    def in_the_paper(self) -> str:
        """What the change gains there, in per cent."""
        return "" if self.paper is None else f"{100 * self.paper:+.1f}"

    @property
    def told(self) -> list[str]:
        """The row, the change, and the difference with its standard error over folds, in per cent."""
        if not self.folds:
            return ["-"] * 3
        gain = f"{100 * mean(self.differences):+.1f}"
        if len(self.folds) > 1:
            gain += f" ± {100 * stdev(self.differences) / sqrt(len(self.folds)):.1f}"
        return [*(f"{100 * mean(figures):.1f}" for figures in zip(*self.folds, strict=True)), gain]


def entries(table: int, results: Path) -> list[Entry]:
    """All numbers of a table that a recipe reruns, in the order of the recipes."""
    found = []
    for recipe in recipes().values():
        records = _records(results / recipe.name)
        for claim in recipe.paper:
            if claim.table != table:
                continue
            for metric, value in claim.metrics.items():
                folds = [
                    mean(record["metrics"][metric] for record in records if record["fold"] == fold)
                    for fold in sorted({record["fold"] for record in records})
                ]
                epochs = [record["epochs"] for record in records]
                seeds = len({record["seed"] for record in records})
                span = (min(epochs), max(epochs)) if epochs else None
                found.append(Entry(claim.row, recipe, metric, value, tuple(folds), seeds, span))
    return found


def experiments(results: Path) -> list[Comparison]:
    """All that `edgecond reproduce --set` has recorded, each beside its row, in the order of the recipes."""
    found = []
    for recipe in recipes().values():
        metric = next((metric for claim in recipe.paper for metric in claim.metrics), "accuracy")
        for folder in sorted((results / recipe.name).glob("*=*")):
            folds = _paired(results / recipe.name, folder, metric)
            found.append(Comparison(recipe, unquote(folder.name), metric, folds))
    return found


def gains(results: Path) -> list[Comparison]:
    """What the paper's changes to the plain network of a dataset gain, there and here, in the order of the recipes."""
    found, known = [], recipes()
    for recipe in known.values():
        plain = known[f"{recipe.name.split('/')[0]}/ecc"]
        numbers = {(claim.table, metric): number for claim in plain.paper for metric, number in claim.metrics.items()}
        for claim in recipe.paper if recipe != plain else ():
            for metric, number in claim.metrics.items():
                if (claim.table, metric) in numbers:
                    folds = _paired(results / plain.name, results / recipe.name, metric)
                    gain = number - numbers[claim.table, metric]
                    found.append(Comparison(plain, recipe.name, metric, folds, gain))
    return found


def _paired(plain: Path, changed: Path, metric: str) -> tuple[tuple[float, float], ...]:
    """The figures of two rows in each fold, means over the seeds that both have."""
    by_run = {(record["fold"], record["seed"]): record["metrics"][metric] for record in _records(plain)}
    pairs: dict[int, list[tuple[float, float]]] = {}
    for record in _records(changed):
        if (run := (record["fold"], record["seed"])) in by_run:
            pairs.setdefault(run[0], []).append((by_run[run], record["metrics"][metric]))
    return tuple((mean(a for a, _ in each), mean(b for _, b in each)) for _, each in sorted(pairs.items()))


def _records(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(path.read_text("utf-8")) for path in sorted(folder.glob("fold*.json"))]


def tables() -> list[int]:
    """The tables of the paper that recipes rerun."""
    return sorted({claim.table for recipe in recipes().values() for claim in recipe.paper if claim.table is not None})
