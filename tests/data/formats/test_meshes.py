"""OFF, OBJ and STL: files of trimesh, files written by hand, and files that are not meshes."""

from __future__ import annotations

import struct

import numpy as np
import pytest
import trimesh

from edgecond.data.formats.meshes import read_obj, read_stl
from edgecond.data.formats.off import read as read_off
from edgecond.data.formats.table import Table
from tests.data.formats.files import OBJ, OFF, SQUARE, STL, stl, VERTICES
from tests.sentences import mentions


def positions(table: Table) -> np.ndarray:
    return np.stack([table.columns[axis] for axis in "xyz"], 1)


def test_a_square_is_the_same_in_off_and_obj():
    for table in (read_off(OFF), read_obj(OBJ)):
        np.testing.assert_array_equal(positions(table), VERTICES)
        assert table.triangles.tolist() == SQUARE


def test_a_square_in_stl_is_six_corners_in_text_and_in_binary():
    for table in (read_stl(STL), read_stl(stl()), read_stl(b"solid" + stl()[5:])):
        np.testing.assert_array_equal(positions(table)[table.triangles], np.array(VERTICES)[SQUARE])


@pytest.mark.parametrize(
    ("read", "form"), [(read_off, "off"), (read_obj, "obj"), (read_stl, "stl"), (read_stl, "stl_ascii")]
)
def test_a_mesh_by_trimesh_has_the_same_triangles(read, form: str):
    mesh = trimesh.creation.icosphere(subdivisions=1)
    written = mesh.export(file_type=form)

    table = read(written if isinstance(written, bytes) else written.encode())

    np.testing.assert_allclose(positions(table)[table.triangles], mesh.triangles, atol=1e-6)


def test_vertices_of_obj_may_have_colours():
    columns = read_obj(b"v 0 0 0 0.25 0.5 0.75\nv 1 1 1 0 0 1\n").columns

    assert {name: column.tolist() for name, column in columns.items() if name not in "xyz"} == {
        "red": [0.25, 0],
        "green": [0.5, 0],
        "blue": [0.75, 1],
    }


@pytest.mark.parametrize(
    ("read", "data", "reason"),
    [
        (read_off, b"ply\n", "the mesh must begin with OFF"),
        (read_obj, b"", "it must hold vertices ... 'v 0 0 1' ... none"),
        (read_obj, OBJ.replace(b"v 1 0 0", b"v 1 0 zero"), "line 3 must hold numbers ... 'zero'"),
        (read_obj, OBJ.replace(b"v 1 0 0", b"v 1 0"), "line 3 must hold 3 numbers ... 2"),
        (read_obj, OBJ.replace(b"f 1 3 -1", b"f one 3 4"), "line 8 must hold numbers of vertices ... 'f one 3 4'"),
        (read_stl, b"", "its 0 triangles need 84 bytes ... 0"),
        (read_stl, stl()[:-1], "its 2 triangles need 184 bytes ... 183"),
        (
            read_stl,
            stl()[:80] + struct.pack("<I", 2**32 - 1) + stl()[84:],
            "its 4294967295 triangles need 214,748,364,834 bytes ... 184",
        ),
        (
            read_stl,
            STL.replace(b"vertex 0 1 0\n", b""),
            "three lines ... 'vertex 0 0 1' per triangle ... 5 in all",
        ),
        (read_stl, STL.replace(b"vertex 0 1 0", b"vertex 0 l 0"), "line 13 must hold numbers ... 'l'"),
    ],
)
def test_a_file_that_is_no_mesh_is_reported(read, data: bytes, reason: str):
    with mentions(reason):
        read(data)
