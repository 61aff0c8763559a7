"""Files and arrays become clouds and meshes, and errors name the file and the fault."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
import torch
import trimesh

from edgecond.data.formats import Points, read_points, read_surface, Surface
from edgecond.data.points import Columns, labelled, points_of, read_cloud, to_cloud, to_mesh
from edgecond.errors import DataError
from tests.sentences import mentions, refused

POINTS = np.array([[0.0, 1.0, 2.0, 0.5], [3.0, 4.5, -5.0, 1.0]])


@pytest.mark.parametrize("delimiter", [",", " ", ", ", "\t"])
@pytest.mark.parametrize("ending", [".csv", ".txt", ".xyz"])
def test_a_table_of_numbers_is_a_cloud(tmp_path, ending, delimiter):
    path = tmp_path / f"cloud{ending}"
    np.savetxt(path, POINTS, delimiter=delimiter)

    cloud = read_cloud(path, 1)

    np.testing.assert_array_equal(cloud.positions, POINTS[:, :3])
    np.testing.assert_array_equal(cloud.signal, POINTS[:, 3:])


@pytest.mark.parametrize("kind", [np.float64, np.float32, np.int16])
def test_a_matrix_in_numpys_format_is_a_cloud(tmp_path, kind):
    np.save(tmp_path / "cloud.npy", POINTS.astype(kind))

    np.testing.assert_array_equal(read_cloud(tmp_path / "cloud.npy", 1).positions, POINTS[:, :3].astype(kind))


@pytest.mark.parametrize(
    ("name", "content", "sentence"),
    [
        ("cloud.npy", None, "there is no such file"),
        ("cloud.doc", b"", "in .csv, .las, .laz, .npy, .npz, .obj, .off, .pcd, .ply, .pts, .stl, .txt, .xyz"),
        ("cloud.obj", b"", "cannot be read"),
        ("cloud.npy", b"", "cannot be read"),
        ("cloud.npy", b"\x93NUMPY\x01\x00", "cannot be read"),
        ("cloud.npy", pickle.dumps(POINTS), "cannot be read"),
        ("cloud.txt", b"1 2 3 4\n1 2 3\n", "cannot be read"),
        ("cloud.txt", b"x y z i\n", "cannot be read"),
        ("cloud.txt", b"\xff\xfe\x00", "cannot be read"),
        ("cloud.txt", b"1 2 3\n", r"must have 4 columns, x, y, z and 1 of the signal: found"),
        ("cloud.txt", b"1 2 3 nan\n", "the signal of point 0 is"),
        ("cloud.txt", b"1 2 inf 4\n", "the position of point 0 is"),
    ],
)
def test_a_file_that_is_no_cloud_is_reported(tmp_path, name, content, sentence):
    if content is not None:
        (tmp_path / name).write_bytes(content)

    with pytest.raises(DataError, match=sentence):
        read_cloud(tmp_path / name, 1)


@pytest.mark.filterwarnings("ignore:loadtxt")
@pytest.mark.parametrize("points", [np.zeros((0, 4)), np.zeros(4), np.array([[None] * 4])])
def test_an_empty_file_a_vector_and_objects_are_no_cloud(tmp_path, points):
    np.save(tmp_path / "cloud.npy", points, allow_pickle=True)

    with pytest.raises(DataError, match=r"empty cloud|must have 4 columns|cannot be read"):
        read_cloud(tmp_path / "cloud.npy", 1)


def test_a_mesh_without_colours_or_other_values_has_no_signal(tmp_path):
    """A value that is made up would be read as a measured one, such as the intensity of a LiDAR scan."""
    path = tmp_path / "shape.obj"
    path.write_text("v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n")

    with refused(f"{path} must have 4 columns, x, y, z and 1 of the signal: found x, y, z.", DataError):
        read_cloud(path, 1)


def test_columns_are_chosen_by_name_and_none_is_the_constant_one():
    points = Points(np.zeros((2, 3)), np.array([[1.0, 2, 3], [4, 5, 6]]), ("a", "b", "c"))

    assert to_cloud(points, ("c", "a"), "it").signal.tolist() == [[3, 1], [6, 4]]
    assert to_cloud(points, (), "it").signal.tolist() == [[1], [1]]
    with mentions("it must have the column 'd'", "found a, b, c", kind=DataError):
        to_cloud(points, ("d",), "it")


def test_a_cloud_far_away_keeps_its_shape():
    """Single precision holds 5.4 million to 0.5, so that the sides of a square of 0.25 would be gone."""
    square = np.array([[0, 0, 0], [0.25, 0, 0], [0.25, 0.25, 0], [0, 0.25, 0]])
    points = Points(square + np.array([512_700, 5_403_547, 295]), np.empty((4, 0)), ())

    positions = to_cloud(points, (), "it").positions.numpy()

    np.testing.assert_allclose(positions - positions[0], square, atol=1e-8)


@pytest.mark.parametrize("length", [0, 6000], ids=["a tile", "a corridor of 6 km"])
@pytest.mark.parametrize("stray", [0, 1])
def test_points_in_utm_coordinates_keep_their_offsets(length, stray):
    """Single precision holds 5.4 million to 0.5; 6,000, the corridor, to 0.0005. A stray point is at 0, 0, 0."""
    utm, points = np.array([500_000.0, 5_400_000, 100]), np.random.default_rng(0).random((99, 3)) * [20, 20, 5]
    wide = np.concatenate([utm + points, utm + points + [0, length, 0], np.zeros((stray, 3))])

    cloud = to_cloud(Points(wide, np.empty((len(wide), 0)), ()), (), "it")

    one, other = cloud.positions.double().numpy()[:198].reshape(2, 99, 3)
    for found in (one, other):
        np.testing.assert_allclose(found - found[0], points - points[0], atol=5e-4)


def test_a_cloud_nearby_stays_where_it_is():
    positions = np.array([[30.0, 0, 1], [31, 2, 3]])

    assert to_cloud(Points(positions, np.empty((2, 0)), ()), (), "it").positions.tolist() == positions.tolist()


@pytest.mark.parametrize("ending", ["off", "obj", "stl", "ply"])
def test_a_mesh_has_the_vertices_and_faces_that_trimesh_wrote(tmp_path, ending):
    """An STL file lists the corners of each triangle separately; a sphere of 162 vertices has 320 faces (2 V - 4)."""
    sphere, path = trimesh.creation.icosphere(subdivisions=2), tmp_path / f"sphere.{ending}"
    sphere.export(path)

    mesh = to_mesh(read_surface(path), (), path)

    assert (len(mesh), len(mesh.faces)) == (162, 320)
    found = trimesh.Trimesh(mesh.positions.numpy(), mesh.faces.numpy(), process=False)
    assert found.is_watertight
    assert found.volume == pytest.approx(sphere.volume, rel=1e-4)
    assert mesh.signal.tolist() == [[1.0]] * 162


def test_vertices_at_one_place_are_one_with_the_mean_of_their_signal():
    """Two triangles along a side, each with corners of its own; -0 and 0 are one place."""
    positions = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [1, 0, -0.0], [0, 1, 0], [1, 1, 0]])
    heat = np.array([[0.0], [1], [2], [3], [6], [5]])

    mesh = to_mesh(Surface(positions, heat, ("heat",), np.array([[0, 1, 2], [3, 5, 4]])), ("heat",), "a file")

    told = {tuple(place): value for place, (value,) in zip(mesh.positions.tolist(), mesh.signal.tolist(), strict=True)}
    assert told == {(0, 0, 0): 0, (1, 0, 0): 2, (0, 1, 0): 4, (1, 1, 0): 5}
    assert len(mesh.faces) == 2


def test_faces_without_three_corners_and_vertices_without_faces_are_left_out():
    positions = np.array([[9, 9, 9.0], [0, 0, 0], [1, 0, 0], [0, 1, 0]])
    faces = np.array([[1, 2, 3], [1, 1, 2], [3, 3, 3]])

    mesh = to_mesh(Surface(positions, np.zeros((4, 0)), (), faces), (), "a file")

    assert sorted(mesh.positions.tolist()) == [[0, 0, 0], [0, 1, 0], [1, 0, 0]]
    assert len(mesh.faces) == 1


def test_a_mesh_of_degenerate_faces_alone_is_reported():
    surface = Surface(np.zeros((3, 3)), np.zeros((3, 0)), (), np.array([[0, 1, 2]]))

    with mentions("a file must have a face with three different corners", "1 faces", kind=DataError):
        to_mesh(surface, (), "a file")


@pytest.mark.parametrize(("name", "content"), [("a.off", "OFF\n2 0 0\n0 0 0\n1 1 1\n"), ("a.xyz", "0 0 0\n1 1 1\n")])
def test_a_file_without_faces_is_no_mesh(tmp_path, name, content):
    path = tmp_path / name
    path.write_text(content)

    with mentions(path, "must have faces: found 2 points only", "as a cloud", kind=DataError):
        read_surface(path)


def test_an_array_has_the_columns_of_the_same_array_in_a_file(tmp_path):
    np.save(tmp_path / "cloud.npy", POINTS)

    ours, theirs = points_of(POINTS.tolist(), "it"), read_points(tmp_path / "cloud.npy")

    assert ours.names == theirs.names == ("column 4",)
    np.testing.assert_array_equal(ours.positions, theirs.positions)
    np.testing.assert_array_equal(ours.signal, theirs.signal)
    with mentions("it must be an array", "(n, 3) or (n, 3 + d)", "float64 of shape (2, 2)", kind=DataError):
        points_of(POINTS[:, :2], "it")


def test_components_of_normals_are_kept_together():
    """A wall that faces x has a ny of 0 everywhere; rotated with it, ny is not. A part alone is a column as any."""
    both, single = Columns(), Columns()
    both.add(Points(np.zeros((2, 3)), np.array([[1.0, 0, 0, 0]] * 2), ("nx", "ny", "nz", "intensity")))
    single.add(Points(np.zeros((2, 3)), np.array([[1.0, 0]] * 2), ("nx", "nz")))

    assert (both.names, single.names) == (("nx", "ny"), ("nx",))


def test_columns_in_common_are_those_of_all_that_are_not_zero_everywhere():
    columns = Columns()
    for names, signal in ((("a", "b", "c"), [[1.0, 0, 0]]), (("c", "b"), [[2.0, 0]])):
        columns.add(Points(np.zeros((1, 3)), np.array(signal), names))

    assert columns.names == ("c",)


def test_clouds_in_memory_are_examples_with_classes_or_real_targets():
    clouds = [to_cloud(points_of(POINTS + shift, "it"), ("column 4",), "it") for shift in (0, 1)]

    classes = labelled(clouds, torch.tensor([1, 0]), ("a", "b"))
    quantities = labelled(clouds, torch.tensor([[1.5, np.nan], [2.5, 3.5]]), ("length", "width"))

    assert [y for _, y in classes] == [1, 0]
    assert quantities[1][1].tolist() == [2.5, 3.5]
    assert quantities.take([1]).ys.tolist() == [[2.5, 3.5]]
    assert classes.digest == quantities.digest != labelled(clouds[::-1], torch.tensor([1, 0]), ("a", "b")).digest
