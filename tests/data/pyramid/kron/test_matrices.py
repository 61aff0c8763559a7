"""Dense and sparse matrices of a graph are equivalent."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from scipy.sparse import csr_array

from edgecond.data.pyramid.kron import components, laplacian
from edgecond.data.pyramid.kron.matrices import edges, entries, pieces, symmetric
from tests.data.pyramid.kron.zoo import cycle, graphs, path, side_by_side, sparse_above, star


@settings(deadline=None)
@given(graphs)
def test_components_are_those_of_the_reachable_vertices(weights):
    """Another method: powers of the adjacency matrix."""
    reach = np.linalg.matrix_power((weights > 0) + np.eye(len(weights)), len(weights)) > 0
    expected = [row.nonzero()[0].tolist() for i, row in enumerate(reach) if not row[:i].any()]

    assert [part.tolist() for part in components(weights)] == expected


@pytest.mark.parametrize("seed", range(3))
def test_a_long_path_is_one_component_in_any_order(seed):
    order = np.random.default_rng(seed).permutation(500)

    assert len(components(path(500)[np.ix_(order, order)])) == 1


@settings(deadline=None)
@given(graphs)
def test_sparse_and_dense_graphs_have_the_same_entries(weights):
    sparse = csr_array(weights)

    assert [array.tolist() for array in entries(sparse)] == [array.tolist() for array in entries(weights)]
    np.testing.assert_allclose(laplacian(sparse).toarray(), laplacian(weights))
    assert [part.tolist() for part in components(sparse)] == [part.tolist() for part in components(weights)]


@settings(deadline=None)
@given(graphs)
def test_a_graph_is_rebuilt_from_its_edges_and_from_its_pieces(weights):
    """For dense and for sparse matrices."""
    assert (symmetric(len(weights), *edges(weights)) == weights).all()
    with sparse_above(2):
        assert (csr_array(symmetric(len(weights), *edges(weights))).toarray() == weights).all()
        for part, piece in pieces(weights):
            assert (csr_array(piece).toarray() == weights[np.ix_(part, part)]).all()


def test_large_graphs_are_sparse_unless_they_are_full():
    """Large is more than 250 vertices, full a tenth of the matrix."""
    assert isinstance(symmetric(250, *edges(cycle(250))), np.ndarray)
    assert isinstance(symmetric(251, *edges(cycle(251))), csr_array)
    assert isinstance(symmetric(300, *edges(np.ones((300, 300)))), np.ndarray)


@pytest.mark.parametrize("weights", [path(3), star(4), side_by_side(path(3), star(4))])
def test_explicit_zeros_of_a_sparse_matrix_are_not_edges(weights):
    stored = csr_array(weights + 1)
    stored.data -= 1

    assert [array.tolist() for array in entries(stored)] == [array.tolist() for array in entries(weights)]
