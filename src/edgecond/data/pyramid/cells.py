"""Neighbourhoods and nearest centroids in C++: what `edgecond.data.pyramid.neighbors` finds, bit for bit, and sooner.

Each function has a namesake there and returns none where it does not serve: for coordinates or pairs beyond its range,
for other types than double precision, and on a machine without the extension. `EDGECOND_NATIVE=0` turns it off.
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
    """Whether the extension is in use."""
    return _extension is not None


def within(
    positions: Float[Array, "n 3"], sizes: Int[Array, " b"], radius: float, cap: int, most: int
) -> tuple[Int[Array, " m"], Int[Array, " m"]] | None:
    """Edges by cells as wide as the radius; none if these propose more than `most` pairs."""
    if _extension is None or not _serves(positions, sizes):
        return None
    found = _extension.within(np.ascontiguousarray(positions), np.ascontiguousarray(sizes), radius, cap, most)
    if found is None:
        return None
    source, degree = np.frombuffer(found[0], dtype=np.int32), np.frombuffer(found[1], dtype=np.int64)
    return source.astype(np.int64), np.repeat(np.arange(len(positions)), degree)


def closest(
    positions: Float[Array, "n 3"],
    sizes: Int[Array, " b"],
    centroids: Float[Array, "v 3"],
    centroid_sizes: Int[Array, " b"],
) -> Int[Array, " n"] | None:
    """The nearest centroids by one k-d tree per cloud."""
    served = _serves(positions, sizes) and _serves(centroids, centroid_sizes) and len(sizes) == len(centroid_sizes)
    if _extension is None or not served:
        return None
    index = _extension.closest(*map(np.ascontiguousarray, (positions, sizes, centroids, centroid_sizes)))
    return None if index is None else np.frombuffer(index, dtype=np.int64)


def _serves(positions: Array, sizes: Array) -> bool:
    """The extension trusts every size and type."""
    known = positions.dtype == np.float64 and sizes.dtype == np.int64 and positions.shape[1:] == (3,)
    return bool(known and 0 < len(positions) < 2**31 and (sizes >= 0).all() and sizes.sum() == len(positions))
