"""Classified copies: laspy reads every field, record and header value of the scan again, and the new classes."""

from __future__ import annotations

import io
from pathlib import Path

import laspy
import numpy as np
import pytest

from edgecond.data.formats import las_copy, las_scan
from edgecond.data.formats.las_scan import LasScan
from tests.data.formats.scans import differences, scan
from tests.sentences import mentions

REAL = ["simple.las", "simple.laz", "vegetation_1_3.las", "1_4_w_evlr.las", "autzen_trim.laz"]
FORMATS = [(form, version) for form in range(4) for version in ("1.2", "1.4")]
FORMATS += [(4, "1.3"), (5, "1.4"), *((form, "1.4") for form in range(6, 11))]


def copied(path: Path, to: Path, numbers: np.ndarray, classes: dict[int, str], **extra: np.ndarray) -> None:
    """Write a copy, compressed if its name ends in .laz."""
    source, columns = LasScan(path), {"class": numbers, **extra}
    starts = range(0, source.count, las_scan.CHUNK)
    parts = ({name: rows[at : at + las_scan.CHUNK] for name, rows in columns.items()} for at in starts)
    with to.open("wb") as file:
        compressed = to.suffix == ".laz"
        las_copy.write(source, file, parts, compressed=compressed, classes=classes, extra=[*extra])


def written(tmp_path: Path, data: bytes, name: str = "scan.las") -> Path:
    (path := tmp_path / name).write_bytes(data)
    return path


def classes_in(path: Path) -> list[int]:
    return np.asarray(laspy.read(path).classification).tolist()


def random_classes(count: int, most: int = 31) -> tuple[np.ndarray, dict[int, str]]:
    return np.random.default_rng(0).integers(0, most + 1, count), {number: str(number) for number in range(most + 1)}


@pytest.mark.parametrize(("form", "version"), FORMATS)
def test_only_the_class_differs_in_a_copy_of_any_format(tmp_path: Path, form: int, version: str):
    """All bytes of a LAS file but those of the classes are the same, flags in the same byte among them."""
    path, to = written(tmp_path, scan(form, version, extra=True)), tmp_path / "copy.las"
    numbers, classes = random_classes(300)

    copied(path, to, numbers, classes)

    assert differences(path, to) == {"classification"}
    assert classes_in(to) == numbers.tolist()
    changed = np.flatnonzero(np.frombuffer(path.read_bytes(), "u1") != np.frombuffer(to.read_bytes(), "u1"))
    header = LasScan(path).header
    assert {*((changed - header.start) % header.width).tolist()} == {15 if form < 6 else 16}


@pytest.mark.parametrize(("form", "version"), [each for each in FORMATS if each[0] < 9])
@pytest.mark.parametrize("compressed", [False, True])
@pytest.mark.parametrize("ending", [".las", ".laz"])
def test_only_the_class_differs_in_a_copy_that_is_compressed_or_not(
    tmp_path: Path, form: int, version: str, compressed: bool, ending: str, monkeypatch: pytest.MonkeyPatch
):
    """lazrs changes waveforms of formats 9 and 10."""
    monkeypatch.setattr(las_scan, "CHUNK", 70)
    path, to = written(tmp_path, scan(form, version, compressed=compressed, extra=True)), tmp_path / f"copy{ending}"
    numbers, classes = random_classes(300)

    copied(path, to, numbers, classes)

    assert differences(path, to) == {"classification"}
    assert classes_in(to) == numbers.tolist()
    with laspy.open(to) as file:
        assert file.header.are_points_compressed == (ending == ".laz")


@pytest.mark.parametrize("name", REAL)
@pytest.mark.parametrize("ending", [".las", ".laz"])
def test_only_the_class_differs_in_a_copy_of_a_real_scan(real, tmp_path: Path, name: str, ending: str):
    path, to = real(f"pointcloud-io/{name}"), tmp_path / f"copy{ending}"
    file = laspy.read(path)
    numbers, classes = random_classes(len(file.points))

    copied(path, to, numbers, classes)

    assert differences(path, to) <= {"classification"}
    assert classes_in(to) == numbers.tolist()


@pytest.mark.parametrize(("form", "version"), FORMATS)
@pytest.mark.parametrize("extra", [False, True], ids=["no extra bytes", "extra bytes"])
def test_numbers_beside_the_class_are_extra_bytes(tmp_path: Path, form: int, version: str, extra: bool):
    """Dimensions that are there stay; a copy of the copy has new values in the same place."""
    path, to, again = written(tmp_path, scan(form, version, extra=extra)), tmp_path / "to.las", tmp_path / "again.las"
    numbers, classes = random_classes(300)
    values = np.random.default_rng(1).random(300, np.float32)

    copied(path, to, numbers, classes, probability=values)
    copied(to, again, numbers, classes, probability=values / 2)

    changed = {"classification", "probability"} | ({"vlrs"} if extra else set())
    assert differences(path, to) - {"vlrs"} == changed - {"vlrs"}
    np.testing.assert_array_equal(laspy.read(to)["probability"], values)
    assert differences(to, again) == {"probability"}
    np.testing.assert_array_equal(laspy.read(again)["probability"], values / 2)


def test_extra_bytes_that_no_record_describes_stay(tmp_path: Path):
    """Two bytes of each point, whose record is renamed."""
    data = scan(0, "1.2", extra=True).replace(b"LASF_Spec", b"LASF_Spud")
    path, to = written(tmp_path, data), tmp_path / "to.las"
    numbers, classes = random_classes(300)

    copied(path, to, numbers, classes, probability=np.full(300, 0.5))

    before, after = LasScan(path), LasScan(to)
    for one, other in zip(before.points(), after.points(), strict=True):
        np.testing.assert_array_equal(np.delete(one, 15, 1), np.delete(other[:, : before.header.width], 15, 1))
    assert laspy.read(to)["probability"].tolist() == [0.5] * 300


def test_a_dimension_of_the_same_name_and_another_type_is_refused(tmp_path: Path):
    path = written(tmp_path, scan(0, "1.2", extra=True))

    with mentions("a dimension 'tree' already"):
        copied(path, tmp_path / "to.las", *random_classes(300), tree=np.zeros(300))


@pytest.mark.parametrize(("form", "version", "first"), [(1, "1.2", 13), (6, "1.4", 64)])
def test_names_of_classes_have_codes_for_users_and_a_record(tmp_path: Path, form: int, version: str, first: int):
    """LAS 1.4: codes from 64 are user definable, and a record looks up descriptions; a number keeps its code."""
    path, to = written(tmp_path, scan(form, version)), tmp_path / "to.laz"
    numbers = np.arange(300) % 3

    copied(path, to, numbers, {0: "cable", 1: "2", 2: "a name of more than 15 bytes"})

    file = laspy.read(to)
    assert classes_in(to) == [[first, 2, first + 1][number] for number in numbers]
    (record,) = file.header.vlrs.get("ClassificationLookupVlr")
    named = {code: name for code, name in record.lookups.items() if name}
    assert named == {2: "2", first: "cable", first + 1: "a name of more "}
    assert differences(path, to) == {"classification", "vlrs"}


def test_a_class_that_has_no_code_is_refused():
    """Five bits of a byte have the class in formats before 6."""
    with mentions("points of format 3 have classes from 0 to 31, and the class '64' has no place"):
        las_copy.class_codes({0: "2", 1: "64"}, 3)
    assert las_copy.class_codes({0: "2", 1: "64"}, 6) == {0: 2, 1: 64}


@pytest.mark.parametrize("form", [9, 10])
def test_waveforms_that_compression_would_change_are_refused(tmp_path: Path, form: int):
    path = written(tmp_path, scan(form, "1.4"))

    with mentions("have waveforms, which lazrs changes ... write LAS files instead"):
        copied(path, tmp_path / "to.laz", *random_classes(300))


def test_a_copy_is_no_cloud_optimized_point_cloud(tmp_path: Path):
    """Its records have the offsets of chunks, which are elsewhere in the copy; other records stay."""
    file = laspy.read(io.BytesIO(scan(6, "1.4")))
    file.header.vlrs.insert(0, laspy.VLR("copc", 1, "info", b"\0" * 160))
    file.evlrs.insert(0, laspy.VLR("copc", 1000, "hierarchy", b"\0" * 320))
    file.write(str(path := tmp_path / "scan.laz"))

    copied(path, tmp_path / "to.laz", *random_classes(300))

    after = laspy.read(tmp_path / "to.laz")
    assert [each.user_id for each in after.header.vlrs] == ["someone"]
    assert [each.record_data for each in after.evlrs] == [b"after the points" * 9]
    np.testing.assert_array_equal(after.points.array["gps_time"], file.points.array["gps_time"])
