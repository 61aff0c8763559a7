"""Subdivision keeps the surface and leaves no long edges; edges and normals agree with trimesh and geometry."""

import numpy as np
import pytest
import trimesh

from edgecond.data.pyramid.surface import edges_of, normals, pieces, split
from tests.meshes import BOX, SPHERE, TORUS


def arrays(shape):
    return np.asarray(shape.vertices, float), np.asarray(shape.faces, np.int64)


@pytest.mark.parametrize("shape", [BOX, SPHERE, TORUS])
def test_edges_are_those_of_trimesh(shape):
    vertices, faces = arrays(shape)

    np.testing.assert_array_equal(edges_of(faces, len(vertices)), np.unique(np.sort(shape.edges_unique, 1), axis=0))


def test_a_degenerate_face_has_edges_between_different_vertices_only():
    assert edges_of(np.array([[0, 0, 1], [2, 2, 2]]), 3).tolist() == [[0, 1]]
    assert edges_of(np.zeros((0, 3), np.int64), 0).shape == (0, 2)


def test_normals_of_a_sphere_point_away_from_its_centre():
    """By symmetry, up to the irregularity of the triangles around a vertex."""
    vertices, faces = arrays(SPHERE)

    np.testing.assert_allclose(normals(vertices, faces), vertices, atol=0.02)


def test_normals_weigh_faces_by_area():
    """By hand: two right triangles share the x axis, one in the plane z = 0 of area 1/2, one in y = 0 of area 1."""
    vertices = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 2.0]])
    faces = np.array([[0, 1, 2], [0, 1, 3]])  # normals z and -y

    ours = normals(vertices, faces)

    np.testing.assert_allclose(ours[0], np.array([0, -2, 1]) / np.sqrt(5))
    np.testing.assert_allclose(ours[2:], [[0, 0, 1], [0, -1, 0]])


def test_vertices_without_faces_or_whose_faces_cancel_have_the_normal_zero():
    vertices = np.array([[0, 0, 0], [1, 0, 0.1], [0, 1, 0], [5, 5, 5]])

    np.testing.assert_array_equal(normals(vertices, np.array([[0, 1, 2], [0, 2, 1]])), 0)


@pytest.mark.parametrize("shape", [BOX, SPHERE, TORUS])
@pytest.mark.parametrize("longest", [0.2, 0.37, 0.9])
def test_splitting_keeps_the_surface_and_shortens_its_edges(shape, longest):
    """Area, volume, Euler characteristic and watertightness, computed by trimesh, do not change."""
    vertices, faces = arrays(shape)

    positions, values, cut = split(vertices, vertices @ [[1.0], [2.0], [3.0]], faces, longest)

    after = trimesh.Trimesh(positions, cut, process=False)
    assert after.edges_unique_length.max() <= longest
    assert after.area == pytest.approx(shape.area)
    assert after.volume == pytest.approx(shape.volume)
    assert after.is_watertight
    assert after.euler_number == shape.euler_number
    np.testing.assert_allclose(values, positions @ [[1.0], [2.0], [3.0]])  # linear values are interpolated exactly


def test_a_face_with_k_long_sides_is_divided_into_k_plus_1_faces():
    """By hand: of the sides 3, 4 and 5, none, one, two and three are too long."""
    vertices, face = np.array([[0, 0, 0], [4, 0, 0], [0, 3, 0.0]]), np.array([[0, 1, 2]])

    assert [len(split(vertices, vertices, face, longest)[2]) for longest in (5, 4.5, 3.5, 2.5)] == [1, 2, 3, 4]


@pytest.mark.parametrize("seed", range(3))
def test_the_order_of_vertices_and_faces_does_not_matter(seed):
    """The squares of a box have equal diagonals: the choice must not depend on vertex numbers."""
    rng = np.random.default_rng(seed)
    vertices, faces = arrays(BOX)
    order = rng.permutation(len(vertices))
    number = np.empty_like(order)
    number[order] = np.arange(len(order))
    mixed = np.array([np.roll(face, rng.integers(3)) for face in number[faces][rng.permutation(len(faces))]])

    one, _, one_faces = split(vertices, vertices, faces, 0.3)
    other, _, other_faces = split(vertices[order], vertices[order], mixed, 0.3)

    def triangles(positions, corners):
        return sorted(sorted(map(tuple, positions[face])) for face in corners)

    assert triangles(one, one_faces) == triangles(other, other_faces)


@pytest.mark.parametrize("length", [10, 100])
def test_the_number_of_faces_of_a_needle_is_known_in_advance_but_for_a_factor(length):
    """Two sides of each part are halved at a time, which makes three of it: 3^k for a length of 2^k."""
    vertices, faces = np.array([[0, 0, 0], [length, 0, 0], [length, 0.01, 0]]), np.array([[0, 1, 2]])

    count = len(split(vertices, vertices, faces, 1.0)[2])

    assert count / 4 < pieces(vertices, faces, 1.0).sum() < count


@pytest.mark.parametrize("shape", [BOX, SPHERE, TORUS])
def test_the_number_of_faces_is_known_in_advance_but_for_a_factor(shape):
    """Halving leaves sides between a half and the whole of the longest, so a fourth of the largest area and less."""
    vertices, faces = arrays(shape)

    count = len(split(vertices, vertices, faces, 0.05)[2])

    assert count / 8 < pieces(vertices, faces, 0.05).sum() < count
