"""OFF files in all variants of ModelNet are read, and invalid ones are errors that name the file."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from edgecond.data.formats.off import parse as read_off
from edgecond.errors import DataError

SQUARE = b"OFF\n4 2 0\n0 0 0\n1 0 0\n1 1 0\n0 1 0\n3 0 1 2\n3 0 2 3\n"


@pytest.mark.parametrize(
    ("name", "vertices", "triangles"),
    [
        ("bathtub_0001.off", 3514, 3546),
        ("bathtub_0002.off", 700, 664),
        ("bed_0001.crlf.off", 2095, 1807),
        ("stool_0002.off", 547, 344),
        ("bathtub_0137.glued-header.reconstructed.off", 216, 183),
    ],
)
def test_meshes_of_modelnet_are_read(real: Callable[[str], Path], name: str, vertices: int, triangles: int):
    """Counts from the headers of the files."""
    path = real(f"modelnet/off-samples/{name}")

    mesh = read_off(path.read_bytes(), path)

    assert [len(part) for part in mesh] == [vertices, triangles]


@pytest.mark.parametrize(
    "data",
    [
        SQUARE,
        SQUARE.replace(b"OFF\n", b"OFF"),
        SQUARE.replace(b"OFF\n", b"OFF "),
        SQUARE.replace(b"\n", b"\r\n"),
        b"# a comment\n" + SQUARE.replace(b"\n3 0 1 2", b"\n\n# another\n3 0 1 2 # and one more"),
        SQUARE.replace(b"3 0 1 2\n", b"3 0 1 2 0.5 0.5 0.5\n"),
        SQUARE.replace(b"4 2 0", b"4 1 0").replace(b"3 0 1 2\n3 0 2 3", b"4 0 1 2 3"),
    ],
    ids=["plain", "glued", "one line", "CRLF", "comments", "colours", "polygon"],
)
def test_a_square_is_two_triangles_in_every_variant_of_the_format(data: bytes):
    vertices, triangles = read_off(data)

    assert vertices.tolist() == [[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]]
    assert triangles.tolist() == [[0, 1, 2], [0, 2, 3]]


@pytest.mark.parametrize(
    ("data", "facts"),
    [
        (b"ply\n", "must begin with OFF"),
        (b"", "must begin with OFF"),
        (SQUARE[:-8], "is cut short: 4 vertices and 2 faces need 6 lines,.* 5"),
        (SQUARE.replace(b"1 1 0", b"1 nan 0"), r"must hold finite numbers: vertex 2 is at \[1\.0, nan, 0\.0\]"),
        (SQUARE.replace(b"3 0 2 3", b"3 0 2 4"), "must number vertices from 0 to 3: .*vertex 4"),
        (SQUARE.replace(b"3 0 2 3", b"3 0 -2 3"), "must number vertices from 0 to 3: .*vertex -2"),
        (SQUARE.replace(b"3 0 2 3", b"9 0 2 3"), "a face has fewer corners"),
    ],
)
def test_an_invalid_mesh_is_an_error_that_names_the_file(data: bytes, facts: str):
    with pytest.raises(DataError, match=rf"^a\.off .*{facts}"):
        read_off(data, "a.off")


@pytest.mark.parametrize(
    "data",
    [
        b"OFF\n",
        b"OFF\na b c\n",
        SQUARE.replace(b"1 1 0", b"1 x 0"),
        SQUARE.replace(b"3 0 2 3", b"4 0 1 2 99999999999999999999"),
        SQUARE.replace(b"4 2 0", b"-4 2 0"),
    ],
)
def test_text_or_huge_numbers_in_place_of_counts_and_coordinates_are_an_error(data: bytes):
    with pytest.raises(DataError, match=r"^a\.off .*OFF file"):
        read_off(data, "a.off")
