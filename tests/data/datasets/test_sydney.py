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
# Objects per class in fold 0 to 3, counted with `cut -d. -f1 folds/fold0.txt | uniq -c`; the classes' own order.
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
    """A point as the README of the dataset lays it out: 34 bytes, little endian."""
    numbers = np.array([x, y, z, 0, 0], "<f4").tobytes()
    return np.int64(1).tobytes() + bytes([intensity, 7]) + numbers + np.int32(9).tobytes()


CAR = record(1, 2, 3, 0) + record(4, 5, 6, 255) + record(7, 8, 9, 51)
FILES = {f"folds/fold{k}.txt": f"car.{k}.10.bin\n".encode() for k in range(4)} | {
    f"objects/car.{k}.10.bin": CAR for k in range(4)
}


def write(folder: Path, **changes: bytes | None) -> Path:
    """A tiny archive of the same layout, one car per fold, with some files replaced or left out."""
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


def test_classes_are_spread_over_the_folds_as_published(real: Callable[[str], Path], load: Any):
    real(FILE)
    assert tuple(COUNTS) == sydney.CLASSES
    for fold in range(4):
        found = Counter(test.classes[y] for test in [load("sydney", fold)[1]] for y in test.ys.tolist())
        assert found == {name: counts[fold] for name, counts in COUNTS.items()}


def test_a_binary_object_agrees_with_its_text_twin(real: Callable[[str], Path], load: Any):
    """The archive holds each object twice; the text has four decimals."""
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


def test_objects_stand_on_their_heads(real: Callable[[str], Path], load: Any):
    """The sensor's z axis points down: its feet are about two metres below a roof, at positive z."""
    real(FILE)
    train, _ = load("sydney", 0)
    feet = [float(cloud.positions[:, 2].max()) for cloud, y in train if train.classes[y] == "pedestrian"]

    assert np.median(feet) == pytest.approx(2.3, abs=0.1)


def test_intensities_lie_between_minus_and_plus_a_half(real: Callable[[str], Path], load: Any):
    """The authors' scaling of 0 to 255; the least and the largest of the data are 1 and 254."""
    real(FILE)
    signal = torch.cat([cloud.signal for part in load("sydney", 0) for cloud, _ in part])

    assert signal.shape == (288536, 1)
    assert (float(signal.min()), float(signal.max())) == pytest.approx((1 / 255 - 0.5, 254 / 255 - 0.5))


def test_a_copy_that_is_there_is_recognised_by_its_contents(real: Callable[[str], Path], load: Any):
    path = real(FILE)

    assert fetch("sydney") == f"sydney is in {path.parent} already: verified, nothing to download."
    assert load("sydney", 0)[0].digest == load("sydney", 3)[1].digest == sydney.DIGEST


# Files written here


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


def test_the_digest_knows_the_contents_and_not_the_packing(folder: Path):
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
    ("changes", "sentence"),
    [
        (
            {"car_1_10_bin": CAR[:-1]},
            "{path}, car.1.10.bin is cut short: 101 bytes are no multiple of the 34 of a point.",
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
        ({"fold3_txt": b""}, "{path} must hold folds/fold3.txt with the names of objects: found none."),
        ({"fold3_txt": None}, "{path} must hold folds/fold3.txt with the names of objects: found none."),
        (
            {"fold3_txt": b"boat.0.1.bin", "boat_0_1_bin": CAR},
            "{path} lists boat.0.1.bin of the unknown class 'boat': the classes are 4wd, building, bus, car, "
            "pedestrian, pillar, pole, traffic_lights, traffic_sign, tree, truck, trunk, ute, van.",
        ),
    ],
)
def test_contents_that_are_not_what_they_should_be_are_a_sentence(folder: Path, changes: Any, sentence: str):
    path = write(folder, **changes)

    with refused(sentence.format(path=path), DataError):
        load_now("sydney")


def test_a_bit_that_fell_over_never_changes_a_number(folder: Path):
    """Each bit of the archive in turn is either noticed or does not matter, as in the date of the gzip header."""
    path = write(folder)
    data, digest = path.read_bytes(), load_now("sydney")[0].digest
    noticed = 0
    for bit in range(0, 8 * len(data), 3):
        flipped = bytearray(data)
        flipped[bit // 8] ^= 1 << bit % 8
        path.write_bytes(flipped)
        try:
            assert load_now("sydney")[0].digest == digest
        except DataError:
            noticed += 1

    assert noticed > len(data)  # of 8/3 times as many


@pytest.mark.parametrize("damage", ["cut", "text"])
def test_a_damaged_archive_is_a_sentence(folder: Path, damage: str):
    path = write(folder)
    data = path.read_bytes()
    path.write_bytes({"cut": data[: len(data) // 2], "text": b"<html>not found</html>"}[damage])

    with pytest.raises(DataError, match=rf"^{path} is damaged or cut short \(.+\)\. Remove it and fetch it again\.$"):
        load_now("sydney")


def test_other_contents_are_not_accepted_as_the_dataset(folder: Path):
    path = write(folder)

    with pytest.raises(DataError, match=rf"^{path} has contents with the digest \w+ instead of {sydney.DIGEST}\."):
        fetch("sydney")
