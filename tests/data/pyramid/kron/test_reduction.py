"""Kron reduction agrees with Schur complements, star-mesh transforms and random walks."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array

from edgecond.data.pyramid.kron import absorption, laplacian, pool_map, reduce, split
from tests.data.pyramid.kron.zoo import (
    by_pseudo_inverse,
    by_star_mesh,
    complete,
    flags,
    graphs,
    grid,
    path,
    random_weights,
    side_by_side,
    star,
    weights_of,
)
from tests.sentences import refused


def test_reduced_graphs_by_hand():
    """Two resistors in series; a star of four becomes its mesh; an eliminated leaf has no effect."""
    np.testing.assert_allclose(reduce(path(3), flags(3, 0, 2)), [[0, 0.5], [0.5, 0]])
    np.testing.assert_allclose(reduce(star(5), ~flags(5, 0)), complete(4) / 4)
    np.testing.assert_allclose(reduce(star(5), flags(5, 0, 1)), [[0, 1], [1, 0]])
    np.testing.assert_allclose(reduce(complete(3), flags(3, 0, 1)), [[0, 1.5], [1.5, 0]])
    assert reduce(path(2), flags(2, 0)).tolist() == [[0]]


@settings(deadline=None)
@given(graphs)
def test_the_reduced_laplacian_is_the_schur_complement(weights):
    """Also by eliminating one vertex at a time; it is symmetric and nonnegative, and its rows sum to zero."""
    kept = split(weights)
    full, scale = laplacian(weights), 1 + weights.max()
    inner, outer = full[np.ix_(~kept, ~kept)], full[np.ix_(~kept, kept)]
    schur = full[np.ix_(kept, kept)] - outer.T @ np.linalg.solve(inner, outer)

    ours = reduce(weights, kept)

    np.testing.assert_allclose(laplacian(ours), schur, rtol=0, atol=1e-10 * scale)
    np.testing.assert_allclose(ours, by_star_mesh(weights, kept), rtol=1e-8, atol=1e-12 * scale)
    assert (ours == ours.T).all()
    assert (ours >= 0).all()
    assert not ours.diagonal().any()
    np.testing.assert_allclose(laplacian(ours).sum(1), 0, atol=1e-12 * scale)


@settings(deadline=None)
@given(graphs)
def test_kept_vertices_have_an_edge_if_a_path_of_eliminated_vertices_connects_them(weights):
    """Star-mesh transforms give exact zeros elsewhere, so no weight is a rounding error."""
    kept = split(weights)

    assert ((reduce(weights, kept) > 0) == (by_star_mesh(weights, kept) > 0)).all()


@settings(deadline=None)
@given(graphs)
def test_effective_resistances_between_kept_vertices_do_not_change(weights):
    """The theorem of Kron reduction; infinite ones included, so components neither merge nor split."""
    kept = split(weights)

    ours = by_pseudo_inverse(reduce(weights, kept))

    np.testing.assert_allclose(ours, by_pseudo_inverse(weights)[np.ix_(kept, kept)], rtol=1e-6, atol=1e-9)


@settings(deadline=None)
@given(graphs, st.integers(0, 2**20))
def test_reduction_is_equivariant_to_the_order_of_vertices(weights, seed):
    kept = split(weights)
    order = np.random.default_rng(seed).permutation(len(weights))
    rank = np.argsort(np.argsort(order[kept[order]]))

    ours = reduce(weights[np.ix_(order, order)], kept[order])

    np.testing.assert_allclose(ours, reduce(weights, kept)[np.ix_(rank, rank)], rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("weights", [side_by_side(path(2), path(3)), side_by_side(path(2), path(1))])
@pytest.mark.parametrize("kind", [np.asarray, csr_array], ids=["dense", "sparse"])
def test_a_component_without_a_kept_vertex_is_an_error(weights, kind):
    with refused(
        "every connected component must keep a vertex: found one without any. Choose the kept vertices with split."
    ):
        reduce(kind(weights), flags(len(weights), 0))


# The pool map


def test_pool_maps_by_hand():
    """Ties go to the first; a walk from 3 on the path 0-1-2-3-4 reaches 4 before 0 with probability 3/4."""
    assert pool_map(path(3), flags(3, 0, 2)).tolist() == [0, 0, 1]
    assert pool_map(path(5), flags(5, 0, 4)).tolist() == [0, 0, 0, 1, 1]
    assert pool_map(star(5), ~flags(5, 0)).tolist() == [0, 0, 1, 2, 3]
    assert pool_map(path(2), flags(2, 1)).tolist() == [0, 0]
    assert pool_map(weights_of(3, (0, 1, 1), (1, 2, 3)), flags(3, 0, 2)).tolist() == [0, 1, 1]
    np.testing.assert_allclose(absorption(path(5), flags(5, 0, 4))[2], [0.25, 0.75])


@pytest.mark.parametrize("n", [7, 9, 13, 17])
@pytest.mark.parametrize("weight", [0.1, 0.3, 1])
def test_rounding_does_not_break_a_tie(n, weight):
    """The middle of a path is equally near to both ends; in floating point often only up to rounding."""
    assert pool_map(weight * path(n), flags(n, 0, n - 1))[n // 2] == 0


@settings(deadline=None)
@given(graphs)
def test_eliminated_vertices_pool_into_the_most_likely_end_of_their_walk(weights):
    """Another method: repeated squaring of the transition matrix."""
    kept = split(weights)
    walk = np.where(kept[:, None], np.eye(len(kept)), weights / np.maximum(weights.sum(1, keepdims=True), 1e-300))
    for _ in range(40):
        walk = walk @ walk
    ended = walk[:, kept]

    ours = pool_map(weights, kept)

    assert ours[kept].tolist() == list(range(kept.sum()))  # onto every kept vertex
    np.testing.assert_allclose(absorption(weights, kept), ended[~kept], atol=1e-6)
    np.testing.assert_allclose(ended[np.arange(len(kept)), ours], ended.max(1), atol=1e-6)


# Sparse matrices


@settings(deadline=None)
@given(graphs)
def test_sparse_and_dense_graphs_have_the_same_reduction(weights):
    kept, scale = split(weights), 1 + weights.max()
    sparse = csr_array(weights)

    np.testing.assert_allclose(absorption(sparse, kept).toarray(), absorption(weights, kept), atol=1e-12)
    np.testing.assert_allclose(reduce(sparse, kept), reduce(weights, kept), rtol=0, atol=1e-10 * scale)
    assert pool_map(sparse, kept).tolist() == pool_map(weights, kept).tolist()


@pytest.mark.parametrize("weights", [random_weights(600, 0.005, True, 0), grid(20, 30)])
def test_the_reduced_laplacian_of_a_large_graph_is_the_schur_complement(weights):
    kept = split(csr_array(weights))
    full = laplacian(weights)
    inner, outer = full[np.ix_(~kept, ~kept)], full[np.ix_(~kept, kept)]
    schur = full[np.ix_(kept, kept)] - outer.T @ np.linalg.solve(inner, outer)

    ours = laplacian(reduce(csr_array(weights), kept)).toarray()

    np.testing.assert_allclose(ours, schur, rtol=0, atol=1e-10 * weights.max())
    np.testing.assert_allclose(ours.sum(1), 0, atol=1e-10 * weights.max())
    assert (ours - np.diag(ours.diagonal()) <= 0).all()


def test_large_reduced_graphs_by_hand():
    """Resistors in series; a star becomes its mesh; two vertices of a complete graph have the resistance 2 / n."""
    every_other = np.arange(3000) % 2 == 0
    halves = reduce(csr_array(path(3000)), every_other)
    np.testing.assert_allclose(halves.diagonal(1), 0.5)
    assert halves.nnz == 2 * 1499
    np.testing.assert_allclose(reduce(csr_array(star(400)), ~flags(400, 0)), complete(399) / 399)
    np.testing.assert_allclose(reduce(csr_array(complete(400)), flags(400, 0, 1)), [[0, 200], [200, 0]])
    assert pool_map(csr_array(path(3000)), every_other).tolist() == [i // 2 for i in range(3000)]
