"""How user data are split: given parts, a method for the other examples, and a share of the training set."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence, Sized
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import ClassVar

import numpy as np
from jaxtyping import Float, Int
from numpy.typing import NDArray

from edgecond.data import splits
from edgecond.data.formats.columns import number, read_csv
from edgecond.data.splits import EMPTY, group_folds, group_split, latest, PARTS, stratified_folds, stratified_share
from edgecond.errors import DataError, did_you_mean, listed

FOLDS = 5
"""Number of folds, one of which is the test set, unless another number is asked for."""
RARE = 0.1
"""Share of the molecules in the test set of a scaffold split (MoleculeNet)."""
Indices = Int[np.ndarray, " some"]


@dataclass(frozen=True)
class Split:
    """How examples are split into a training set, a validation set and a test set.

    Attributes:
        folds: Number of folds; none for a single test set.
        fold: The fold to test on.
        seed: Random seed of the split.
        method: One of `METHODS`; none for the parts that the data have, or else by group, by time or at random.
        file: A table with the part of each example; see `listed_parts`.
        test: The test set, data of the same kind.
        validation: The validation set, data of the same kind.
        share: Share of the training set that becomes the validation set.
    """

    folds: int | None = None
    fold: int = 0
    seed: int = 0
    method: str | None = None
    file: Path | None = None
    test: Path | None = None
    validation: Path | None = None
    share: float = 0.0

    def __post_init__(self) -> None:
        if self.folds is not None and self.folds < 2:
            raise DataError(f"folds must be at least 2: got {self.folds}.")
        if not 0 <= self.fold < (self.folds or FOLDS):
            raise DataError(f"folds are numbered from 0 to {(self.folds or FOLDS) - 1}: got {self.fold}.")
        if self.method is not None and self.method not in METHODS:
            raise DataError(
                f"a split must be one of {', '.join(METHODS)}, or a CSV file with the part of each example: "
                f"got {self.method!r}.{did_you_mean(self.method, METHODS, list_known=False)}"
            )
        if not 0 <= self.share < 1:
            raise DataError(f"the share of the validation set must be between 0 and 1, as 0.1: got {self.share}.")
        if self.share and self.validation is not None:
            raise DataError("a validation set is a file or a share of the training set: got both. Leave one out.")
        if self.file is not None and (self.files or self.method is not None):
            raise DataError(
                f"{self.file} lists the parts of all examples, and no other split can be added. Leave one out."
            )

    @property
    def files(self) -> dict[str, Path]:
        """Other data to read, by the part that they are."""
        return {part: path for part in ("test", "validation") if (path := getattr(self, part)) is not None}


# Methods


@dataclass(frozen=True, eq=False)
class Method(ABC):
    """A way to choose test examples, and examples to validate on.

    Attributes:
        name: Its name.
        values: What it splits by, for each example: a class, a group or a time.
        seed: Random seed.
        classes: Names of the classes for messages.
    """

    name: ClassVar[str]
    values: NDArray
    seed: int
    classes: Sequence[str] = ()

    @abstractmethod
    def fold(self, folds: int | None, fold: int) -> Indices:
        """Return the test examples of a fold or, without a number of folds, of the single test set."""

    @abstractmethod
    def part(self, among: Indices, share: float) -> Indices:
        """Return a share of some examples, chosen in the same way."""

    def _check_single(self, folds: int | None, fold: int, otherwise: str = "") -> None:
        """Raise a `DataError` if folds are asked for and there is a single test set."""
        if folds is not None or fold:
            raise DataError(
                f"a {self.name} split has one test set, and no other folds: got {f'fold {fold}' if fold else 'folds'}. "
                f"Leave --folds and --fold out{otherwise and f', or {otherwise}'}."
            )


class Random(Method):
    """Classes are spread evenly, and a fifth is tested."""

    name: ClassVar[str] = "random"

    def fold(self, folds: int | None, fold: int) -> Indices:
        return stratified_folds(self.values, folds or FOLDS, self.seed, self.classes)[fold].test

    def part(self, among: Indices, share: float) -> Indices:
        return among[stratified_share(self.values[among], share, self.seed)]


class Group(Method):
    """Groups stay together, and a fifth is tested."""

    name: ClassVar[str] = "group"

    def fold(self, folds: int | None, fold: int) -> Indices:
        return group_folds(self.values.tolist(), folds or FOLDS)[fold]

    def part(self, among: Indices, share: float) -> Indices:
        return among[group_split(self.values[among].tolist(), (1 - share, 0.0, share), self.seed).test]


class Scaffold(Group):
    """Scaffolds stay together, and a tenth is tested, of the rarest ones."""

    name: ClassVar[str] = "scaffold"

    def fold(self, folds: int | None, fold: int) -> Indices:
        if folds is not None:
            return super().fold(folds, fold)
        self._check_single(folds, fold, "ask for --folds")
        return self.part(np.arange(len(self.values)), RARE)

    def part(self, among: Indices, share: float) -> Indices:
        return among[group_split(self.values[among].tolist(), (1 - share, 0.0, share)).test]


class ScaffoldBalanced(Group):
    """Scaffolds stay together, and a tenth is tested, of frequent and rare ones."""

    name: ClassVar[str] = "scaffold-balanced"

    def fold(self, folds: int | None, fold: int) -> Indices:
        self._check_single(folds, fold, "split by scaffold")
        return self.part(np.arange(len(self.values)), RARE)


class Time(Method):
    """The latest fifth is tested."""

    name: ClassVar[str] = "time"

    def fold(self, folds: int | None, fold: int) -> Indices:
        self._check_single(folds, fold)
        return latest(self.values, 1 / FOLDS)

    def part(self, among: Indices, share: float) -> Indices:
        return among[latest(self.values[among], share)]


METHODS: dict[str, type[Method]] = {method.name: method for method in (Random, Scaffold, ScaffoldBalanced, Group, Time)}


# Splits


def split_by(
    split: Split,
    parts: Sequence[str],
    values: Callable[[str], Sequence | NDArray],
    classes: Sequence[str],
) -> splits.Split:
    """Return the numbers of the training, validation and test examples.

    Args:
        split: How to split them.
        parts: The part of each example that is known, "train", "validation" or "test", and "" of each other.
        values: Function that returns what a method splits the examples by: the class, group or time of each.
        classes: Names of the classes for messages.
    """
    given = np.array(parts)
    free = np.flatnonzero(given == "")
    known = {part: np.flatnonzero(given == part) for part in ("train", "validation", "test")}
    test = EMPTY
    if split.method is not None and not len(free) and not split.share:
        raise DataError(f"the test set is given: a split by {split.method} has nothing to choose. Leave one out.")
    if not len(free) and (split.folds is not None or split.fold):
        raise DataError("folds need data that are not split yet: the test set is given. Leave --folds and --fold out.")
    kind = METHODS[split.method or Random.name]
    every = np.asarray(values(kind.name))
    if len(free):
        test = free[kind(every[free], split.seed, classes).fold(split.folds, split.fold)]
    train = np.union1d(known["train"], np.setdiff1d(free, test))
    validation = known["validation"]
    if split.share:
        if len(validation):
            raise DataError(
                f"a validation set is given or a share of the training set: the data have one of {len(validation)} "
                "examples. Leave --validation out."
            )
        validation = kind(every, split.seed, classes).part(train, split.share)
        train = np.setdiff1d(train, validation)
    return splits.Split(train, validation, np.union1d(known["test"], test))


def part_of(word: str, where: str) -> str:
    """Return the part that a word stands for."""
    if (part := PARTS.get(word.strip().lower())) is None:
        raise DataError(f"{where} must be train, validation (val, valid) or test: got {word[:60]!r}.")
    return part


def given_parts(first: Sequence[str], others: Mapping[str, Sized]) -> list[str]:
    """Return the part of each example that is given; none at all if no part is.

    Args:
        first: Part of each example of the data, "" where it is not given; with a test set, those are for training.
        others: More examples, by their part.
    """
    parts = [part or ("train" if "test" in others else "") for part in first]
    parts += [part for part, some in others.items() for _ in range(len(some))]
    return parts if any(parts) else []


def listed_parts(file: Path, column: str, places: Sequence[str]) -> tuple[list[str], list[str]]:
    """Read the part of each example from a table with a column of examples and a column `part`.

    Returns:
        The part of each example, and the entries of the table that are none of the examples.

    Args:
        file: A CSV file. `part` holds train, validation (val, valid) or test.
        column: The column that names the examples: `row`, `file` or `graph`.
        places: What it holds for each example.
    """
    table = read_csv(file)
    if table.uneven:
        raise DataError(f"{file}, row {table.uneven[0][0]}: {table.uneven[0][1]}")
    names, words = table.column(column), table.column("part")
    parts: dict[str, str] = {}
    for name, word, row in zip(names, words, table.numbers, strict=True):
        if name in parts:
            raise DataError(f"{file} must list each {column} once: {name[:60]} is in row {row} again.")
        parts[name] = part_of(word, f"{file}, row {row}: part")
    if missing := [place for place in places if place not in parts]:
        raise DataError(
            f"{file} must list every {column} of the data: {len(missing)} are not in it, as {missing[0]}. "
            "Add them, or remove them from the data."
        )
    known = set(places)
    return [parts[place] for place in places], [name for name in names if name not in known]


def times_of(texts: Sequence[str], rows: Sequence[int], where: str, *, comma: bool = False) -> Float[np.ndarray, " n"]:
    """Return times that can be compared: numbers such as years, or dates such as 2024-05-31, with or without a time.

    Args:
        texts: A field for each example.
        rows: Its row.
        where: The column, for messages.
        comma: Whether numbers may be written 3,14.
    """
    numbers = [number(text, comma=comma) for text in texts]
    are_numbers = [value is not None and np.isfinite(value) for value in numbers]
    if all(are_numbers):
        return np.array(numbers, np.float64)
    seconds = [_seconds(text) for text in texts]
    if None in seconds:
        mostly_numbers = 2 * sum(are_numbers) >= len(texts)
        odd = (are_numbers if mostly_numbers else [value is not None for value in seconds]).index(False)
        raise DataError(
            f"{where} must hold numbers, such as years, or dates as 2024-05-31: found {texts[odd][:60]!r} in row "
            f"{rows[odd]}."
        )
    return np.array(seconds, np.float64)


def _seconds(text: str) -> float | None:
    """Return the time of a date, in seconds since 1970, or None if it is not a date."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    utc = moment.utcoffset()
    clock = (moment.replace(tzinfo=None) - datetime(1970, 1, 1)).total_seconds()
    return clock - (utc.total_seconds() if utc else 0)


def unlisted_note(file: Path, extra: Sequence[str]) -> list[str]:
    """Return a sentence about entries of a table of parts that are none of the examples, if there are any."""
    return [f"{len(extra)} entries of {file} are not among the examples: {listed(extra, most=3)}"] if extra else []
