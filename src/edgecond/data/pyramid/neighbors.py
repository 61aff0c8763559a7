"""Spatial neighbourhoods and nearest centroids of a whole batch of clouds, exactly (Section 3.4).

Squared distances in double precision decide; so the answer is that of comparing all pairs of points, and does not
depend on the order of points or of clouds. `native` gives it where it can. Elsewhere one k-d tree serves the batch:
clouds stand side by side, too far apart to meet, and the tree proposes pairs of points a hair too generously.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import inf

import numpy as np
from jaxtyping import Float, Int
from numpy import ndarray as Array
from scipy.spatial import cKDTree

from edgecond.data.pyramid import cells as native

PAIRS_AT_ONCE = 40_000_000  # a gigabyte or two
PAIRS_AT_MOST = 10_000_000_000  # minutes


def within(
    positions: Float[Array, "n 3"], sizes: Int[Array, " b"], radius: float, *, cap: int | None = 100
) -> tuple[Int[Array, " m"], Int[Array, " m"]]:
    r"""Edges $(j,i)$ between points of one cloud with $||p_j - p_i|| \le \rho$, self-loops included.

    Args:
        positions: Points of all clouds, one cloud after the other.
        sizes: Number of points of each cloud.
        radius: $\rho$; a point at exactly this distance is a neighbour.
        cap: Keep this many neighbours of a point, the nearest; among equally near ones those that come first. The
            point itself is always kept.

    Returns:
        Sources $j$ and targets $i$, sorted by target, then by source.
    """
    if not 0 < radius < inf:
        raise ValueError(f"a radius is a positive number: got {radius}.")
    if cap is not None and cap < 1:
        raise ValueError(f"a cap keeps at least the point itself: got {cap}. Pass None for no cap.")
    most = min(cap or len(positions), len(positions))
    found = native.within(positions, sizes, radius, most, PAIRS_AT_MOST)
    return found or _sorted(list(_neighbors(positions, sizes, radius, most)))


def nearest(
    positions: Float[Array, "n 3"], sizes: Int[Array, " b"], k: int
) -> tuple[Int[Array, " m"], Int[Array, " m"]]:
    """Edges from the k nearest points of its cloud to each point, the point itself being one of them.

    Among equally near ones those that come first are taken; a cloud of fewer than k points is connected completely.
    Sorted by target, then by source.
    """
    if k < 1:
        raise ValueError(f"a point has at least one nearest point, itself: got k = {k}.")
    source = _nearest(positions, sizes, positions, sizes, k, own=True)
    target = np.repeat(np.arange(len(positions)), k)
    exists = source.ravel() < len(positions)
    return _sorted([_key(source.ravel()[exists], target[exists])])


def closest(
    positions: Float[Array, "n 3"],
    sizes: Int[Array, " b"],
    centroids: Float[Array, "v 3"],
    centroid_sizes: Int[Array, " b"],
) -> Int[Array, " n"]:
    """The map $M$: the nearest centroid of the same cloud for each point; among equally near ones the first."""
    found = native.closest(positions, sizes, centroids, centroid_sizes)
    return _nearest(positions, sizes, centroids, centroid_sizes, 1)[:, 0] if found is None else found


def _frame(positions: Array) -> tuple[Array, float]:
    """Smallest coordinates, and the diagonal from there to the largest."""
    columns = positions.T.copy()  # of which extremes are found many times faster than of rows
    return columns.min(1), float(np.linalg.norm(np.ptp(columns, axis=1)))


def _side_by_side(positions: Array, sizes: Array, origin: Array, spacing: float) -> Array:
    """Clouds moved to the origin, where numbers are dense enough to keep them apart, and then along x."""
    points = np.subtract(positions, origin, dtype=float)
    points[:, 0] += np.repeat(np.arange(len(sizes)) * spacing, sizes)
    return points


def _slack(points: Array) -> float:
    """More than rounding can change a distance between points where they stand."""
    return 16 * np.finfo(float).eps * float(np.abs(points).max(initial=0))


def _squared_distance(i: Array, j: Array, ours: Array, theirs: Array) -> Array:
    total = np.zeros(i.shape)
    for axis in range(3):
        total += np.square(ours[:, axis][i] - theirs[:, axis][j])
    return total


def _neighbors(positions: Array, sizes: Array, radius: float, cap: int) -> Iterator[Array]:
    """The keys of all edges in several parts, of which each holds as many as fit into memory."""
    n = len(positions)
    origin, diagonal = _frame(positions)
    points = _side_by_side(positions, sizes, origin, 2 * (diagonal + radius))
    reach = radius + _slack(points)
    tree = cKDTree(points, balanced_tree=False)
    if (sizes.astype(float) ** 2).sum() > PAIRS_AT_ONCE:
        count = tree.count_neighbors(tree, reach)
        if count > PAIRS_AT_MOST:
            raise ValueError(
                f"neighbourhoods of radius {radius} hold {count:,} pairs of points, more than {PAIRS_AT_MOST:,}. "
                "Choose a smaller radius, or a resolution that merges points first."
            )
        if count > PAIRS_AT_ONCE:
            part = np.cumsum(tree.query_ball_point(points, reach, return_length=True)) // PAIRS_AT_ONCE
            for targets in np.split(np.arange(n), np.flatnonzero(np.diff(part)) + 1):
                found = cKDTree(points[targets]).sparse_distance_matrix(tree, reach, output_type="ndarray")
                yield _nearest_of_each(*_decide(found["j"], targets[found["i"]], positions, radius), cap)
            return
    pairs, loops = tree.query_pairs(reach, output_type="ndarray"), np.arange(n)
    i, j, distance = _decide(pairs[:, 0], pairs[:, 1], positions, radius)
    if (np.bincount(i, minlength=n) + np.bincount(j, minlength=n)).max() < cap:  # the point itself comes on top
        yield from (_key(i, j), _key(j, i), _key(loops, loops))
    else:
        source, target = np.concatenate([i, j, loops]), np.concatenate([j, i, loops])
        yield _nearest_of_each(source, target, np.concatenate([distance, distance, np.zeros(n)]), cap)


def _decide(i: Array, j: Array, positions: Array, radius: float) -> tuple[Array, Array, Array]:
    """Those of the proposed pairs that are neighbours, and their squared distances."""
    distance = _squared_distance(i, j, positions, positions)
    inside = distance <= radius * radius
    return (i, j, distance) if inside.all() else (i[inside], j[inside], distance[inside])


def _nearest_of_each(source: Array, target: Array, distance: Array, cap: int) -> Array:
    order = np.lexsort((source, np.where(source == target, -1, distance), target))
    source, target = source[order], target[order]
    rank = np.arange(len(target)) - np.searchsorted(target, target)
    return _key(source[rank < cap], target[rank < cap])


def _key(source: Array, target: Array) -> Array:
    """One number for each edge, in whose order edges are sorted by target, then by source."""
    return target << 32 | source


def _sorted(parts: list[Array]) -> tuple[Array, Array]:
    key = np.concatenate(parts)
    key.sort()
    return key & 0xFFFFFFFF, key >> 32


def _nearest(
    positions: Array, sizes: Array, centroids: Array, centroid_sizes: Array, k: int, own: bool = False
) -> Int[Array, "n k"]:
    """The k nearest centroids of each point, in no order; the number of centroids where there are fewer than k."""
    origin, diagonal = _frame(np.concatenate([positions, centroids]))
    spacing = 4 * diagonal or 1.0
    points = _side_by_side(positions, sizes, origin, spacing)
    tree = cKDTree(_side_by_side(centroids, centroid_sizes, origin, spacing), balanced_tree=False)
    slack = max(_slack(points), _slack(tree.data))
    ask = k + 1  # one more, to see ties
    distance, index = tree.query(points, k=ask, distance_upper_bound=spacing / 2)
    found = index[:, :k].astype(np.int64)
    rows = np.flatnonzero(_undecided(distance, k, slack))
    while len(rows):
        ask *= 2
        distance, index = tree.query(points[rows], k=ask, distance_upper_bound=spacing / 2)
        exists, point = index < len(centroids), np.broadcast_to(rows[:, None], index.shape)
        exact = np.full(index.shape, inf)
        exact[exists] = _squared_distance(point[exists], index[exists], positions, centroids)
        if own:
            exact[index == point] = -1
        found[rows] = np.take_along_axis(index, np.lexsort((index, exact)), axis=1)[:, :k]
        rows = rows[_undecided(distance, k, slack)]
    return found


def _undecided(distance: Array, k: int, slack: float) -> Array:
    """Whether a centroid not looked at may be as near as the k-th."""
    return (distance[:, -1] <= distance[:, k - 1] + slack) & (distance[:, -1] < inf)
