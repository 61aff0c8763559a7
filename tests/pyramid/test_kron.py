"""Kron pyramids: by hand on small graphs, and against star-mesh transforms, pseudo-inverses and repeated draws."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgecond.pyramid import kron
from edgecond.pyramid.kron import (
    absorption,
    components,
    laplacian,
    Multiresolution,
    multiresolution,
    pool_map,
    reduce,
    resistances,
    sparsify,
    split,
)
from tests.sentences import refused


def weights_of(n: int, *edges: tuple[int, int] | tuple[int, int, float]) -> np.ndarray:
    weights = np.zeros((n, n))
    for i, j, *weight in edges:
        weights[i, j] = weights[j, i] = weight[0] if weight else 1
    return weights


def path(n: int) -> np.ndarray:
    return weights_of(n, *((i, i + 1) for i in range(n - 1)))


def cycle(n: int) -> np.ndarray:
    return weights_of(n, *((i, (i + 1) % n) for i in range(n)))


def complete(n: int) -> np.ndarray:
    return np.ones((n, n)) - np.eye(n)


def star(n: int, centre: int = 0) -> np.ndarray:
    return weights_of(n, *((centre, i) for i in range(n) if i != centre))


def random_weights(n: int, density: float, weighted: bool, seed: int) -> np.ndarray:
    """Often in several components, with isolated vertices among them."""
    rng = np.random.default_rng(seed)
    weights = np.tril(rng.random((n, n)) < density, -1) * (10 ** rng.uniform(-2, 2, (n, n)) if weighted else 1.0)
    return weights + weights.T


def side_by_side(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    return np.block([[one, np.zeros((len(one), len(other)))], [np.zeros((len(other), len(one))), other]])


def by_pseudo_inverse(weights: np.ndarray) -> np.ndarray:
    """Effective resistances; infinite between components."""
    g = np.linalg.pinv(laplacian(weights), hermitian=True)
    resistance = g.diagonal()[:, None] + g.diagonal() - 2 * g
    reach = np.linalg.matrix_power(weights + np.eye(len(weights)), len(weights)) > 0
    return np.where(reach, resistance, np.inf)


def by_star_mesh(weights: np.ndarray, kept: np.ndarray) -> np.ndarray:
    """Another way to reduce: one vertex at a time, whose neighbours i and j gain w_i w_j / (sum of w)."""
    weights = weights.copy()
    for vertex in np.flatnonzero(~kept):
        arms = weights[vertex].copy()
        weights[vertex] = weights[:, vertex] = 0
        weights += np.outer(arms, arms) / arms.sum()
        np.fill_diagonal(weights, 0)
    return weights[np.ix_(kept, kept)]


def flags(n: int, *kept: int) -> np.ndarray:
    return np.isin(np.arange(n), kept)


def matrix(graph) -> np.ndarray:
    weights = np.zeros((graph.n, graph.n))
    weights[graph.target, graph.source] = graph.weights
    return weights


def pyramid(weights: np.ndarray, levels: int, seed: int = 0) -> Multiresolution:
    return multiresolution(*np.nonzero(weights), len(weights), levels, np.random.default_rng(seed))


graphs = st.builds(
    random_weights, st.integers(1, 14), st.sampled_from([0, 0.1, 0.2, 0.5, 1]), st.booleans(), st.integers(0, 2**20)
)


# Which vertices are kept


@pytest.mark.parametrize(
    ("weights", "kept"),
    [
        (path(1), [0]),
        (path(2), [0]),
        (path(3), [0, 2]),
        (star(3, centre=0), [0]),
        (path(4), [0, 2]),
        (path(9), [0, 2, 4, 6, 8]),
        (cycle(6), [0, 2, 4]),
        (star(5, centre=0), [0]),
        (star(5, centre=4), [0, 1, 2, 3]),
        (side_by_side(path(2), path(3)), [0, 2, 4]),
        (np.zeros((3, 3)), [0, 1, 2]),
    ],
)
def test_the_positive_side_of_the_largest_eigenvector_is_kept(weights, kept):
    """By hand: (1, -2, 1) on a path of three, (4, -1, -1, -1, -1) on a star; alternating signs on paths and cycles."""
    assert np.flatnonzero(split(weights)).tolist() == kept


def test_a_multiple_eigenvalue_has_a_defined_side():
    """By hand: the first unit vector less its mean on a complete graph; on a cycle of five cos(4 pi i / 5)."""
    assert np.flatnonzero(split(complete(3))).tolist() == [0]
    assert np.flatnonzero(split(complete(6))).tolist() == [0]
    assert np.flatnonzero(split(cycle(5))).tolist() == [0, 2, 3]


@pytest.mark.parametrize("weights", [complete(3), complete(6), cycle(5), cycle(7), path(6), star(6)])
@pytest.mark.parametrize("seed", range(3))
def test_the_side_does_not_depend_on_the_basis_of_an_eigenspace(weights, seed, monkeypatch):
    """LAPACK is free to return any orthonormal basis, and either sign of a single vector."""
    expected = split(weights)
    values, vectors = np.linalg.eigh(laplacian(weights))
    top = np.isclose(values, values[-1])
    rotation = np.linalg.qr(np.random.default_rng(seed).normal(size=(top.sum(), top.sum())))[0]
    vectors[:, top] = -vectors[:, top] @ rotation
    monkeypatch.setattr(np.linalg, "eigh", lambda _: (values, vectors))

    assert split(weights).tolist() == expected.tolist()


def test_vertices_where_the_eigenvector_is_zero_are_split_among_themselves():
    """By hand: the heavy edge has (1, -1, 0, ...); what hangs on it is a vertex, a path of two or a path of three."""
    heavy = [(0, 1, 10), (0, 2, 1), (1, 2, 1)]

    assert np.flatnonzero(split(weights_of(3, *heavy))).tolist() == [0, 2]
    assert np.flatnonzero(split(weights_of(4, *heavy, (2, 3, 1)))).tolist() == [0, 2]
    assert np.flatnonzero(split(weights_of(5, *heavy, (2, 3, 1), (3, 4, 1)))).tolist() == [0, 2, 4]


@pytest.mark.parametrize(
    "weights",
    [path(100), cycle(81), star(70), complete(60), side_by_side(cycle(64), path(55)), random_weights(90, 0.1, True, 0)],
)
def test_large_graphs_are_split_as_small_ones_are(weights, monkeypatch):
    """Lanczos iterations against all eigenvectors; single, double and high multiplicities."""
    expected = split(weights)
    monkeypatch.setattr(kron, "LARGE", 50)

    assert split(weights).tolist() == expected.tolist()


def test_large_graphs_whose_iterations_stall_are_split_all_the_same(monkeypatch):
    """The eigenvalues of a long path are too close to each other for a single iteration."""
    monkeypatch.setattr(kron, "LARGE", 50)
    monkeypatch.setitem(kron.LANCZOS_OPTIONS, "maxiter", 1)

    assert np.flatnonzero(split(path(200))).tolist() == list(range(0, 200, 2))


@settings(deadline=None)
@given(graphs)
def test_no_side_of_a_component_is_empty(weights):
    kept = split(weights)

    for part in components(weights):
        assert kept[part].any()
        assert len(part) == 1 or not kept[part].all()


@settings(deadline=None)
@given(graphs, graphs, st.sampled_from([2.0**-30, 0.25, 4, 2.0**40]))
def test_the_split_knows_neither_units_nor_other_components(one, other, unit):
    expected = [*split(one), *split(other)]

    assert split(side_by_side(one * unit, other)).tolist() == expected


@settings(deadline=None)
@given(graphs)
def test_components_are_those_of_the_reachable_vertices(weights):
    """Another method: powers of the adjacency matrix."""
    reach = np.linalg.matrix_power((weights > 0) + np.eye(len(weights)), len(weights)) > 0
    expected = [row.nonzero()[0].tolist() for i, row in enumerate(reach) if not row[:i].any()]

    assert [part.tolist() for part in components(weights)] == expected


@pytest.mark.parametrize("seed", range(3))
def test_a_long_path_is_one_component_however_it_is_numbered(seed):
    order = np.random.default_rng(seed).permutation(500)

    assert len(components(path(500)[np.ix_(order, order)])) == 1


# Kron reduction


def test_reduced_graphs_by_hand():
    """Two resistors in series; a star of four becomes its mesh; a leaf that goes leaves nothing behind."""
    np.testing.assert_allclose(reduce(path(3), flags(3, 0, 2)), [[0, 0.5], [0.5, 0]])
    np.testing.assert_allclose(reduce(star(5), ~flags(5, 0)), complete(4) / 4)
    np.testing.assert_allclose(reduce(star(5), flags(5, 0, 1)), [[0, 1], [1, 0]])
    np.testing.assert_allclose(reduce(complete(3), flags(3, 0, 1)), [[0, 1.5], [1.5, 0]])
    assert reduce(path(2), flags(2, 0)).tolist() == [[0]]


@settings(deadline=None)
@given(graphs)
def test_the_reduced_laplacian_is_the_schur_complement(weights):
    """And that of eliminating one vertex after the other; symmetric, not negative, rows sum to zero."""
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
def test_an_edge_joins_kept_vertices_that_a_path_of_eliminated_ones_does(weights):
    """No weight is rounding: where star-mesh transforms of exact zeros leave none, there is none."""
    kept = split(weights)

    assert ((reduce(weights, kept) > 0) == (by_star_mesh(weights, kept) > 0)).all()


@settings(deadline=None)
@given(graphs)
def test_effective_resistances_between_kept_vertices_remain(weights):
    """The theorem of Kron reduction; infinite ones too, so components neither merge nor fall apart."""
    kept = split(weights)

    ours = by_pseudo_inverse(reduce(weights, kept))

    np.testing.assert_allclose(ours, by_pseudo_inverse(weights)[np.ix_(kept, kept)], rtol=1e-6, atol=1e-9)


@settings(deadline=None)
@given(graphs, st.integers(0, 2**20))
def test_reduction_follows_a_new_order_of_the_vertices(weights, seed):
    kept = split(weights)
    order = np.random.default_rng(seed).permutation(len(weights))
    rank = np.argsort(np.argsort(order[kept[order]]))

    ours = reduce(weights[np.ix_(order, order)], kept[order])

    np.testing.assert_allclose(ours, reduce(weights, kept)[np.ix_(rank, rank)], rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("weights", [side_by_side(path(2), path(3)), side_by_side(path(2), path(1))])
def test_a_component_that_is_eliminated_as_a_whole_is_refused(weights):
    with refused(
        "every connected component must keep a vertex: found one that is eliminated as a whole. "
        "Choose the kept vertices by split."
    ):
        reduce(weights, flags(len(weights), 0))


# The pool map


def test_pool_maps_by_hand():
    """Ties go to the first; a walk from 3 on the path 0-1-2-3-4 meets 4 before 0 three times out of four."""
    assert pool_map(path(3), flags(3, 0, 2)).tolist() == [0, 0, 1]
    assert pool_map(path(5), flags(5, 0, 4)).tolist() == [0, 0, 0, 1, 1]
    assert pool_map(star(5), ~flags(5, 0)).tolist() == [0, 0, 1, 2, 3]
    assert pool_map(path(2), flags(2, 1)).tolist() == [0, 0]
    assert pool_map(weights_of(3, (0, 1, 1), (1, 2, 3)), flags(3, 0, 2)).tolist() == [0, 1, 1]
    np.testing.assert_allclose(absorption(path(5), flags(5, 0, 4))[2], [0.25, 0.75])


@pytest.mark.parametrize("n", [7, 9, 13, 17])
@pytest.mark.parametrize("weight", [0.1, 0.3, 1])
def test_rounding_does_not_break_a_tie(n, weight):
    """The middle of a path is as near to one end as to the other; in floating point often not quite."""
    assert pool_map(weight * path(n), flags(n, 0, n - 1))[n // 2] == 0


@settings(deadline=None)
@given(graphs)
def test_eliminated_vertices_pool_where_their_walk_ends(weights):
    """Another method: the walk itself, squared until it has ended."""
    kept = split(weights)
    walk = np.where(kept[:, None], np.eye(len(kept)), weights / np.maximum(weights.sum(1, keepdims=True), 1e-300))
    for _ in range(40):
        walk = walk @ walk
    ended = walk[:, kept]

    ours = pool_map(weights, kept)

    assert ours[kept].tolist() == list(range(kept.sum()))  # onto every kept vertex
    np.testing.assert_allclose(absorption(weights, kept), ended[~kept], atol=1e-6)
    np.testing.assert_allclose(ended[np.arange(len(kept)), ours], ended.max(1), atol=1e-6)


# Sparsification


@settings(deadline=None)
@given(graphs)
def test_resistances_are_those_of_the_pseudo_inverse_and_sum_as_foster_says(weights):
    """Over the edges of a connected graph, weight times resistance sums to n - 1."""
    for part in components(weights):
        connected = weights[np.ix_(part, part)]
        ours = resistances(connected)
        np.testing.assert_allclose(ours, by_pseudo_inverse(connected), rtol=1e-6, atol=1e-9)
        assert (connected * ours).sum() / 2 == pytest.approx(len(part) - 1)


@settings(deadline=None)
@given(graphs, st.sampled_from([0.01, 0.3, 1, 5]), st.integers(0, 2**20))
def test_a_sparsified_graph_has_some_of_the_edges_and_all_of_the_conductance(weights, epsilon, seed):
    """Each draw adds (n - 1) / q to the sum of new weight times old resistance, whichever edge it is."""
    ours = sparsify(weights, epsilon, np.random.default_rng(seed))

    assert (ours == ours.T).all()
    assert (ours >= 0).all()
    assert (weights[ours > 0] > 0).all()
    for part in components(weights):
        block = np.ix_(part, part)
        assert (ours[block] * resistances(weights[block])).sum() / 2 == pytest.approx(len(part) - 1)


@pytest.mark.parametrize("weights", [cycle(5), star(6), complete(7), random_weights(9, 0.5, True, 1)])
def test_the_expected_laplacian_of_one_draw_is_that_of_the_graph(weights):
    """Mean of many draws, within five standard errors of every entry."""
    rng, count = np.random.default_rng(0), 3000

    draws = np.stack([laplacian(sparsify(weights, 0.5, rng, tries=1)) for _ in range(count)])

    error = draws.std(0) / np.sqrt(count)
    assert (np.abs(draws.mean(0) - laplacian(weights)) <= 5 * error + 1e-9).all()


def test_new_weights_are_multiples_of_what_one_draw_is_worth():
    """By hand: 12 vertices and epsilon 2 / sqrt(12) make 0.16 * 12 * ln 12 * 3 = 14.3 draws; K12 has w R = 1/6."""
    ours = sparsify(complete(12), 0.3, np.random.default_rng(0), tries=1)

    draws = ours[np.tril(ours) > 0] * 14 / 66
    np.testing.assert_allclose(draws, draws.round())
    assert draws.sum() == pytest.approx(14)


def test_spectra_come_closer_as_epsilon_falls():
    """Spielman and Srivastava: the deviation relative to the graph's own Laplacian falls in proportion to epsilon."""
    n, rng = 60, np.random.default_rng(0)

    def deviation(epsilon: float) -> float:  # the Laplacian of a complete graph is n on all that is orthogonal to 1
        values = np.linalg.eigvalsh(laplacian(sparsify(complete(n), epsilon, rng)))[1:] / n
        return np.abs(values - 1).max()

    coarse, fine = (np.mean([deviation(epsilon) for _ in range(20)]) for epsilon in (0.52, 0.26))

    assert 1.5 < coarse / fine < 3


def test_graphs_of_one_or_two_vertices_stay_as_they_are():
    weights = side_by_side(path(1), weights_of(2, (0, 1, 0.3)))

    assert sparsify(weights, 0.3, np.random.default_rng(0)).tolist() == weights.tolist()


@pytest.mark.parametrize("weights", [path(15), cycle(20), complete(10)])
def test_a_graph_that_falls_apart_is_drawn_again(weights):
    """Of single draws some are disconnected; ten, with ever smaller epsilon, nearly always suffice."""

    def connected(tries: int) -> int:
        drawn = (sparsify(weights, 0.3, np.random.default_rng(seed), tries=tries) for seed in range(100))
        return sum(len(components(graph)) == 1 for graph in drawn)

    assert connected(tries=1) < 90
    assert connected(tries=10) >= 98


# Pyramids


def test_the_pyramid_of_a_path_of_three_by_hand():
    """Its two ends remain, half a conductance apart; then the first of them; then nothing changes any more."""
    ours = pyramid(path(3), levels=5)

    assert [graph.n for graph in ours.levels] == [3, 2, 1, 1, 1]
    assert ours.levels[0].source.tolist() == [1, 0, 2, 1]
    assert ours.levels[0].target.tolist() == [0, 1, 1, 2]
    assert ours.levels[0].weights.tolist() == [1, 1, 1, 1]
    assert ours.levels[1].weights.tolist() == [0.5, 0.5]
    assert [index.tolist() for index in ours.kept] == [[0, 2], [0], [0], [0]]
    assert [index.tolist() for index in ours.pool_maps] == [[0, 0, 1], [0, 0], [0], [0]]


@settings(deadline=None)
@given(graphs, st.integers(1, 5), st.integers(0, 2**20))
def test_levels_fit_together(weights, levels, seed):
    ours, again = pyramid(weights, levels, seed), pyramid(weights, levels, seed)

    assert len(ours.levels) == levels
    assert len(ours.kept) == len(ours.pool_maps) == levels - 1
    assert (matrix(ours.levels[0]) == (weights > 0)).all()
    for graph in ours.levels:
        assert (np.diff(graph.target * graph.n + graph.source) > 0).all()  # by target, then by source
        assert (graph.weights > 0).all()
        assert (matrix(graph) == matrix(graph).T).all()
    for finer, coarser, kept, index in zip(ours.levels, ours.levels[1:], ours.kept, ours.pool_maps, strict=False):
        assert len(kept) == coarser.n
        assert len(index) == finer.n
        assert index[kept].tolist() == list(range(coarser.n))
        assert coarser.n < finer.n or not len(finer.source)
        for part in components(matrix(finer)):  # a vertex pools within its component
            assert np.isin(kept[index[part]], part).all()
    for one, other in zip(ours.levels, again.levels, strict=True):
        np.testing.assert_array_equal(matrix(one), matrix(other), strict=True)


def test_pyramids_of_different_generators_differ():
    """Section 3.5: several pyramids of one graph augment the data; their first split is the same."""
    several = [pyramid(cycle(30), 3, seed) for seed in range(5)]

    assert len({one.levels[1].weights.tobytes() for one in several}) == 5
    assert len({one.kept[0].tobytes() for one in several}) == 1


def test_directions_repetitions_and_self_loops_of_edges_do_not_matter():
    source, target = np.array([0, 1, 1, 2, 2]), np.array([1, 0, 2, 2, 3])

    ours = multiresolution(source, target, 4, 1, np.random.default_rng(0))

    assert (matrix(ours.levels[0]) == path(4)).all()


def test_graphs_without_edges_are_repeated():
    ours = multiresolution(np.array([], dtype=int), np.array([], dtype=int), 2, 3, np.random.default_rng(0))

    assert [graph.n for graph in ours.levels] == [2, 2, 2]
    assert [index.tolist() for index in ours.pool_maps] == [[0, 1], [0, 1]]


def test_impossible_pyramids_are_refused():
    rng, edge = np.random.default_rng(0), (np.array([0]), np.array([2]))
    with refused("a pyramid needs at least one level: got 0."):
        multiresolution(*edge, 3, 0, rng)
    with refused("a graph needs at least one vertex: got 0."):
        multiresolution(*edge, 0, 2, rng)
    with refused("the target of an edge is one of the 2 vertices, 0 to 1: found 2 to 2."):
        multiresolution(*edge, 2, 2, rng)
