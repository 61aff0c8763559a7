"""The shape of the surroundings of each point: linear, planar or scattered, and how steep (Weinmann et al. 2015)."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float
from numpy import ndarray as Array

NAMES = ("linearity", "planarity", "scattering", "verticality", "curvature")
"""Columns that can be computed for the points of any file."""
NEIGHBOURS = 16
"""Number of nearest points that are the surroundings of a point, itself among them."""
_BLOCK = 2**15  # points at a time, for memory


def surroundings(positions: Float[Array, "n 3"]) -> dict[str, Float[Array, " n"]]:
    r"""Return each of `NAMES` for every point; all are from 0 to 1, and 0 where a point has no position.

    With the eigenvalues $\lambda_1 \ge \lambda_2 \ge \lambda_3$ of the covariance of the nearest points, and the unit
    normal $n$ that belongs to $\lambda_3$:

    $$\frac{\lambda_1 - \lambda_2}{\lambda_1},\quad \frac{\lambda_2 - \lambda_3}{\lambda_1},\quad
    \frac{\lambda_3}{\lambda_1},\quad 1 - |n_z|,\quad \frac{\lambda_3}{\lambda_1 + \lambda_2 + \lambda_3}.$$

    They do not change if the points are rotated about z, mirrored, moved or scaled, and a normal has no side. All are 0
    where the nearest points are at one place.
    """
    from scipy.spatial import cKDTree

    columns = np.zeros((len(positions), len(NAMES)))
    known = np.flatnonzero(np.isfinite(positions).all(1))
    if len(known):
        points = positions[known].astype(np.float64) - positions[known[0]]  # far from the origin, squares lose digits
        tree, k = cKDTree(points), min(NEIGHBOURS, len(points))
        for start in range(0, len(points), _BLOCK):
            block = slice(start, start + _BLOCK)
            _, nearest = tree.query(points[block], [*range(1, k + 1)])
            columns[known[block]] = _shapes(points[nearest])
    return dict(zip(NAMES, columns.T, strict=True))


def _shapes(nearest: Float[Array, "n k 3"]) -> Float[Array, "n 5"]:
    """Return the columns of `NAMES` for the nearest points of some points."""
    centred = nearest - nearest.mean(1, keepdims=True)
    size = np.abs(centred).max((1, 2), keepdims=True)
    centred /= np.where(size > 0, size, 1.0)  # very small clouds have squares of 0
    values, vectors = np.linalg.eigh(np.einsum("nki,nkj->nij", centred, centred))
    third, second, first = values.clip(0).T  # eigh sorts them, smallest first
    safe = np.where(first > 0, first, 1.0)
    steep = 1 - np.abs(vectors[:, 2, 0]).clip(0, 1)
    shapes = [(first - second) / safe, (second - third) / safe, third / safe, steep, third / (safe + second + third)]
    return np.stack(shapes, 1) * (first > 0)[:, None]
