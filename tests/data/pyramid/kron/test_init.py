"""Kron pyramids: by hand for a path, and properties of all pyramids."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgecond.data.pyramid.kron import components, Multiresolution, multiresolution, multiresolutions
from tests.data.pyramid.kron.zoo import (
    complete,
    cycle,
    graphs,
    grid,
    hubs,
    matrix,
    path,
    pyramid,
    random_weights,
    side_by_side,
    sparse_above,
    star,
)
from tests.sentences import refused


def test_the_pyramid_of_a_path_of_three_by_hand():
    """Its two ends are kept, with conductance 1/2; then the first of them; then nothing changes."""
    ours = pyramid(path(3), levels=5)

    assert [graph.n for graph in ours.levels] == [3, 2, 1, 1, 1]
    assert ours.levels[0].source.tolist() == [1, 0, 2, 1]
    assert ours.levels[0].target.tolist() == [0, 1, 1, 2]
    assert ours.levels[0].weights.tolist() == [1, 1, 1, 1]
    assert ours.levels[1].weights.tolist() == [0.5, 0.5]
    assert [index.tolist() for index in ours.kept] == [[0, 2], [0], [0], [0]]
    assert [index.tolist() for index in ours.pool_maps] == [[0, 0, 1], [0, 0], [0], [0]]


def assert_levels_fit_together(ours: Multiresolution) -> None:
    for graph in ours.levels:
        index = graph.target * graph.n + graph.source
        mirror = np.argsort(graph.source * graph.n + graph.target)
        assert (np.diff(index) > 0).all()  # by target, then by source
        assert (graph.weights > 0).all()
        assert (graph.target == graph.source[mirror]).all()
        assert (graph.source == graph.target[mirror]).all()
        assert (graph.weights == graph.weights[mirror]).all()
    for finer, coarser, kept, index in zip(ours.levels, ours.levels[1:], ours.kept, ours.pool_maps, strict=False):
        assert len(kept) == coarser.n
        assert len(index) == finer.n
        assert index[kept].tolist() == list(range(coarser.n))
        assert coarser.n < finer.n or not len(finer.source)


def assert_equal(one: Multiresolution, other: Multiresolution) -> None:
    """Compare bit for bit."""
    for ours, theirs in zip(one.levels + one[1:], other.levels + other[1:], strict=True):
        for array, expected in zip(ours, theirs, strict=True):
            np.testing.assert_array_equal(array, expected, strict=True)


@settings(deadline=None)
@given(graphs, st.integers(1, 5), st.integers(0, 2**20))
def test_levels_fit_together(weights, levels, seed):
    ours = pyramid(weights, levels, seed)

    assert len(ours.levels) == levels
    assert len(ours.kept) == len(ours.pool_maps) == levels - 1
    assert (matrix(ours.levels[0]) == (weights > 0)).all()
    assert_levels_fit_together(ours)
    for finer, kept, index in zip(ours.levels, ours.kept, ours.pool_maps, strict=False):
        for part in components(matrix(finer)):  # a vertex pools within its component
            assert np.isin(kept[index[part]], part).all()
    assert_equal(ours, pyramid(weights, levels, seed))


@pytest.mark.parametrize(
    ("weights", "sizes"),
    [
        (path(1000), [1000, 500]),
        (grid(20, 30), [600, 300]),
        (star(400), [400, 1, 1]),
        (star(400, centre=399), [400, 399]),
        (complete(300), [300, 1, 1]),
        (hubs(10, 40, 8), [480]),
        (np.kron(np.eye(200), path(3)), [600, 400, 200, 200]),
        (side_by_side(grid(15, 20), np.zeros((300, 300))), [600, 450]),
        (np.zeros((500, 500)), [500, 500, 500]),
    ],
)
def test_levels_of_large_graphs_fit_together(weights, sizes):
    """Sizes by hand, as far as they do not depend on the random generator."""
    ours = pyramid(weights, levels=4)

    assert [graph.n for graph in ours.levels][: len(sizes)] == sizes
    assert_levels_fit_together(ours)
    assert_equal(ours, pyramid(weights, levels=4))


@pytest.mark.parametrize("seed", range(5))
def test_sparse_and_dense_matrices_give_the_same_pyramid(seed):
    """With the same generator, for a graph of several components."""
    weights = random_weights(120, 0.03, False, seed)
    expected = pyramid(weights, 5, seed)

    with sparse_above(15):
        ours = pyramid(weights, 5, seed)

    for one, other in zip(ours.kept + ours.pool_maps, expected.kept + expected.pool_maps, strict=True):
        assert one.tolist() == other.tolist()
    for one, other in zip(ours.levels, expected.levels, strict=True):
        np.testing.assert_allclose(matrix(one), matrix(other), rtol=1e-6)


@settings(deadline=None)
@given(graphs, st.integers(1, 5), st.integers(0, 2**20))
def test_several_pyramids_are_those_of_the_single_generators(weights, levels, seed):
    assert_one_by_one(weights, levels, seed)


def test_several_pyramids_of_a_large_graph_are_those_of_the_single_generators():
    assert_one_by_one(grid(15, 20), levels=4, seed=0)


def assert_one_by_one(weights: np.ndarray, levels: int, seed: int) -> None:
    """Compare bit for bit, including the state of the generators afterwards."""
    rngs, again = (np.random.default_rng(seed).spawn(3) for _ in range(2))

    several = multiresolutions(*np.nonzero(weights), len(weights), levels, rngs)

    for ours, rng, one in zip(several, rngs, again, strict=True):
        assert_equal(ours, multiresolution(*np.nonzero(weights), len(weights), levels, one))
        assert rng.random() == one.random()


def test_pyramids_of_different_generators_differ():
    """Section 3.5: several pyramids of one graph augment the data; their first split is the same."""
    several = [pyramid(cycle(30), 3, seed) for seed in range(5)]

    assert len({one.levels[1].weights.tobytes() for one in several}) == 5
    assert len({one.kept[0].tobytes() for one in several}) == 1


def test_directions_repetitions_and_self_loops_of_edges_do_not_matter():
    source, target = np.array([0, 1, 1, 2, 2]), np.array([1, 0, 2, 2, 3])

    ours = multiresolution(source, target, 4, 1, np.random.default_rng(0))

    assert (matrix(ours.levels[0]) == path(4)).all()


def test_vertices_of_a_large_graph_may_be_32_bit_integers():
    """The number of a pair of vertices needs more than 32 bits."""
    vertices = np.arange(70_000, dtype=np.int32)

    ours = multiresolution(vertices[:-1], vertices[1:], 70_000, 1, np.random.default_rng(0))

    assert len(ours.levels[0].source) == 2 * 69_999
    assert (np.abs(ours.levels[0].source - ours.levels[0].target) == 1).all()


def test_graphs_without_edges_are_repeated_at_all_levels():
    ours = multiresolution(np.array([], dtype=int), np.array([], dtype=int), 2, 3, np.random.default_rng(0))

    assert [graph.n for graph in ours.levels] == [2, 2, 2]
    assert [index.tolist() for index in ours.pool_maps] == [[0, 1], [0, 1]]


def test_invalid_pyramids_are_errors():
    rng, edge = np.random.default_rng(0), (np.array([0]), np.array([2]))
    with refused("a pyramid needs at least one level: got 0."):
        multiresolution(*edge, 3, 0, rng)
    with refused("a graph needs at least one vertex: got 0."):
        multiresolution(*edge, 0, 2, rng)
    with refused("target must number the 2 vertices from 0 to 1: found 2 to 2."):
        multiresolution(*edge, 2, 2, rng)
