"""Networks on point clouds have the layers of their papers, do not depend on what they should not, and learn."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from edgecond.data.datasets import synthetic
from edgecond.data.examples import Examples
from edgecond.data.kinds import KINDS
from edgecond.nn.tasks import TASKS
from edgecond.runs.baselines.clouds import occupancy, PointNet, PointNetBaseline, VoxNet, VoxNetBaseline
from tests.runs.baselines.examples import SETTINGS


def spheres_and_planes(train: int, test: int) -> tuple[Examples, Examples]:
    """Return the first and the last of the six synthetic shapes, six metres large."""
    parts = synthetic.load(train=6 * train, test=6 * test)
    chosen = [part.take([i for i in range(len(part)) if part.ys[i] in (0, 5)]) for part in parts]
    larger = [[replace(cloud, positions=6 * cloud.positions) for cloud, _ in part] for part in chosen]
    named = [
        replace(part, clouds=some, ys=(part.ys > 0).long(), classes=("sphere", "plane"))
        for part, some in zip(chosen, larger, strict=True)
    ]
    return named[0], named[1]


def test_an_occupancy_grid_marks_the_cells_of_the_points():
    """By hand: the box about the two corners is centred at 0, and a metre is five cells of 0.2 metres."""
    corners = torch.tensor([[-1.0, -1.0, -1.0], [1.0, 1.0, 1.0], [1.01, 0.0, 0.0], [-1.01, 0.0, 0.0]])

    marked = occupancy(corners * 0.999).nonzero().tolist()

    assert marked == [[10, 16, 16], [11, 11, 11], [20, 20, 20], [21, 16, 16]]


def test_an_occupancy_grid_leaves_points_outside_of_it_out():
    """A line of points in the middles of 40 cells is 8 cells longer than the grid."""
    line = torch.zeros(40, 3)
    line[:, 0] = 0.2 * (torch.arange(40) - 19.5)

    assert occupancy(line).sum() == 32


def test_a_moved_cloud_has_the_same_occupancy_grid():
    """The grid is centred about the cloud; by a power of two, positions move without rounding."""
    positions = (torch.randint(0, 1024, (200, 3)) / 256).float()

    assert torch.equal(occupancy(positions), occupancy(positions + 64))


def test_voxnet_has_as_many_parameters_as_its_layers():
    """Maturana and Scherer report 921,736 for 40 classes.

    By hand, weights and biases: 32 x 125 + 32, 32 x 32 x 27 + 32, 6912 x 128 + 128 and 128 x 40 + 40.
    """
    network = VoxNet(40)

    assert sum(parameter.numel() for parameter in network.parameters()) == 921_736
    assert network(torch.zeros(2, 32, 32, 32)).shape == (2, 40)


def test_pointnet_does_not_depend_on_the_order_of_the_points():
    """Qi et al. 2017, Section 4.2: a symmetric function, the maximum, makes the network invariant to permutation."""
    torch.manual_seed(0)
    network, points = PointNet(14).eval(), torch.randn(3, 50, 3)

    shuffled = points[:, torch.randperm(50)]

    assert network(points).shape == (3, 14)
    torch.testing.assert_close(network(points), network(shuffled))


def test_pointnet_does_not_depend_on_points_that_are_repeated():
    """The maximum over a set is that over the set with some members twice: clouds are filled up in this way."""
    torch.manual_seed(0)
    network, points = PointNet(14).eval(), torch.randn(3, 50, 3)

    torch.testing.assert_close(network(points), network(torch.cat([points, points[:, :20]], dim=1)))


@pytest.mark.parametrize(("baseline", "epochs"), [(VoxNetBaseline, 6), (PointNetBaseline, 30)])
def test_spheres_are_told_from_planes(baseline, epochs: int):
    """A plane is flat from all sides about z, and a sphere is not; PointNet's batch normalisation needs some steps."""
    method = baseline()
    method.epochs, method.points = epochs, 32
    settings = replace(SETTINGS, augment={"rotate": True, "scale": 1.2})
    task = TASKS["classification"]

    metrics = method.measure(*spheres_and_planes(16, 4), KINDS["clouds"], task, 0, settings=settings)

    assert metrics["accuracy"] == 1.0


def test_points_for_pointnet_are_centred_and_of_a_fixed_number():
    examples, _ = spheres_and_planes(1, 1)
    cloud, method = examples.clouds[0], PointNetBaseline()

    drawn = method.prepared(cloud, np.random.default_rng(0))

    assert drawn.shape == (method.points, 3)
    assert torch.isin(drawn[:, 0], (cloud.positions - cloud.positions.mean(0))[:, 0]).all()
