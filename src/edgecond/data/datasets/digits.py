"""Scikit-learn's 1,797 handwritten digits of 8 x 8 pixels as clouds for the MNIST network; nothing to download."""

from __future__ import annotations

import numpy as np
import torch

from edgecond.data.datasets.mnist import CLASSES, PixelClouds
from edgecond.data.examples import Examples
from edgecond.files import digest, Progress, sha256

FOLDS = 5


def load(fold: int = 0, *, sparse: bool = False, spacing: float = 2.0) -> tuple[Examples, Examples]:
    r"""Four fifths of the digits to train on and one fifth to test.

    Of the examples of a class, in the order of the dataset, every fifth is a test example; the fold says which one
    is the first. The signal is the grey value over 16.

    Args:
        fold: 0 to 4.
        sparse: Leave out the black pixels.
        spacing: Distance of neighbouring pixels. At 2, the radii 2.9, 3.4 and 6.8 of the MNIST network reach the
            diagonal neighbours ($2\sqrt 2 \approx 2.83$), so that it convolves with filters of 3 x 3 pixels. At 3.5
            an image would be as large as one of MNIST, and a pixel would have no neighbour at all.
    """
    from sklearn.datasets import load_digits

    images, ys = load_digits(return_X_y=True)
    images, ys = images.astype(np.uint8).reshape(-1, 8, 8), ys.astype(np.int64)
    total = digest({"images": sha256(images.tobytes()), "ys": sha256(ys.astype("<i8").tobytes())})
    turn = np.empty(len(ys), np.int64)  # place of an example among those of its class
    for y in range(len(CLASSES)):
        turn[ys == y] = np.arange((ys == y).sum())

    def examples(chosen: np.ndarray) -> Examples:
        clouds = PixelClouds(torch.from_numpy(images[chosen]), white=16, spacing=spacing, sparse=sparse)
        return Examples("digits", CLASSES, clouds, torch.from_numpy(ys[chosen]), total)

    return examples(turn % FOLDS != fold), examples(turn % FOLDS == fold)


def fetch(progress: Progress | None = None) -> str:
    """Nothing to do."""
    return "digits comes with scikit-learn: nothing to download."
