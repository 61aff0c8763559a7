"""Procedural shapes have the surface of their class, differ from one another, and depend on the seed only."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import torch

from edgecond.data.datasets import load, synthetic
from edgecond.errors import DataError

EQUATIONS: dict[str, Callable[[np.ndarray, np.ndarray], np.ndarray]] = {
    "sphere": lambda r, p: np.hypot(r, p[:, 2]) - 1,
    "cube": lambda r, p: np.abs(p).max(1) - 1,
    "cylinder": lambda r, p: np.maximum(r, np.abs(p[:, 2])) - 1,
    "cone": lambda r, p: np.maximum(r - (1 - p[:, 2]) / 2, -1 - p[:, 2]),
    "torus": lambda r, p: np.hypot(r - 1, p[:, 2]) - 0.4,
    "plane": lambda r, p: p[:, 2],
}


@pytest.mark.parametrize("kind", synthetic.CLASSES)
def test_points_lie_on_the_surface(kind: str):
    """The equation of each surface; r is the distance from the z axis."""
    points = synthetic._SURFACES[kind](500, np.random.default_rng(0))

    assert points.shape == (500, 3)
    np.testing.assert_allclose(EQUATIONS[kind](np.hypot(*points.T[:2]), points), 0, atol=1e-12)


MEANS = {
    # |z| is uniform on a sphere (Archimedes); 1 on two sides of a cube and 1/2 on four; 1 on the bases of a cylinder.
    "sphere": 1 / 2,
    "cube": 2 / 3,
    "cylinder": 2 / 3,
}


@pytest.mark.parametrize("kind", MEANS)
def test_points_are_uniform_on_the_surface(kind: str):
    """By hand: the mean of |z| over the surface; its standard error with 40,000 points is about 0.0015."""
    points = synthetic._SURFACES[kind](40_000, np.random.default_rng(0))

    assert np.abs(points[:, 2]).mean() == pytest.approx(MEANS[kind], abs=0.008)


def test_points_of_a_torus_are_denser_outside():
    """By hand: the mean distance from the axis over the surface is R + r²/(2R) = 1 + 0.16/2."""
    points = synthetic._SURFACES["torus"](40_000, np.random.default_rng(0))

    assert np.hypot(*points.T[:2]).mean() == pytest.approx(1.08, abs=0.008)


def test_equal_seeds_give_equal_clouds():
    (one, _), (two, _), (other, _) = (load("synthetic", train=12, test=0, seed=seed) for seed in (3, 3, 4))

    assert all(a.positions.equal(b.positions) for a, b in zip(one.clouds, two.clouds, strict=True))
    assert one.digest == two.digest != other.digest
    assert not one.clouds[0].positions.equal(one.clouds[6].positions)  # two spheres


def test_test_clouds_do_not_depend_on_the_number_of_training_clouds():
    few, many = (load("synthetic", train=n, test=6)[1] for n in (0, 18))

    assert all(a.positions.equal(b.positions) for a, b in zip(few.clouds, many.clouds, strict=True))


def test_classes_alternate_and_clouds_have_a_bounding_box_of_side_1():
    train, test = load("synthetic", train=12, test=6, points=50)

    assert train.ys.tolist() == [0, 1, 2, 3, 4, 5] * 2
    assert len(test) == 6
    for cloud, _ in train:
        assert cloud.positions.shape == (50, 3)
        assert float((cloud.positions.amax(0) - cloud.positions.amin(0)).max()) == pytest.approx(1)
        assert cloud.signal.equal(torch.ones(50, 1))


def test_a_synthetic_cloud_needs_a_point():
    with pytest.raises(DataError, match=r"at least one point, .*: got points=0, noise=0\.02"):
        load("synthetic", points=0)
    assert len(load("synthetic", points=1, train=6, test=0)[0].clouds[0]) == 1
