"""One file of points or of a mesh, in any of the usual formats, becomes numbers: `read_points("tree.ply")`.

A reader is a function that takes the bytes of a file and gives its `Table`, or raises a `ValueError` that says what the
file must hold and what it holds instead; `_READERS` lists them. The bytes are not trusted: a count in a header is
compared with the length of the file before anything is allocated for it.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import TypeVar

import numpy as np
from jaxtyping import Float, Int

from edgecond.data.formats.surface import draw
from edgecond.data.formats.table import Table, Triangles, usual
from edgecond.errors import DataError

__all__ = ["ENDINGS", "MESHES", "Points", "Surface", "read_points", "read_surface"]

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
_MOST_CLASS = 2**31 - 1  # what a PLY can be given
_MOST = float(np.finfo(np.float32).max)  # what a network can be given


@dataclass(frozen=True, eq=False)
class Points:
    """The points of a file.

    Attributes:
        positions: In the unit and the precision of the file: coordinates on Earth have seven digits before the point.
        signal: What else the file tells of each point, as it stands there: colours from 0 to 255 are not scaled.
        names: Of the columns of the signal, as `("intensity",)` or `("red", "green", "blue")`. Columns of a table
            without names are called `column 4` and so on.
        y: If a column of classes was asked for, the class of each point as the file numbers it, -1 where it is unknown.
    """

    positions: Float[np.ndarray, "n 3"]
    signal: Float[np.ndarray, "n k"]
    names: tuple[str, ...]
    y: Int[np.ndarray, " n"] | None = field(default=None, kw_only=True)

    def __len__(self) -> int:
        return len(self.positions)


@dataclass(frozen=True, eq=False)
class Surface(Points):
    """The vertices of a mesh as points, and its faces cut into triangles.

    Attributes:
        triangles: Corners of each, counted from 0.
    """

    triangles: Triangles


def read_points(path: Path, *, count: int | None = 1024, seed: int = 0, column: str | None = None) -> Points:
    """The points in a file, known by its ending, one of `ENDINGS`.

    The points of a cloud are taken as they are. A mesh is sampled evenly over its surface (Section 4.2), and what it
    tells of its vertices is interpolated; a mesh without faces is the cloud of its vertices. Equal files give equal
    points, whatever they are called.

    Args:
        path: The file.
        count: Points to sample from a mesh; none for its vertices, whatever its faces are.
        seed: Of the sampling.
        column: Holds the classes of points, which are then no signal: whole numbers, of which those below 0 are
            unknown. A mesh has them at its vertices.
    """

    def sampled(data: bytes, surface: Surface) -> Points:
        if count is None or column is not None or not len(surface.triangles):
            return surface
        generator = np.random.default_rng([seed, zlib.crc32(data)])
        sample = draw(surface.positions, surface.triangles, count, generator)
        return Points(sample.of(surface.positions), sample.of(surface.signal), surface.names)

    return _opened(path, sampled, column)


def read_surface(path: Path) -> Surface:
    """The mesh in a file as it stands there, known by its ending; a cloud, which has no faces, is none."""

    def with_faces(_: bytes, surface: Surface) -> Surface:
        if not len(surface.triangles):
            raise ValueError(
                f"a mesh must have faces, and it has {len(surface)} points alone; it can be taken as a cloud"
            )
        return surface

    return _opened(path, with_faces)


def _opened(path: Path, use: Callable[[bytes, Surface], P], column: str | None = None) -> P:
    """What is made of a file's bytes and of what they tell; whatever is wrong with them is a sentence."""
    reader = _READERS.get(path.suffix.lower())
    if reader is None:
        raise DataError(f"{path} must be a cloud or a mesh in a file of the kinds {', '.join(ENDINGS)}.")
    if not path.is_file():
        raise DataError(f"{path} must be a file with a cloud: there is none.")
    module, _, function = reader.partition(".")
    read = getattr(import_module(f"{__name__}.{module}"), function)
    try:
        data = path.read_bytes()
        table = read(data)
        y = None if column is None else _classes(table, usual(column))
        return use(data, _checked(table, y))
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror or error}.") from error
    except (ValueError, OverflowError, MemoryError, RecursionError) as error:
        reason = str(error).split("\n")[0].rstrip(".") or "it asks for too much memory"
        raise DataError(f"{path} cannot be read: {reason}.") from error


def _classes(table: Table, column: str) -> Int[np.ndarray, " n"]:
    """The classes in a column, which is taken from the table."""
    numbers = table.columns.pop(column, table.asked.get(column))
    if numbers is None or column in ("x", "y", "z"):
        has = ", ".join([*table.columns, *table.asked]) or "none"
        raise ValueError(f"its points must have their classes in a column {column!r}, and its columns are {has}")
    numbers = np.where(np.isnan(numbers), -1, numbers)
    wrong = numbers[(numbers != np.floor(numbers)) | (numbers > _MOST_CLASS)]
    if len(wrong):
        raise ValueError(
            f"the classes in its column {column!r} must be whole numbers up to {_MOST_CLASS}, and one is {wrong[0]}"
        )
    return np.maximum(numbers, -1).astype(np.int64)


def _checked(table: Table, y: Int[np.ndarray, " n"] | None) -> Surface:
    """The columns of a table: x, y and z, and others; all numbers finite, and all corners among the points."""
    for axis in "xyz":
        if axis not in table.columns:
            found = ", ".join(table.columns) or "none"
            raise ValueError(f"its columns must be x, y, z and perhaps others, and are {found}")
    names = tuple(name for name in table.columns if name not in ("x", "y", "z"))
    positions, signal = (_stacked(table, chosen) for chosen in (("x", "y", "z"), names))
    if not len(positions):
        raise ValueError("it must hold at least one point, and is an empty cloud")
    for what, rows in (("position", positions), ("signal", signal)):
        bad = np.flatnonzero(~(np.abs(rows) <= _MOST).all(1))
        if len(bad):
            raise ValueError(
                f"its numbers must be finite in single precision, and the {what} of point {bad[0]} "
                f"is {rows[bad[0]].tolist()}"
            )
    if len(table.triangles):
        wrong = table.triangles[(table.triangles < 0) | (table.triangles >= len(positions))]
        if len(wrong):
            raise ValueError(
                f"its faces must be of the vertices 0 to {len(positions) - 1}, and one has the vertex {wrong[0]}"
            )
    return Surface(positions, signal, names, table.triangles, y=y)


def _stacked(table: Table, names: tuple[str, ...]) -> Float[np.ndarray, "n k"]:
    if not names:
        return np.empty((len(table.columns["x"]), 0))
    with np.errstate(invalid="ignore"):  # of the NaNs that are refused next, some warn
        return np.stack([table.columns[name] for name in names], 1).astype(np.float64)
