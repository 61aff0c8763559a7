"""Procedural scenes for segmentation: the class of a point is that of the shape it lies on."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import torch

from edgecond.data.budget import generated
from edgecond.data.datasets.synthetic import surface
from edgecond.data.examples import checked_cloud, PointExamples
from edgecond.errors import DataError
from edgecond.files import digest, Progress, sha256
from edgecond.graph import Cloud

FOLDS = 1
AREAS = {"sphere": 4 * np.pi, "cube": 24.0}  # of shapes with a bounding box of side 2
CLASSES = tuple(AREAS)


def load(
    fold: int = 0, *, train: int = 64, test: int = 16, density: float = 8.0, noise: float = 0.02, seed: int = 0
) -> tuple[PointExamples, PointExamples]:
    """Generate scenes of two or three shapes in a row, each a random sphere or cube of width 2, with the signal 1.

    The row has a random direction in the ground plane, and each shape is rotated about z by a random angle. Points are
    equally dense on all shapes, so that a class shows in their positions and not in their number.

    Args:
        fold: Always 0.
        train: Number of training scenes.
        test: Number of test scenes, which do not depend on `train`.
        density: Number of points per unit of area.
        noise: Standard deviation of the Gaussian noise on every coordinate.
        seed: Random seed of the scenes.
    """
    if density <= 0 or noise < 0 or min(train, test) < 0:
        raise DataError(
            "scenes need a positive density, and noise and numbers of scenes that are not negative: "
            f"got density={density}, noise={noise}, train={train}, test={test}."
        )
    generated("scenes", train + test, 3 * density * max(AREAS.values()))
    parts = [[_scene(density, noise, [seed, part, i]) for i in range(n)] for part, n in enumerate((train, test))]
    scenes = {f"{part}/{i}": scene for part in (0, 1) for i, scene in enumerate(parts[part])}
    total = digest({name: sha256(scene.positions.numpy().tobytes()) for name, scene in scenes.items()})
    train_part, test_part = (PointExamples("scenes", CLASSES, clouds, total) for clouds in parts)
    return train_part, test_part


def fetch(progress: Progress | None = None) -> str:
    """Return that there is nothing to download."""
    return "scenes is generated from a seed: nothing to download."


def _scene(density: float, noise: float, seed: list[int]) -> Cloud:
    generator = np.random.default_rng(seed)
    ys = generator.integers(len(CLASSES), size=generator.integers(2, 4))
    direction = generator.uniform(0, 2 * np.pi)
    step = 3.2 * np.array([np.cos(direction), np.sin(direction), 0])  # a rotated cube is up to 2√2 wide
    counts = np.array([max(1, round(density * area)) for area in AREAS.values()])[ys]
    shapes = [_rotated(surface(CLASSES[y], n, generator), generator) for y, n in zip(ys, counts, strict=True)]
    positions = np.concatenate([shape + place * step for place, shape in enumerate(shapes)])
    positions += generator.normal(0, noise, positions.shape)
    cloud = checked_cloud(positions, np.ones((len(positions), 1)), "a scene")
    return replace(cloud, y=torch.from_numpy(np.repeat(ys, counts)))


def _rotated(positions: np.ndarray, generator: np.random.Generator) -> np.ndarray:
    cos, sin = np.cos(angle := generator.uniform(0, 2 * np.pi)), np.sin(angle)
    return positions @ np.array([[cos, sin, 0], [-sin, cos, 0], [0, 0, 1]])
