"""Single clouds in files of their own: the points of a file in single precision, as a network takes them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from jaxtyping import Float

from edgecond.datasets import checked_cloud
from edgecond.datasets._files import DataError
from edgecond.datasets.formats import MESHES, Points, read_points
from edgecond.graph import Cloud

FAR = 1000  # times its size, and a cloud loses ten of the 24 bits of single precision to the way there


def read_cloud(path: Path, width: int) -> Cloud:
    """The cloud in a file of any kind that `read_points` knows.

    Args:
        path: The file.
        width: Of the signal: as many columns as the file has besides x, y and z. A mesh without any has the signal 1.
    """
    points = read_points(path)
    if not points.names and width == 1 and path.suffix.lower() in MESHES:
        return to_cloud(points, (), path)
    if len(points.names) != width:
        raise DataError(
            f"{path} must have {3 + width} columns of numbers, x, y, z and {width} of the signal: "
            f"found {', '.join(('x', 'y', 'z', *points.names))}."
        )
    return to_cloud(points, points.names, path)


def to_cloud(points: Points, names: Sequence[str], source: object) -> Cloud:
    """The cloud of points with the columns of these names as its signal; without names, the signal is 1.

    A cloud `FAR` from the origin is moved there, lest single precision blurs it: it holds the northings of Europe, five
    million metres, to half a metre. Edge labels are of offsets between points, which stay the same.
    """
    for name in names:
        if name not in points.names:
            raise DataError(
                f"{source} must have the column {name} of the signal: it has {', '.join(points.names) or 'none'}."
            )
    columns = [points.names.index(name) for name in names]
    signal = points.signal[:, columns] if names else np.ones((len(points), 1))
    return checked_cloud(_near(points.positions), signal, source)


def _near(positions: Float[np.ndarray, "n 3"]) -> Float[np.ndarray, "n 3"]:
    low, high = positions.min(0), positions.max(0)
    far = 0 < FAR * (high - low).max() < np.abs(positions).max()
    return positions - (low + high) / 2 if far else positions
