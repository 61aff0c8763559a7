"""Exact spatial neighbourhoods and nearest centroids of a whole batch of clouds (Section 3.4).

Squared distances in double precision decide, so the result is that of comparing all pairs of points, and does not
depend on the order of points or clouds. The C++ backend in `cells` is used where it applies. Otherwise scipy builds one
k-d tree for the batch: clouds are placed side by side, too far apart to interact, and the tree returns candidate pairs
within a slightly larger radius.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import inf

import numpy as np
from jaxtyping import Float, Int
from numpy import ndarray as Array
from scipy.spatial import cKDTree

from edgecond.data.pyramid import cells

PAIRS_AT_ONCE = 40_000_000  # one to two gigabytes
HUGE = 1e100  # as in the C++ backend: squares of larger numbers might overflow
PAIRS_AT_MOST = 10_000_000_000  # minutes


def within(
    positions: Float[Array, "n 3"], sizes: Int[Array, " b"], radius: float, *, cap: int | None = 100
) -> tuple[Int[Array, " m"], Int[Array, " m"]]:
    r"""Find the edges $(j,i)$ between points of one cloud with $||p_j - p_i|| \le \rho$, including self-loops.

    Args:
        positions: Points of all clouds, concatenated.
        sizes: Number of points of each cloud.
        radius: Radius $\rho$; a point at exactly this distance is a neighbour.
        cap: Largest number of neighbours per point, of which the nearest are kept; among equally near points those of
            lower index. The point itself is always kept.

    Returns:
        Sources $j$ and targets $i$, sorted by target, then by source.
    """
    if not 0 < radius < inf:
        raise ValueError(f"a radius must be a positive number: got {radius}.")
    if cap is not None and cap < 1:
        raise ValueError(f"a cap must be at least 1, for the point itself: got {cap}. Pass None for no cap.")
    most = min(cap or len(positions), len(positions))
    edges = cells.within(positions, sizes, radius, most, PAIRS_AT_MOST)
    return edges or _sorted(list(_neighbors(positions, sizes, radius, most)))


def nearest(
    positions: Float[Array, "n 3"], sizes: Int[Array, " b"], k: int
) -> tuple[Int[Array, " m"], Int[Array, " m"]]:
    """Find the edges to each point from the k nearest points of its cloud, itself included.

    Among equally near points those of lower index are taken; a cloud of fewer than k points is connected completely.
    Edges are sorted by target, then by source.
    """
    if k < 1:
        raise ValueError(f"k must be at least 1, for the point itself: got {k}.")
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
    """Compute the map $M$: the nearest centroid of the same cloud for each point; among equally near ones the first."""
    pool_map = cells.closest(positions, sizes, centroids, centroid_sizes)
    return _nearest(positions, sizes, centroids, centroid_sizes, 1)[:, 0] if pool_map is None else pool_map


def _frame(positions: Array) -> tuple[Array, float]:
    """Return the smallest coordinates and the diagonal of the bounding box."""
    if not (np.abs(positions) < HUGE).all():  # not so for NaN
        row = positions[~(np.abs(positions) < HUGE).all(1)][0]
        raise ValueError(
            f"coordinates must be finite, and below {HUGE:g}: found {row.tolist()}. Remove such points first."
        )
    columns = positions.T.copy()  # reduced many times faster than rows
    return columns.min(1), float(np.linalg.norm(np.ptp(columns, axis=1)))


def _side_by_side(positions: Array, sizes: Array, origin: Array, spacing: float) -> Array:
    """Move clouds to the origin, where floating-point numbers are dense enough, and then apart along x."""
    points = np.subtract(positions, origin, dtype=float)
    points[:, 0] += np.repeat(np.arange(len(sizes)) * spacing, sizes)
    return points


def _slack(points: Array) -> float:
    """Return more than rounding can change a distance between points at these coordinates."""
    return 16 * np.finfo(float).eps * float(np.abs(points).max(initial=0))


def _squared_distance(i: Array, j: Array, ours: Array, theirs: Array) -> Array:
    total = np.zeros(i.shape)
    for axis in range(3):
        total += np.square(ours[:, axis][i] - theirs[:, axis][j])
    return total


def _neighbors(positions: Array, sizes: Array, radius: float, cap: int) -> Iterator[Array]:
    """Yield the keys of all edges in several parts, each of which fits into memory."""
    n = len(positions)
    origin, diagonal = _frame(positions)
    points = _side_by_side(positions, sizes, origin, 2 * (diagonal + radius))
    reach = radius + _slack(points)
    tree = cKDTree(points, balanced_tree=False)
    if (sizes.astype(float) ** 2).sum() > PAIRS_AT_ONCE:
        count = tree.count_neighbors(tree, reach)
        if count > PAIRS_AT_MOST:
            raise ValueError(
                f"neighbourhoods must have at most {PAIRS_AT_MOST:,} pairs of points: radius {radius} gives {count:,}. "
                "Choose a smaller radius, or a resolution that merges points first."
            )
        if count > PAIRS_AT_ONCE:
            part = np.cumsum(tree.query_ball_point(points, reach, return_length=True)) // PAIRS_AT_ONCE
            for targets in np.split(np.arange(n), np.flatnonzero(np.diff(part)) + 1):
                close = cKDTree(points[targets]).sparse_distance_matrix(tree, reach, output_type="ndarray")
                yield _nearest_of_each(*_decide(close["j"], targets[close["i"]], positions, radius), cap)
            return
    pairs, loops = tree.query_pairs(reach, output_type="ndarray"), np.arange(n)
    i, j, distance = _decide(pairs[:, 0], pairs[:, 1], positions, radius)
    if (np.bincount(i, minlength=n) + np.bincount(j, minlength=n)).max() < cap:  # plus the point itself
        yield from (_key(i, j), _key(j, i), _key(loops, loops))
    else:
        source, target = np.concatenate([i, j, loops]), np.concatenate([j, i, loops])
        yield _nearest_of_each(source, target, np.concatenate([distance, distance, np.zeros(n)]), cap)


def _decide(i: Array, j: Array, positions: Array, radius: float) -> tuple[Array, Array, Array]:
    """Return the candidate pairs that are neighbours, and their squared distances."""
    distance = _squared_distance(i, j, positions, positions)
    inside = distance <= radius * radius
    return (i, j, distance) if inside.all() else (i[inside], j[inside], distance[inside])


def _nearest_of_each(source: Array, target: Array, distance: Array, cap: int) -> Array:
    order = np.lexsort((source, np.where(source == target, -1, distance), target))
    source, target = source[order], target[order]
    rank = np.arange(len(target)) - np.searchsorted(target, target)
    return _key(source[rank < cap], target[rank < cap])


def _key(source: Array, target: Array) -> Array:
    """Return one number per edge; sorting by it sorts edges by target, then by source."""
    return target << 32 | source


def _sorted(parts: list[Array]) -> tuple[Array, Array]:
    key = np.concatenate(parts)
    key.sort()
    return key & 0xFFFFFFFF, key >> 32


def _nearest(
    positions: Array, sizes: Array, centroids: Array, centroid_sizes: Array, k: int, own: bool = False
) -> Int[Array, "n k"]:
    """Find the k nearest centroids of each point, unsorted; missing ones are the number of centroids."""
    origin, diagonal = _frame(np.concatenate([positions, centroids]))
    spacing = 4 * diagonal or 1.0
    points = _side_by_side(positions, sizes, origin, spacing)
    tree = cKDTree(_side_by_side(centroids, centroid_sizes, origin, spacing), balanced_tree=False)
    slack = max(_slack(points), _slack(tree.data))
    count = k + 1  # one more, to detect ties
    distance, index = tree.query(points, k=count, distance_upper_bound=spacing / 2)
    nearest = index[:, :k].astype(np.int64)
    rows = np.flatnonzero(_undecided(distance, k, slack))
    while len(rows):
        count *= 2
        distance, index = tree.query(points[rows], k=count, distance_upper_bound=spacing / 2)
        exists, point = index < len(centroids), np.broadcast_to(rows[:, None], index.shape)
        exact = np.full(index.shape, inf)
        exact[exists] = _squared_distance(point[exists], index[exists], positions, centroids)
        if own:
            exact[index == point] = -1
        nearest[rows] = np.take_along_axis(index, np.lexsort((index, exact)), axis=1)[:, :k]
        rows = rows[_undecided(distance, k, slack)]
    return nearest


def _undecided(distance: Array, k: int, slack: float) -> Array:
    """Whether a centroid that was not returned may be as near as the k-th."""
    return (distance[:, -1] <= distance[:, k - 1] + slack) & (distance[:, -1] < inf)
