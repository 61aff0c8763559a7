"""Clouds that do not fit into memory: points sorted by place in a temporary file, and tiles of them with a margin.

The ground plane has a grid of cells, and the points of a cell follow each other in the file. A tile is a rectangle of
cells, its core, and the cells within the margin around it. Tiles are halved until each takes as little memory as it
may.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import ceil
from pathlib import Path
from typing import NamedTuple, Self

import numpy as np
from jaxtyping import Float, Int

from edgecond.errors import DataError

MOST_CELLS = 1024
"""Number of cells along the longer side of a scan, at most."""

Rows = np.ndarray
"""Records of points: a structured array."""


class Cells:
    """The grid of cells over the ground plane.

    Args:
        low: Smallest coordinates of all points.
        high: Largest coordinates of all points.
        margin: Width of the margin of tiles; two cells or more are as wide, unless cells would be too many.
    """

    def __init__(self, low: Float[np.ndarray, " 3"], high: Float[np.ndarray, " 3"], margin: float) -> None:
        extent = high[:2] - low[:2]
        self.low = low[:2]
        self.width = max(margin / 2, float(extent.max()) / MOST_CELLS) or 1.0
        self.rings = ceil(margin / self.width)
        self.shape = tuple(int(side) for side in extent // self.width + 1)

    def of(self, positions: Float[np.ndarray, "n 3"]) -> Int[np.ndarray, " n"]:
        """Return the number of the cell of each point."""
        x, y = ((positions[:, :2] - self.low) // self.width).astype(np.int64).T
        return x * self.shape[1] + y


class CellFile:
    """Records of points, sorted by cell, in a temporary file that vanishes when it is closed.

    Args:
        directory: Directory of the file.
        counts: Number of points of each cell.
        kind: Type of the records.
    """

    def __init__(self, directory: Path, counts: Int[np.ndarray, " cells"], kind: np.dtype) -> None:
        self.kind = kind
        self.starts = np.concatenate([[0], np.cumsum(counts)])
        self._next = self.starts[:-1].copy()
        try:
            self._file = tempfile.TemporaryFile(dir=directory)  # noqa: SIM115 (closed by __exit__)
            os.truncate(self._file.fileno(), int(self.starts[-1]) * kind.itemsize)
        except OSError as error:
            raise _unwritable(directory, error) from error
        self._directory = directory

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def put(self, cells: Int[np.ndarray, " n"], rows: Rows) -> None:
        """Write points behind those that their cells have already."""
        order, runs = self._runs(cells)
        rows = rows[order]
        for at, start, stop in runs:
            self.write(at, rows[start:stop])

    def take(self, cells: Int[np.ndarray, " n"]) -> Rows:
        """Read the records of points in the order in which `put` wrote points of the same cells; see `rewind`."""
        order, runs = self._runs(cells)
        rows = np.empty(len(cells), self.kind)
        sorted_rows = np.concatenate([self.read(at, at + stop - start) for at, start, stop in runs])
        rows[order] = sorted_rows
        return rows

    def rewind(self) -> None:
        """Let `take` begin with the first points."""
        self._next = self.starts[:-1].copy()

    def read(self, start: int, stop: int) -> Rows:
        """Return the records from one place of the file to another."""
        size = self.kind.itemsize
        data = os.pread(self._file.fileno(), (stop - start) * size, start * size)
        while len(data) < (stop - start) * size:  # a system call reads 2 GiB at most
            data += os.pread(self._file.fileno(), (stop - start) * size - len(data), start * size + len(data))
        return np.frombuffer(data, self.kind)

    def write(self, start: int, rows: Rows) -> None:
        """Write records to a place of the file."""
        data, at = memoryview(rows.tobytes()), start * self.kind.itemsize
        try:
            while len(data):
                written = os.pwrite(self._file.fileno(), data, at)
                data, at = data[written:], at + written
        except OSError as error:
            raise _unwritable(self._directory, error) from error

    def _runs(self, cells: Int[np.ndarray, " n"]) -> tuple[Int[np.ndarray, " n"], list[tuple[int, int, int]]]:
        """Return the order of points by cell, and for each cell its place in the file and its range in that order."""
        order = np.argsort(cells, kind="stable")
        found, starts, counts = np.unique(cells[order], return_index=True, return_counts=True)
        at = self._next[found]
        self._next[found] += counts
        return order, list(zip(at.tolist(), starts.tolist(), (starts + counts).tolist(), strict=True))


def _unwritable(directory: Path, error: OSError) -> DataError:
    return DataError(
        f"{directory} must have space for a temporary copy of the points: {error.strerror or error}. "
        "Name another directory."
    )


class Rectangle(NamedTuple):
    """A range of cells along x and along y."""

    x0: int
    x1: int
    y0: int
    y1: int

    def halves(self) -> list[Rectangle]:
        """Return both halves, cut across the longer side, or nothing if there is a single cell."""
        x0, x1, y0, y1 = self
        if x1 - x0 >= y1 - y0:
            middle = (x0 + x1) // 2
            return [Rectangle(x0, middle, y0, y1), Rectangle(middle, x1, y0, y1)] if x1 - x0 > 1 else []
        middle = (y0 + y1) // 2
        return [Rectangle(x0, x1, y0, middle), Rectangle(x0, x1, middle, y1)]


@dataclass(frozen=True, eq=False)
class Tile:
    """Points of a tile.

    Attributes:
        rows: Their records, those of the margin among them.
        core: Range of `rows`, and place in the file, of each part of the core.
    """

    rows: Rows
    core: list[tuple[slice, int]]


def tiles(file: CellFile, cells: Cells, most: int, fits: Callable[[Rows], bool]) -> Iterator[Tile]:
    """Yield tiles whose cores cover all points once.

    Args:
        file: The points.
        cells: The grid of cells.
        most: Number of points of a tile, at most, unless a single cell with its margin has more.
        fits: Whether the points of a tile take as little memory as they may; it is halved otherwise.
    """
    nx, ny = cells.shape
    waiting = [Rectangle(0, nx, 0, ny)]
    while waiting:
        core = waiting.pop()
        spans = [_span(file, ny, x, core.y0, core.y1) for x in range(core.x0, core.x1)]
        if not any(stop - start for start, stop in spans):
            continue
        low, high = max(core.y0 - cells.rings, 0), min(core.y1 + cells.rings, ny)
        columns = range(max(core.x0 - cells.rings, 0), min(core.x1 + cells.rings, nx))
        wide = [_span(file, ny, x, low, high) for x in columns]
        smaller = core.halves()
        if smaller and sum(stop - start for start, stop in wide) > most:
            waiting += reversed(smaller)
            continue
        rows = np.concatenate([file.read(*span) for span in wide])
        if smaller and not fits(rows):
            waiting += reversed(smaller)
            continue
        yield Tile(rows, list(_parts(wide, dict(zip(range(core.x0, core.x1), spans, strict=True)), columns)))


def _span(file: CellFile, ny: int, x: int, y0: int, y1: int) -> tuple[int, int]:
    """Return the range of the file with the cells of a column."""
    return int(file.starts[x * ny + y0]), int(file.starts[x * ny + y1])


def _parts(
    wide: list[tuple[int, int]], core: dict[int, tuple[int, int]], columns: range
) -> Iterator[tuple[slice, int]]:
    """Yield the range among the points of a tile, and the place in the file, of each column of the core."""
    before = 0
    for x, (start, stop) in zip(columns, wide, strict=True):
        if x in core:
            first, last = core[x]
            if last > first:
                yield slice(before + first - start, before + last - start), first
        before += stop - start
