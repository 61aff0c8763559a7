"""Procedural scenes whose every point has a class, that of the shape it lies on: nothing to download."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import torch

from edgecond.data.datasets.synthetic import surface
from edgecond.data.examples import checked_cloud, PointExamples
from edgecond.errors import DataError
from edgecond.files import digest, Progress, sha256
from edgecond.graph import Cloud

FOLDS = 1
AREAS = {"sphere": 4 * np.pi, "cube": 24.0}  # of shapes whose box has sides of 2
CLASSES = tuple(AREAS)


def load(
    fold: int = 0, *, train: int = 64, test: int = 16, density: float = 8.0, noise: float = 0.02, seed: int = 0
) -> tuple[PointExamples, PointExamples]:
    """Scenes of two or three shapes in a row, spheres and cubes by chance, each 2 wide. The signal is 1.

    The row runs in any direction of the ground, and each shape is turned about z by any angle. Points are equally dense
    on all shapes, so that they are told apart by how points lie and not by how many there are.

    Args:
        fold: 0.
        train: Number of training scenes.
        test: Number of test scenes; none of them depends on `train`.
        density: Points per unit of area.
        noise: Standard deviation of the Gaussian noise on every coordinate.
        seed: Equal seeds, equal scenes.
    """
    if density <= 0 or noise < 0 or min(train, test) < 0:
        raise DataError(f"scenes need a density above 0 and no negative noise: got {density} and {noise}.")
    parts = [[_scene(density, noise, [seed, part, i]) for i in range(n)] for part, n in enumerate((train, test))]
    scenes = {f"{part}/{i}": scene for part in (0, 1) for i, scene in enumerate(parts[part])}
    total = digest({name: sha256(scene.positions.numpy().tobytes()) for name, scene in scenes.items()})
    learned, tested = (PointExamples("scenes", CLASSES, clouds, total) for clouds in parts)
    return learned, tested


def fetch(progress: Progress | None = None) -> str:
    """Nothing to do."""
    return "scenes is made from a seed: nothing to download."


def _scene(density: float, noise: float, seed: list[int]) -> Cloud:
    generator = np.random.default_rng(seed)
    ys = generator.integers(len(CLASSES), size=generator.integers(2, 4))
    way = generator.uniform(0, 2 * np.pi)
    step = 3.2 * np.array([np.cos(way), np.sin(way), 0])  # a turned cube is up to 2√2 wide
    counts = np.array([max(1, round(density * area)) for area in AREAS.values()])[ys]
    shapes = [_turned(surface(CLASSES[y], n, generator), generator) for y, n in zip(ys, counts, strict=True)]
    positions = np.concatenate([shape + place * step for place, shape in enumerate(shapes)])
    positions += generator.normal(0, noise, positions.shape)
    cloud = checked_cloud(positions, np.ones((len(positions), 1)), "a scene")
    return replace(cloud, y=torch.from_numpy(np.repeat(ys, counts)))


def _turned(positions: np.ndarray, generator: np.random.Generator) -> np.ndarray:
    cos, sin = np.cos(angle := generator.uniform(0, 2 * np.pi)), np.sin(angle)
    return positions @ np.array([[cos, sin, 0], [-sin, cos, 0], [0, 0, 1]])
