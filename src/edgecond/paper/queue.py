"""Folds of many rows in the order of their cost, and an estimate of the time that they take (Section 4)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from edgecond.paper.records import is_of, read_records
from edgecond.runs.recipe import Recipe


@dataclass(frozen=True)
class Task:
    """One fold of a row to train and test.

    Attributes:
        row: Name of the row, whose settings may be others in the recipe.
        recipe: The settings.
        fold: The test fold, from 0.
        seed: Random seed.
    """

    row: str
    recipe: Recipe
    fold: int
    seed: int

    def __str__(self) -> str:
        return f"{self.recipe.name} fold {self.fold} seed {self.seed}"


def tasks(
    rows: Iterable[tuple[str, Recipe]], folds: Sequence[int] | None = None, seeds: Sequence[int] = (0,)
) -> list[Task]:
    """Return all folds of some rows, the row that takes the shortest time first.

    Args:
        rows: Name and settings of each row.
        folds: The test folds; all by default.
        seeds: Random seeds.
    """
    found = [
        [Task(row, recipe, fold, seed) for seed in seeds for fold in (range(recipe.folds) if folds is None else folds)]
        for row, recipe in rows
    ]
    return [task for each in sorted(found, key=_minutes) for task in each]


def without_record(tasks: Iterable[Task], results: Path) -> list[Task]:
    """Return the tasks that have no record, or one of fewer epochs or of settings that the row no longer has."""
    recorded: dict[str, set[tuple[int, int]]] = {}
    left = []
    for task in tasks:
        name = task.recipe.name
        if name not in recorded:
            recorded[name] = {
                (record.fold, record.seed)
                for record in read_records(results / name)
                if record.epochs >= task.recipe.train.epochs and is_of(record, task.recipe, results)
            }
        if (task.fold, task.seed) not in recorded[name]:
            left.append(task)
    return left


@dataclass
class Estimate:
    """The time for the tasks that are left, by the speed of those that have ended.

    Attributes:
        jobs: Number of tasks that run at a time.
        expected: Minutes that the tasks so far were expected to take.
        taken: Minutes that they took.
    """

    jobs: int = 1
    expected: float = field(default=0.0, init=False)
    taken: float = field(default=0.0, init=False)

    def ended(self, task: Task, seconds: float) -> None:
        """Count a task that took some seconds."""
        self.expected += task.recipe.minutes
        self.taken += seconds / 60

    def minutes(self, left: Sequence[Task]) -> float:
        """Return the estimate for some tasks: their sum over the jobs, and at least that of the longest."""
        pace = self.taken / self.expected if self.expected else 1.0
        return pace * max(_minutes(left) / self.jobs, max((task.recipe.minutes for task in left), default=0.0))


def duration(minutes: float) -> str:
    """Return a duration in the unit in which it is read easily.

    >>> duration(0.2), duration(42.3), duration(95)
    ('12 s', '42 min', '1.6 h')
    """
    if minutes < 1:
        return f"{60 * minutes:.0f} s"
    return f"{minutes:.0f} min" if minutes < 90 else f"{minutes / 60:.1f} h"


def _minutes(tasks: Sequence[Task]) -> float:
    return sum(task.recipe.minutes for task in tasks)
