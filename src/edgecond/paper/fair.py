"""The protocol of Errica et al. (A Fair Comparison of Graph Neural Networks for Graph Classification, ICLR 2020).

Ten outer folds, and in each a part of the training graphs that is held out for selection: the network with the highest
accuracy there is trained again on all training graphs and tested, three times. The paper's own protocol selects
nothing. With other settings the assessment is an experiment, which shows what a setting contributes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from statistics import mean, stdev
from typing import Any
from urllib.parse import unquote

from edgecond.data import MAX_SEED
from edgecond.errors import RecipeError
from edgecond.nn.tasks.combinations import combined_name, SCORES
from edgecond.paper.records import read_records, reproduce
from edgecond.runs.recipe import experiment, find, Recipe

FOLDS = 10
MOST_REPEATS = 100
"""Tests of a network that was selected with a seed, at most: as many seeds are for them alone."""
LARGEST_SEED = MAX_SEED // MOST_REPEATS - 1
ROWS = {
    "nci1": ("ecc", "identity"),
    "enzymes": ("ecc", "identity"),
    "dd": ("ecc", "degrees-sqrt", "identity"),
}
"""The networks to select from: rows of the paper's tables. Degrees are for graphs without edge labels (Appendix F), and
slow, as coarse labels are then more than one number: D&D has them, whose vertices have no attributes either."""
PLUS = {"plus": {}, "plus-identity": {"identity": True}, "plus-plain": {"identity": False}}
"""The networks of today to select from, as changes of the row `plus/DATASET`; one of them is that row."""
SIGNALS = {"enzymes": {"attributes": True, "standardised": True}}
"""Errica et al. give every network the 18 attributes of ENZYMES beside its 3 labels; the paper has the labels alone."""
NONE: Mapping[str, Any] = {}
SINGLE = "accuracy"
METRIC = combined_name(SINGLE, SCORES)
"""What selects and what is reported: the accuracy of scores averaged over the sparsifications of a graph, if there are
several."""
QUOTED = {
    "nci1": {"baseline": (69.8, 2.2), "GIN": (80.0, 1.4), "ECC": (76.2, 1.4)},
    "enzymes": {"baseline": (65.2, 6.4), "GIN": (59.6, 4.5), "ECC": (29.5, 8.2)},
    "dd": {"baseline": (78.4, 4.5), "GIN": (75.3, 2.9), "ECC": (72.6, 4.1)},
}
"""Mean accuracy and standard deviation over the folds, as Errica et al. report them. Their baseline does not see the
edges, and their ECC has neither edge labels nor sparsification."""
MODELS = tuple(QUOTED["nci1"])
"""What is quoted of each dataset, in the order of tables."""


def candidates(dataset: str, plus: bool = False, changes: Mapping[str, Any] = NONE) -> tuple[str, ...]:
    """Return the names of the networks to select from, rows of the paper or networks of today, each of them once."""
    different: list[dict[str, Any]] = []
    names = []
    for row in PLUS if plus else ROWS[dataset]:
        settings = candidate(dataset, row, "fair", changes=changes).settings() | {"name": ""}
        if settings not in different:
            different.append(settings)
            names.append(row)
    return tuple(names)


def candidate(dataset: str, row: str, split: str, name: str | None = None, changes: Mapping[str, Any] = NONE) -> Recipe:
    """Return a row of the paper, or a network of today, with the split and the signals of this protocol.

    Args:
        dataset: One of `QUOTED`.
        row: A row of the paper, or one of `PLUS`.
        split: The parts that it is trained and tested on: "fair-selection" or "fair".
        name: Name of the row `fair/DATASET/NAME` instead of `row`.
        changes: Other settings, of an experiment.
    """
    about = {"name": f"fair/{dataset}/{name or row}", "options": {"split": split}, "paper": ()}
    base = f"plus/{dataset}" if row in PLUS else f"{dataset}/{row}"
    return experiment(find(base).model_copy(update=about | SIGNALS.get(dataset, {}) | PLUS.get(row, {})), changes)


def assess(
    dataset: str,
    fold: int,
    seed: int,
    *,
    repeats: int,
    plus: bool = False,
    changes: Mapping[str, Any] = NONE,
    report: Callable[[str], None] = lambda text: None,
    **options: Any,
) -> dict[str, Any]:
    """Run one outer fold: select a network on the validation part, train it on all but the test part, and test it.

    Args:
        dataset: One of `QUOTED`.
        fold: The outer fold, from 0.
        seed: Random seed.
        repeats: Number of times that the selected network is trained and tested; see `seeds_of_tests`.
        plus: Whether to select from the networks of today instead of the paper's.
        changes: Other settings of all networks, of an experiment. If they make all networks equal, nothing is selected.
        report: Called with a line for each network that was validated.
        options: Options of `records.reproduce`. The records are those of the row `fair/DATASET/selected`, or of
            `fair/DATASET/plus-selected`, and those of an experiment are beside them.

    Returns:
        The record of the first test, with the mean metrics of all.
    """
    seeds, found = seeds_of_tests(seed, repeats), {}
    rows = candidates(dataset, plus, changes)
    for row in rows if len(rows) > 1 else ():
        record = reproduce(candidate(dataset, row, "fair-selection", changes=changes), fold, seed, **options)
        found[row] = accuracy(record["metrics"])
        report(f"{dataset} fold {fold} seed {seed}: {row} has a validation accuracy of {100 * found[row]:.1f} %")
    best = max(rows, key=lambda row: found.get(row, 0.0))  # the first of equals
    about = {"selected": best, "validation": found} | ({"changes": dict(changes)} if changes else {})
    recipe = candidate(dataset, best, "fair", _selected(plus), changes)
    tests = [reproduce(recipe, fold, each, about=about, **options) for each in seeds]
    metrics = {name: mean(test["metrics"][name] for test in tests) for name in tests[0]["metrics"]}
    return {**tests[0], "metrics": metrics}


def seeds_of_tests(seed: int, repeats: int) -> range:
    """Return the seeds to test a network with that was selected with a seed: no other seed has one of them.

    >>> [*seeds_of_tests(0, 3), *seeds_of_tests(1, 3)]
    [0, 1, 2, 100, 101, 102]
    """
    if repeats > MOST_REPEATS:
        raise RecipeError(
            f"a selected network must be tested at most {MOST_REPEATS} times with a seed: got {repeats}. "
            "Give more seeds instead."
        )
    if seed > LARGEST_SEED:
        raise RecipeError(
            f"the seed of a selection must be at most {LARGEST_SEED}, as its tests have seeds from {MOST_REPEATS} "
            f"times as much: got {seed}. Choose a smaller one."
        )
    return range(MOST_REPEATS * seed, MOST_REPEATS * seed + repeats)


def accuracy(metrics: Mapping[str, float]) -> float:
    """Return the accuracy of this protocol among the metrics of a record."""
    return metrics[METRIC] if METRIC in metrics else metrics[SINGLE]


def _selected(plus: bool) -> str:
    return "plus-selected" if plus else "selected"


@dataclass(frozen=True)
class Assessment:
    """The reruns of a data set, beside the quoted numbers.

    Attributes:
        dataset: Name of the data set, one of `QUOTED`.
        plus: Whether the networks are those of today.
        changes: Other settings, of an experiment, as NAME=VALUE,NAME=VALUE; nothing if it is none.
        folds: Accuracy of each outer fold that has records, the mean over its tests.
        selected: The network that was selected in each fold.
    """

    dataset: str
    plus: bool
    changes: str
    folds: tuple[float, ...]
    selected: tuple[str, ...]

    @property
    def network(self) -> str:
        """What was selected from: the paper's networks, or those of today."""
        networks = f"plus/{self.dataset}" if self.plus else f"{self.dataset}/ecc"
        return f"{networks} {self.changes}".rstrip()

    @property
    def rerun(self) -> str:
        """Mean and standard deviation over the folds, in per cent, or the number of folds so far."""
        if len(self.folds) < FOLDS:
            return f"{len(self.folds)} of {FOLDS} folds" if self.folds else "-"
        return f"{100 * mean(self.folds):.1f} ± {100 * stdev(self.folds):.1f}"

    @property
    def choices(self) -> str:
        """Number of folds in which each network was selected."""
        counts = {row: self.selected.count(row) for row in dict.fromkeys(self.selected)}
        return ", ".join(f"{row} {count}x" for row, count in counts.items())

    def quoted(self, model: str) -> str:
        """Return the numbers that Errica et al. report for a model, written like `rerun`."""
        return "{:.1f} ± {:.1f}".format(*QUOTED[self.dataset][model])


def assessments(results: Path) -> list[Assessment]:
    """Return the assessment of each data set, from the records: of the paper's networks, then of those of today.

    Experiments follow the networks whose settings they change.
    """
    found = []
    for dataset, plus in product(QUOTED, (False, True)):
        folder = results / "fair" / dataset / _selected(plus)
        for each in (folder, *sorted(folder.glob("*=*"))):
            records = read_records(each, SINGLE)
            tests = [[record for record in records if record.fold == fold] for fold in range(FOLDS)]
            folds = tuple(mean(accuracy(record.metrics) for record in fold) for fold in tests if fold)
            changes = "" if each is folder else unquote(each.name)
            selected = tuple(fold[0].selected for fold in tests if fold)
            found.append(Assessment(dataset, plus, changes, folds, selected))
    return found
