"""Points and meshes are read from files of every format, and errors name the file and the fault."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from edgecond.data.formats import ENDINGS, read_points
from edgecond.errors import DataError
from tests.data.formats.files import every_kind, INTENSITY, las, OFF, pcd, ply, ply_faces, POINTS, saved
from tests.sentences import mentions, refused

Real = Callable[[str], Path]
CLOUDS = [kind for kind in every_kind() if re.match("ply [ab]|pcd|la|text|np", kind)]


@pytest.mark.parametrize("kind", CLOUDS)
def test_the_same_points_are_read_from_every_format(tmp_path: Path, kind: str):
    """Those that the file was written from; the texts have the first two."""
    ending, data = every_kind()[kind]
    path = tmp_path / f"cloud{ending}"
    path.write_bytes(data)

    points = read_points(path)

    np.testing.assert_allclose(points.positions, POINTS[: len(points)], atol=1e-9)
    if kind != "pcd rgb":
        np.testing.assert_array_equal(points.signal[:, 0], INTENSITY[: len(points)])


def test_real_files_hold_what_other_readers_found_in_them(real: Real):
    """Number, columns and bounds by laspy, plyfile and a separate reader of PCD, written down beside the files."""
    folder = real("pointcloud-io/expected.json").parent
    expected = json.loads((folder / "expected.json").read_text())
    assert len(expected) == 17
    for name, known in expected.items():
        points = read_points(folder / name)
        if "faces" in known:
            assert len(points) == 1024
            assert (points.positions >= np.array(known["min"]) - 1e-6).all()
            assert (points.positions <= np.array(known["max"]) + 1e-6).all()
        else:
            assert len(points) == known["points"]
            np.testing.assert_allclose(points.positions.min(0), known["min"], atol=1e-6)
            np.testing.assert_allclose(points.positions.max(0), known["max"], atol=1e-6)
        fields = [field for field in known.get("fields", []) if field not in ("x", "y", "z", "rgb")]
        assert set(fields) <= set(points.names)


@pytest.mark.parametrize("name", ["OFF", "ply mesh ascii"])
def test_equal_meshes_give_equal_points_and_another_seed_gives_others(tmp_path: Path, name: str):
    ending, data = every_kind().get(name, (".off", OFF))
    for stem in ("one", "other"):
        (tmp_path / f"{stem}{ending}").write_bytes(data)
    one, other = (read_points(tmp_path / f"{stem}{ending}", count=50) for stem in ("one", "other"))

    assert len(one) == 50
    np.testing.assert_array_equal(one.positions, other.positions)
    assert (read_points(tmp_path / f"one{ending}", count=50, seed=1).positions != one.positions).any()


def test_columns_of_the_vertices_of_a_mesh_are_interpolated(tmp_path: Path):
    """By hand: with the intensity 2 x + 3 y + 5 at the vertices of a triangle, so it is at every point of it."""
    (tmp_path / "mesh.ply").write_text(
        "ply\nformat ascii 1.0\nelement vertex 3\nproperty float x\nproperty float y\nproperty float z\n"
        "property float intensity\nelement face 1\nproperty list uchar int vertex_index\nend_header\n"
        "0 0 1 5\n1 0 1 7\n0 1 1 8\n3 0 1 2\n"
    )

    points = read_points(tmp_path / "mesh.ply", count=200)

    x, y, z = points.positions.T
    assert points.names == ("intensity",)
    np.testing.assert_allclose(points.signal[:, 0], 2 * x + 3 * y + 5)
    np.testing.assert_array_equal(z, 1)


def test_a_mesh_without_faces_is_the_cloud_of_its_vertices(tmp_path: Path):
    (tmp_path / "cloud.off").write_bytes(b"OFF\n2 0 0\n0 0 0\n1 2 3\n")

    assert read_points(tmp_path / "cloud.off").positions.tolist() == [[0, 0, 0], [1, 2, 3]]


def test_endings_may_be_in_capitals(tmp_path: Path):
    (tmp_path / "CLOUD.XYZ").write_text("1 2 3\n")

    assert read_points(tmp_path / "CLOUD.XYZ").positions.tolist() == [[1, 2, 3]]


def test_an_unknown_ending_is_answered_with_the_known_ones(tmp_path: Path):
    path = tmp_path / "cloud.docx"

    with mentions(path, ", ".join(ENDINGS), kind=DataError):
        read_points(path)


def test_a_file_that_does_not_exist_is_reported(tmp_path: Path):
    (tmp_path / "folder.ply").mkdir()
    for name in ("nothing.ply", "folder.ply"):
        with refused(f"{tmp_path / name} must be a file with a cloud: there is no such file.", DataError):
            read_points(tmp_path / name)


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("a.xyz", "", "it must hold at least one point: it is empty"),
        (
            "a.xyz",
            "1 2 3\n1 nan 3\n",
            "its numbers must be finite in single precision: the position of point 1 is [1.0, nan, 3.0]",
        ),
        (
            "a.xyz",
            "1 2 3 1e39\n",
            "its numbers must be finite in single precision: the signal of point 0 is [1e+39]",
        ),
        (
            "a.off",
            "OFF\n3 1 0\n0 0 0\n1 1 1\n2 2 2\n3 0 1 2\n",
            "a mesh needs faces with an area to sample points from: 1 faces have none",
        ),
        (
            "a.obj",
            "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 4\n",
            "its faces must use the vertices 0 to 2: found the vertex 3",
        ),
        ("a.csv", "x,y,z,X\n1,2,3,4\n", "its columns must have different names: two are called 'x'"),
    ],
)
def test_contents_that_are_no_cloud_are_reported(tmp_path: Path, name: str, content: str, reason: str):
    (tmp_path / name).write_text(content)

    with refused(f"{tmp_path / name} cannot be read: {reason}.", DataError):
        read_points(tmp_path / name)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.ply", ply().replace(b"vertex 4", b"vertex 0")),
        ("a.ply", ply("binary_big_endian").replace(b"vertex 4", b"vertex 0")),
        *(("a.pcd", pcd(data).replace(b"POINTS 4", b"POINTS 0")) for data in ("ascii", "binary", "binary_compressed")),
        ("a.las", las()[:107] + bytes(4) + las()[111:]),
        ("a.laz", las(compressed=True)[:107] + bytes(4) + las(compressed=True)[111:]),
        ("a.stl", bytes(84)),
        ("a.off", b"OFF\n0 0 0\n"),
        ("a.npy", saved(alone=np.zeros((0, 4)))),
        ("a.npz", saved(points=np.zeros((0, 3)))),
        ("a.csv", b"x,y,z\n"),
    ],
)
def test_a_file_without_points_is_an_empty_cloud(tmp_path: Path, name: str, content: bytes):
    (tmp_path / name).write_bytes(content)

    with refused(f"{tmp_path / name} cannot be read: it must hold at least one point: it is empty.", DataError):
        read_points(tmp_path / name)


def test_a_file_without_coordinates_is_reported(tmp_path: Path):
    path = tmp_path / "a.ply"
    for properties, found in (("", "none"), ("property float x\nproperty float height\n", "x, height")):
        path.write_text(f"ply\nformat ascii 1.0\nelement vertex 1\n{properties}end_header\n1 2\n")
        with refused(f"{path} cannot be read: it must have columns x, y and z: found {found}.", DataError):
            read_points(path)


def test_a_copy_of_a_real_cloud_with_its_last_half_gone_is_reported(real: Real, tmp_path: Path):
    for source in real("pointcloud-io/expected.json").parent.glob("*.p*"):
        path = Path(shutil.copyfile(source, tmp_path / source.name))
        path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
        with pytest.raises(DataError, match=rf"^{path} cannot be read: "):
            read_points(path)


def test_a_column_of_classes_is_no_signal(tmp_path: Path):
    """CloudCompare writes scalar_Label; a class below 0, or none at all, is unknown."""
    path = tmp_path / "cloud.csv"
    path.write_text("x,y,z,scalar_Label,i\n0,0,0,3,9\n1,0,0,-7,9\n2,0,0,nan,9\n")

    points = read_points(path, column="label")

    assert points.y.tolist() == [3, -1, -1]
    assert points.names == ("intensity",)


def test_the_vertices_of_a_mesh_have_classes_whatever_its_faces_are(tmp_path: Path):
    path = tmp_path / "mesh.ply"
    path.write_bytes(ply(faces=ply_faces("ascii", [0, 1, 2], [1, 2, 3])))

    points = read_points(path, column="intensity")

    assert points.y.tolist() == INTENSITY.tolist()
    assert len(read_points(path, count=None)) == 4
    assert len(read_points(path)) == 1024


@pytest.mark.parametrize(
    ("column", "value", "sentence"),
    [
        ("label", "0.5", "the classes in its column 'label' must be whole numbers up to 2147483647: found 0.5"),
        ("label", "inf", "the classes in its column 'label' must be whole numbers up to 2147483647: found inf"),
        ("class", "1", "it must have the classes of its points in a column 'class': found x, y, z, label"),
    ],
)
def test_a_column_without_classes_is_reported(tmp_path: Path, column: str, value: str, sentence: str):
    path = tmp_path / "cloud.csv"
    path.write_text(f"x,y,z,label\n0,0,0,{value}\n")

    with refused(f"{path} cannot be read: {sentence}.", DataError):
        read_points(path, column=column)
