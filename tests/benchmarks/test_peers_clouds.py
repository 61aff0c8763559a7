"""The peers on point clouds have the layers of their papers, and do not depend on what they should not."""

from __future__ import annotations

import torch

from benchmarks.peers_clouds import occupancy, PointNet, VoxNet


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
