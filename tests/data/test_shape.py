"""The shape of a cloud is the same wherever it is and however it is turned about the vertical."""

from math import cos, log, sin

import numpy as np
import pytest
import torch

from edgecond.data.shape import shape, shapes, SHARES
from edgecond.graph import Cloud


def random_cloud(seed: int, flat: bool = False) -> Cloud:
    points = torch.from_numpy(np.random.default_rng(seed).normal(size=(200, 3)) * [2, 1, 0 if flat else 1]).float()
    return Cloud(points, torch.ones(200, 1))


def test_the_shape_does_not_change_when_a_cloud_is_moved_or_rotated_about_the_vertical():
    cloud, angle = random_cloud(0), 1.0
    turn = torch.tensor([[cos(angle), -sin(angle), 0], [sin(angle), cos(angle), 0], [0, 0, 1]])
    moved = Cloud(cloud.positions @ turn.T + torch.tensor([5.0, -3.0, 2.0]), cloud.signal)

    before, after = shape(cloud), shape(moved)

    assert list(before) == list(after)
    np.testing.assert_allclose(list(before.values()), list(after.values()), rtol=1e-4, atol=1e-4)


def test_a_plane_has_no_height_and_no_third_deviation():
    """By hand: number of points, height, and deviations along the axes, the smallest first."""
    count, height, third, second, first = list(shape(random_cloud(0, flat=True)).values())[:5]

    assert (count, height, third) == (200, 0, 0)
    np.testing.assert_allclose([second, first], [1, 2], rtol=0.15)


def test_the_shape_of_the_corners_of_a_box_is_that_of_its_sides():
    """By hand: a corner of a box with sides a is a/2 from the centre along each axis; half of them are low."""
    corners = torch.tensor(list(np.ndindex(2, 2, 2))) * torch.tensor([2.0, 6.0, 8.0])

    found = shape(Cloud(corners, torch.arange(8.0)[:, None]))

    expected = {"points": 8, "height": 8, "height 10 %": 0, "height 50 %": 4, "height 90 %": 8, "mean of signal 1": 3.5}
    expected |= {"principal deviation 1": 1, "principal deviation 2": 3, "principal deviation 3": 4}
    expected |= {"horizontal deviation 1": 1, "horizontal deviation 2": 3, "verticality 1": 0, "verticality 2": 1}
    expected |= {"distance 50 %": 10**0.5, "deviation of signal 1": 5.25**0.5}
    assert {name: found[name] for name in expected} == pytest.approx(expected, abs=1e-12)


def test_percentiles_are_those_of_numpy():
    cloud = random_cloud(0)
    height = cloud.positions[:, 2].double().numpy()

    found = [value for name, value in shape(cloud).items() if name.startswith("height ")]

    np.testing.assert_allclose(found, np.percentile(height - height.min(), SHARES), rtol=1e-12)


def test_lengths_and_numbers_of_points_are_logarithms_in_the_unit():
    """By hand: a column of two points, 3 high, is 6 units of 0.5 high; how vertical it is stays as it is."""
    cloud = Cloud(torch.tensor([[0.0, 0, 0], [0, 0, 3]]), torch.tensor([[1.0], [2.0]]))

    found = shapes([cloud, cloud], 0.5)

    expected = {"points": log(3), "height": log(7), "principal deviation 3": log(4), "verticality 2": 1}
    expected |= {"mean of signal 1": 1.5}
    assert {name: found[name].tolist() for name in expected} == {
        name: pytest.approx([value, value]) for name, value in expected.items()
    }
