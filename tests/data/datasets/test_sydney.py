"""Sydney Urban Objects: the paper's objects, classes and folds, and archives that are not what they should be."""

from __future__ import annotations

import gzip
import io
import tarfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from edgecond.data.datasets import fetch, sydney
from edgecond.data.datasets import load as load_now
from edgecond.errors import DataError
from tests.sentences import refused

FILE = "sydney/sydney-urban-objects-dataset.tar.gz"
# Objects per class in folds 0 to 3, counted with `cut -d. -f1 folds/fold0.txt | uniq -c`.
COUNTS = {
    "4wd": (5, 6, 4, 6),
    "building": (5, 5, 5, 5),
    "bus": (5, 3, 3, 5),
    "car": (23, 20, 21, 24),
    "pedestrian": (37, 36, 34, 45),
    "pillar": (6, 5, 4, 5),
    "pole": (6, 5, 4, 6),
    "traffic_lights": (10, 18, 8, 11),
    "traffic_sign": (11, 18, 11, 11),
    "tree": (8, 8, 8, 10),
    "truck": (3, 3, 3, 3),
    "trunk": (14, 13, 15, 13),
    "ute": (4, 4, 4, 4),
    "van": (9, 11, 8, 7),
}


def record(x: float, y: float, z: float, intensity: int) -> bytes:
    """Encode a point as described in the README of the dataset: 34 bytes, little endian."""
    numbers = np.array([x, y, z, 0, 0], "<f4").tobytes()
    return np.int64(1).tobytes() + bytes([intensity, 7]) + numbers + np.int32(9).tobytes()


CAR = record(1, 2, 3, 0) + record(4, 5, 6, 255) + record(7, 8, 9, 51)
FILES = {f"folds/fold{k}.txt": f"car.{k}.10.bin\n".encode() for k in range(4)} | {
    f"objects/car.{k}.10.bin": CAR for k in range(4)
}


def write(folder: Path, **changes: bytes | None) -> Path:
    """Write a tiny archive of the same layout, with one car per fold and some files replaced or left out."""
    names = {name.split("/")[-1].replace(".", "_"): name for name in FILES}
    files = FILES | {names.get(key, f"objects/{key.replace('_', '.')}"): data for key, data in changes.items()}
    path = folder / FILE
    path.parent.mkdir(exist_ok=True)
    with gzip.open(path, "wb", compresslevel=1) as packed, tarfile.open(fileobj=packed, mode="w|") as archive:
        for name, data in files.items():
            if data is not None:
                info = tarfile.TarInfo(f"sydney-urban-objects-dataset/{name}")
                info.size = len(data)
                archive.addfile(info, io.BytesIO(data))
    return path


# The real data


def test_the_paper_has_588_objects_in_14_classes(real: Callable[[str], Path], load: Any):
    """Section 4.1; the folds have 146, 155, 132 and 155 objects."""
    real(FILE)
    for fold, count in enumerate((146, 155, 132, 155)):
        train, test = load("sydney", fold)
        assert (len(train), len(test), len(train.classes)) == (588 - count, count, 14)
        assert not set(train.names) & set(test.names)


def test_the_folds_have_the_published_number_of_objects_per_class(real: Callable[[str], Path], load: Any):
    real(FILE)
    assert tuple(COUNTS) == sydney.CLASSES
    for fold in range(4):
        _, test = load("sydney", fold)
        assert Counter(test.classes[y] for y in test.ys.tolist()) == {
            name: counts[fold] for name, counts in COUNTS.items()
        }


def test_a_binary_object_agrees_with_its_text_version(real: Callable[[str], Path], load: Any):
    """The archive holds each object in both formats; the text has four decimals."""
    path = real(FILE)
    _, test = load("sydney", 0)
    cloud = test.clouds[test.names.index("4wd.0.2299")]
    with tarfile.open(path) as archive:
        text = archive.extractfile("sydney-urban-objects-dataset/objects/4wd.0.2299.csv")
        assert text is not None
        rows = [line.decode().split(",") for line in text]

    expected = torch.tensor([[float(value) for value in row[3:6]] for row in rows])
    torch.testing.assert_close(cloud.positions, expected, atol=1e-4, rtol=0)
    assert cloud.signal[:, 0].tolist() == pytest.approx([int(row[1]) / 255 - 0.5 for row in rows], abs=1e-6)


def test_the_z_axis_points_down(real: Callable[[str], Path], load: Any):
    """The sensor is on the roof of a car, so the feet of pedestrians are about two metres below it, at positive z."""
    real(FILE)
    train, _ = load("sydney", 0)
    feet = [float(cloud.positions[:, 2].max()) for cloud, y in train if train.classes[y] == "pedestrian"]

    assert np.median(feet) == pytest.approx(2.3, abs=0.1)


def test_intensities_lie_between_minus_and_plus_a_half(real: Callable[[str], Path], load: Any):
    """The authors scale 0 to 255; the smallest and the largest intensity of the data are 1 and 254."""
    real(FILE)
    signal = torch.cat([cloud.signal for part in load("sydney", 0) for cloud, _ in part])

    assert signal.shape == (288536, 1)
    assert (float(signal.min()), float(signal.max())) == pytest.approx((1 / 255 - 0.5, 254 / 255 - 0.5))


def test_the_local_copy_is_verified_by_its_contents(real: Callable[[str], Path], load: Any):
    path = real(FILE)

    assert fetch("sydney") == f"sydney is in {path.parent} already: verified, nothing to download."
    assert load("sydney", 0)[0].digest == load("sydney", 3)[1].digest == sydney.DIGEST


# Small files


def test_a_point_is_34_bytes(folder: Path):
    """By hand: 0, 255 and 51 become -0.5, 0.5 and 51/255 - 0.5 = -0.3."""
    write(folder)

    train, test = load_now("sydney", 2)

    assert test.names == ["car.2.10"]
    assert train.names == ["car.0.10", "car.1.10", "car.3.10"]
    cloud, y = test[0]
    assert test.classes[y] == "car"
    assert cloud.positions.tolist() == [[1, 2, 3], [4, 5, 6], [7, 8, 9]]
    assert cloud.signal[:, 0].tolist() == pytest.approx([-0.5, 0.5, -0.3])


def test_the_digest_depends_on_the_objects_of_the_folds_only(folder: Path):
    write(folder)
    plain = load_now("sydney")[0].digest
    write(folder, bench_0_1_bin=CAR)  # in no fold
    assert load_now("sydney", 1)[0].digest == plain
    write(folder, car_3_10_bin=CAR[:34])
    assert load_now("sydney")[0].digest != plain


def test_a_cloud_may_have_one_point_or_a_million(folder: Path):
    many = np.random.default_rng(0).integers(0, 256, (10**6, 34), np.uint8)
    many[:, 10:30] = 0  # zeros are finite
    write(folder, car_0_10_bin=many.tobytes(), car_1_10_bin=CAR[:34])

    train, test = load_now("sydney")

    assert len(test.clouds[0]) == 10**6
    assert len(train.clouds[0]) == 1


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"car_1_10_bin": CAR[:-1]},
            "{path}, car.1.10.bin must hold 34 bytes per point: found 101 bytes, which is no multiple.",
        ),
        ({"car_1_10_bin": b""}, "{path}, car.1.10.bin holds an empty cloud: at least one point is needed."),
        (
            {"car_1_10_bin": record(0, 0, np.nan, 1)},
            "{path}, car.1.10.bin must hold finite numbers: the position of point 0 is [0.0, 0.0, nan].",
        ),
        (
            {"car_1_10_bin": None},
            "{path} must hold every object of its folds: car.1.10.bin of fold 1 is missing.",
        ),
        ({"fold3_txt": b""}, "{path} must hold folds/fold3.txt with the names of objects: found no names."),
        ({"fold3_txt": None}, "{path} must hold folds/fold3.txt with the names of objects: found no names."),
        (
            {"fold3_txt": b"boat.0.1.bin", "boat_0_1_bin": CAR},
            "{path} must hold objects of the classes 4wd, building, bus, car, pedestrian, pillar, pole, "
            "traffic_lights, traffic_sign, tree, truck, trunk, ute, van: boat.0.1.bin is of the class 'boat'.",
        ),
    ],
)
def test_invalid_contents_are_an_error_that_names_them(folder: Path, changes: Any, message: str):
    path = write(folder, **changes)

    with refused(message.format(path=path), DataError):
        load_now("sydney")


def test_a_flipped_bit_never_changes_a_number(folder: Path):
    """Each flipped bit of the archive is either detected or irrelevant, such as in the date of the gzip header."""
    path = write(folder)
    data, digest = path.read_bytes(), load_now("sydney")[0].digest
    detected = 0
    for bit in range(0, 8 * len(data), 3):
        flipped = bytearray(data)
        flipped[bit // 8] ^= 1 << bit % 8
        path.write_bytes(flipped)
        try:
            assert load_now("sydney")[0].digest == digest
        except DataError:
            detected += 1

    assert detected > len(data)  # out of 8/3 as many flips


@pytest.mark.parametrize("damage", ["cut", "text"])
def test_a_damaged_archive_is_an_error(folder: Path, damage: str):
    path = write(folder)
    data = path.read_bytes()
    path.write_bytes({"cut": data[: len(data) // 2], "text": b"<html>not found</html>"}[damage])

    with pytest.raises(DataError, match=rf"^{path} is damaged or cut short \(.+\)\. Remove it and fetch it again\.$"):
        load_now("sydney")


def test_other_contents_are_not_accepted_as_the_dataset(folder: Path):
    path = write(folder)

    with pytest.raises(DataError, match=rf"{path} must have the digest {sydney.DIGEST}: found \w+\."):
        fetch("sydney")
