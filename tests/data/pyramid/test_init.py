"""Pyramids of clouds have the levels of the paper's networks, also for single, equal and invalid points."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import Tensor

from edgecond.data.pyramid import cloud_pyramid, Levels, levels_of
from edgecond.graph import Cloud
from edgecond.notation import Architecture
from tests.sentences import refused

SYDNEY = "C(16)-C(32)-MP(0.25,0.5)-C(32)-C(32)-MP(0.75,1.5)-C(64)-MP(1.5,1.5)-GAP-FC(64)-D(0.2)-FC(14)"
MNIST = "C(16)-MP(2,3.4)-C(32)-MP(4,6.8)-C(64)-MP(8,30)-C(128)-D(0.5)-FC(10)"
SYDNEY_LEVELS = levels_of(Architecture(SYDNEY), 0.1, 0.2)
MNIST_LEVELS = levels_of(Architecture(MNIST), 1, 2.9)


def random_cloud(n: int, seed: int, extent: float = 2.0) -> Cloud:
    generator = torch.Generator().manual_seed(seed)
    return Cloud(extent * torch.rand(n, 3, generator=generator), torch.rand(n, 2, generator=generator))


def image(size: int = 28) -> Cloud:
    """Build the point cloud of an image: $p = (x, y, 0)$ (Section 4.4)."""
    grid = torch.cartesian_prod(torch.arange(float(size)), torch.arange(float(size)), torch.zeros(1))
    return Cloud(grid, torch.rand(len(grid), 1))


def sizes(levels: Levels) -> list[list[int]]:
    return [level.sizes.tolist() for level in levels.levels]


def degrees(levels: Levels) -> list[Tensor]:
    return [torch.bincount(level.target) for level in levels.levels]


# The levels of the paper's networks


def test_resolutions_and_radii_are_read_from_the_notation():
    """Section 4.1: the input has r = 0.1 and ρ = 0.2 metres, the other levels those of the pooling layers."""
    assert SYDNEY_LEVELS == ((0.1, 0.2), (0.25, 0.5), (0.75, 1.5), (1.5, 1.5))


def test_radii_are_scaled_at_all_levels():
    """Table 1, ECC 2ρ; and Section 4.2 writes its lengths as fractions."""
    architecture = Architecture("C(16)-MP(2.5/32,7.5/32)-C(32)-GMP-FC(10)")

    assert levels_of(architecture, 1 / 32, 2 / 32, radius_scale=2) == ((1 / 32, 4 / 32), (2.5 / 32, 15 / 32))


def test_pooling_layers_for_clouds_need_a_resolution_and_a_radius():
    with pytest.raises(ValueError, match=r"a resolution and a radius: got MP\. Write it as in MP\(0\.25,0\.5\)"):
        levels_of(Architecture("C(4)-MP-C(4)-GAP-FC(2)"), None, 1)


def test_the_network_for_mnist_has_filters_of_5x5_3x3_and_3x3_pixels_and_then_4x4_points():
    """Section 4.4: "exactly corresponds to a regular CNN", 28x28 pixels pooled by 2x2 to 14x14, 7x7 and 4x4."""
    levels = cloud_pyramid([image(), image()], MNIST_LEVELS, strided=True)

    assert sizes(levels) == [[784, 784], [196, 196], [49, 49], [16, 16]]
    assert [int(degree.max()) for degree in degrees(levels)[:3]] == [5 * 5, 3 * 3, 3 * 3]
    inside = (levels.levels[0].positions[:, :2] - 13.5).abs().amax(1) < 12  # two pixels from the border
    assert degrees(levels)[0][inside].unique().tolist() == [25]


def test_the_network_for_mnist_pools_2x2_pixels():
    """Section 4.4: "max-poolings of size 2x2"; the last row and column of 7x7 points are half filled."""
    levels = cloud_pyramid([image()], MNIST_LEVELS, strided=True)

    for pool_map, most in zip(levels.pool_maps, (4, 4, 4), strict=True):
        assert torch.bincount(pool_map).max() == most
    assert (torch.bincount(levels.pool_maps[0]) == 4).all()


def test_the_strided_level_connects_all_points_of_a_cloud_to_their_centroid():
    """Section 4.4: "maps all 4x4 points to only a single point"."""
    last = cloud_pyramid([image(), image()], MNIST_LEVELS, strided=True).levels[-1]

    assert last.source.tolist() == list(range(32))
    assert last.target.tolist() == [0] * 16 + [1] * 16
    # The last of 28 pixels are 24 to 27: centroids at 3.5, 11.5, 19.5 and 25.5
    assert last.centroids.tolist() == [[15, 15, 0]] * 2
    assert last.offsets[0].tolist() == [3.5 - 15, 3.5 - 15, 0]


# Levels and maps


def test_every_level_is_the_voxel_grid_of_the_one_before():
    """By hand on a line: the voxels [0, 2) and [2, 4) have means 0.5 and 2; the mean of these two is 1.25."""
    line = Cloud(torch.tensor([[10.0, 0, 0], [11.0, 0, 0], [12.0, 0, 0]]), torch.tensor([[1.0], [2.0], [6.0]]))

    levels = cloud_pyramid([line], [(None, 1), (2, 1.5), (4, 1)])

    assert [level.positions[:, 0].tolist() for level in levels.levels] == [[0, 1, 2], [0.5, 2], [1.25]]
    assert [pool_map.tolist() for pool_map in levels.pool_maps] == [[0, 0, 1], [0, 0]]
    assert levels.x.tolist() == [[1], [2], [6]]


def test_the_input_signal_is_averaged_over_voxels():
    """By hand: two points share the first voxel."""
    cloud = Cloud(torch.tensor([[0.0, 0, 0], [0.5, 0, 0], [1.0, 0, 0]]), torch.tensor([[1.0], [2.0], [6.0]]))

    levels = cloud_pyramid([cloud], [(1, 1)])

    assert levels.x.tolist() == [[1.5], [6]]
    assert levels.voxel.tolist() == [0, 0, 1]


def test_offsets_point_from_the_target_to_the_source():
    r"""Section 3.4: $\delta = p_j - p_i$ for the edge $(j, i)$."""
    cloud = Cloud(torch.tensor([[0.0, 0, 0], [1.0, 2.0, 3.0]]), torch.zeros(2, 1))

    (level,) = cloud_pyramid([cloud], [(None, 5)]).levels

    assert (level.source[1], level.target[1]) == (1, 0)
    assert level.offsets.tolist() == [[0, 0, 0], [1, 2, 3], [-1, -2, -3], [0, 0, 0]]


@pytest.mark.parametrize("resolutions", [[(0.5, 1.0), (1.0, 2.0)], [(None, 1.0)]])
def test_a_stray_point_far_away_leaves_the_offsets_of_others_as_they_are(resolutions):
    """The steps of single precision are 0.5 at 4 million. The grid begins there, at a multiple of all resolutions."""
    cloud = random_cloud(200, 0, 5.0)
    corner, stray = torch.zeros(1, 3), torch.tensor([[-(2.0**22), -(2.0**22), 0.0]])
    near = Cloud(torch.cat([corner, cloud.positions]), torch.ones(201, 1))
    wide = Cloud(torch.cat([stray, near.positions]), torch.ones(202, 1))

    expected, found = (cloud_pyramid([each], resolutions).levels for each in (near, wide))

    for one, other in zip(expected, found, strict=True):
        assert (other.source[1:] - 1).tolist() == one.source.tolist()  # the stray point is the first
        assert (other.target[1:] - 1).tolist() == one.target.tolist()
        assert other.offsets.dtype == torch.float32
        np.testing.assert_allclose(other.offsets[1:], one.offsets, atol=2e-4)


def test_a_batch_has_the_pyramids_of_its_clouds_side_by_side():
    """The search runs for the whole batch at once; clouds must not affect each other."""
    clouds = [random_cloud(n, seed=n) for n in (80, 1, 200, 30)]
    together = cloud_pyramid(clouds, SYDNEY_LEVELS)
    alone = [cloud_pyramid([cloud], SYDNEY_LEVELS) for cloud in clouds]

    assert together.x.equal(torch.cat([levels.x for levels in alone]))
    for h, level in enumerate(together.levels):
        parts = [levels.levels[h] for levels in alone]
        starts = np.cumsum([0, *[len(part.positions) for part in parts[:-1]]]).tolist()
        assert level.positions.equal(torch.cat([part.positions for part in parts]))
        assert level.sizes.equal(torch.cat([part.sizes for part in parts]))
        for end in ("source", "target"):
            shifted = [getattr(part, end) + start for part, start in zip(parts, starts, strict=True)]
            assert getattr(level, end).equal(torch.cat(shifted))
        if h:
            maps = [levels.pool_maps[h - 1] + start for levels, start in zip(alone, starts, strict=True)]
            assert together.pool_maps[h - 1].equal(torch.cat(maps))


def test_the_order_of_points_does_not_matter_once_they_are_in_voxels():
    """A cloud is a set and voxels are sorted, so all numbers of the pyramid are the same."""
    cloud = random_cloud(300, seed=1)
    order = torch.randperm(300, generator=torch.Generator().manual_seed(2))
    shuffled = Cloud(cloud.positions[order], cloud.signal[order])

    one, other = (cloud_pyramid([either], SYDNEY_LEVELS) for either in (cloud, shuffled))

    torch.testing.assert_close(one.x, other.x)
    for a, b in zip(one.levels, other.levels, strict=True):
        assert all(getattr(a, name).equal(getattr(b, name)) for name in ("positions", "sizes", "source", "target"))
    assert all(a.equal(b) for a, b in zip(one.pool_maps, other.pool_maps, strict=True))


def test_self_loops_are_always_present():
    """Section 3.3: "self-edges are always present", so a vertex far from all others still has a neighbour."""
    levels = cloud_pyramid([random_cloud(200, seed=3, extent=50)], SYDNEY_LEVELS, cap=1)

    for level in levels.levels:
        assert level.source.equal(level.target)
        assert level.target.equal(torch.arange(len(level.positions)))


# Single, equal and invalid points


def test_a_single_point_is_a_pyramid_of_single_points():
    levels = cloud_pyramid([random_cloud(1, seed=0)], SYDNEY_LEVELS)

    assert sizes(levels) == [[1]] * 4
    assert [pool_map.tolist() for pool_map in levels.pool_maps] == [[0]] * 3


def test_equal_points_are_merged():
    """Their signal is averaged; without a resolution all of them are kept and are neighbours."""
    cloud = Cloud(torch.full((50, 3), -3.7), torch.arange(50.0)[:, None])

    merged, kept = cloud_pyramid([cloud], SYDNEY_LEVELS), cloud_pyramid([cloud], [(None, 1)], cap=None)

    assert sizes(merged) == [[1]] * 4
    assert merged.x.tolist() == [[24.5]]
    assert degrees(kept)[0].tolist() == [50] * 50


def test_an_empty_cloud_is_an_error():
    with refused("a cloud needs at least one point: cloud 1 of the batch has none."):
        cloud_pyramid([random_cloud(3, 0), random_cloud(0, 0)], SYDNEY_LEVELS)


def test_a_batch_without_clouds_or_levels_is_an_error():
    with refused("a pyramid needs at least one cloud: got none."):
        cloud_pyramid([], SYDNEY_LEVELS)
    with refused("a pyramid needs at least one level: got no resolutions."):
        cloud_pyramid([random_cloud(3, 0)], [])


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_the_signal_must_be_finite(value):
    cloud = random_cloud(4, 0)
    bad = Cloud(cloud.positions, torch.full((4, 1), value))
    with refused(
        f"the signal of a cloud must be finite: found [{value}] in cloud 1 of the batch. Remove such points first."
    ):
        cloud_pyramid([Cloud(cloud.positions, torch.ones(4, 1)), bad], SYDNEY_LEVELS)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf"), 1e18, -1e39, 1e308])
def test_coordinates_must_be_finite_and_have_finite_squares(value):
    """Labels are computed from squared distances in single precision, which ends at 3.4e38: (2e18)^2 * 3 = 1.2e37."""
    cloud = random_cloud(4, 0)
    bad = Cloud(cloud.positions.double(), cloud.signal)
    bad.positions[2] = value
    with refused(
        f"positions of a cloud must be finite and below 1e+18: found {[value] * 3} in cloud 1 of the batch. "
        "Remove stray points, or check the units."
    ):
        cloud_pyramid([Cloud(cloud.positions.double(), cloud.signal), bad], SYDNEY_LEVELS)


@pytest.mark.slow
def test_a_million_points_are_merged_into_the_occupied_voxels():
    """A scan of 100 by 100 by 2 metres; the number of occupied voxels is counted with torch."""
    positions = torch.rand(1_000_000, 3, generator=torch.Generator().manual_seed(0)) * torch.tensor([100.0, 100.0, 2.0])

    levels = cloud_pyramid([Cloud(positions, torch.ones(1_000_000, 1))], [(0.5, 0.75), (2, 3), (8, 12)])

    cells = ((positions.double() - positions.double().amin(0)).float().double() / 0.5).long()
    assert len(levels.x) == len((cells @ torch.tensor([1_000_000, 1_000, 1])).unique())
    assert levels.x.unique().tolist() == [1]
