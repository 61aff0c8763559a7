"""MNIST becomes clouds of pixels with the numbers of the paper, and invalid files are errors."""

from __future__ import annotations

import gzip
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from edgecond.data.datasets import fetch
from edgecond.data.datasets import load as load_now
from edgecond.data.datasets.mnist import read_idx
from edgecond.errors import DataError
from tests.sentences import mentions, refused

FILE = "mnist/train-images-idx3-ubyte.gz"
IMAGES = np.array([[[0, 51], [255, 0], [0, 0]], [[0, 0], [0, 0], [0, 102]]], np.uint8)  # two of 3 rows and 2 columns


def idx(array: np.ndarray) -> bytes:
    return struct.pack(f">HBB{array.ndim}I", 0, 8, array.ndim, *array.shape) + array.tobytes()


def write(folder: Path, images: np.ndarray = IMAGES, ys: tuple[int, ...] = (7, 1)) -> Path:
    (folder / "mnist").mkdir(exist_ok=True)
    for part in ("train", "t10k"):
        labels = np.array(ys, np.uint8)
        (folder / f"mnist/{part}-images-idx3-ubyte.gz").write_bytes(gzip.compress(idx(images)))
        (folder / f"mnist/{part}-labels-idx1-ubyte.gz").write_bytes(gzip.compress(idx(labels)))
    return folder / FILE


# The real data


def test_mnist_has_70_000_images_of_784_pixels(real: Callable[[str], Path], load: Any):
    """Section 4.4; the counts per digit are those of the published label files."""
    real(FILE)
    train, test = load("mnist")

    assert (len(train), len(test)) == (60_000, 10_000)
    assert train.ys.bincount().tolist() == [5923, 6742, 5958, 6131, 5842, 5421, 5918, 6265, 5851, 5949]
    assert test.ys.bincount().tolist() == [980, 1135, 1032, 1010, 982, 892, 958, 1028, 974, 1009]
    cloud, y = train[0]
    assert y == 5  # the well-known first one
    assert cloud.positions.amin(0).tolist() == [0, 0, 0]
    assert cloud.positions.amax(0).tolist() == [27, 27, 0]
    assert (len(cloud), float(cloud.signal.min()), float(cloud.signal.max())) == (784, 0, 1)


def test_black_pixels_are_80_9_percent(real: Callable[[str], Path], load: Any):
    """Section 4.4; it holds for all 70,000 images and for the training images alone."""
    real(FILE)
    images = [part.clouds.images for part in load("mnist")]
    black = [int((part == 0).sum()) for part in images]

    assert round(100 * black[0] / images[0].numel(), 1) == 80.9
    assert round(100 * sum(black) / sum(part.numel() for part in images), 1) == 80.9


def test_sparse_clouds_have_exactly_the_pixels_that_are_not_black(real: Callable[[str], Path], load: Any):
    real(FILE)
    (full, _), (sparse, _) = load("mnist"), load("mnist", sparse=True)

    for index in (0, 1, 59_999):
        dense, lit = full.clouds[index], sparse.clouds[index]
        kept = dense.signal[:, 0] > 0
        assert lit.positions.equal(dense.positions[kept])
        assert lit.signal.equal(dense.signal[kept])


def test_the_local_copy_is_the_published_dataset(real: Callable[[str], Path]):
    path = real(FILE)

    assert fetch("mnist") == f"mnist is in {path.parent} already: verified, nothing to download."


# Small files


def test_x_is_the_column_and_y_the_row_of_a_pixel(folder: Path):
    """By hand: 51, 255 and 102 divided by 255 are 0.2, 1 and 0.4."""
    write(folder)

    train, test = load_now("mnist", sparse=True)

    cloud, y = train[0]
    assert y == 7
    assert cloud.positions.tolist() == [[1, 0, 0], [0, 1, 0]]
    assert cloud.signal[:, 0].tolist() == pytest.approx([0.2, 1])
    assert test[1][0].positions.tolist() == [[1, 2, 0]]
    assert len(load_now("mnist")[0].clouds[0]) == 6


def test_a_black_image_has_no_sparse_cloud(folder: Path):
    path = write(folder, IMAGES * np.array([1, 0], np.uint8)[:, None, None])

    with pytest.raises(DataError, match=f"image 1 of {path} has only black pixels"):
        load_now("mnist", sparse=True)
    assert len(load_now("mnist")[0]) == 2


def test_classes_are_the_ten_digits_and_every_image_has_one(folder: Path):
    write(folder, ys=(3, 10))
    with refused("mnist has 10 classes, numbered from 0: found the unknown class 10.", DataError):
        load_now("mnist")
    write(folder, ys=(3,))
    with refused("mnist needs one class per cloud: got 1 classes for 2 clouds.", DataError):
        load_now("mnist")


def test_images_have_three_dimensions(folder: Path):
    path = write(folder, IMAGES[0])
    with pytest.raises(DataError, match=rf"^{path} must hold images .*: found 2 and 1 dimensions\.$"):
        load_now("mnist")


@pytest.mark.parametrize(
    ("data", "length"),
    [(idx(IMAGES)[:-1], 11), (idx(IMAGES) + b"0", 13), (idx(IMAGES)[:16], 0)],
    ids=["short", "long", "header only"],
)
def test_an_idx_file_must_have_the_size_given_by_its_header(tmp_path: Path, data: bytes, length: int):
    path = tmp_path / "a.gz"
    path.write_bytes(gzip.compress(data))

    expected = f"{path} must hold 2 x 3 x 2 bytes, at least one, after its header: found {length}."
    with refused(f"{expected} Remove it and fetch it again.", DataError):
        read_idx(path)


def test_an_idx_file_without_numbers_is_an_error(tmp_path: Path):
    """NumPy multiplies the other sizes, whose product exceeds 64 bits."""
    (tmp_path / "a").write_bytes(struct.pack(">HBB3I", 0, 8, 3, 2**32 - 1, 2**32 - 1, 0))

    with mentions("4294967295 x 4294967295 x 0 bytes, at least one", kind=DataError):
        read_idx(tmp_path / "a")


@pytest.mark.parametrize("data", [b"", b"\0\0", b"\x93NUMPY", struct.pack(">HBBI", 0, 9, 1, 0)])
def test_a_file_of_another_format_is_an_error(tmp_path: Path, data: bytes):
    path = tmp_path / "a"
    path.write_bytes(data)

    with pytest.raises(DataError, match=f"^{path} must be an IDX file"):
        read_idx(path)


@pytest.mark.parametrize("damage", ["cut", "flip", "text"])
def test_a_damaged_file_is_an_error(folder: Path, damage: str):
    path = write(folder)
    data = bytearray(path.read_bytes())
    data[-6] ^= 16  # in the checksum at the end
    path.write_bytes({"cut": data[:-9], "flip": data, "text": b"<html>not found</html>"}[damage])

    with pytest.raises(DataError, match=rf"^{path} is damaged or cut short \(.+\)\. Remove it and fetch it again\.$"):
        load_now("mnist")


def test_a_file_with_another_sum_is_not_accepted_as_the_dataset(folder: Path):
    path = write(folder)

    with pytest.raises(DataError, match=rf"^{path} must have the SHA-256 sum 440fcabf\w+: found \w+"):
        fetch("mnist")
