"""Read points or a mesh from one file in any of the usual formats: `read_points("tree.ply")`.

A reader is a function that takes the bytes of a file and returns its `Table`, or raises a `ValueError` with what must
hold and what was found instead; `_READERS` lists them. The bytes are not trusted: a count in a header is compared
with the length of the file before memory is allocated for it.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from importlib import import_module
from pathlib import Path
from typing import TypeVar

import numpy as np
from jaxtyping import Float

from edgecond.data.formats.axes import arrange, AXES, check_axes, parse_columns
from edgecond.data.formats.surface import draw
from edgecond.data.formats.table import Table, Triangles, usual
from edgecond.errors import DataError, listed
from edgecond.files import reading

__all__ = [
    "ENDINGS",
    "MESHES",
    "Points",
    "Surface",
    "arranged",
    "parse_columns",
    "read_points",
    "read_surface",
    "read_table",
    "unreadable",
]

MESHES = (".obj", ".off", ".stl")
_READERS = {
    **dict.fromkeys((".csv", ".pts", ".txt", ".xyz"), "text.read"),
    ".npy": "arrays.read_npy",
    ".npz": "arrays.read_npz",
    ".ply": "ply.read",
    ".pcd": "pcd.read",
    ".las": "las.read",
    ".laz": "las.read",
    ".obj": "meshes.read_obj",
    ".off": "off.read",
    ".stl": "meshes.read_stl",
}
ENDINGS = tuple(sorted(_READERS))
P = TypeVar("P", bound="Points")
_MOST = float(np.finfo(np.float32).max)  # the largest number that a network can process


@dataclass(frozen=True, eq=False)
class Points:
    """The points of a file.

    Attributes:
        positions: Positions in the unit and the precision of the file: geographic coordinates have seven digits before
            the decimal point.
        signal: The other columns, as they are in the file: colours from 0 to 255 are not scaled.
        names: Names of the columns of the signal, such as `("intensity",)` or `("red", "green", "blue")`. Columns of a
            table without names are called `column 4` and so on.
        y: Target of each point, NaN where unknown; None unless a column of targets was requested.
        unmeasured: Number of points of the file that were left out because they have no position.
    """

    positions: Float[np.ndarray, "n 3"]
    signal: Float[np.ndarray, "n k"]
    names: tuple[str, ...]
    y: Float[np.ndarray, " n"] | None = field(default=None, kw_only=True)
    unmeasured: int = field(default=0, kw_only=True)

    def __len__(self) -> int:
        return len(self.positions)


@dataclass(frozen=True, eq=False)
class Surface(Points):
    """The vertices of a mesh as points, and its faces cut into triangles.

    Attributes:
        triangles: Corners of each triangle, numbered from 0.
    """

    triangles: Triangles


def read_points(
    path: Path,
    *,
    count: int | None = 1024,
    seed: int = 0,
    column: str | None = None,
    columns: Mapping[str, str] | None = None,
    up: str = "z",
) -> Points:
    """Read the points in a file of one of the formats in `ENDINGS`.

    The points of a cloud are returned as they are. A mesh is sampled evenly over its surface (Section 4.2), and the
    columns of its vertices are interpolated; a mesh without faces is the cloud of its vertices. Equal files give equal
    points, whatever their names.

    Args:
        path: The file.
        count: Number of points to sample from a mesh; None returns its vertices.
        seed: Random seed of the sampling.
        column: Column with the target of each point, NaN where it is unknown. It is not part of the signal. Meshes have
            targets at their vertices.
        columns: The file's name of each column to rename, as in `{"x": "relative_x"}`; see `axes.arrange`.
        up: Axis that points up in the file, "x", "y" or "z"; points are rotated so that it becomes z.
    """

    def sampled(data: bytes, surface: Surface) -> Points:
        if count is None or column is not None or not len(surface.triangles):
            return surface
        generator = np.random.default_rng([seed, zlib.crc32(data)])
        sample = draw(surface.positions, surface.triangles, count, generator)
        return Points(sample.of(surface.positions), sample.of(surface.signal), surface.names)

    return _opened(path, sampled, column, columns, up)


def read_surface(path: Path, *, columns: Mapping[str, str] | None = None, up: str = "z") -> Surface:
    """Read the mesh in a file as it is; a cloud has no faces and is refused.

    Args:
        path: The file.
        columns: See `read_points`.
        up: See `read_points`.
    """

    def with_faces(_: bytes, surface: Surface) -> Surface:
        if not len(surface.triangles):
            raise ValueError(f"a mesh must have faces: found {len(surface)} points only, which can be read as a cloud")
        return surface

    return _opened(path, with_faces, None, columns, up)


def _opened(
    path: Path,
    use: Callable[[bytes, Surface], P],
    column: str | None,
    columns: Mapping[str, str] | None,
    up: str,
) -> P:
    """Parse a file and apply `use` to its bytes and its contents; turn what is wrong with them into a `DataError`."""
    check_axes(columns, up)
    read = _reader(path)
    with unreadable(path):
        data = path.read_bytes()
        table = read(data)
        y = None if column is None else _targets(table, usual(column))
        return use(data, _checked(arrange(table, columns, up), y))


def read_table(path: Path) -> Table:
    """Read the columns of a file by their usual names, without the points that were not measured."""
    read = _reader(path)
    with unreadable(path):
        return _measured(read(path.read_bytes()))


def arranged(table: Table, columns: Mapping[str, str] | None, up: str) -> Points:
    """Return the points of a table, without the columns that depend on other points; see `axes.arrange`.

    Raises a `ValueError` if the table does not have the columns, or numbers that are not finite.
    """
    check_axes(columns, up)
    return _checked(arrange(table, columns, up, compute=False), None)


def _reader(path: Path) -> Callable[[bytes], Table]:
    """Return what reads the bytes of a file, which must exist."""
    reader = _READERS.get(path.suffix.lower())
    if reader is None:
        raise DataError(f"{path} must be a cloud or a mesh, a file that ends in {', '.join(ENDINGS)}.")
    with reading(path):
        exists = path.is_file()
    if not exists:
        raise DataError(f"{path} must be a file with a cloud: there is no such file.")
    module, _, function = reader.partition(".")
    found: Callable[[bytes], Table] = getattr(import_module(f"{__name__}.{module}"), function)
    return found


@contextmanager
def unreadable(path: Path) -> Iterator[None]:
    """Turn what is wrong with the contents of a file into a `DataError` that names it."""
    try:
        yield
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror or error}.") from error
    except (ValueError, OverflowError, MemoryError, RecursionError) as error:
        reason = str(error).split("\n")[0].rstrip(".") or "it needs too much memory"
        raise DataError(f"{path} cannot be read: {reason}{'' if reason.endswith('?') else '.'}") from error


def _measured(table: Table) -> Table:
    """Return a table without the rows whose position has a NaN, if those are holes."""
    if not table.holes or not table.columns.keys() >= {*AXES}:
        return table
    kept = ~np.isnan(_stacked(table, AXES)).any(1)
    columns = {name: column[kept] for name, column in table.columns.items()}
    return replace(table, columns=columns, unmeasured=int((~kept).sum()))


def _targets(table: Table, column: str) -> Float[np.ndarray, " n"]:
    """Remove the column of targets from a table and return the targets, NaN where one is unknown."""
    numbers = None if column in AXES else table.columns.pop(column, table.on_request.get(column))
    if numbers is None:
        names = listed([*table.columns, *table.on_request])
        raise ValueError(f"it must have the targets of its points in a column {column!r}: found {names or 'none'}")
    numbers = np.array(numbers, np.float64)  # a copy: arrays of NPY files are read-only
    if (wrong := numbers[np.abs(numbers) > _MOST]).size:
        raise ValueError(f"the targets in its column {column!r} must be finite: found {wrong[0]}")
    return numbers


def _checked(table: Table, y: Float[np.ndarray, " n"] | None) -> Surface:
    """Return the points and triangles of a table, whose numbers must be finite and whose corners must be points."""
    names = tuple(name for name in table.columns if name not in AXES)
    positions, signal = (_stacked(table, chosen) for chosen in (AXES, names))
    unmeasured = table.unmeasured
    if table.holes:
        measured = ~np.isnan(positions).any(1)
        unmeasured += int((~measured).sum())
        positions, signal, y = positions[measured], signal[measured], None if y is None else y[measured]
    if not len(positions):
        raise ValueError("it must hold at least one point: it is empty")
    for what, rows in (("position", positions), ("signal", signal)):
        bad = np.flatnonzero(~(np.abs(rows) <= _MOST).all(1))
        if len(bad):
            raise ValueError(
                f"its numbers must be finite in single precision: the {what} of point {bad[0]} "
                f"is {rows[bad[0]].tolist()}"
            )
    if len(table.triangles):
        wrong = table.triangles[(table.triangles < 0) | (table.triangles >= len(positions))]
        if len(wrong):
            raise ValueError(f"its faces must use the vertices 0 to {len(positions) - 1}: found the vertex {wrong[0]}")
    return Surface(positions, signal, names, table.triangles, y=y, unmeasured=unmeasured)


def _stacked(table: Table, names: tuple[str, ...]) -> Float[np.ndarray, "n k"]:
    if not names:
        return np.empty((len(table.columns["x"]), 0))
    with np.errstate(invalid="ignore", over="ignore"):  # some numbers warn, and are refused next
        return np.stack([table.columns[name] for name in names], 1).astype(np.float64)
