"""The kept vertices: by hand for small graphs, and the same with every method to compute eigenvectors."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array

from edgecond.data.pyramid.kron import components, laplacian, split, splitting
from tests.data.pyramid.kron.zoo import (
    complete,
    cycle,
    graphs,
    grid,
    hubs,
    path,
    random_weights,
    side_by_side,
    sparse_above,
    star,
    weights_of,
)


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


def test_the_split_for_a_multiple_eigenvalue_is_well_defined():
    """By hand: the first unit vector minus its mean on a complete graph; cos(4 pi i / 5) on a cycle of five."""
    assert np.flatnonzero(split(complete(3))).tolist() == [0]
    assert np.flatnonzero(split(complete(6))).tolist() == [0]
    assert np.flatnonzero(split(cycle(5))).tolist() == [0, 2, 3]


@pytest.mark.parametrize("weights", [complete(3), complete(6), cycle(5), cycle(7), path(6), star(6)])
@pytest.mark.parametrize("seed", range(3))
def test_the_split_does_not_depend_on_the_basis_of_an_eigenspace(weights, seed, monkeypatch):
    """LAPACK may return any orthonormal basis, and either sign of a single vector."""
    expected = split(weights)
    values, vectors = np.linalg.eigh(laplacian(weights))
    top = np.isclose(values, values[-1])
    rotation = np.linalg.qr(np.random.default_rng(seed).normal(size=(top.sum(), top.sum())))[0]
    vectors[:, top] = -vectors[:, top] @ rotation
    monkeypatch.setattr(np.linalg, "eigh", lambda _: (values, vectors))

    assert split(weights).tolist() == expected.tolist()


def test_vertices_where_the_eigenvector_is_zero_are_split_separately():
    """By hand: the heavy edge has (1, -1, 0, ...); attached to it is a vertex, a path of two or a path of three."""
    heavy = [(0, 1, 10), (0, 2, 1), (1, 2, 1)]

    assert np.flatnonzero(split(weights_of(3, *heavy))).tolist() == [0, 2]
    assert np.flatnonzero(split(weights_of(4, *heavy, (2, 3, 1)))).tolist() == [0, 2]
    assert np.flatnonzero(split(weights_of(5, *heavy, (2, 3, 1), (3, 4, 1)))).tolist() == [0, 2, 4]


@pytest.mark.parametrize(
    "weights",
    [
        path(100),
        cycle(81),
        star(70),
        complete(60),
        grid(9, 9),
        hubs(4, 30, 7),
        side_by_side(cycle(64), path(55)),
        random_weights(90, 0.1, True, 0),
        random_weights(150, 0.02, False, 0),
    ],
)
def test_sparse_and_dense_graphs_have_the_same_split(weights):
    """Lanczos iterations against LAPACK; eigenvalues of single, double and high multiplicity."""
    expected = split(weights)

    with sparse_above(50):
        ours = split(csr_array(weights))

    assert ours.tolist() == expected.tolist()


@pytest.mark.parametrize("iterations", [1, 20])
def test_large_graphs_are_split_correctly_if_iterations_do_not_converge(iterations, monkeypatch):
    """The eigenvalues of a long path are too close for a few iterations, with one even for those of the inverse."""
    monkeypatch.setitem(splitting.OPTIONS, "maxiter", iterations)

    assert np.flatnonzero(split(csr_array(path(400)))).tolist() == list(range(0, 400, 2))


def test_large_bipartite_graphs_are_split_into_their_two_sides():
    """By hand: the largest eigenvector of paths, even cycles and grids alternates; a star keeps its centre."""
    assert np.flatnonzero(split(csr_array(path(3000)))).tolist() == list(range(0, 3000, 2))
    assert np.flatnonzero(split(csr_array(cycle(600)))).tolist() == list(range(0, 600, 2))
    assert (split(csr_array(grid(25, 30))) == (np.indices((25, 30)).sum(0) % 2 == 0).ravel()).all()
    assert np.flatnonzero(split(csr_array(star(600)))).tolist() == [0]


@settings(deadline=None)
@given(graphs)
def test_every_component_keeps_some_but_not_all_of_its_vertices(weights):
    kept = split(weights)

    for part in components(weights):
        assert kept[part].any()
        assert len(part) == 1 or not kept[part].all()


@settings(deadline=None)
@given(graphs, graphs, st.sampled_from([2.0**-30, 0.25, 4, 2.0**40]))
def test_the_split_depends_neither_on_units_nor_on_other_components(one, other, unit):
    expected = [*split(one), *split(other)]

    assert split(side_by_side(one * unit, other)).tolist() == expected
