"""Read clouds of user data whose points have targets: a folder of files with a column of classes or of numbers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np
import torch

from edgecond.data.examples import PointExamples
from edgecond.data.folder import hidden, NONE, part_folders, survey, unread
from edgecond.data.formats import ENDINGS, read_points
from edgecond.data.parsed import ParsedClouds
from edgecond.data.points import to_cloud
from edgecond.errors import DataError
from edgecond.files import digest, path_text, Progress, walk
from edgecond.graph import Cloud

MOST_CLASSES = 256
"""A column with more values than a LAS file can number holds something else, such as the numbers of objects."""
MOST_NUMBER = 2**31 - 1
"""The largest number of a class, which must fit a property of a PLY file."""


@dataclass(frozen=True, eq=False)
class Segmented:
    """The contents of a folder.

    Attributes:
        examples: The clouds of the files that can be read. The name of a class is its number; numbers to predict have
            the name of their column.
        columns: Columns of the signal: those that all files have. Without any, the signal is the constant 1.
        left_out: Sentences about columns that only some files have.
        skipped: The files that cannot be read, each with the reason.
        has_classes: Whether the targets of points are classes; numbers otherwise.
        files: The file of each example.
        parts: See `folder.Folder`.
        unread: See `folder.Folder`.
    """

    examples: PointExamples
    columns: tuple[str, ...]
    left_out: list[str]
    skipped: list[tuple[Path, str]]
    has_classes: bool
    files: list[Path]
    parts: list[str]
    unread: list[str]


@dataclass(frozen=True, eq=False)
class SegmentedClouds:
    """Parsed clouds with the targets of their points: classes numbered from 0, or numbers.

    Attributes:
        parsed: The clouds, with targets as in the files.
        columns: Columns of the signal.
        values: The number of each class in the files, ascending; None where targets are numbers.
    """

    parsed: ParsedClouds
    columns: tuple[str, ...]
    values: tuple[int, ...] | None

    def __len__(self) -> int:
        return len(self.parsed)

    def __getitem__(self, index: int, /) -> Cloud:
        cloud = self.parsed.get(index, self.columns)
        assert cloud.y is not None
        y = cloud.y.numpy()
        if self.values is None:
            return replace(cloud, y=torch.from_numpy(y.astype(np.float32)[:, None]))
        known = y >= 0  # NaN is not
        return replace(cloud, y=torch.from_numpy(np.where(known, np.searchsorted(self.values, y), -1)))


def read(
    path: Path,
    column: str,
    *,
    numbers: bool = False,
    columns: Mapping[str, str] | None = None,
    up: str = "z",
    progress: Progress | None = None,
    others: Mapping[str, Path] = NONE,
) -> Segmented:
    """Read the clouds of a folder and of the folders in it, sorted by name.

    Every file is parsed once, as by `folder.read`. A mesh is read as the cloud of its vertices.

    Args:
        path: The folder.
        column: Column with the target of each point. Whole numbers are classes, negative or NaN where unknown, as in
            `classification` of LAS files; if a number has a fraction, all are numbers to predict, NaN where unknown.
        numbers: Whether targets are numbers to predict, even if all are whole.
        columns: See `folder.read`.
        up: See `folder.read`.
        progress: Called with the number of files that have been read and their total.
        others: More folders, by the part that they are.
    """
    entries = _listed(path)
    for part, other in others.items():
        if part == "test":
            entries = [(file, name, "train") for file, name, _ in entries]
        entries += [(file, f"{part}/{name}", part) for file, name, _ in _listed(other)]
    files = [file for file, _, _ in entries]
    read_file = partial(read_points, column=column, columns=columns, up=up)
    surveyed = survey(files, [name for _, name, _ in entries], read_file, to_cloud, progress=progress)
    if not surveyed.readable:
        raise DataError(
            f"{path} must hold a file that can be read: none of its {len(files)} files can. "
            f"The first reason: {surveyed.skipped[0][1]}"
        )
    has_classes = surveyed.targets.whole and not numbers
    values = tuple(sorted(surveyed.targets.classes))
    if has_classes and max(values, default=0) > MOST_NUMBER:
        raise DataError(f"the classes in the column {column!r} must be at most {MOST_NUMBER}: found {max(values)}.")
    if has_classes and not 2 <= len(values) <= MOST_CLASSES:
        raise DataError(
            f"the column {column!r} must have 2 to {MOST_CLASSES} classes, or numbers with a fraction: found "
            f"{len(values)} classes in the {len(surveyed.readable)} files of {path}."
        )
    clouds = SegmentedClouds(surveyed.clouds, surveyed.columns, values if has_classes else None)
    names = tuple(map(str, values)) if has_classes else (column,)
    examples = PointExamples(path.resolve().name, names, clouds, digest(surveyed.sums), list(surveyed.sums))
    kept = [entries[index] for index in surveyed.readable]
    parts = [part for _, _, part in kept]
    return Segmented(
        examples,
        surveyed.columns,
        surveyed.left_out,
        surveyed.skipped,
        has_classes,
        [file for file, _, _ in kept],
        parts if any(parts) else [],
        [sentence for each in (path, *others.values()) for sentence in unread(each, files)],
    )


def _listed(path: Path) -> list[tuple[Path, str, str]]:
    """Return the files of a folder and of the folders in it, sorted, with their names and parts."""
    if not path.is_dir():
        raise DataError(f"{path} must be a folder of clouds whose points have targets: it is not a folder.")
    files = [
        file
        for file in sorted(walk(path))
        if file.is_file()
        and file.suffix.lower() in ENDINGS
        and not any(hidden(Path(part)) for part in file.relative_to(path).parts)
    ]
    if not files:
        raise DataError(f"{path} must hold clouds, files that end in {', '.join(ENDINGS)}: found none.")
    folders = {} if any(file.parent == path for file in files) else part_folders(path)
    return [(file, path_text(name := file.relative_to(path)), folders.get(path / name.parts[0], "")) for file in files]
