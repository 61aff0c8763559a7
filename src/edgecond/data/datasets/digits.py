"""The 1,797 handwritten digits of scikit-learn, 8 x 8 pixels each, as clouds for the MNIST network."""

from __future__ import annotations

import numpy as np
import torch

from edgecond.data.datasets.mnist import CLASSES, PixelClouds
from edgecond.data.examples import Examples
from edgecond.files import digest, Progress, sha256

FOLDS = 5


def load(fold: int = 0, *, sparse: bool = False, spacing: float = 2.0) -> tuple[Examples, Examples]:
    r"""Load four fifths of the digits as training set and one fifth as test set.

    Every fifth example of a class, in the order of the dataset, is a test example, beginning with that of number
    `fold`. The signal is the grey value divided by 16.

    Args:
        fold: Number of the fold, 0 to 4.
        sparse: Leave out black pixels.
        spacing: Distance of neighbouring pixels. At 2, the radius 2.9 of the MNIST network includes the diagonal
            neighbours ($2\sqrt 2 \approx 2.83$), so that its filters cover 3 x 3 pixels. At 3.5 an image would be as
            large as one of MNIST, but no pixel would have a neighbour.
    """
    from sklearn.datasets import load_digits

    images, ys = load_digits(return_X_y=True)
    images, ys = images.astype(np.uint8).reshape(-1, 8, 8), ys.astype(np.int64)
    total = digest({"images": sha256(images.tobytes()), "ys": sha256(ys.astype("<i8").tobytes())})
    rank = np.empty(len(ys), np.int64)  # of each example within its class
    for y in range(len(CLASSES)):
        rank[ys == y] = np.arange((ys == y).sum())

    def examples(chosen: np.ndarray) -> Examples:
        clouds = PixelClouds(torch.from_numpy(images[chosen]), white=16, spacing=spacing, sparse=sparse)
        return Examples("digits", CLASSES, clouds, torch.from_numpy(ys[chosen]), total)

    return examples(rank % FOLDS != fold), examples(rank % FOLDS == fold)


def fetch(progress: Progress | None = None) -> str:
    """Return that there is nothing to download."""
    return "digits comes with scikit-learn: nothing to download."
