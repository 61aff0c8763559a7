"""PLY in its three encodings: files of trimesh, files written by hand, and false headers."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pytest
import trimesh

from edgecond.data.formats import read_points
from edgecond.data.formats.ply import annotate, read, write
from tests.data.formats.files import INTENSITY, ply, ply_faces, POINTS, SQUARE
from tests.sentences import mentions

NO_HEADER = "it must begin with the header of a PLY file, from ply to end_header"
FORMS = ("ascii", "binary_little_endian", "binary_big_endian")


@pytest.mark.parametrize("form", FORMS)
def test_vertices_and_their_properties_are_columns(form: str):
    table = read(ply(form))

    np.testing.assert_array_equal(np.stack([table.columns[axis] for axis in "xyz"], 1), POINTS)
    np.testing.assert_array_equal(table.columns["intensity"], INTENSITY)
    assert len(table.triangles) == 0


@pytest.mark.parametrize("form", FORMS)
def test_polygons_of_one_size_and_of_several_are_cut_into_triangles(form: str):
    """A square is 0 1 2 and 0 2 3, around its first corner."""
    triangles = read(ply(form, ply_faces(form, *SQUARE))).triangles
    mixed = read(ply(form, ply_faces(form, [1, 2, 3], [0, 1, 2, 3]))).triangles

    assert triangles.tolist() == SQUARE
    assert mixed.tolist() == [[1, 2, 3], [0, 1, 2], [0, 2, 3]]


@pytest.mark.parametrize("encoding", ["ascii", "binary"])
def test_a_mesh_by_trimesh_is_the_same_mesh(encoding: str):
    mesh = trimesh.creation.box(extents=[1, 2, 3])
    mesh.visual.vertex_colors = np.arange(32, dtype=np.uint8).reshape(8, 4)

    table = read(trimesh.exchange.ply.export_ply(mesh, encoding=encoding))

    np.testing.assert_allclose(np.stack([table.columns[axis] for axis in "xyz"], 1), mesh.vertices)
    np.testing.assert_array_equal(table.triangles, mesh.faces)
    np.testing.assert_array_equal(table.columns["green"], np.arange(1, 32, 4))


def test_lines_may_end_in_any_way():
    data = ply("ascii", ply_faces("ascii", *SQUARE))

    for end in (b"\r\n", b"\r"):
        assert read(data.replace(b"\n", end)).triangles.tolist() == SQUARE
    assert read(ply("binary_little_endian").replace(b"\n", b"\r\n", 9)).columns["x"].tolist() == POINTS[:, 0].tolist()


def test_elements_and_lists_besides_are_skipped():
    """As cameras before the vertices, texture coordinates in the faces, and edges after them."""
    table = read(
        b"ply\nformat ascii 1.0\nelement camera 1\nproperty list uchar float matrix\nelement vertex 3\n"
        b"property double x\nproperty double y\nproperty double z\nproperty uchar diffuse_red\n"
        b"element face 1\nproperty uchar flags\nproperty list uchar float texcoord\n"
        b"property list uchar int vertex_indices\nelement edge 7\nproperty int vertex1\nend_header\n"
        b"2 0.5 0.5\n0 0 0 9\n1 0 0 8\n0 1 0 7\n4 2 0.25 0.75 3 2 1 0\n"
    )

    assert list(table.columns) == ["x", "y", "z", "red"]
    assert table.triangles.tolist() == [[2, 1, 0]]


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"OFF\n", NO_HEADER),
        (ply().replace(b"end_header", b""), NO_HEADER),
        (
            ply().replace(b"property uchar", b"property word"),
            "line 8 must belong to the header of a PLY file ... 'property word intensity'",
        ),
        (
            ply().replace(b"format ascii", b"format morse"),
            "line 2 must belong to the header of a PLY file ... 'format morse 1.0'",
        ),
        (
            ply().replace(b"vertex 4", b"vertex -4"),
            "line 4 must belong to the header of a PLY file ... 'element vertex -4'",
        ),
        (ply().replace(b"float y", b"float x"), "the properties of its element 'vertex' must have different names"),
        (ply().replace(b"4.5", b"4,5"), "line 11 must hold numbers ... '4,5'"),
        (ply().replace(b"vertex 4", b"vertex 5"), "it is cut short: 20 numbers must follow ... 16"),
        (
            ply("binary_little_endian").replace(b"vertex 4", b"vertex 40000000000"),
            "it is cut short: 520,000,000,000 bytes must follow ... 52",
        ),
        (
            ply(FORMS[1], ply_faces(FORMS[1], *SQUARE)).replace(b"face 2", b"face 4000000000"),
            "it is cut short: 4,000,000,000 bytes must follow ... 26",
        ),
        (
            ply("ascii", b"3 0 1 2.5\n3 0 1 2\n"),
            "line 16 must hold whole numbers ... '2.5'",
        ),
        (
            ply("ascii", b"-3 0 1 2\n3 0 1 2\n"),
            "it is cut short: -3 numbers must follow ... 7",
        ),
    ],
)
def test_a_file_that_is_not_what_its_header_says_is_reported(data: bytes, reason: str):
    with mentions(reason):
        read(data)


def test_a_real_bunny_has_the_vertices_and_faces_that_trimesh_reads(real):
    path: Path = real("pointcloud-io/bun_zipper.ascii.ply")

    table = read(path.read_bytes())

    mesh = trimesh.load_mesh(path, process=False)
    np.testing.assert_allclose(np.stack([table.columns[axis] for axis in "xyz"], 1), mesh.vertices)
    np.testing.assert_array_equal(table.triangles, mesh.faces)


def test_what_is_written_is_read_back(tmp_path: Path):
    """By our reader, and by trimesh."""
    columns = {"x": np.array([0.1, 5e6]), "y": np.zeros(2), "z": np.ones(2), "class": np.array([3, 0])}
    path = tmp_path / "cloud.ply"
    path.write_bytes(write({**columns, "probability": np.array([0.25, 1.0])}, ["class 0 is\ncar"]))

    points = read_points(path)

    assert points.positions.tolist() == [[0.1, 0, 1], [5e6, 0, 1]]
    assert (points.names, points.signal.tolist()) == (("class", "probability"), [[3, 0.25], [0, 1]])
    assert b"\ncomment class 0 is car\n" in path.read_bytes()
    np.testing.assert_allclose(trimesh.load(path).vertices, points.positions)


def test_faces_with_a_single_number_in_place_of_their_corners_are_an_error():
    whole = ply("ascii", ply_faces("ascii", *SQUARE))

    with mentions("the corners of each of its faces must be a list"):
        read(whole.replace(b"property list uchar int vertex_indices", b"property int vertex_indices"))


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("faces", [[], SQUARE], ids=["cloud", "mesh"])
def test_properties_are_added_and_all_else_stays(form: str, faces: list[list[int]]):
    """trimesh, another reader, finds the properties of the vertices and the faces again."""
    data = ply(form, ply_faces(form, *faces)).replace(b"comment by hand", b"comment by hand\nobj_info 7")
    columns = {"class": np.array([2, 6, 2, 300]), "probability": np.array([0.5, 0.25, 1, 0.125])}

    annotated = annotate(data, columns, ["class 2 is ground"])

    before, after = read(data), read(annotated)
    for name, column in (before.columns | columns).items():
        np.testing.assert_array_equal(after.columns[name], column)
    assert [*after.columns] == [*before.columns, *columns]
    np.testing.assert_array_equal(after.triangles, before.triangles)
    text = annotated[: annotated.index(b"end_header")].decode().splitlines()
    old = data[: data.index(b"end_header")].decode().splitlines()
    assert [line for line in text if line not in old] == [
        *("comment class 2 is ground", "property int class", "property float probability")
    ]
    theirs = trimesh.load(io.BytesIO(annotated), file_type="ply", process=False)
    assert theirs.metadata["_ply_raw"]["vertex"]["data"]["class"].ravel().tolist() == [2, 6, 2, 300]


@pytest.mark.parametrize("form", FORMS)
def test_a_property_of_the_same_name_is_replaced_in_its_place(form: str):
    annotated = annotate(ply(form), {"intensity": np.array([1, 2, 300, 70_000])})

    after = read(annotated)
    assert [*after.columns] == ["x", "y", "z", "intensity"]
    assert after.columns["intensity"].tolist() == [1, 2, 300, 70_000]
    np.testing.assert_array_equal(np.stack([after.columns[axis] for axis in "xyz"], 1), POINTS)


def test_vertices_with_lists_get_no_properties():
    data = b"ply\nformat ascii 1.0\nelement vertex 1\nproperty list uchar int ring\nend_header\n2 1 1\n"

    with mentions("its vertices must have one number for each property"):
        annotate(data, {"class": np.array([1])})
