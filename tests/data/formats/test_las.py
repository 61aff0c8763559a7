"""LAS and LAZ: the points that laspy writes and reads, of every format, and false headers."""

from __future__ import annotations

import io
import struct
from pathlib import Path

import laspy
import numpy as np
import pytest

from edgecond.data.formats import read_points
from edgecond.data.formats.las import read
from edgecond.errors import DataError
from tests.data.formats.files import INTENSITY, las, POINTS
from tests.sentences import mentions

COLOURS = np.array([[1, 2, 3], [256, 512, 1024], [65535, 0, 7], [9, 8, 7]])


@pytest.mark.parametrize(
    ("form", "compressed"),
    [(form, False) for form in range(11)] + [(form, True) for form in (0, 1, 2, 3, 6, 7, 8)],  # the others: waveforms
)
def test_every_format_of_points_that_laspy_writes_is_read(form: int, compressed: bool):
    coloured = form in (2, 3, 5, 7, 8, 10)
    data = las(
        form=form, version="1.4" if form > 3 else "1.2", compressed=compressed, colours=COLOURS if coloured else None
    )

    columns = read(data).columns

    np.testing.assert_allclose(np.stack([columns[axis] for axis in "xyz"], 1), POINTS, atol=1e-9)
    np.testing.assert_array_equal(columns["intensity"], INTENSITY)
    assert ("red" in columns) == coloured
    if coloured:
        np.testing.assert_array_equal(np.stack([columns[name] for name in ("red", "green", "blue")], 1), COLOURS)


@pytest.mark.parametrize(
    "name", ["simple.las", "simple.laz", "vegetation_1_3.las", "1_4_w_evlr.las", "autzen_trim.laz"]
)
def test_real_scans_have_the_points_that_laspy_reads(real, name: str):
    path = real(f"pointcloud-io/{name}")

    columns = read(path.read_bytes()).columns

    file = laspy.read(path)
    np.testing.assert_allclose(np.stack([columns[axis] for axis in "xyz"], 1), file.xyz, rtol=1e-14)
    np.testing.assert_array_equal(columns["intensity"], file.intensity)
    if "red" in columns:
        np.testing.assert_array_equal(columns["blue"], file.blue)


def changed(data: bytes, at: int, form: str, value: int) -> bytes:
    return data[:at] + struct.pack(form, value) + data[at + struct.calcsize(form) :]


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"LASF", "it must begin with the header of a LAS file"),
        (b"LOST" + las()[4:], "it must begin with the header of a LAS file"),
        (
            changed(las(), 104, "<B", 11),
            "a format from 0 to 10 ... 11 with 20 bytes each",
        ),
        (changed(las(), 105, "<H", 19), "a format from 0 to 10 ... 0 with 19 bytes each"),
        (
            changed(las(), 107, "<I", 2**32 - 1),
            "its 4294967295 points must fit ... 85,899,345,900 bytes ... 80",
        ),
        (
            changed(las(form=6, version="1.4"), 247, "<Q", 2**64 - 1),
            "its 18446744073709551615 points must fit ... 553,402,322,211,286,548,450 bytes ... 120",
        ),
        (
            changed(las(compressed=True), 100, "<I", 0),
            "its points are compressed ... LASzip",
        ),
    ],
)
def test_a_false_header_is_reported(data: bytes, reason: str):
    with mentions(reason):
        read(data)


@pytest.mark.parametrize(("form", "version"), [(0, "1.2"), (3, "1.2"), (6, "1.4"), (8, "1.4")])
@pytest.mark.parametrize("compressed", [False, True])
def test_classes_of_points_are_read_only_on_request(tmp_path: Path, form: int, version: str, compressed: bool):
    """As laspy wrote them; 0 stands for points that were never classified, by the standard."""
    path = tmp_path / ("scan.laz" if compressed else "scan.las")
    path.write_bytes(las(form=form, version=version, compressed=compressed, classes=[2, 0, 6, 2]))

    asked, unasked = read_points(path, column="Classification"), read_points(path)

    assert asked.y.tolist() == [2, -1, 6, 2]
    assert unasked.y is None
    assert "classification" not in asked.names + unasked.names


@pytest.mark.parametrize(("form", "version"), [(0, "1.2"), (3, "1.2"), (6, "1.4"), (8, "1.4"), (10, "1.4")])
def test_returns_angles_and_near_infrared_are_signal_only_on_request(tmp_path: Path, form: int, version: str):
    """As laspy writes them; the newer formats have 15 returns and angles in steps of 0.006 degrees."""
    file = laspy.read(io.BytesIO(las(form=form, version=version)))
    most = 7 if form < 6 else 15
    file.return_number, file.number_of_returns = [1, 2, 3, most], [1, 3, 3, most]
    if form < 6:
        file.scan_angle_rank = [-90, 0, 15, 90]
    else:
        file.scan_angle = [-15000, 0, 2500, 15000]
    if form in (8, 10):
        file.nir = [0, 1, 256, 65535]
    file.write(str(path := tmp_path / "a.las"))
    names = ["return_number", "number_of_returns", "scan_angle", *(["nir"] if form in (8, 10) else [])]

    points = read_points(path, columns={name: name for name in names})

    signal = dict(zip(points.names, points.signal.T, strict=True))
    assert signal["return_number"].tolist() == [1, 2, 3, most]
    assert signal["number_of_returns"].tolist() == [1, 3, 3, most]
    assert signal["scan_angle"].tolist() == pytest.approx([-90, 0, 15, 90])
    assert "nir" not in names or signal["nir"].tolist() == [0, 1, 256, 65535]
    assert not {*names} & {*read_points(path).names}


def test_the_classes_of_points_are_never_signal(tmp_path: Path):
    (path := tmp_path / "a.las").write_bytes(las(classes=(2, 2, 6, 6)))

    with mentions("no column 'classification'", kind=DataError):
        read_points(path, columns={"classification": "classification"})
