"""Points are spread evenly over a surface."""

from __future__ import annotations

import numpy as np
import pytest
import trimesh

from edgecond.data.formats.surface import sample_surface
from edgecond.errors import DataError
from tests.sentences import refused


def test_points_are_sampled_in_proportion_to_area():
    """By hand: triangles of area 3/2 and 1/2, so three quarters of the points lie on the first, around its centre."""
    vertices = np.array([[0, 0, 0], [3, 0, 0], [0, 1, 0], [0, 0, 5], [1, 0, 5], [0, 1, 5]], np.float64)
    points = sample_surface(vertices, np.array([[0, 1, 2], [3, 4, 5]]), 40_000, np.random.default_rng(0))

    first = points[points[:, 2] < 1]
    assert len(first) / 40_000 == pytest.approx(0.75, abs=0.01)
    assert (first >= 0).all()
    assert (first[:, 0] / 3 + first[:, 1] <= 1 + 1e-12).all()
    np.testing.assert_allclose(first.mean(0), [1, 1 / 3, 0], atol=0.02)


def test_points_of_a_sphere_are_those_that_trimesh_would_draw():
    """Two samples of a mesh have the same moments, up to 1/sqrt(n)."""
    mesh = trimesh.creation.icosphere(subdivisions=2)
    mesh.apply_scale([1, 2, 3])

    ours = sample_surface(mesh.vertices, mesh.faces, 20_000, np.random.default_rng(0))

    theirs = np.asarray(trimesh.sample.sample_surface(mesh, 20_000, seed=0)[0])
    np.testing.assert_allclose(ours.mean(0), theirs.mean(0), atol=0.06)
    np.testing.assert_allclose(np.cov(ours.T), np.cov(theirs.T), atol=0.1)


def test_a_mesh_without_area_is_reported():
    with refused("a mesh needs faces with an area to sample points from: 1 faces have none.", DataError):
        sample_surface(np.zeros((3, 3)), np.array([[0, 1, 2]]), 10, np.random.default_rng(0))
