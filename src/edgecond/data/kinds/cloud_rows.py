"""Clouds in memory, or the paths of their files, read as those of the training set."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from edgecond.data.examples import Examples
from edgecond.data.formats import ENDINGS, Points, read_points
from edgecond.data.kinds.examples import Rows
from edgecond.data.points import Columns, labelled, points_of, to_cloud, unlabelled
from edgecond.errors import DataError
from edgecond.graph import Cloud


def _unchanged(cloud: Cloud) -> Cloud:
    return cloud


@dataclass(frozen=True)
class CloudReader:
    """Reads clouds from arrays, `Cloud`s and files.

    Attributes:
        columns: Names of the columns of the signal; none for a signal of 1 everywhere.
        width: Number of columns that arrays must have, x, y and z among them; none if the model was trained on files.
        layout: How the columns of files are named and which axis points up; see `read_points`.
        adapt: Changes a cloud to what those of the training set are, such as their size.
        others: Whether arrays may have other columns, which are left out.
    """

    columns: tuple[str, ...]
    width: int | None = None
    layout: Mapping[str, Any] = field(default_factory=dict)
    adapt: Callable[[Cloud], Cloud] = _unchanged
    others: bool = False

    @staticmethod
    def of(rows: Rows) -> CloudReader:
        """Return the reader of rows like these, which must have the same columns."""
        columns, widths = Columns(), dict[int, int]()  # first row of each width
        for number, row in enumerate(_with_paths(rows)):
            columns.add(points := _points(row, number))
            if not isinstance(row, PathLike):
                widths.setdefault(3 + len(points.names), number)
        if len(widths) > 1:
            (one, first), (other, second) = list(widths.items())[:2]
            raise DataError(
                f"clouds must have the same columns: row {first} of X has {one}, and row {second} has {other}."
            )
        return CloudReader(columns.names, next(iter(widths), None))

    @property
    def about(self) -> dict[str, Any]:
        return {"columns": list(self.columns), "width": self.width}

    def examples(self, rows: Rows, ys: NDArray[Any], names: Sequence[str]) -> Examples:
        return labelled(self._clouds(rows), torch.from_numpy(ys), names)

    def unlabelled(self, rows: Rows) -> Examples:
        return unlabelled(self._clouds(rows))

    def _clouds(self, rows: Rows) -> list[Cloud]:
        clouds = []
        for number, row in enumerate(_with_paths(rows)):
            points, width = _points(row, number, self.layout), self.width or 3 + len(self.columns)
            if not isinstance(row, PathLike) and 3 + len(points.names) != width and not self.others:
                raise DataError(
                    f"row {number} of X must have {width} columns, as in training: it has {3 + len(points.names)}."
                )
            if not isinstance(row, PathLike) and not self.width and self.columns:
                points = replace(points, names=self.columns)  # columns of arrays are those of the files, in their order
            clouds.append(self.adapt(to_cloud(points, self.columns, _source(row, number))))
        return clouds


def is_cloud(row: Any) -> bool:
    """Return whether a row is a cloud: a `Cloud`, the path of a file, or a table of numbers."""
    if isinstance(row, Cloud | PathLike):
        return True
    if isinstance(row, str):
        return row.lower().endswith(ENDINGS)
    if isinstance(row, Sequence) and not isinstance(row, bytes | str) and row:
        return np.ndim(row[0]) == 1
    return getattr(row, "ndim", None) == 2 and hasattr(row, "__array__")


def _with_paths(rows: Rows) -> Rows:
    """Return rows with paths in the place of their texts."""
    return [Path(row) if isinstance(row, str) else row for row in rows]


def _points(row: Any, number: int, layout: Mapping[str, Any] | None = None) -> Points:
    if isinstance(row, PathLike):
        return read_points(Path(row), **(layout or {}))
    if isinstance(row, Cloud):
        row = torch.cat([row.positions, row.signal], dim=1)
    if isinstance(row, Tensor):
        row = row.detach().cpu()
    return points_of(row, _source(row, number))


def _source(row: Any, number: int) -> object:
    return row if isinstance(row, PathLike) else f"row {number} of X"
