"""Clouds and meshes of files and arrays, in single precision, as the input of a network."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from edgecond.data import COARSE
from edgecond.data.examples import checked_cloud, Examples
from edgecond.data.formats import Points, read_points, Surface
from edgecond.data.formats.axes import vectors
from edgecond.data.formats.table import unnamed
from edgecond.errors import DataError, listed
from edgecond.files import digest, sha256
from edgecond.graph import Cloud, Mesh

FAR = 1000  # a cloud at this many times its size from the origin loses 10 of the 24 bits of single precision


def read_cloud(
    path: Path,
    width: int,
    *,
    count: int | None = 1024,
    columns: Mapping[str, str] | None = None,
    up: str = "z",
) -> Cloud:
    """Read the cloud in a file of any format that `read_points` supports.

    Args:
        path: The file.
        width: Width of the signal: the number of columns besides x, y and z.
        count: See `read_points`.
        columns: See `read_points`.
        up: See `read_points`.
    """
    points = read_points(path, count=count, columns=columns, up=up)
    if len(points.names) != width:
        raise DataError(
            f"{path} must have {3 + width} columns, x, y, z and {width} of the signal: "
            f"found {listed(('x', 'y', 'z', *points.names))}."
        )
    return to_cloud(points, points.names, path)


def to_cloud(points: Points, names: Sequence[str], source: object) -> Cloud:
    """Return the cloud of points with the columns of these names as its signal; without names, the signal is 1.

    A cloud whose numbers are too large for single precision is moved to the origin first: it resolves the northings of
    Europe, five million metres, to half a metre. Edge labels depend on offsets between points, which stay the same.
    """
    signal = signal_of(points, names, source) if names else np.ones((len(points), 1))
    positions = points.positions
    shift = centre(positions, positions.min(0), positions.max(0)) if len(points) else None
    return checked_cloud(positions if shift is None else positions - shift, signal, source)


def signal_of(points: Points, names: Sequence[str], source: object) -> Float[np.ndarray, "n k"]:
    """Return the columns of these names."""
    for name in names:
        if name not in points.names:
            raise DataError(
                f"{source} must have the column {name!r} of the signal: found {listed(points.names) or 'none'}."
            )
    return points.signal[:, [points.names.index(name) for name in names]]


def to_mesh(surface: Surface, names: Sequence[str], source: object) -> Mesh:
    """Return the mesh of a surface, with the signal that `to_cloud` gives it.

    Vertices at the same position are merged, since an STL file lists the corners of each triangle separately, and their
    signals are averaged. Faces that no longer have three corners are removed, and so are vertices without a face.
    """
    cloud = to_cloud(surface, names, source)
    places, vertex = np.unique(cloud.positions.numpy() + np.float32(0), axis=0, return_inverse=True)  # -0 is 0
    faces = vertex.reshape(-1)[surface.triangles]
    faces = faces[(faces != np.roll(faces, 1, axis=1)).all(1)]
    if not len(faces):
        raise DataError(
            f"{source} must have a face with three different corners: none of its {len(surface.triangles)} faces has."
        )
    used, faces = np.unique(faces, return_inverse=True)
    count, sums = np.bincount(vertex.reshape(-1)), np.zeros((len(places), cloud.signal.shape[1]))
    np.add.at(sums, vertex.reshape(-1), cloud.signal.numpy())
    signal = (sums / count[:, None])[used].astype(np.float32)
    parts = torch.from_numpy(places[used]), torch.from_numpy(signal)
    return Mesh(*parts, faces=torch.from_numpy(faces.reshape(-1, 3)))


def points_of(array: Any, source: object) -> Points:
    """Return the points of an array of numbers: x, y and z, then the signal, whose columns have no names."""
    rows = np.asarray(array)
    if rows.ndim != 2 or rows.shape[1] < 3 or rows.dtype.kind not in "biuf":
        raise DataError(
            f"{source} must be an array of numbers with a row for each point, of shape (n, 3) or (n, 3 + d): "
            f"got {rows.dtype} of shape {rows.shape}."
        )
    names = tuple(name for name in unnamed(rows) if name not in ("x", "y", "z"))
    return Points(rows[:, :3].astype(np.float64), rows[:, 3:].astype(np.float64), names)


@dataclass
class Columns:
    """The columns that many files or arrays have in common, collected one by one.

    A column that is 0 everywhere is left out: it is usually an intensity that was not measured, and Equation 1 turns
    zeros into the bias alone.
    """

    _common: list[str] | None = None
    _alive: set[str] = field(default_factory=set)
    _layouts: dict[tuple[str, ...], list[str]] = field(default_factory=dict)

    def add(self, points: Points, source: str = "") -> None:
        """Add the columns of a file or an array.

        Args:
            points: Its points.
            source: Its name, for `left_out`.
        """
        self._layouts.setdefault(points.names, []).append(source)
        before = points.names if self._common is None else self._common
        self._common = [name for name in before if name in points.names]
        self._alive |= {name for name, column in zip(points.names, points.signal.T, strict=True) if column.any()}

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns that all files have and that are not 0 everywhere; nx and ny stay together."""
        common = self._common or ()
        together = {name for pair in vectors(common) if self._alive & {*pair} for name in pair}
        return tuple(name for name in common if name in self._alive | together)

    @property
    def left_out(self) -> list[str]:
        """A sentence about the columns that some files have and that others lack, for each set of these."""
        every = sum(map(len, self._layouts.values()))
        columns: dict[tuple[str, ...], list[str]] = {}
        for name in dict.fromkeys(name for names in self._layouts for name in names if name in self._alive):
            without = [source for names, sources in self._layouts.items() if name not in names for source in sources]
            if without:
                columns.setdefault(tuple(sorted(without)), []).append(name)
        return [
            f"{listed(names, 5)} {'is' if len(names) == 1 else 'are'} left out: {len(without)} of {every} files lack "
            f"{'it' if len(names) == 1 else 'them'}, as {without[0]}"
            for without, names in columns.items()
        ]


@dataclass
class PointTargets:
    """The targets of the points of many files, collected one by one: classes if all are whole numbers, else numbers."""

    classes: set[int] = field(default_factory=set)
    whole: bool = True

    def add(self, y: Float[np.ndarray, " n"]) -> None:
        """Add the targets of a file, NaN where one is unknown; a class below 0 is unknown too."""
        known = y[~np.isnan(y)]
        self.whole = self.whole and bool((known == np.floor(known)).all())
        if self.whole:
            self.classes |= set(np.unique(known[known >= 0]).astype(int).tolist())
        else:
            self.classes.clear()


def labelled(clouds: Sequence[Cloud], ys: Tensor, classes: Sequence[str]) -> Examples:
    """Return clouds in memory as examples.

    Args:
        clouds: At least one cloud.
        ys: See `Examples`.
        classes: See `Examples`.
    """
    sums = {
        str(number): sha256(cloud.positions.numpy().tobytes() + cloud.signal.numpy().tobytes())
        for number, cloud in enumerate(clouds)
    }
    return Examples("clouds", tuple(classes), clouds, ys, digest(sums))


def unlabelled(clouds: Sequence[Cloud]) -> Examples:
    """Return clouds as examples without targets: the single class has no meaning."""
    return Examples("clouds", ("",), clouds, torch.zeros(len(clouds), dtype=torch.long), "")


def centre(
    positions: Float[np.ndarray, "n 3"], low: Float[np.ndarray, " 3"], high: Float[np.ndarray, " 3"]
) -> Float[np.ndarray, " 3"] | None:
    """Return what to subtract from positions before they are rounded to single precision; None where it is fine enough.

    That is their median, which stray points do not move, of a cloud that is `FAR` from the origin, or has coordinates
    beyond `COARSE`.

    Args:
        positions: All points of the cloud, or some that are spread evenly over it.
        low: Smallest coordinates of all points.
        high: Largest coordinates of all points.
    """
    with np.errstate(invalid="ignore"):  # infinite positions are refused next
        largest = max(np.abs(low).max(), np.abs(high).max())
        far = COARSE < largest < np.inf or 0 < FAR * (high - low).max() < largest
        return np.median(positions, axis=0) if far else None
