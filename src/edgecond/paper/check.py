"""What is published against the records: `edgecond table --check`.

A number in the prose of a page is traced by a comment at the end of its section or list item, a line per number:

    <!-- records
    83.1 nci1/ecc accuracy, seed 0
    2.6 error of mutag/ecc accuracy
    6.0 nci1/ecc over nci1/no-labels accuracy
    83.8 paper of nci1/ecc accuracy
    -->
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import sqrt
from pathlib import Path
from statistics import mean, stdev
from typing import Any, TypeVar
from urllib.parse import unquote

from edgecond.errors import DataError, EdgecondError
from edgecond.paper import baselines, fair
from edgecond.paper.figures import FOLDERS, ROBUSTNESS
from edgecond.paper.records import is_of, read_records
from edgecond.paper.tables import paired
from edgecond.runs.baselines import find as find_baseline
from edgecond.runs.recipe import experiment, find, parse_settings, Recipe, recipes

T = TypeVar("T")
PAGES = ("README.md", "docs/results.md", "docs/baselines.md", "docs/molecules.md", "results/README.md")
"""Pages that quote measured numbers: each decimal number in their prose has a source."""
OTHERS = {
    "molecules": "written by benchmarks.molecules, which has no rows",
    "models": "written by benchmarks.zoo, whose settings are in benchmarks/zoo.toml",
    "sydney/ecc-zero-biases": "F began with other biases, which is no setting",
}
"""Folders of records that have no recipe, and why."""

_NOT_PROSE = re.compile(
    r"```.*?```|<!-- written by .*?<!-- until here -->|`[^`\n]*`|\]\([^)]*\)|(?:Sections?|Python) \d+\.\d+", re.DOTALL
)
_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
_SEGMENT = re.compile(r"(?P<prose>.*?)(?:<!-- records\n(?P<sources>.*?)-->|(?=^#)|\Z)", re.DOTALL | re.MULTILINE)
_NUMBER = re.compile(r"(?<![\w.])\d+\.\d+(?![\w]|\.\d)")
_SOURCE = re.compile(
    r"(?P<number>\S+) (?:(?P<statistic>error|spread|distance|paper|quoted|runs|spread of runs) of )?"
    r"(?P<rows>\S+(?: and \S+)*)(?: over (?P<base>\S+))? (?P<metric>[\w=.]+)(?:, seed (?P<seed>\d+))?"
)


def findings(results: Path, root: Path, generated: Mapping[Path, str] | None = None) -> Iterator[str]:
    """Yield a sentence for each published number or record that does not fit.

    Args:
        results: Directory of records.
        root: Directory of the pages.
        generated: The text that each page with generated tables must have.
    """
    yield from _unlike_their_row(results)
    for path, text in (generated or {}).items():
        if path.read_text("utf-8") != text:
            yield f"{path.relative_to(root)} has tables that are not those of the records: write them again."
    for name in PAGES:
        if (root / name).is_file():
            yield from (f"{name}: {each}" for each in quoted((root / name).read_text("utf-8"), results))


def _unlike_their_row(results: Path) -> Iterator[str]:
    """Yield the records whose settings are not those of their row."""
    for folder in sorted({path.parent for path in results.rglob("fold*.json")}):
        name = folder.relative_to(results).as_posix()
        if any(name == other or name.startswith(f"{other}/") for other in OTHERS):
            continue
        for record in read_records(folder):
            try:
                if name.startswith(f"{baselines.FOLDER}/"):
                    _, method, row = name.split("/", 2)
                    fits = baselines.is_of(record, find_baseline(method), find(row))
                else:
                    fits = is_of(record, _recipe(name, record.selected), results)
            except EdgecondError:
                yield f"{folder} has records, and is neither a row nor an experiment."
                break
            if not fits:
                yield (
                    f"{folder}/fold{record.fold}-seed{record.seed}.json was measured with settings that its row no "
                    "longer has: run it again, or keep it as an experiment."
                )


def _recipe(name: str, selected: str) -> Recipe:
    """Return the settings that the records of a folder must have: of a row, an experiment or the fair protocol."""
    if name.startswith("fair/"):
        _, dataset, row, *changes = name.split("/")
        split = "fair" if selected else "fair-selection"
        return fair.candidate(dataset, selected or row, split, row, _changes(changes))
    measured, _, of_model = name.partition("/")
    dataset, row, *changes = (of_model if measured in FOLDERS else name).split("/")
    plain = find(f"{dataset}/{row}")
    return experiment(plain, _changes(changes))


def _changes(folders: Sequence[str]) -> dict[str, Any]:
    """Return the settings that the folder of an experiment names, if there is one."""
    return parse_settings([each for folder in folders for each in unquote(folder).split(",")])


@dataclass(frozen=True)
class Source:
    """Where a number in prose comes from.

    Attributes:
        number: The number as it is written.
        statistic: What it is: a mean by default, its standard error over folds, the paper's number, its distance from
            the mean in standard errors, the mean or spread of runs over all folds, or a quoted number.
        rows: The rows, several for runs.
        metric: Name of the metric, or of the quoted model.
        base: A row to subtract.
        seed: The only seed to use.
    """

    number: str
    statistic: str
    rows: tuple[str, ...]
    metric: str
    base: str | None = None
    seed: int | None = None

    @staticmethod
    def read(line: str) -> Source:
        """Read a line of a comment."""
        found = _SOURCE.fullmatch(line)
        if found is None:
            raise DataError(f"a source must be NUMBER [STATISTIC of] ROW [over ROW] METRIC[, seed S]: got {line!r}.")
        seed = None if found["seed"] is None else int(found["seed"])
        rows = tuple(found["rows"].split(" and "))
        return Source(found["number"], found["statistic"] or "mean", rows, found["metric"], found["base"], seed)

    def value(self, results: Path) -> float:
        """Compute the number, in per cent unless it counts standard errors."""
        return _STATISTICS[self.statistic](self, results)

    def folds(self, results: Path) -> Sequence[float]:
        """Return the metric in each fold, the mean over its seeds; differences where a row is subtracted."""
        row, *_ = self.rows
        if self.base is not None:
            return [one - other for other, one in _some(paired(results / self.base, results / row, self.metric), row)]
        by_fold: dict[int, list[float]] = {}
        for record in read_records(results / row, self.metric):
            if self.seed in (None, record.seed):
                by_fold.setdefault(record.fold, []).append(record.metrics[self.metric])
        known = recipes().get(baselines.row_of(row.removeprefix(f"{ROBUSTNESS}/")))
        if known is not None and len(by_fold) < known.folds:
            raise DataError(f"{row} has records of {len(by_fold)} of {known.folds} folds.")
        return _some([mean(values) for values in by_fold.values()], row)

    def runs(self, results: Path) -> Sequence[float]:
        """Return the mean over folds of each row and seed."""
        by_run: dict[tuple[str, int], list[float]] = {}
        for row in self.rows:
            for record in read_records(results / row, self.metric):
                by_run.setdefault((row, record.seed), []).append(record.metrics[self.metric])
        return _some([mean(values) for values in by_run.values()], ", ".join(self.rows))

    def paper(self) -> float:
        """Return the paper's number, or its difference from that of the other row."""
        own, base = (self._claim(row) if row else 0.0 for row in (self.rows[0], self.base))
        return own - base

    def _claim(self, row: str) -> float:
        numbers = [claim.metrics[self.metric] for claim in find(row).paper if self.metric in claim.metrics]
        return _some(numbers, f"the paper's {row}")[0]


def _some(values: Sequence[T], what: str) -> Sequence[T]:
    if not values:
        raise DataError(f"{what} has no record.")
    return values


def _error(folds: Sequence[float]) -> float:
    return stdev(folds) / sqrt(len(folds))


def _distance(source: Source, results: Path) -> float:
    folds = source.folds(results)
    return (source.paper() - mean(folds)) / _error(folds)


_STATISTICS: dict[str, Callable[[Source, Path], float]] = {
    "mean": lambda source, results: 100 * mean(source.folds(results)),
    "error": lambda source, results: 100 * _error(source.folds(results)),
    "spread": lambda source, results: 100 * stdev(source.folds(results)),
    "runs": lambda source, results: 100 * mean(source.runs(results)),
    "spread of runs": lambda source, results: 100 * stdev(source.runs(results)),
    "paper": lambda source, results: 100 * source.paper(),
    "distance": _distance,
    "quoted": lambda source, results: fair.QUOTED[source.rows[0]][source.metric][0],
}


def quoted(page: str, results: Path) -> Iterator[str]:
    """Yield what is wrong with the numbers in the prose of a page: one that differs from its source, or has none."""
    for segment in _SEGMENT.finditer(_NOT_PROSE.sub(" ", page)):
        prose = set(_NUMBER.findall(_COMMENT.sub("", segment["prose"])))
        lines = [line.strip() for line in (segment["sources"] or "").splitlines() if line.strip()]
        named = set()
        for line in lines:
            try:
                source = Source.read(line)
                named.add(source.number)
                decimals = len(source.number.partition(".")[2])
                if source.number != (found := f"{source.value(results):.{decimals}f}"):
                    yield f"{source.number} is {found} by its records ({line})."
            except (EdgecondError, KeyError) as error:
                yield f"{line}: {error}"
        yield from (f"{number} has no source: name its records in a comment." for number in sorted(prose - named))
        yield from (f"{number} has a source, but is not in the text." for number in sorted(named - prose))
