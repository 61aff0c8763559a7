"""Clouds of one's own whose points have classes: a folder of files with a column that tells them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np
import torch

from edgecond.data.examples import PointExamples
from edgecond.data.folder import hidden, survey
from edgecond.data.formats import ENDINGS, read_points
from edgecond.data.points import to_cloud
from edgecond.errors import DataError
from edgecond.files import digest, Progress
from edgecond.graph import Cloud

MOST_CLASSES = 256
"""A column of more kinds than a LAS file can number holds something else, as the numbers of objects."""


@dataclass(frozen=True, eq=False)
class Segmented:
    """What a folder holds.

    Attributes:
        examples: The clouds of the files that can be read, made on access. Classes are called by their numbers.
        columns: What the signal is: the columns that all of the files have, or none, and then it is the constant 1.
        skipped: The files that cannot be read, each with the reason, a sentence.
    """

    examples: PointExamples
    columns: tuple[str, ...]
    skipped: list[tuple[Path, str]]


@dataclass(frozen=True, eq=False)
class SegmentedClouds:
    """The clouds in some files with the classes of their points, each read when it is asked for.

    Attributes:
        paths: The files.
        columns: Of the signal.
        column: Of the classes.
        values: What the files call each class, ascending.
    """

    paths: Sequence[Path]
    columns: tuple[str, ...]
    column: str
    values: tuple[int, ...]

    def __len__(self) -> int:
        return len(self.paths)

    def __getitem__(self, index: int, /) -> Cloud:
        path = self.paths[index]
        points = read_points(path, column=self.column)
        assert points.y is not None
        known = (points.y < 0) | np.isin(points.y, self.values)
        if not known.all():
            raise DataError(f"{path} has the class {points.y[~known][0]}, which it had not when it was first read.")
        y = np.where(points.y < 0, -1, np.searchsorted(self.values, points.y))
        return replace(to_cloud(points, self.columns, path), y=torch.from_numpy(y))


def read(path: Path, column: str, *, progress: Progress | None = None) -> Segmented:
    """The clouds of a folder and of the folders in it, in the order of their names.

    Every file is read once, as by `folder.read`. A mesh is the cloud of its vertices.

    Args:
        path: The folder.
        column: Tells the class of each point, a whole number; one below 0, or none, is unknown. In LAS files,
            `classification`.
        progress: Told how many files of how many have been read.
    """
    if not path.is_dir():
        raise DataError(f"{path} must be a folder of clouds whose points have classes: it is none.")
    files = [
        file
        for file in sorted(path.rglob("*"))
        if file.is_file()
        and file.suffix.lower() in ENDINGS
        and not any(hidden(Path(part)) for part in file.relative_to(path).parts)
    ]
    if not files:
        raise DataError(f"{path} must hold clouds, files of the kinds {', '.join(ENDINGS)}: it holds none.")
    found = survey(files, path, partial(read_points, column=column), progress)
    if not found.readable:
        raise DataError(
            f"{path} must hold a file that can be read: of {len(files)} there is none, "
            f"and the first reason is that {found.skipped[0][1]}"
        )
    if not 2 <= len(found.values) <= MOST_CLASSES:
        raise DataError(
            f"the column {column!r} must tell apart 2 to {MOST_CLASSES} classes: in the {len(found.readable)} files of "
            f"{path} there are {len(found.values)}."
        )
    clouds = SegmentedClouds(found.readable, found.columns, column, found.values)
    classes = tuple(map(str, found.values))
    examples = PointExamples(path.resolve().name, classes, clouds, digest(found.sums), list(found.sums))
    return Segmented(examples, found.columns, found.skipped)
