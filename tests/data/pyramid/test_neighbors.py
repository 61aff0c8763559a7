"""Neighbourhoods and nearest centroids of a batch are those found by comparing all pairs, in C++ and with scipy."""

from __future__ import annotations

from itertools import accumulate

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgecond.data.pyramid import neighbors
from edgecond.data.pyramid.neighbors import closest, nearest, within
from tests.data.pyramid.backends import using
from tests.sentences import refused

RADII = [0.7, 1, 2**0.5, 2, 3.3]

# Points of a small grid are often equal or equally distant; the other points never are.
clouds = st.lists(
    st.tuples(st.integers(1, 25), st.booleans(), st.integers(0, 2**20)).map(lambda drawn: random_points(*drawn)),
    min_size=1,
    max_size=4,
)


@pytest.fixture(params=["cpp", "scipy"], scope="module", autouse=True)
def _backend(request):
    with using(request.param):
        yield


def random_points(n: int, on_grid: bool, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return rng.integers(0, 4, (n, 3)).astype(float) if on_grid else rng.uniform(0, 4, (n, 3))


def batch(clouds: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    return np.concatenate(clouds), np.array([len(cloud) for cloud in clouds])


def starts(clouds: list[np.ndarray]) -> list[int]:
    return list(accumulate(map(len, clouds[:-1]), initial=0))


def by_pairs(clouds: list[np.ndarray], radius: float = np.inf, most: int | None = None) -> list[tuple[int, int]]:
    """Find the edges (j, i) by ranking the points of a cloud by distance for each point, itself first."""
    edges = []
    for start, cloud in zip(starts(clouds), clouds, strict=True):
        for i, here in enumerate(cloud):
            squared = ((cloud - here) ** 2).sum(1)
            ranked = sorted(range(len(cloud)), key=lambda j: (j != i, squared[j], j))
            kept = [j for j in ranked if squared[j] <= radius**2][:most]
            edges += [(start + j, start + i) for j in sorted(kept)]
    return edges


def as_pairs(edges: tuple[np.ndarray, np.ndarray]) -> list[tuple[int, int]]:
    return list(zip(*(end.tolist() for end in edges), strict=True))


@settings(deadline=None)
@given(clouds, st.sampled_from(RADII), st.sampled_from([None, 1, 5, 100, 10**30]))
def test_neighbours_within_a_radius_are_those_found_by_comparing_all_pairs(clouds, radius, cap):
    """Section 3.4, and the cap of the authors' code: nearest first, ties by index, the point itself always."""
    assert as_pairs(within(*batch(clouds), radius, cap=cap)) == by_pairs(clouds, radius, cap)


@settings(deadline=None)
@given(clouds, st.sampled_from(RADII))
def test_neighbours_found_part_by_part_are_the_same(clouds, radius):
    """A batch with too many pairs for the memory is searched part by part."""
    whole = as_pairs(within(*batch(clouds), radius, cap=3))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(neighbors, "PAIRS_AT_ONCE", 7)
        in_parts = as_pairs(within(*batch(clouds), radius, cap=3))

    assert in_parts == whole


@settings(deadline=None)
@given(clouds, st.integers(1, 30))
def test_k_nearest_points_are_those_found_by_comparing_all_pairs(clouds, k):
    """Ties are broken by index, the point itself is included, and a cloud of fewer than k points is complete."""
    assert as_pairs(nearest(*batch(clouds), k)) == by_pairs(clouds, most=k)


@settings(deadline=None)
@given(clouds, st.integers(0, 2**20))
def test_the_closest_centroid_of_the_same_cloud_is_that_found_by_comparing_all(clouds, seed):
    """The pool map of Section 3.4; NumPy's argmin returns the first of several."""
    rng = np.random.default_rng(seed)
    centroids = [random_points(int(rng.integers(1, 9)), bool(rng.integers(2)), seed + c) for c in range(len(clouds))]

    ours = closest(*batch(clouds), *batch(centroids))

    expected = [
        start + ((those - here) ** 2).sum(1).argmin()
        for start, those, points in zip(starts(centroids), centroids, clouds, strict=True)
        for here in points
    ]
    assert ours.tolist() == expected


@settings(deadline=None)
@given(clouds, st.sampled_from(RADII), st.integers(0, 2**20))
def test_the_order_of_points_and_clouds_only_renumbers_neighbours(clouds, radius, seed):
    """A cloud is a set: shuffled clouds of shuffled points have the same edges between the same points."""
    rng = np.random.default_rng(seed)
    orders = [rng.permutation(len(cloud)) for cloud in clouds]
    order = rng.permutation(len(clouds))
    old = np.concatenate([starts(clouds)[c] + orders[c] for c in order])  # former number of each point

    shuffled = within(*batch([clouds[c][orders[c]] for c in order]), radius)

    renumbered = sorted(zip(old[shuffled[0]].tolist(), old[shuffled[1]].tolist(), strict=True))
    assert renumbered == sorted(as_pairs(within(*batch(clouds), radius)))


def test_a_point_at_exactly_the_radius_is_a_neighbour():
    """By hand: 3, 4 and 5 are the sides of a right triangle."""
    positions = np.array([[0, 0, 0], [3, 4, 0], [0, 0, 5 + 1e-9]])

    assert as_pairs(within(positions, np.array([3]), 5)) == [(0, 0), (1, 0), (0, 1), (1, 1), (2, 2)]


def test_clouds_far_from_the_origin_have_the_same_neighbours_as_near_it():
    """Coordinates in whole metres are exact there too."""
    near = random_points(40, True, 0)
    sizes = np.array([15, 25])

    assert as_pairs(within(near + np.array([7e6, -4e5, 1e3]), sizes, 1)) == as_pairs(within(near, sizes, 1))


@pytest.mark.parametrize("place", [1e17, 1e30])
def test_clouds_at_the_same_distant_place_stay_separate(place):
    """Floating-point numbers are sparse there: placing clouds side by side must not merge them."""
    positions, sizes = np.full((3, 3), place), np.array([1, 2])

    assert as_pairs(within(positions, sizes, 1e-3)) == [(0, 0), (1, 1), (2, 1), (1, 2), (2, 2)]
    assert closest(positions, sizes, positions[:2], np.array([1, 1])).tolist() == [0, 1, 1]


def test_equal_points_keep_the_first_points_and_themselves():
    """By hand: all are equally near, so a cap of 2 keeps point 0 and the point itself; point 0 keeps point 1."""
    edges = within(np.ones((4, 3)), np.array([4]), 0.5, cap=2)

    assert as_pairs(edges) == [(0, 0), (1, 0), (0, 1), (1, 1), (0, 2), (2, 2), (0, 3), (3, 3)]


def test_too_many_pairs_are_an_error(monkeypatch):
    monkeypatch.setattr(neighbors, "PAIRS_AT_ONCE", 10)
    monkeypatch.setattr(neighbors, "PAIRS_AT_MOST", 15)
    with refused(
        "neighbourhoods must have at most 15 pairs of points: radius 1 gives 16. "
        "Choose a smaller radius, or a resolution that merges points first."
    ):
        within(np.zeros((4, 3)), np.array([4]), 1)


@pytest.mark.parametrize("radius", [0, -1, np.inf, np.nan])
def test_a_radius_must_be_a_positive_number(radius):
    with refused(f"a radius must be a positive number: got {radius}."):
        within(np.zeros((1, 3)), np.array([1]), radius)


def test_a_point_is_always_its_own_neighbour():
    with pytest.raises(ValueError, match=r"a cap must be at least 1.*: got 0. Pass None for no cap"):
        within(np.zeros((1, 3)), np.array([1]), 1, cap=0)
    with pytest.raises(ValueError, match=r"k must be at least 1.*: got 0"):
        nearest(np.zeros((1, 3)), np.array([1]), 0)
