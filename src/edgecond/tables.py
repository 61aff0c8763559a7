"""Paper and rerun side by side: the tables of Section 4 and the appendices from the records in results/."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from statistics import mean, stdev

from edgecond.recipe import Recipe, recipes


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
        """A number in per cent, with as many decimals as the paper gives its own; those of graphs have two."""
        decimals = 1 if round(self.paper, 3) == self.paper and self.recipe.input is not None else 2
        return f"{100 * number:.{decimals}f}"


def entries(table: int, results: Path) -> list[Entry]:
    """All numbers of a table that a recipe reruns, in the order of the recipes."""
    found = []
    for recipe in recipes().values():
        records = [json.loads(path.read_text("utf-8")) for path in sorted((results / recipe.name).glob("fold*.json"))]
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


def tables() -> list[int]:
    """The tables of the paper that recipes rerun."""
    return sorted({claim.table for recipe in recipes().values() for claim in recipe.paper if claim.table is not None})
