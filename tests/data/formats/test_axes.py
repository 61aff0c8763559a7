"""Columns can be named, the obvious ones are recognized, and any axis can point up."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from edgecond.data.formats import parse_columns, read_points, read_surface
from edgecond.data.formats.axes import recognized
from edgecond.errors import DataError, RecipeError
from tests.data.formats.files import las, pcd, ply, POINTS, saved
from tests.sentences import mentions

TABLE = "relative_x,relative_y,relative_z,i\n1,2,3,4\n5,6,7,8\n"


def saved_at(path: Path, content: str | bytes) -> Path:
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


# Names


def test_a_table_with_relative_coordinates_is_read_without_help(tmp_path: Path):
    """The columns of the issue."""
    points = read_points(saved_at(tmp_path / "a.csv", TABLE))

    assert points.positions.tolist() == [[1, 2, 3], [5, 6, 7]]
    assert points.names == ("intensity",)


@pytest.mark.parametrize(
    "names",
    [
        "relative_x relative_y relative_z",
        "x_m y_m z_m",
        "pos.x pos.y pos.z",
        "x_[m] y_[m] z_[m]",
        "positionx positiony positionz",
        "xcoord ycoord zcoord",
        "easting northing elevation",
        "easting northing height",
        "x y altitude",
    ],
)
def test_three_names_that_can_only_be_positions_are_recognized(names: str):
    expected = dict(zip(names.split(), "xyz", strict=True))

    assert recognized([*names.split(), "intensity", "nx", "ny", "nz"]) == expected


@pytest.mark.parametrize(
    "names",
    [
        "a b c",
        "nx ny nz",
        "normal_x normal_y normal_z",
        "velocity_x velocity_y velocity_z",
        "x1 y1 z1",
        "relative_x relative_y",
        "global_x global_y global_z local_x local_y local_z",
        "easting northing height elevation",
    ],
)
def test_names_that_may_be_anything_are_not_recognized(names: str):
    assert recognized(names.split()) == {}


def test_columns_can_be_named_and_swapped(tmp_path: Path):
    columns = parse_columns("x=relative_x, y=Relative_Z,z=relative_y,height=i")

    points = read_points(saved_at(tmp_path / "a.csv", TABLE), columns=columns)

    assert points.positions.tolist() == [[1, 3, 2], [5, 7, 6]]
    assert points.names == ("height",)


def test_a_column_whose_name_another_one_takes_is_dropped(tmp_path: Path):
    path = saved_at(tmp_path / "a.csv", "x,y,z,true_x\n1,2,3,4\n")

    points = read_points(path, columns={"x": "true_x"})

    assert points.positions.tolist() == [[4, 2, 3]]
    assert points.names == ()


RECORDS = np.array([tuple(row) for row in POINTS], [("x", "f8"), ("y", "f8"), ("z", "f8")])


@pytest.mark.parametrize(
    ("ending", "data"),
    [
        (".ply", ply()),
        (".ply", ply("binary_big_endian")),
        (".pcd", pcd()),
        (".pcd", pcd("binary")),
        (".las", las()),
        (".npy", saved(alone=RECORDS)),
        (".npy", saved(alone=POINTS)),
        (".csv", "x,y,z\n" + "".join(f"{x},{y},{z}\n" for x, y, z in POINTS.tolist())),
    ],
)
def test_columns_of_every_format_can_be_named(tmp_path: Path, ending: str, data: bytes | str):
    points = read_points(saved_at(tmp_path / f"a{ending}", data), columns={"x": "y", "y": "z", "z": "x"})

    np.testing.assert_allclose(points.positions, POINTS[:, [1, 2, 0]], atol=1e-9)


def test_named_columns_of_a_pcd_have_no_holes(tmp_path: Path):
    """A sensor that sees nothing in some direction leaves NaN in its place, whatever the column is called."""
    data = pcd().replace(b"FIELDS x y z", b"FIELDS e n h").replace(b"4.5", b"nan")

    points = read_points(saved_at(tmp_path / "a.pcd", data), columns={"x": "e", "y": "n", "z": "h"})

    assert len(points) == len(POINTS) - 1
    assert np.isfinite(points.positions).all()


def test_columns_that_are_not_recognized_are_listed_with_the_option_that_helps(tmp_path: Path):
    """The whole wording of this error is checked here."""
    path = saved_at(tmp_path / "a.csv", "e,n,h,i\n1,2,3,4\n")

    with pytest.raises(DataError) as error:
        read_points(path)

    assert str(error.value) == (
        f"{path} cannot be read: it must have columns x, y and z: found e, n, h, intensity; "
        "name them with --columns x=NAME,y=NAME,z=NAME, or columns={'x': NAME, ...} in Python."
    )


def test_a_named_column_must_exist(tmp_path: Path):
    path = saved_at(tmp_path / "a.csv", TABLE)

    with mentions(path, "'relativ_x'", "Did you mean relative_x", kind=DataError) as raised:
        read_points(path, columns={"x": "relativ_x"})

    assert str(raised.value).endswith("?")


@pytest.mark.parametrize("text", ["", "x", "x=", "=a", "x=a,", "x=a;y=b,z", "x=a,x=b", "x=a,y=A"])
def test_columns_that_are_written_wrongly_are_refused(text: str):
    with mentions("columns must ", kind=RecipeError):
        parse_columns(text)


# Up


@pytest.mark.parametrize(
    ("up", "expected"), [("z", [1, 2, 3]), ("y", [1, -3, 2]), ("x", [-3, 2, 1])], ids=["z", "y", "x"]
)
def test_any_axis_can_point_up(tmp_path: Path, up: str, expected: list[float]):
    """By hand: the rotations by 90 degrees about the x and the y axis. Normals turn with their points."""
    path = saved_at(tmp_path / "a.csv", "x,y,z,i,nx,ny,nz\n1,2,3,9,1,2,3\n")

    points = read_points(path, up=up)

    assert points.positions.tolist() == [expected]
    assert points.signal.tolist() == [[9, *expected]]
    assert points.names == ("intensity", "nx", "ny", "nz")


@pytest.mark.parametrize("up", ["x", "y"])
def test_turning_an_axis_up_keeps_handedness_and_takes_it_to_z(tmp_path: Path, up: str):
    """A proper rotation is orthogonal and has the determinant 1: no mirror image."""
    unit = saved_at(tmp_path / "a.xyz", "1 0 0\n0 1 0\n0 0 1\n")

    matrix = read_points(unit, up=up).positions

    np.testing.assert_array_equal(matrix @ matrix.T, np.eye(3))
    assert np.linalg.det(matrix) == 1
    assert matrix["xyz".index(up)].tolist() == [0, 0, 1]


def test_unsigned_numbers_turn_without_overflow(tmp_path: Path):
    path = saved_at(tmp_path / "a.npy", saved(alone=np.array([[1, 2, 3]], np.uint8)))

    assert read_points(path, up="y").positions.tolist() == [[1, -3, 2]]


def test_meshes_turn_too(tmp_path: Path):
    path = saved_at(tmp_path / "a.obj", "v 0 0 0\nv 1 2 3\nv 0 1 0\nf 1 2 3\n")

    assert read_surface(path, up="y").positions[1].tolist() == [1, -3, 2]
    assert read_surface(path, columns={"y": "z", "z": "y"}).positions[1].tolist() == [1, 3, 2]


def test_up_is_an_axis(tmp_path: Path):
    with mentions("must be x, y or z", "'w'", kind=RecipeError):
        read_points(tmp_path / "a.xyz", up="w")
