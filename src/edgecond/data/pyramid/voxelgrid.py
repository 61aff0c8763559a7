"""VoxelGrid: the points within a voxel are replaced by their centroid, for a whole batch of clouds (Section 3.4)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int
from numpy import ndarray as Array

from edgecond.data import COARSE

STEP = 2.0**-13
"""Coordinates beyond `COARSE` are rounded to multiples of it, such that sums of many are exact, too."""


class Voxels(NamedTuple):
    """The occupied voxels of a batch, sorted by cloud, then by x, y and z.

    Attributes:
        voxel: Voxel of each point.
        positions: Centroid of the points of each voxel.
        sizes: Number of voxels of each cloud.
    """

    voxel: Int[Array, " n"]
    positions: Float[Array, "v 3"]
    sizes: Int[Array, " b"]


def positive_octant(
    positions: Float[Array, "n 3"], sizes: Int[Array, " b"], origin: Float[Array, " 3"] | None = None
) -> Float[Array, "n 3"]:
    """Move each cloud such that its smallest coordinates are zero, where its grid begins, as in the authors' code.

    If clouds are parts of a larger one, `origin` has the smallest coordinates of that one, and its grid is theirs.
    """
    if origin is not None:
        return single(positions - origin)
    starts = np.cumsum(sizes) - sizes
    return single(positions - np.repeat(np.minimum.reduceat(positions, starts), sizes, axis=0))


def voxel_grid(positions: Float[Array, "n 3"], sizes: Int[Array, " b"], resolution: float | None) -> Voxels:
    """Overlay a grid with planes at the multiples of `resolution` and replace the points of a voxel by their mean.

    Without a resolution (None or 0) every point is kept. Centroids are rounded as by `single`: sums of such numbers are
    exact in double precision, and thus do not depend on the order of the points.
    """
    if not resolution:
        return Voxels(np.arange(len(positions)), positions, sizes)
    if not 0 < resolution < np.inf:
        raise ValueError(f"a resolution must be a positive number, or None to keep all points: got {resolution}.")
    with np.errstate(over="ignore", invalid="ignore"):  # infinite and undefined numbers are refused
        cells = np.floor(positions.T.copy() / resolution)  # (3, n)
        x, y, z = np.ptp(cells, axis=1) + 1
        count = len(sizes) * x * y * z
    if not count < 2.0**62:
        raise ValueError(
            f"a grid of resolution {resolution} has too many voxels: {x:.12g} x {y:.12g} x {z:.12g} for each cloud. "
            "Choose a coarser resolution, or remove stray points."
        )
    cloud = np.repeat(np.arange(len(sizes)), sizes)
    i, j, k = (cells - cells.min(1, keepdims=True)).astype(np.int64)
    key = ((cloud * int(x) + i) * int(y) + j) * int(z) + k
    order = np.argsort(key)
    starts = np.diff(key[order], prepend=-1) > 0  # like np.unique, which is slower
    index = np.empty_like(order)
    index[order] = np.cumsum(starts) - 1
    some = order[starts]  # a point of each voxel
    centroids = mean(positions, index, len(some))
    return Voxels(index, single(centroids), np.bincount(cloud[some], minlength=len(sizes)))


def mean(values: Float[Array, "n d"], index: Int[Array, " n"], count: int) -> Float[Array, "v d"]:
    """Return the mean of the rows of each voxel, in double precision."""
    columns = [np.bincount(index, weights=column, minlength=count) for column in values.T]
    return np.stack(columns, axis=1) / np.bincount(index, minlength=count)[:, None]


def known_mean(y: Float[Array, "n t"], index: Int[Array, " n"], count: int) -> Float[Array, "v t"]:
    """Return the mean of the known numbers of the points of each voxel; NaN if all are unknown."""
    known = ~np.isnan(y)
    sums = np.stack([np.bincount(index, np.nan_to_num(column), minlength=count) for column in y.T], axis=1)
    counts = np.stack([np.bincount(index[rows], minlength=count) for rows in known.T], axis=1)
    return np.divide(sums, counts, out=np.full(sums.shape, np.nan), where=counts > 0)


def majority(y: Int[Array, " n"], index: Int[Array, " n"], count: int) -> Int[Array, " v"]:
    """Return the most frequent class among the points of each voxel, the lowest if tied; -1 if all are unknown."""
    known = y >= 0
    classes = int(y.max(initial=-1)) + 1
    if not known.any():
        return np.full(count, -1)
    votes = np.bincount(index[known] * classes + y[known], minlength=count * classes).reshape(count, classes)
    return np.where(votes.any(1), votes.argmax(1), -1)


def single(positions: Float[Array, "n 3"]) -> Float[Array, "n 3"]:
    """Round to single precision, and coordinates beyond `COARSE` to multiples of `STEP`; the result is in double."""
    rounded = positions.astype(np.float32).astype(float)
    beyond = np.abs(positions) > COARSE
    return np.where(beyond, np.round(positions / STEP) * STEP, rounded) if beyond.any() else rounded
