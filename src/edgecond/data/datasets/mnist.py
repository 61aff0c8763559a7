"""MNIST: 70,000 images of handwritten digits as clouds of pixels (Section 4.4)."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from functools import cached_property
from math import prod
from pathlib import Path

import numpy as np
import torch
from jaxtyping import Float, UInt8
from torch import Tensor

from edgecond.data.archives import decompressed
from edgecond.data.datasets.fetching import obtain, Source, sum_is
from edgecond.data.examples import Examples
from edgecond.errors import DataError
from edgecond.files import AGAIN, digest, locate, Progress, sha256
from edgecond.graph import Cloud

FOLDS = 1
CLASSES = tuple("0123456789")
SUMS = {
    "train-images-idx3-ubyte.gz": "440fcabf73cc546fa21475e81ea370265605f56be210a4024d2ca8f203523609",
    "train-labels-idx1-ubyte.gz": "3552534a0a558bbed6aed32b30c495cca23d567ec52cac8be1a0730e8010255c",
    "t10k-images-idx3-ubyte.gz": "8d422c7b0a1c1c79245a5bcf07fe86e33eeafee792b84584aec276f5a2dbc4e6",
    "t10k-labels-idx1-ubyte.gz": "f7ae60f92e00ec6debd23a6088c31dbd2371eca3ffa0defaefb259924204aec6",
}
_ADDRESS = "https://ossci-datasets.s3.amazonaws.com/mnist/"


@dataclass(frozen=True, eq=False)
class PixelClouds:
    """Images as clouds, built on access: points $p_i = (x, y, 0)$ with the signal $I(x, y)$.

    Attributes:
        images: Grey values, 0 for black.
        white: Grey value that becomes the signal 1.
        spacing: Distance of neighbouring pixels.
        sparse: Leave out black pixels.
    """

    images: UInt8[Tensor, "n height width"]
    white: int = 255
    spacing: float = 1.0
    sparse: bool = False

    def __len__(self) -> int:
        return len(self.images)

    def __getitem__(self, index: int, /) -> Cloud:
        signal = self.images[index].reshape(-1, 1) / self.white
        if not self.sparse:
            return Cloud(self.positions, signal)
        lit = signal[:, 0] > 0
        return Cloud(self.positions[lit], signal[lit])

    @cached_property
    def positions(self) -> Float[Tensor, "pixels 3"]:
        """Positions of the pixels, row by row: x is the column and y the row, from 0, times the spacing."""
        y, x = torch.meshgrid(*[torch.arange(float(size)) for size in self.images.shape[1:]], indexing="ij")
        return torch.stack([x, y, torch.zeros_like(x)], -1).reshape(-1, 3) * self.spacing


def load(fold: int = 0, *, sparse: bool = False) -> tuple[Examples, Examples]:
    """Load the 60,000 training and 10,000 test images.

    The distance of neighbouring pixels is 1; the signal is the grey value divided by 255, from 0 (black) to 1 (white).

    Args:
        fold: Always 0, the split of the dataset's authors.
        sparse: Leave out black pixels, which are 80.9 % of all.
    """
    paths = {file: locate("mnist", file) for file in SUMS}
    total = digest({file: sha256(path) for file, path in paths.items()})

    def examples(part: str) -> Examples:
        path = paths[f"{part}-images-idx3-ubyte.gz"]
        images = read_idx(path)
        ys = read_idx(paths[f"{part}-labels-idx1-ubyte.gz"])
        if images.ndim != 3 or ys.ndim != 1:
            raise DataError(
                f"{path} must hold images (3 dimensions) and the labels file their classes (1 dimension): "
                f"found {images.ndim} and {ys.ndim} dimensions."
            )
        black = np.flatnonzero(~images.any((1, 2)))
        if sparse and len(black):
            raise DataError(f"a cloud needs at least one point: image {black[0]} of {path} has only black pixels.")
        clouds = PixelClouds(torch.from_numpy(images), sparse=sparse)
        return Examples("mnist", CLASSES, clouds, torch.from_numpy(ys.astype(np.int64)), total)

    return examples("train"), examples("t10k")


def fetch(progress: Progress | None = None) -> str:
    """Verify the four files, and download those that are missing from the mirror that torchvision uses."""
    return obtain("mnist", [Source(f, _ADDRESS + f, sum_is(s), most=2**24) for f, s in SUMS.items()], progress)


def read_idx(path: Path) -> np.ndarray:
    """Read the array of unsigned bytes in an IDX file, compressed or not."""
    with decompressed(path) as file:
        zeros, kind, dimensions = struct.unpack(">HBB", file.read(4).ljust(4, b"\xff"))
        if zeros or kind != 8 or not 1 <= dimensions <= 3:
            raise DataError(f"{path} must be an IDX file of unsigned bytes in one to three dimensions: it is not.")
        shape = struct.unpack(f">{dimensions}I", file.read(4 * dimensions).ljust(4 * dimensions, b"\0"))
        values = bytearray(file.read())  # to the end, where gzip verifies its checksum
    if not values or len(values) != prod(shape):
        raise DataError(
            f"{path} must hold {' x '.join(map(str, shape))} bytes, at least one, after its header: "
            f"found {len(values)}.{AGAIN}"
        )
    return np.frombuffer(values, np.uint8).reshape(shape)
