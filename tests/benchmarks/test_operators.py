"""The page of graph neural operators is generated from its record, and its equation is solved."""

import numpy as np
import pytest
from scipy.spatial import Delaunay

pytest.importorskip("torch_geometric")

from benchmarks import operators, records
from examples import darcy


def test_the_page_has_the_measurements_of_the_record():
    """`python -m benchmarks.operators` writes both."""
    text = operators.PAGE.read_text()

    assert operators.filled(text, records.read(records.OPERATORS)) == text


def test_a_uniform_medium_has_the_pressure_of_the_series():
    """Poisson's equation on the unit square: the largest value is 0.07367, from the Fourier series of Saint-Venant."""
    at = darcy.points(2500, np.random.default_rng(0))

    u = darcy.solve(at, np.ones(len(at)), Delaunay(at).simplices)

    odd = np.arange(1, 60, 2)
    k, l = np.meshgrid(odd, odd)
    series = 16 / np.pi**4 * (np.sin(k * np.pi / 2) * np.sin(l * np.pi / 2) / (k * l * (k**2 + l**2))).sum()
    assert series == pytest.approx(0.07367, abs=1e-5)
    assert u.max() == pytest.approx(series, rel=0.01)


def test_the_pressure_is_zero_on_the_boundary_and_positive_inside():
    """The maximum principle, for a medium of two materials."""
    generator = np.random.default_rng(1)
    at = darcy.points(500, generator)

    u = darcy.solve(at, darcy.permeability(at, generator), Delaunay(at).simplices)

    boundary = ((at == 0) | (at == 1)).any(1)
    assert (u[boundary] == 0).all()
    assert (u[~boundary] > 0).all()


def test_a_medium_that_lets_more_through_has_less_pressure():
    """The equation is linear: four times the permeability is a quarter of the pressure."""
    at = darcy.points(200, np.random.default_rng(2))
    triangles = Delaunay(at).simplices

    once, four_times = (darcy.solve(at, np.full(len(at), a), triangles) for a in (1.0, 4.0))

    np.testing.assert_allclose(four_times, once / 4, rtol=1e-10)


def test_edges_along_the_triangles_come_in_both_directions():
    """Euler: a triangulation of n points has fewer than 3 n edges, so fewer than 6 n directed ones."""
    one = darcy.field(300, np.random.default_rng(3), None)

    directed = set(map(tuple, one.edge_index.T.tolist()))
    assert directed == {(b, a) for a, b in directed}
    assert len(directed) == one.edge_index.shape[1] < 6 * 300
