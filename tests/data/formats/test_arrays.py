"""NumPy's files: matrices, records, archives; and neither pickles nor bombs."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from edgecond.data.formats.arrays import read_npy, read_npz
from tests.data.formats.files import INTENSITY, POINTS, saved, TABLE
from tests.sentences import mentions


@pytest.mark.parametrize("array", [TABLE, TABLE.astype(">f4"), np.asfortranarray(TABLE)], ids=["plain", "big", "F"])
def test_a_matrix_is_columns(array: np.ndarray):
    columns = read_npy(saved(alone=array)).columns

    assert list(columns) == ["x", "y", "z", "column 4"]
    np.testing.assert_array_equal(np.stack(list(columns.values()), 1), array)


def test_records_are_columns_by_name():
    records = np.zeros(2, [("z", "f4"), ("y", "f8"), ("x", "i2"), ("R", "u1")])
    records["x"], records["R"] = [5, 6], [7, 8]

    columns = read_npy(saved(alone=records)).columns

    assert list(columns) == ["z", "y", "x", "red"]
    assert columns["x"].tolist() == [5, 6]


@pytest.mark.parametrize("name", ["points", "positions", "xyz"])
def test_an_archive_has_positions_and_perhaps_features(name: str):
    colours = np.arange(8).reshape(4, 2)

    assert list(read_npz(saved(**{name: POINTS})).columns) == ["x", "y", "z"]
    assert read_npz(saved(**{name: POINTS}, features=INTENSITY)).columns["feature 1"].tolist() == INTENSITY.tolist()
    assert read_npz(saved(**{name: POINTS}, features=colours, label=np.array(3))).columns["feature 2"].tolist() == [
        1,
        3,
        5,
        7,
    ]


def test_vectors_with_a_number_for_each_point_are_columns_by_their_names():
    """As `np.savez(file, points=..., intensity=..., labels=...)` writes them; other arrays are none."""
    vectors = {"Intensity": INTENSITY, "labels": np.arange(4, dtype=np.uint8), "scalar_R": np.arange(4.0)}
    others = {"label": np.array(3), "names": np.array([*"abcd"]), "pose": np.eye(4), "some": np.arange(3)}
    others |= {"mask": np.ones(4, bool), "objects": np.array([None] * 4)}

    columns = read_npz(saved(points=POINTS, **vectors, **others)).columns

    assert list(columns) == ["x", "y", "z", "intensity", "labels", "red"]
    assert columns["intensity"].tolist() == INTENSITY.tolist()
    assert columns["labels"].tolist() == [0, 1, 2, 3]


HEADER = "it must begin with the header of a NumPy array"


@pytest.mark.parametrize(
    ("read", "data", "reason"),
    [
        (read_npy, b"", HEADER),
        (read_npy, pickle.dumps(TABLE), HEADER),
        (read_npy, b"\x93NUMPY\x01\x00" + b"\x10\x27" + b"(" * 10000, HEADER),
        (
            read_npy,
            saved(alone=np.array([[None] * 4])),
            "it must hold numbers ... Python objects",
        ),
        (read_npy, saved(alone=TABLE)[:-1], "its array of shape (4, 4) must have 128 bytes ... 127"),
        (
            read_npy,
            saved(alone=TABLE).replace(b"(4, 4), }          ", b"(4000000000000, 4)}"),
            "its array of shape (4000000000000, 4) must have 128,000,000,000,000 bytes ... 128",
        ),
        (read_npy, saved(alone=np.zeros(4)), "it must have columns x, y, z and perhaps others ... (4,)"),
        (
            read_npy,
            saved(alone=np.zeros((4, 2))),
            "it must have columns x, y, z and perhaps others ... (4, 2)",
        ),
        (read_npy, saved(alone=np.array([["a"] * 3])), "it must hold real numbers ... <U1 of shape (1, 3)"),
        (read_npz, saved(a=POINTS), "one array ... points, positions or xyz: found a"),
        (
            read_npz,
            saved(xyz=POINTS, points=POINTS),
            "one array ... points, positions or xyz: found xyz, points",
        ),
        (
            read_npz,
            saved(xyz=POINTS, features=np.zeros(3)),
            "it must hold features of 4 points ... (3,)",
        ),
        (
            read_npz,
            saved(xyz=POINTS, features=np.zeros(())),
            "it must hold features of 4 points ... ()",
        ),
        (read_npz, b"PK", ".npz file (File is not a zip file)"),
    ],
)
def test_a_file_that_is_no_array_of_points_is_reported(read, data: bytes, reason: str):
    with mentions(reason):
        read(data)


def test_an_archive_that_would_unpack_to_a_thousand_times_its_size_is_refused():
    data = saved(points=np.zeros((2**18, 3)))

    with pytest.raises(ValueError, match=r"^its [\d,]+ bytes may unpack to at most 1,048,576 .* 6,291,\d\d\d$"):
        read_npz(data)


def test_a_field_of_several_numbers_is_refused():
    records = np.zeros(2, [("x", "f4"), ("y", "f4"), ("z", "f4"), ("colours", "u1", 3)])

    with mentions("its field 'colours' must hold one number for each point: found the shape (3,)"):
        read_npy(saved(alone=records))
