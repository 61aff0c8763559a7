"""Single clouds in files of their own: a table of points, one row each."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from edgecond.datasets import checked_cloud
from edgecond.datasets._files import DataError
from edgecond.graph import Cloud

TEXT = (".csv", ".txt", ".xyz")


def read_cloud(path: Path, width: int) -> Cloud:
    """The cloud in a file.

    Args:
        path: A matrix in NumPy's format (.npy), or text with commas or blanks between numbers (.csv, .txt, .xyz).
        width: Of the signal; its columns come after x, y and z.
    """
    if path.suffix not in (".npy", *TEXT):
        raise DataError(f"{path} must be a cloud in a file of the kinds .npy, {', '.join(TEXT)}.")
    try:
        if path.suffix == ".npy":
            points = np.load(path, allow_pickle=False)
        else:
            points = np.loadtxt(path.read_text("utf-8").replace(",", " ").splitlines(), ndmin=2)
    except FileNotFoundError:
        raise DataError(f"{path} must be a file with a cloud: there is none.") from None
    except (OSError, ValueError, EOFError) as error:
        raise DataError(f"{path} must hold numbers, one row per point: it cannot be read ({error}).") from error
    if points.ndim != 2 or points.shape[1] != 3 + width or points.dtype.kind not in "fiu":
        raise DataError(
            f"{path} must have {3 + width} columns of numbers, x, y, z and {width} of the signal: "
            f"found {points.dtype} of shape {tuple(points.shape)}."
        )
    return checked_cloud(points[:, :3], points[:, 3:], path)
