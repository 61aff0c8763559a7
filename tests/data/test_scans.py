"""Files whose points are read some at a time: as `read_points` and `to_cloud` read them at once."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pytest

from edgecond.data.formats import las_scan, ply, read_points
from edgecond.data.points import to_cloud
from edgecond.data.scans import Scan
from edgecond.errors import DataError
from tests.data.formats.files import pcd
from tests.data.formats.scans import scan
from tests.sentences import mentions


@pytest.mark.parametrize("compressed", [False, True])
def test_chunks_have_the_points_that_are_read_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, compressed: bool
):
    """300 points in chunks of 70, with a renamed column, another on request, and y pointing up."""
    monkeypatch.setattr(las_scan, "CHUNK", 70)
    (path := tmp_path / "a.laz").write_bytes(scan(3, "1.2", compressed=compressed))
    layout = {"columns": {"brightness": "intensity", "return_number": "return_number"}, "up": "y"}
    names = ("return_number", "brightness", "red")

    opened = Scan(path, names, **layout)
    rows = list(opened.chunks())

    expected = to_cloud(points := read_points(path, **layout), names, path)
    assert [len(part) for part in rows] == [70, 70, 70, 70, 20]
    assert opened.count == 300
    joined = np.concatenate(rows)
    np.testing.assert_array_equal(joined["position"], points.positions)
    cloud = opened.cloud(joined, np.median(points.positions, axis=0))
    np.testing.assert_array_equal(cloud.signal, expected.signal)
    np.testing.assert_array_equal(cloud.positions, expected.positions)


def test_columns_of_the_surroundings_are_computed_from_the_points_at_hand(tmp_path: Path):
    (path := tmp_path / "a.las").write_bytes(scan(0, "1.2"))
    columns = {"planarity": "planarity"}

    opened = Scan(path, ("intensity", "planarity"), columns=columns)
    cloud = opened.cloud(np.concatenate(list(opened.chunks())), None)

    expected = read_points(path, columns=columns)
    np.testing.assert_allclose(cloud.signal[:, 1], expected.signal[:, expected.names.index("planarity")], atol=1e-6)


def test_points_that_were_not_measured_are_left_out(tmp_path: Path):
    data = pcd("binary")
    start = data.index(b"DATA binary\n") + 12
    (path := tmp_path / "a.pcd").write_bytes(data[:start] + np.float32(np.nan).tobytes() + data[start + 4 :])
    buffer = io.BytesIO()

    opened = Scan(path, ("intensity",))
    opened.write(buffer, "ply", [{"class": np.array([1, 2, 3])}], {1: "1", 2: "2", 3: "3"}, [])

    assert opened.count == 3
    assert ply.read(buffer.getvalue()).columns["class"].tolist() == [1, 2, 3]


def test_a_class_that_has_no_code_names_the_file(tmp_path: Path):
    (path := tmp_path / "a.las").write_bytes(scan(0, "1.2"))

    with mentions(f"{path} cannot be written as LAS: points of format 0 have classes from 0 to 31", kind=DataError):
        Scan(path).write(io.BytesIO(), "las", [{"class": np.full(300, 40)}], {40: "40"}, [])


@pytest.mark.parametrize("name", ["none.las", "none.csv"])
def test_a_file_that_does_not_exist_is_an_error(tmp_path: Path, name: str):
    with mentions("there is no such file", kind=DataError):
        Scan(tmp_path / name)
