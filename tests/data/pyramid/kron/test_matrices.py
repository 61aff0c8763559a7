"""Dense and sparse matrices of a graph are equivalent."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from scipy.sparse import csr_array, diags_array, eye_array

from edgecond.data.pyramid.kron import components, laplacian, matrices
from edgecond.data.pyramid.kron.matrices import edges, entries, envelope, factor, pieces, symmetric
from edgecond.errors import DataError
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


# Memory


def chain(n: int) -> csr_array:
    return csr_array(diags_array([np.ones(n - 1), np.ones(n), np.ones(n - 1)], offsets=[-1, 0, 1]))


def test_the_envelope_of_a_path_has_two_entries_per_row_in_any_order():
    """Each row but the first begins one before the diagonal, in the order of Cuthill and McKee."""
    order = np.random.default_rng(0).permutation(1000)

    assert envelope(chain(1000)) == envelope(csr_array(chain(1000)[order][:, order])) == 1999


def test_the_factor_of_a_matrix_whose_envelope_is_too_large_is_refused(monkeypatch: pytest.MonkeyPatch):
    """But for leaves, which add no entries: a star has n^2 / 2 entries in its envelope, and 2n in its factor."""
    n = 100
    spokes = np.arange(1, n)
    hub = csr_array((np.ones(2 * n - 2), (np.append(0 * spokes, spokes), np.append(spokes, 0 * spokes))), shape=(n, n))
    full = csr_array(np.ones((n, n)) + n * np.eye(n))
    monkeypatch.setattr(matrices, "MOST_ENTRIES", n**2 // 4)

    assert factor(csr_array(hub + n * eye_array(n))).L.nnz == 2 * n - 1
    with pytest.raises(DataError, match=r"sparse enough to be coarsened.*100 of its vertices need up to 5,050"):
        factor(full)


def test_a_dense_matrix_beyond_the_budget_is_refused_before_it_is_allocated():
    with pytest.raises(DataError, match="3,000 of its vertices need up to 9,000,000"):
        symmetric(3000, *np.triu_indices(3000, 1)[::-1], np.ones(3000 * 2999 // 2))
