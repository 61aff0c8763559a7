"""Sparsification agrees with pseudo-inverses, theorems, and the mean of repeated draws."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array

from edgecond.data.pyramid.kron import components, laplacian, resistances, sparsification, sparsify
from tests.data.pyramid.kron.zoo import (
    by_pseudo_inverse,
    complete,
    cycle,
    graphs,
    grid,
    path,
    random_weights,
    side_by_side,
    sparse_above,
    star,
    weights_of,
)


def all_resistances(weights: np.ndarray | csr_array) -> np.ndarray:
    n = weights.shape[0]
    return resistances(weights, *np.indices((n, n)).reshape(2, -1)).reshape(n, n)


@settings(deadline=None)
@given(graphs)
def test_resistances_are_those_of_the_pseudo_inverse_and_satisfy_foster_s_theorem(weights):
    """Foster: weight times resistance sums to n - 1 over the edges of a connected graph."""
    for part in components(weights):
        connected = weights[np.ix_(part, part)]
        ours = all_resistances(connected)
        np.testing.assert_allclose(ours, by_pseudo_inverse(connected), rtol=1e-6, atol=1e-9)
        assert (connected * ours).sum() / 2 == pytest.approx(len(part) - 1)


@settings(deadline=None)
@given(graphs, st.sampled_from([0.01, 0.3, 1, 5]), st.integers(0, 2**20))
def test_a_sparsified_graph_has_some_of_the_edges_and_all_of_the_conductance(weights, epsilon, seed):
    """Each of q draws adds (n - 1) / q to the sum of new weight times old resistance, whatever the edge."""
    ours = sparsify(weights, epsilon, np.random.default_rng(seed))

    assert (ours == ours.T).all()
    assert (ours >= 0).all()
    assert (weights[ours > 0] > 0).all()
    for part in components(weights):
        block = np.ix_(part, part)
        assert (ours[block] * all_resistances(weights[block])).sum() / 2 == pytest.approx(len(part) - 1)


@pytest.mark.parametrize("weights", [cycle(5), star(6), complete(7), random_weights(9, 0.5, True, 1)])
def test_the_expected_laplacian_of_one_draw_is_that_of_the_graph(weights):
    """Mean of many draws, within five standard errors of every entry."""
    rng, count = np.random.default_rng(0), 3000

    draws = np.stack([laplacian(sparsify(weights, 0.5, rng, tries=1)) for _ in range(count)])

    error = draws.std(0) / np.sqrt(count)
    assert (np.abs(draws.mean(0) - laplacian(weights)) <= 5 * error + 1e-9).all()


def test_new_weights_are_multiples_of_the_weight_of_one_draw():
    """By hand: 12 vertices and epsilon 2 / sqrt(12) give 0.16 * 12 * ln 12 * 3 = 14.3 draws; K12 has w R = 1/6."""
    ours = sparsify(complete(12), 0.3, np.random.default_rng(0), tries=1)

    draws = ours[np.tril(ours) > 0] * 14 / 66
    np.testing.assert_allclose(draws, draws.round())
    assert draws.sum() == pytest.approx(14)


def test_the_spectrum_deviates_in_proportion_to_epsilon():
    """Spielman and Srivastava: the deviation relative to the Laplacian of the graph is proportional to epsilon."""
    n, rng = 60, np.random.default_rng(0)

    def deviation(epsilon: float) -> float:  # the Laplacian of a complete graph is n on the complement of 1
        values = np.linalg.eigvalsh(laplacian(sparsify(complete(n), epsilon, rng)))[1:] / n
        return np.abs(values - 1).max()

    coarse, fine = (np.mean([deviation(epsilon) for _ in range(20)]) for epsilon in (0.52, 0.26))

    assert 1.5 < coarse / fine < 3


def test_graphs_of_one_or_two_vertices_do_not_change():
    weights = side_by_side(path(1), weights_of(2, (0, 1, 0.3)))

    assert sparsify(weights, 0.3, np.random.default_rng(0)).tolist() == weights.tolist()


@pytest.mark.parametrize("weights", [path(15), cycle(20), complete(10)])
def test_a_disconnected_graph_is_drawn_again(weights):
    """Some single draws are disconnected; ten draws with decreasing epsilon are nearly always enough."""

    def connected(tries: int) -> int:
        drawn = (sparsify(weights, 0.3, np.random.default_rng(seed), tries=tries) for seed in range(100))
        return sum(len(components(graph)) == 1 for graph in drawn)

    assert connected(tries=1) < 90
    assert connected(tries=10) >= 98


# Sparse matrices


@settings(deadline=None)
@given(graphs)
def test_resistances_of_sparse_graphs_are_those_of_dense_ones(weights):
    for part in components(weights):
        connected = weights[np.ix_(part, part)]
        if len(part) > 1:
            np.testing.assert_allclose(all_resistances(csr_array(connected)), all_resistances(connected), 1e-6, 1e-9)


def test_resistances_of_large_graphs_by_hand():
    """Distances along a path; n - 1 parallel to 1 on a cycle; 2 / n on a complete graph."""
    ends = np.array([0, 0, 1000]), np.array([2999, 1, 1007])

    np.testing.assert_allclose(resistances(csr_array(path(3000)), *ends), [2999, 1, 7], rtol=1e-9)
    np.testing.assert_allclose(resistances(csr_array(cycle(500)), np.array([3]), np.array([4])), 499 / 500)
    np.testing.assert_allclose(resistances(csr_array(complete(300)), np.array([7]), np.array([5])), 2 / 300)


@pytest.mark.parametrize("weights", [grid(20, 20), random_weights(200, 0.1, True, 0)])
def test_estimated_resistances_have_the_stated_precision(weights, monkeypatch):
    """A squared length from 256 random directions has the relative standard deviation 9 %; it is reproducible."""
    i, j = np.nonzero(np.tril(weights))
    exact = resistances(weights, i, j)
    monkeypatch.setattr(sparsification, "EXACT", 100)

    ours = resistances(csr_array(weights), i, j)

    error = ours / exact - 1
    assert 0.02 < np.sqrt(np.mean(error**2)) < 0.11
    assert np.abs(error).max() < 0.5
    assert (ours == resistances(csr_array(weights), i, j)).all()


@pytest.mark.parametrize("exact", [5000, 100])
def test_spectra_of_large_graphs_are_those_of_the_graph_on_average(exact, monkeypatch):
    """Whitened by the Laplacian of the graph, eigenvalues deviate by about 2 sqrt(n / q) with q draws in total."""
    n, rng = 300, np.random.default_rng(0)
    weights = random_weights(n, 0.06, False, 0)
    values, vectors = np.linalg.eigh(laplacian(weights))
    whitening = vectors[:, 1:] / np.sqrt(values[1:])
    monkeypatch.setattr(sparsification, "EXACT", exact)

    with sparse_above(50):
        draws = [laplacian(sparsify(csr_array(weights), 0.3, rng)).toarray() for _ in range(16)]

    deviation = 2 * np.sqrt(n / (0.16 * n * np.log(n) / 0.3**2))  # 0.63
    for laplacians, expected in ((draws[:1], deviation), (draws, deviation / 4)):
        spectrum = np.linalg.eigvalsh(whitening.T @ np.mean(laplacians, axis=0) @ whitening)
        assert expected / 2 < np.abs(spectrum - 1).max() < 1.5 * expected


@settings(deadline=None)
@given(graphs, st.integers(0, 2**20))
@example(random_weights(14, 0.1, True, 619), 2)  # bridges, whose shares differ by 2e-12 from 1
def test_sparse_and_dense_graphs_are_sparsified_equally(weights, seed):
    """With the same generator: probabilities are rounded to the digits in which resistances agree."""
    expected = sparsify(weights, 0.3, np.random.default_rng(seed))

    with sparse_above(2):
        ours = sparsify(csr_array(weights), 0.3, np.random.default_rng(seed))

    np.testing.assert_allclose(csr_array(ours).toarray(), expected, rtol=1e-6)
