"""Point files with a prediction for each point: read some points at a time, and written again with the predictions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import BinaryIO, TypedDict

import numpy as np
from jaxtyping import Float

from edgecond.data.examples import checked_cloud
from edgecond.data.formats import arranged, las_copy, ply, Points, read_table, unreadable
from edgecond.data.formats.axes import arrange
from edgecond.data.formats.las_copy import Columns
from edgecond.data.formats.las_new import NewScan
from edgecond.data.formats.las_scan import LasScan
from edgecond.data.formats.surroundings import NAMES as COMPUTED
from edgecond.data.formats.surroundings import surroundings
from edgecond.data.formats.table import Table, usual
from edgecond.data.points import signal_of
from edgecond.errors import DataError
from edgecond.files import check_regular
from edgecond.graph import Cloud

FORMATS = ("las", "laz", "ply")
"""Formats that predictions are written in."""


class _Layout(TypedDict):
    columns: Mapping[str, str] | None
    up: str


class Scan:
    """The points of a file as those of clouds that a model takes.

    LAS and LAZ files are read some points at a time, again by each pass; of other formats all points are in memory.

    Args:
        path: The file.
        names: Names of the columns of the signal; none for a signal of 1 everywhere.
        columns: The file's name of each column to rename; see `read_points`.
        up: Axis that points up in the file; see `read_points`.

    Attributes:
        count: Number of points.
        record: Type of the records of points.
        unmeasured: See `Points`.
    """

    def __init__(
        self, path: Path, names: Sequence[str] = (), *, columns: Mapping[str, str] | None = None, up: str = "z"
    ) -> None:
        self.path, self._layout = path, _Layout(columns=columns, up=up)
        self._las: LasScan | None = None
        self._table: Table | None = None
        check_regular(path)
        if path.suffix.lower() in (".las", ".laz") and path.is_file():
            with unreadable(path):
                self._las = LasScan(path)
        else:
            self._table = read_table(path)
        first = next(self._points(), None)
        if first is None:
            raise DataError(f"{path} cannot be read: it must hold at least one point: it is empty.")
        chosen = {usual(ours): usual(theirs) for ours, theirs in (columns or {}).items()}
        self._computed = {
            name: chosen[name] for name in names if name not in first.names and chosen.get(name) in COMPUTED
        }
        self._names, self._stored = tuple(names), [name for name in names if name not in self._computed]
        self.count = self._las.count if self._las else len(first)
        self.unmeasured = first.unmeasured
        self.record = np.dtype([("position", "<f8", (3,)), ("signal", "<f4", (len(self._stored),))])

    def chunks(self) -> Iterator[np.ndarray]:
        """Yield records of the points, some at a time: positions and columns of the signal."""
        for points in self._points():
            rows = np.empty(len(points), self.record)
            rows["position"], rows["signal"] = points.positions, signal_of(points, self._stored, self.path)
            yield rows

    def positions(self, rows: np.ndarray, shift: Float[np.ndarray, " 3"] | None) -> Cloud:
        """Return records of points as a cloud without their signal; see `cloud`."""
        positions = rows["position"] if shift is None else rows["position"] - shift
        return checked_cloud(positions, np.ones((len(rows), 1)), self.path)

    def cloud(self, rows: np.ndarray, shift: Float[np.ndarray, " 3"] | None) -> Cloud:
        """Return records of points as a cloud.

        Args:
            rows: Some of the records that `chunks` yields.
            shift: What is subtracted from positions; see `points.centre`.
        """
        positions = rows["position"] if shift is None else rows["position"] - shift
        columns = dict(zip(self._stored, rows["signal"].T, strict=True))
        if self._computed:
            shapes = surroundings(rows["position"])
            columns |= {ours: shapes[theirs] for ours, theirs in self._computed.items()}
        signal = np.stack([columns[name] for name in self._names], 1) if self._names else np.ones((len(rows), 1))
        return checked_cloud(positions, signal, self.path)

    def write(
        self, file: BinaryIO, form: str, predicted: Iterable[Columns], classes: Mapping[int, str], extra: Sequence[str]
    ) -> None:
        """Write the file again with predictions.

        Args:
            file: The file to write, empty.
            form: One of `FORMATS`.
            predicted: The predicted columns of the points, as many at a time as `chunks` yields.
            classes: Name of each class by its number in the column `class`; none if there is no such column.
            extra: Names of the other predicted columns.
        """
        try:
            if form == "ply":
                self._write_ply(file, predicted, classes)
            else:
                source = self._las or NewScan(self._named(self._whole()))
                las_copy.write(source, file, predicted, compressed=form == "laz", classes=classes, extra=extra)
        except ValueError as error:
            raise DataError(f"{self.path} cannot be written as {form.upper()}: {error}.") from error

    def _write_ply(self, file: BinaryIO, predicted: Iterable[Columns], classes: Mapping[int, str]) -> None:
        comments = [f"class {number} is {name}" for number, name in classes.items() if name != str(number)]
        if self.path.suffix.lower() == ".ply":
            (columns,) = predicted
            file.write(ply.annotate(self.path.read_bytes(), columns, comments))
            return
        for number, (table, columns) in enumerate(zip(self._tables(), predicted, strict=True)):
            table = self._named(table)
            rows = ply.rows(table.columns | table.optional | table.on_request | {**columns})
            if not number:
                file.write(ply.header(rows.dtype, self.count, comments))
            file.write(rows.tobytes())

    def _points(self) -> Iterator[Points]:
        """Yield the points, some at a time."""
        tables = self._tables()
        while True:
            with unreadable(self.path):
                table = next(tables, None)
                points = None if table is None else arranged(table, **self._layout)
            if points is None:
                return
            yield points

    def _tables(self) -> Iterator[Table]:
        if self._las is not None:
            yield from self._las.tables()
        else:
            yield self._whole()

    def _named(self, table: Table) -> Table:
        """Return the columns of a table as the file has them, with x, y and z among them."""
        return arrange(table, self._layout["columns"], "z", compute=False)

    def _whole(self) -> Table:
        assert self._table is not None
        return self._table
