"""PCD in its three encodings, with packed colours, padding, points that were not measured, and false headers."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np
import pytest

from edgecond.data.formats import read_points
from edgecond.data.formats.pcd import decompress, read
from tests.data.formats.files import INTENSITY, pcd, POINTS
from tests.sentences import mentions

FORMS = ("ascii", "binary", "binary_compressed")


@pytest.mark.parametrize("data", FORMS)
def test_fields_are_columns(data: str):
    columns = read(pcd(data)).columns

    assert list(columns) == ["x", "y", "z", "intensity"]
    np.testing.assert_array_equal(np.stack([columns[axis] for axis in "xyz"], 1), POINTS)
    np.testing.assert_array_equal(columns["intensity"], INTENSITY)


@pytest.mark.parametrize("kind", ["F", "U"])
def test_a_packed_colour_is_three_columns(kind: str):
    """By the format's documentation: 0x00RRGGBB, as an integer or as the float of the same bits."""
    header = f"FIELDS x y z rgb\nSIZE 4 4 4 4\nTYPE F F F {kind}\nWIDTH 1\nHEIGHT 1\nDATA binary\n".encode()
    packed = 1 << 16 | 2 << 8 | 250
    (number,) = struct.unpack("<f" if kind == "F" else "<I", struct.pack("<I", packed))

    for data in (
        header + struct.pack("<fffI", 0, 0, 0, packed),
        header.replace(b"binary", b"ascii") + f"0 0 0 {number!r}\n".encode(),
    ):
        columns = read(data).columns
        assert [columns[colour].tolist() for colour in ("red", "green", "blue")] == [[1], [2], [250]]


def test_padding_and_fields_of_many_numbers_are_skipped():
    header = (
        b"FIELDS _ x y z _ histogram\nSIZE 1 4 4 4 2 4\nTYPE U F F F U F\nCOUNT 3 1 1 1 1 2\nPOINTS 1\nDATA binary\n"
    )

    columns = read(header + struct.pack("<3Bfff Hff".replace(" ", ""), 9, 9, 9, 1, 2, 3, 9, 9, 9)).columns

    assert {name: column.tolist() for name, column in columns.items()} == {"x": [1], "y": [2], "z": [3]}


def test_points_that_were_not_measured_are_left_out(tmp_path: Path):
    """The library's convention for scans as an image: NaN where there was no return."""
    data = b"FIELDS x y z i\nSIZE 4 4 4 4\nTYPE F F F F\nWIDTH 2\nHEIGHT 2\nDATA ascii\n"

    (tmp_path / "a.pcd").write_bytes(data + b"1 2 3 4\nnan nan nan 0\n5 6 7 8\nnan nan nan nan\n")

    points = read_points(tmp_path / "a.pcd", column="i")

    assert points.positions.tolist() == [[1, 2, 3], [5, 6, 7]]
    assert points.y is not None
    assert points.y.tolist() == [4, 8]


@pytest.mark.parametrize(
    ("packed", "plain"),
    [
        (b"\x02abc", b"abc"),
        (b"\x02abc\x20\x02", b"abcabc"),  # three bytes (1 + 2) from three back (2 + 1)
        (b"\x00a\xe0\x01\x00", b"a" * 11),  # ten bytes (7 + 1 + 2) from one back: it repeats what it writes
        (b"\x01ab\x60\x01\x00c", b"abababac"[:2] + b"ababa" + b"c"),  # five bytes (3 + 2) from two back
    ],
)
def test_copies_are_expanded(packed: bytes, plain: bytes):
    """By hand, from the description of LZF."""
    assert decompress(packed, len(plain)) == plain


@pytest.mark.parametrize("packed", [b"\x02ab", b"\x02abc\x20", b"\x02abc\x20\x09", b"\xe0", b"\x05abcdef"])
def test_damaged_copies_are_reported(packed: bytes):
    with pytest.raises(ValueError, match=r"^its compressed points must unpack to 5 bytes: found \d$"):
        decompress(packed, 5)


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"hello\n", "it must begin with the header of a PCD file ... DATA"),
        (
            pcd().replace(b"TYPE F F F U", b"TYPE F F F"),
            "its header must have a SIZE, a TYPE and a COUNT for each of its FIELDS",
        ),
        (
            pcd().replace(b"TYPE F F F U", b"TYPE F F F X"),
            "its fields must be of TYPE F, I or U and SIZE 1, 2, 4 or 8 ... X 1",
        ),
        (
            pcd().replace(b"POINTS 4", b"POINTS -4"),
            "its header must give ... number of points",
        ),
        (
            pcd().replace(b"DATA ascii", b"DATA morse"),
            "its DATA must be ascii, binary or binary_compressed ... 'morse'",
        ),
        (pcd().replace(b"POINTS 4", b"POINTS 9"), "it must hold 9 points ... 4"),
        (pcd().replace(b"4.5", b"4,5"), "line 13 must hold numbers ... '4,5'"),
        (pcd().replace(b"4.5", b""), "line 13 must hold 4 numbers ... 3"),
        (
            pcd("binary").replace(b"POINTS 4", b"POINTS 4000000000000"),
            "its 4000000000000 points must have 52,000,000,000,000 bytes ... 52",
        ),
        (
            pcd("binary_compressed").replace(b"POINTS 4", b"POINTS 4000000000000"),
            "its 4000000000000 points must be 52,000,000,000,000 bytes, compressed ... 100 ... "
            "52 from 54 of the remaining 54",
        ),
    ],
)
def test_a_file_that_is_not_what_its_header_says_is_reported(data: bytes, reason: str):
    with mentions(reason):
        read(data)


def test_real_colours_are_bytes(real):
    columns = read(real("pointcloud-io/colored_cloud.binary.pcd").read_bytes()).columns

    for colour in ("red", "green", "blue"):
        assert 0 <= columns[colour].min() < columns[colour].max() <= 255
