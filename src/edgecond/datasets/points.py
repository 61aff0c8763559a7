"""Single clouds and meshes in files of their own, in single precision, as a network takes them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from jaxtyping import Float

from edgecond.datasets import checked_cloud
from edgecond.datasets._files import DataError
from edgecond.datasets.formats import MESHES, Points, read_points, Surface
from edgecond.graph import Cloud
from edgecond.mesh import Mesh

FAR = 1000  # times its size, and a cloud loses ten of the 24 bits of single precision to the way there


def read_cloud(path: Path, width: int, *, count: int | None = 1024) -> Cloud:
    """The cloud in a file of any kind that `read_points` knows.

    Args:
        path: The file.
        width: Of the signal: as many columns as the file has besides x, y and z. A mesh without any has the signal 1.
        count: See `read_points`.
    """
    points = read_points(path, count=count)
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


def to_mesh(surface: Surface, names: Sequence[str], source: object) -> Mesh:
    """The mesh of a surface, with a signal as that of `to_cloud`.

    Vertices at the same place are one, as where an STL file lists the corners of each triangle anew, and what is told
    of them is averaged. Faces that have no three corners then are left out, and so are vertices of no face.
    """
    cloud = to_cloud(surface, names, source)
    places, vertex = np.unique(cloud.positions.numpy() + np.float32(0), axis=0, return_inverse=True)  # -0 is 0
    faces = vertex.reshape(-1)[surface.triangles]
    faces = faces[(faces != np.roll(faces, 1, axis=1)).all(1)]
    if not len(faces):
        raise DataError(
            f"{source} must have a face with three different corners: {len(surface.triangles)} faces have none."
        )
    used, faces = np.unique(faces, return_inverse=True)
    count, sums = np.bincount(vertex.reshape(-1)), np.zeros((len(places), cloud.signal.shape[1]))
    np.add.at(sums, vertex.reshape(-1), cloud.signal.numpy())
    signal = (sums / count[:, None])[used].astype(np.float32)
    parts = torch.from_numpy(places[used]), torch.from_numpy(signal)
    return Mesh(*parts, faces=torch.from_numpy(faces.reshape(-1, 3)))


def _near(positions: Float[np.ndarray, "n 3"]) -> Float[np.ndarray, "n 3"]:
    low, high = positions.min(0), positions.max(0)
    far = 0 < FAR * (high - low).max() < np.abs(positions).max()
    return positions - (low + high) / 2 if far else positions
