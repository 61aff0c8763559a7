"""Data augmentation of point clouds and meshes: rotation, scaling, mirroring, thinning, noise (Section 3.4)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import ceil, cos, pi, sin

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from edgecond.graph import Cloud, Mesh

Vectors = Sequence[tuple[int, int]]
"""The columns of a signal with the components of vectors along x and along y."""


def rotated(cloud: Cloud, angle: float) -> Cloud:
    """Rotate a cloud about its up-axis z by an angle in radians."""
    return _transformed(cloud, _rotation(angle))


def orientation(cloud: Cloud, turn: int, turns: int = 12, vectors: Vectors = ()) -> Cloud:
    """Rotate a cloud to one of `turns` orientations, evenly spaced about z (Section 4.2); the first is unchanged.

    Args:
        cloud: Cloud or mesh to rotate.
        turn: Number of the orientation.
        turns: Number of orientations.
        vectors: See `augment`.
    """
    return _transformed(cloud, rotation(turn, turns), vectors) if turn else cloud


def rotation(turn: int, turns: int = 12) -> Float[np.ndarray, "3 3"]:
    """Return the matrix that rotates columns to an orientation; see `orientation`."""
    return _rotation(2 * pi * turn / turns)


def thinned(cloud: Cloud, rng: np.random.Generator, p: float) -> Cloud:
    """Remove a random fraction p of the points, rounded down, so that at least one remains.

    A mesh is returned unchanged, because removing a vertex may remove a large part of its surface.
    """
    if not 0 <= p < 1:
        raise ValueError(f"the fraction of points to drop must be at least 0 and below 1: got {p}.")
    keep = ceil((1 - p) * len(cloud))
    if keep == len(cloud) or isinstance(cloud, Mesh):
        return cloud
    kept = np.sort(rng.permutation(len(cloud))[:keep])
    positions, signal = (torch.from_numpy(rows.numpy()[kept]) for rows in (cloud.positions, cloud.signal))
    return Cloud(positions, signal, None if cloud.y is None else torch.from_numpy(cloud.y.numpy()[kept]))


def jittered(cloud: Cloud, rng: np.random.Generator, sigma: float) -> Cloud:
    """Add Gaussian noise of standard deviation sigma to the positions (Appendix C)."""
    noise = torch.from_numpy(rng.normal(0, sigma, cloud.positions.shape))
    return replace(cloud, positions=cloud.positions + noise.to(cloud.positions))


def augment(
    cloud: Cloud,
    rng: np.random.Generator,
    *,
    rotate: bool = True,
    scale: float = 1.2,
    mirror: float = 0.2,
    drop: float = 0.1,
    noise: float = 0.0,
    vectors: Vectors = (),
) -> Cloud:
    """Return a random variant of a cloud; the defaults are those of the authors' code.

    Args:
        cloud: Cloud or mesh to augment.
        rng: Random generator.
        rotate: Rotate about z by an angle between 0 and 2π.
        scale: Largest scale factor; the factor is drawn between 1/scale and scale. 1 disables scaling.
        mirror: Probability of mirroring, half for x and half for y, independently.
        drop: Fraction of points to remove; meshes keep all vertices.
        noise: Standard deviation of Gaussian noise, which is added to the positions last.
        vectors: Numbers of the columns of the signal with the components of vectors along x and y, such as normals.
            They are rotated and mirrored with the points, and keep their lengths.
    """
    if drop:
        cloud = thinned(cloud, rng, drop)
    transform = np.eye(3)
    if scale != 1:
        transform *= rng.uniform(1 / scale, scale)
    if rotate:
        transform = _rotation(rng.uniform(0, 2 * pi)) @ transform
    if mirror:
        x, y = np.where(rng.random(2) < mirror / 2, -1, 1)
        transform *= [[x], [y], [1]]
    if scale != 1 or rotate or mirror:
        cloud = _transformed(cloud, transform, vectors)
    return jittered(cloud, rng, noise) if noise else cloud


def _rotation(angle: float) -> np.ndarray:
    return np.array([[cos(angle), -sin(angle), 0], [sin(angle), cos(angle), 0], [0, 0, 1]])


def _transformed(cloud: Cloud, matrix: np.ndarray, vectors: Vectors = ()) -> Cloud:
    p = cloud.positions.numpy()  # faster than torch for few points
    x, y, z = matrix.T.astype(p.dtype)
    # Not a matrix product, whose rounding may depend on the number of threads.
    moved = replace(cloud, positions=torch.from_numpy(p[:, 0:1] * x + p[:, 1:2] * y + p[:, 2:3] * z))
    if vectors:
        moved = replace(moved, signal=_turned(cloud.signal, matrix, vectors))
    if isinstance(moved, Mesh) and np.linalg.det(matrix) < 0:
        return replace(moved, faces=moved.faces.flip(1))  # a reflection reverses the orientation of faces
    return moved


def _turned(signal: Float[Tensor, "n d"], matrix: np.ndarray, vectors: Vectors) -> Float[Tensor, "n d"]:
    """Rotate and mirror the vectors in a signal about z, without the scale of the matrix."""
    turned = signal.clone()
    (a, b), (c, d) = (matrix / np.cbrt(abs(np.linalg.det(matrix))))[:2, :2].tolist()
    for x, y in vectors:
        turned[:, x] = a * signal[:, x] + b * signal[:, y]
        turned[:, y] = c * signal[:, x] + d * signal[:, y]
    return turned
