"""The C++ backend of the neighbour search: the same results as scipy in `neighbors`, bit for bit, but faster.

Each function has the name of its counterpart there and returns None if it does not apply: for coordinates or pairs
beyond its range, for types other than double precision, and without the extension. `EDGECOND_NATIVE=0` disables it.
"""

from __future__ import annotations

import os

import numpy as np
from jaxtyping import Float, Int
from numpy import ndarray as Array

try:
    if os.environ.get("EDGECOND_NATIVE") == "0":
        raise ImportError
    from edgecond.data.pyramid import _cells as _extension
except ImportError:
    _extension = None  # type: ignore[assignment]


def available() -> bool:
    """Return whether the C++ extension is in use."""
    return _extension is not None


def within(
    positions: Float[Array, "n 3"], sizes: Int[Array, " b"], radius: float, cap: int, most: int
) -> tuple[Int[Array, " m"], Int[Array, " m"]] | None:
    """Find edges with a grid of cells as wide as the radius; None if there are more than `most` candidate pairs."""
    if _extension is None or not _applies(positions, sizes):
        return None
    buffers = _extension.within(_readable(positions), _readable(sizes), radius, cap, most)
    if buffers is None:
        return None
    source, degree = np.frombuffer(buffers[0], dtype=np.int32), np.frombuffer(buffers[1], dtype=np.int64)
    return source.astype(np.int64), np.repeat(np.arange(len(positions)), degree)


def closest(
    positions: Float[Array, "n 3"],
    sizes: Int[Array, " b"],
    centroids: Float[Array, "v 3"],
    centroid_sizes: Int[Array, " b"],
) -> Int[Array, " n"] | None:
    """Find the nearest centroids with one k-d tree per cloud."""
    applies = _applies(positions, sizes) and _applies(centroids, centroid_sizes) and len(sizes) == len(centroid_sizes)
    if _extension is None or not applies:
        return None
    index = _extension.closest(*map(_readable, (positions, sizes, centroids, centroid_sizes)))
    return None if index is None else np.frombuffer(index, dtype=np.int64)


def _readable(array: Array) -> Array:
    """Return the array row by row, at an address that processors can read numbers from."""
    return np.require(array, requirements=("C", "ALIGNED"))


def _applies(positions: Array, sizes: Array) -> bool:
    """Whether sizes and types are those that the extension can read."""
    types = positions.dtype == np.float64 and sizes.dtype == np.int64 and positions.shape[1:] == (3,)
    return bool(types and 0 < len(positions) < 2**31 and (sizes >= 0).all() and sizes.sum() == len(positions))
