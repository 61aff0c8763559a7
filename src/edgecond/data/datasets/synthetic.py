"""Procedural shapes with noise, in any number: for tests and demonstrations."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from jaxtyping import Float

from edgecond.data.budget import generated
from edgecond.data.datasets.modelnet import scale_to_box
from edgecond.data.examples import checked_cloud, Examples
from edgecond.errors import DataError
from edgecond.files import digest, Progress, sha256
from edgecond.graph import Cloud

FOLDS = 1
Points = Float[np.ndarray, "n 3"]


def load(
    fold: int = 0, *, train: int = 240, test: int = 60, points: int = 256, noise: float = 0.02, seed: int = 0
) -> tuple[Examples, Examples]:
    """Generate spheres, cubes, cylinders, cones, tori and planes in turn, all different.

    Each is stretched by up to a fifth along every axis, rotated about z by a random angle, and scaled such that the
    largest side of its bounding box is 1, as for ModelNet, whose networks therefore apply. The signal is 1.

    Args:
        fold: Always 0.
        train: Number of training examples.
        test: Number of test examples, which do not depend on `train`.
        points: Number of points per cloud, distributed uniformly over the surface.
        noise: Standard deviation of the Gaussian noise on every coordinate.
        seed: Random seed of the clouds.
    """
    if points < 1 or noise < 0 or min(train, test) < 0:
        raise DataError(
            "synthetic clouds need at least one point, and noise and numbers of clouds that are not negative: "
            f"got points={points}, noise={noise}, train={train}, test={test}."
        )
    generated("synthetic", train + test, points)
    parts = [[_shape(i, points, noise, [seed, part, i]) for i in range(n)] for part, n in enumerate((train, test))]
    total = digest(
        {
            f"{part}/{i}": sha256(cloud.positions.numpy().tobytes())
            for part in (0, 1)
            for i, cloud in enumerate(parts[part])
        }
    )

    def examples(clouds: list[Cloud]) -> Examples:
        return Examples("synthetic", CLASSES, clouds, torch.arange(len(clouds)) % len(CLASSES), total)

    return examples(parts[0]), examples(parts[1])


def fetch(progress: Progress | None = None) -> str:
    """Return that there is nothing to download."""
    return "synthetic is generated from a seed: nothing to download."


def _shape(index: int, points: int, noise: float, seed: list[int]) -> Cloud:
    generator = np.random.default_rng(seed)
    stretched = surface(CLASSES[index % len(CLASSES)], points, generator) * generator.uniform(1, 1.2, 3)
    angle = generator.uniform(0, 2 * np.pi)
    rotation = np.array([[np.cos(angle), -np.sin(angle), 0], [np.sin(angle), np.cos(angle), 0], [0, 0, 1]])
    side = np.ptp(stretched @ rotation.T, axis=0).max()
    with np.errstate(over="ignore"):  # an infinite position is refused
        noise *= side
    noisy = stretched @ rotation.T + generator.normal(0, noise, stretched.shape)
    return scale_to_box(checked_cloud(noisy, np.ones((points, 1)), "a synthetic shape"))


def surface(name: str, n: int, generator: np.random.Generator) -> Points:
    """Sample points uniformly from the surface of a shape of `CLASSES`."""
    return _SURFACES[name](n, generator)


def _sphere(n: int, generator: np.random.Generator) -> Points:
    rays = generator.normal(size=(n, 3))
    return rays / np.linalg.norm(rays, axis=1, keepdims=True)


def _cube(n: int, generator: np.random.Generator) -> Points:
    points = generator.uniform(-1, 1, (n, 3))
    points[np.arange(n), generator.integers(3, size=n)] = generator.choice([-1.0, 1.0], n)
    return points


def _cylinder(n: int, generator: np.random.Generator) -> Points:
    """Sample a cylinder of radius 1 and height 2: the side has the area 4π, the two bases π each."""
    side = generator.random(n) < 2 / 3
    radius = np.where(side, 1, np.sqrt(generator.random(n)))
    z = np.where(side, generator.uniform(-1, 1, n), generator.choice([-1.0, 1.0], n))
    return _around_z(radius, z, generator)


def _cone(n: int, generator: np.random.Generator) -> Points:
    """Sample a cone of radius 1 and height 2: the side has the area √5 π, the base π."""
    radius = np.sqrt(generator.random(n))
    side = generator.random(n) < np.sqrt(5) / (1 + np.sqrt(5))
    return _around_z(radius, np.where(side, 1 - 2 * radius, -1), generator)


def _torus(n: int, generator: np.random.Generator) -> Points:
    """Sample a torus of radii 1 and 0.4, whose area is proportional to the distance from the axis."""
    angle = generator.uniform(0, 2 * np.pi, 8 * n + 64)
    kept = angle[generator.random(len(angle)) * 1.4 < 1 + 0.4 * np.cos(angle)][:n]  # about 5 in 7
    return _around_z(1 + 0.4 * np.cos(kept), 0.4 * np.sin(kept), generator)


def _plane(n: int, generator: np.random.Generator) -> Points:
    return np.column_stack([generator.uniform(-1, 1, (n, 2)), np.zeros(n)])


def _around_z(radius: np.ndarray, z: np.ndarray, generator: np.random.Generator) -> Points:
    angle = generator.uniform(0, 2 * np.pi, len(radius))
    return np.column_stack([radius * np.cos(angle), radius * np.sin(angle), z])


_SURFACES: dict[str, Callable[[int, np.random.Generator], Points]] = {
    "sphere": _sphere,
    "cube": _cube,
    "cylinder": _cylinder,
    "cone": _cone,
    "torus": _torus,
    "plane": _plane,
}
CLASSES = tuple(_SURFACES)
