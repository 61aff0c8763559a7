"""The C++ backend agrees with scipy bit for bit, and is used where it applies."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgecond.data.pyramid import cells, cloud_pyramid, neighbors
from edgecond.data.pyramid.neighbors import closest, nearest, within
from tests.data.pyramid.backends import using
from tests.data.pyramid.test_init import random_cloud, SYDNEY_LEVELS

needs_extension = pytest.mark.skipif(cells._extension is None, reason="the C++ extension is not built")

SHAPES: dict[str, Callable[[np.random.Generator, int], np.ndarray]] = {
    "uniform": lambda rng, n: rng.uniform(0, 4, (n, 3)),
    "on a grid": lambda rng, n: rng.integers(0, 4, (n, 3)).astype(float),  # equal and equally distant points
    "on a plane": lambda rng, n: rng.integers(-6, 6, (n, 3)) * [1.0, 1.0, 0.0],
    "in one place": lambda rng, n: np.tile(rng.uniform(-1, 1, 3), (n, 1)),
    "clustered": lambda rng, n: rng.integers(0, 3, (n, 1)) + 1e-3 * rng.normal(size=(n, 3)),
    "with a stray point": lambda rng, n: np.concatenate([rng.uniform(0, 1, (n - 1, 3)), np.full((1, 3), 1e9)]),
}


@st.composite
def batches(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray, float]:
    """Draw clouds of all shapes, of one scale from tiny to huge, perhaps far from the origin; and their scale."""
    rng = np.random.default_rng(draw(st.integers(0, 2**20)))
    shapes = draw(st.lists(st.tuples(st.sampled_from(list(SHAPES)), st.integers(1, 40)), min_size=1, max_size=4))
    scale = draw(st.sampled_from([1e-60, 1e-3, 0.1, 1, 1e6, 1e30]))
    place = draw(st.sampled_from([0, 0.3, -7e6, 1e17]))
    positions = np.concatenate([SHAPES[shape](rng, n) for shape, n in shapes]) * scale + place * scale
    return positions, np.array([n for _, n in shapes]), scale


def by_both(search: Callable[[], Any]) -> list[Any]:
    """Return the results of the C++ extension and of scipy."""
    results = []
    for backend in ("cpp", "scipy"):
        with using(backend):
            results.append(search())
    return results


@needs_extension
@settings(deadline=None, max_examples=300)
@given(batches(), st.sampled_from([1e-9, 1e-3, 0.7, 1, 2**0.5, 3.3, 100, 1e12]), st.sampled_from([None, 1, 2, 7, 100]))
def test_cpp_and_scipy_find_the_same_edges(batch, radius, cap):
    """In type and order; with ties, duplicates, and radii much smaller and larger than the clouds."""
    positions, sizes, scale = batch

    ours, expected = by_both(lambda: within(positions, sizes, radius * scale, cap=cap))

    for end, other in zip(ours, expected, strict=True):
        np.testing.assert_array_equal(end, other, strict=True)


@needs_extension
@settings(deadline=None, max_examples=300)
@given(batches(), st.integers(0, 2**20))
def test_cpp_and_scipy_find_the_same_centroids(batch, seed):
    """The centroids are some points of each cloud; a missing centroid is the number of centroids."""
    positions, sizes, _ = batch
    chosen = np.random.default_rng(seed).random(len(positions)) < 0.5
    chosen[0] = True
    cloud = np.repeat(np.arange(len(sizes)), sizes)
    centroids, counts = positions[chosen], np.bincount(cloud[chosen], minlength=len(sizes))

    ours, expected = by_both(lambda: closest(positions, sizes, centroids, counts))

    np.testing.assert_array_equal(ours, expected, strict=True)


@needs_extension
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("cap", [None, 20])
def test_cpp_and_scipy_agree_on_large_clouds(shape, cap):
    """Many cells, and trees of many nodes."""
    rng = np.random.default_rng(0)
    sizes, counts = np.array([1500, 1, 500]), np.array([300, 1, 90])
    positions = np.concatenate([SHAPES[shape](rng, n) for n in sizes])
    centroids = np.concatenate([SHAPES[shape](rng, n) for n in counts])

    edges, expected_edges = by_both(lambda: within(positions, sizes, 0.4, cap=cap))
    maps = by_both(lambda: closest(positions, sizes, centroids, counts))

    np.testing.assert_array_equal(edges, expected_edges)
    np.testing.assert_array_equal(*maps)


@needs_extension
def test_cpp_and_scipy_build_the_same_pyramids():
    clouds = [random_cloud(n, seed=n) for n in (700, 1, 300)]

    ours, expected = by_both(lambda: cloud_pyramid(clouds, SYDNEY_LEVELS))

    for level, other in zip(ours.levels, expected.levels, strict=True):
        assert level.source.equal(other.source)
        assert level.target.equal(other.target)
    assert all(a.equal(b) for a, b in zip(ours.pool_maps, expected.pool_maps, strict=True))


@needs_extension
def test_the_results_are_writable():
    """torch warns about arrays that are not."""
    cloud = random_cloud(9, 0).positions.double().numpy()

    source, target = within(cloud, np.array([9]), 1)
    index = closest(cloud, np.array([9]), cloud, np.array([9]))

    assert all(array.flags.writeable for array in (source, target, index))


POINTS, THREE = np.zeros((3, 3)), np.array([3])
WRONG = {
    "a cloud too large": (POINTS, np.array([4])),
    "a cloud too small": (POINTS, np.array([2])),
    "a negative size": (POINTS, np.array([4, -1])),
    "sizes that overflow": (POINTS, np.array([2**62, 2**62, 2**62, 2**62, 3])),
    "a part of a point": (np.zeros(8), np.array([2])),
    "sizes of another type": (POINTS, np.array([3], np.int32)),
}


@needs_extension
@pytest.mark.parametrize(("points", "sizes"), WRONG.values(), ids=WRONG)
def test_the_extension_refuses_sizes_that_do_not_fit(points: np.ndarray, sizes: np.ndarray):
    """It reads memory by them, and can be called by anyone."""
    extension: Any = cells._extension
    for call in (
        lambda: extension.within(points, sizes, 1.0, 10, 100),
        lambda: extension.closest(points, sizes, POINTS, THREE),
        lambda: extension.closest(POINTS, THREE, points, sizes),
    ):
        with pytest.raises(ValueError, match="sizes must add up to the number of points"):
            call()


@needs_extension
def test_the_extension_refuses_other_numbers_that_do_not_fit():
    extension: Any = cells._extension
    with pytest.raises(ValueError, match="at least 1 neighbour, itself: got -1"):
        extension.within(POINTS, THREE, 1.0, -1, 100)
    with pytest.raises(ValueError, match="as many clouds of centroids as of points: got 2 and 1"):
        extension.closest(POINTS, THREE, POINTS, np.array([1, 2]))


# Choice of the backend


@pytest.mark.parametrize(
    ("positions", "radius"),
    [
        (np.full((3, 3), np.nan), 1),
        (np.full((3, 3), np.inf), 1),
        (np.full((3, 3), 1e200), 1),
        (np.zeros((3, 3)), 1e-200),
        (np.zeros((3, 3)), 1e200),
        (np.zeros((3, 3), dtype=np.float32), 1),
        (np.zeros((2, 3)), 1),
        (np.zeros((3, 2)), 1),
        (1e30 * np.eye(3), 1e-3),
        (2.0**20 * np.eye(3), 0.999),
    ],
)
def test_input_that_the_extension_cannot_handle_is_left_to_scipy(positions, radius):
    """Other types, wrong sizes, numbers whose squares overflow or underflow, and too many cells."""
    assert cells.within(positions, np.array([3]), radius, 100, 10**9) is None


def test_too_many_pairs_are_left_to_scipy(monkeypatch):
    """By hand: three points in one cell are nine candidate pairs."""
    monkeypatch.setattr(neighbors, "PAIRS_AT_MOST", 8)

    assert cells.within(np.zeros((3, 3)), np.array([3]), 1, 100, 8) is None
    assert within(np.zeros((3, 3)), np.array([3]), 1)[0].tolist() == [0, 1, 2] * 3


@pytest.mark.parametrize("number", [np.nan, np.inf, -np.inf, 1e308, -1e200])
@pytest.mark.parametrize("radius", [1e-300, 1, 1e300])
def test_coordinates_must_be_finite_and_have_finite_squares(number: float, radius: float):
    """Of both backends, for one such point among others."""
    good, sizes = np.arange(6.0).reshape(2, 3), np.array([2])
    positions = np.array([good[0], [0.0, number, 0.0]])
    for search in (
        lambda: within(positions, sizes, radius),
        lambda: nearest(positions, sizes, 2),
        lambda: closest(positions, sizes, good, sizes),
        lambda: closest(good, sizes, positions, sizes),
    ):
        for backend in ("cpp", "scipy"):
            with using(backend), pytest.raises(ValueError, match="finite, and below 1e\\+100: found"):
                search()


@needs_extension
def test_arrays_at_odd_addresses_are_copied_or_refused():
    """NumPy reads doubles anywhere; processors and compilers may not."""
    aligned, sizes = np.arange(9.0).reshape(3, 3), np.array([3])
    odd = np.frombuffer(b"-" + aligned.tobytes(), offset=1).reshape(3, 3)
    extension: Any = cells._extension

    assert not odd.flags.aligned
    np.testing.assert_array_equal(within(odd, sizes, 6.0), within(aligned, sizes, 6.0))
    np.testing.assert_array_equal(closest(odd, sizes, odd, sizes), [0, 1, 2])
    for call in (
        lambda: extension.within(odd, sizes, 1.0, 10, 100),
        lambda: extension.closest(aligned, sizes, odd, sizes),
    ):
        with pytest.raises(ValueError, match="aligned arrays"):
            call()


def test_the_extension_can_be_disabled_and_is_optional():
    """The documented switch, on and off; and an extension that is not built, simulated by None in sys.modules."""
    code = """
import importlib, os, sys
from edgecond.data.pyramid import cells
for switch in ("", "0", "hidden"):
    os.environ["EDGECOND_NATIVE"] = switch
    if switch == "hidden":
        sys.modules["edgecond.data.pyramid._cells"] = None
        vars(sys.modules["edgecond.data.pyramid"]).pop("_cells", None)
    importlib.reload(cells)
    print(cells.available())
"""

    environment = {**os.environ, "EDGECOND_NATIVE": ""}
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment)

    built = find_spec("edgecond.data.pyramid._cells") is not None
    assert run.stdout.split() == [str(built), "False", "False"]


def test_importing_the_extension_does_not_enable_it(monkeypatch):
    """Python binds an imported module to its package; that must not undo the switch."""
    monkeypatch.setattr(cells, "_extension", None)
    if find_spec("edgecond.data.pyramid._cells") is not None:
        import_module("edgecond.data.pyramid._cells")

    assert not cells.available()
