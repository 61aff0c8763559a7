"""Scenes are rows of shapes, and the class of a point is that of the shape it lies on."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial import cKDTree

from edgecond.data.datasets import load
from edgecond.errors import DataError


def test_a_point_lies_on_the_shape_of_its_class():
    """By hand: points of a sphere are at distance 1 from its centre; points of a cube are between 1 and √3."""
    train, _ = load("scenes", train=20, test=0, noise=0, density=40)
    assert train.classes == ("sphere", "cube")
    counts = {"sphere": round(40 * 4 * np.pi), "cube": 40 * 24}
    seen = set()
    for index in range(len(train)):
        positions, y = train[index][0].positions.double().numpy(), train[index][0].y.numpy()
        begin = 0
        while begin < len(y):
            name = train.classes[y[begin]]
            shape = positions[begin : begin + counts[name]]
            assert (y[begin : begin + counts[name]] == y[begin]).all()
            centre = shape.mean(0) if name == "cube" else (shape.min(0) + shape.max(0)) / 2
            far = np.linalg.norm(shape - centre, axis=1)
            if name == "sphere":
                np.testing.assert_allclose(far, 1, atol=0.08)
            else:
                assert far.min() > 0.9
                assert far.max() > 1.4
            begin += counts[name]
            seen.add(name)
        assert begin == len(y)
    assert seen == {"sphere", "cube"}


def test_shapes_do_not_touch():
    """By hand: centres are 3.2 apart, and a cube extends at most √2 from its centre."""
    train, _ = load("scenes", train=20, test=0, noise=0)
    mixed = [cloud for cloud, _ in (train[index] for index in range(20)) if len(cloud.y.unique()) == 2]
    assert mixed
    for cloud in mixed:
        spheres, cubes = (cKDTree(cloud.positions[cloud.y == y].numpy()) for y in (0, 1))
        assert spheres.query(cubes.data)[0].min() > 3.2 - 2 * np.sqrt(2)


def test_equal_seeds_give_equal_scenes():
    (one, _), (two, _), (other, _) = (load("scenes", train=4, test=1, seed=seed) for seed in (3, 3, 4))

    assert one.ys.equal(two.ys)
    assert one.digest == two.digest != other.digest


def test_test_scenes_do_not_depend_on_the_number_of_training_scenes():
    (_, one), (_, two) = (load("scenes", train=train, test=2) for train in (1, 3))

    assert all(one[i][0].positions.equal(two[i][0].positions) for i in range(2))


def test_scenes_without_points_are_an_error():
    with pytest.raises(DataError, match=r"positive density, .*: got density=0, noise=0\.02"):
        load("scenes", density=0)
