"""Points of a voxel are replaced by their centroid and by their most frequent class."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgecond.data.pyramid.voxelgrid import majority, mean, positive_octant, voxel_grid
from tests.sentences import refused

sizes_of_clouds = st.lists(st.integers(1, 20), min_size=1, max_size=4)


def random_batch(sizes: list[int], seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    return rng.uniform(-2, 2, (sum(sizes), 3)).astype(np.float32).astype(float), np.array(sizes)


@settings(deadline=None)
@given(sizes_of_clouds, st.integers(0, 2**20), st.sampled_from([0.3, 1, 2.5, 10]))
def test_points_of_a_voxel_are_replaced_by_their_centroid(sizes, seed, resolution):
    """Another method: points collected in a dictionary by cloud and voxel, which is then sorted."""
    positions, sizes = random_batch(sizes, seed)
    voxels: dict[tuple, list[int]] = {}
    for point, cloud in enumerate(np.repeat(np.arange(len(sizes)), sizes).tolist()):
        voxels.setdefault((cloud, *np.floor(positions[point] / resolution).tolist()), []).append(point)
    members = [voxels[key] for key in sorted(voxels)]

    ours = voxel_grid(positions, sizes, resolution)

    np.testing.assert_allclose(ours.positions, [positions[points].mean(0) for points in members], rtol=1e-6, atol=1e-6)
    assert ours.sizes.tolist() == [sum(key[0] == cloud for key in voxels) for cloud in range(len(sizes))]
    assert [np.flatnonzero(ours.voxel == v).tolist() for v in range(len(members))] == members


@settings(deadline=None)
@given(sizes_of_clouds, st.integers(0, 2**20))
def test_centroids_do_not_depend_on_the_order_of_the_points(sizes, seed):
    """Bit for bit: sums of single-precision numbers are exact in double precision."""
    positions, sizes = random_batch(sizes, seed)
    ends = np.cumsum(sizes)
    rng = np.random.default_rng(seed)
    order = np.concatenate([rng.permutation(np.arange(end - n, end)) for n, end in zip(sizes, ends, strict=True)])

    one, other = voxel_grid(positions, sizes, 1.3), voxel_grid(positions[order], sizes, 1.3)

    assert one.positions.tolist() == other.positions.tolist()
    assert one.voxel[order].tolist() == other.voxel.tolist()


def test_a_plane_of_the_grid_belongs_to_the_voxel_above_it():
    """By hand: with resolution 2, points at 0, 1.5 and 1.75 share a voxel and 2 begins the next."""
    positions = np.array([[0, 0, 0], [2, 0, 0], [1.5, 0, 0], [1.75, 0, 0]])

    voxels = voxel_grid(positions, np.array([4]), 2)

    assert voxels.voxel.tolist() == [0, 1, 0, 0]
    assert voxels.positions[:, 0] == pytest.approx([3.25 / 3, 2])


def test_a_grid_begins_at_the_smallest_coordinates_of_each_cloud():
    """By hand: each coordinate minus its minimum over the cloud."""
    positions = np.array([[5, -1, 2], [3, 4, 2], [-7.5, 0, 1]])

    moved = positive_octant(positions, np.array([2, 1]))

    assert moved.tolist() == [[2, 0, 0], [0, 5, 0], [0, 0, 0]]


@pytest.mark.parametrize("resolution", [None, 0])
def test_without_a_resolution_every_point_is_kept(resolution):
    positions, sizes = random_batch([3, 2], 0)

    voxels = voxel_grid(positions, sizes, resolution)

    assert voxels.positions is positions
    assert voxels.sizes is sizes
    assert voxels.voxel.tolist() == [0, 1, 2, 3, 4]


def test_the_signal_of_a_voxel_is_the_mean_of_its_points():
    """By hand: (1 + 6) / 2 and (10 + 60) / 2."""
    assert mean(np.array([[1, 10], [2, 20], [6, 60]]), np.array([1, 0, 1]), 2).tolist() == [[2, 20], [3.5, 35]]


def test_a_grid_with_too_many_voxels_is_an_error():
    """By hand: a unit cube at resolution 2^-22 has more than 2^66 voxels, too many for 64 bits."""
    cells = 2**22 + 1
    with refused(
        f"a grid of resolution {2**-22} has too many voxels: {cells} x {cells} x {cells} for each cloud. "
        "Choose a coarser resolution, or remove stray points."
    ):
        voxel_grid(np.array([[0, 0, 0], [1, 1, 1]]), np.array([2]), 2**-22)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(("number", "resolution"), [(np.nan, 1), (np.inf, 1), (1e308, 1), (1e308, 1e-300), (1, 1e-308)])
def test_a_grid_without_a_number_of_voxels_is_an_error(number: float, resolution: float):
    """Neither infinity nor NaN is below 2^62; as integers they could be any number."""
    with pytest.raises(ValueError, match=r"has too many voxels: .* remove stray points"):
        voxel_grid(np.array([[0, 0, 0], [number, -number, 1]]), np.array([2]), resolution)


@pytest.mark.parametrize("resolution", [-1, np.inf, np.nan])
def test_a_resolution_must_be_a_positive_number(resolution):
    with pytest.raises(ValueError, match=f"a positive number, or None to keep all points: got {resolution}"):
        voxel_grid(np.zeros((1, 3)), np.array([1]), resolution)


def test_the_class_of_a_voxel_is_the_most_frequent_one_of_its_points():
    """By hand: 2 wins by two votes to one, a tie goes to the lower class, and unknown points have no vote."""
    y = np.array([2, 0, 2, 3, 1, -1, -1, 1, -1])
    voxel = np.array([0, 0, 0, 1, 1, 1, 2, 3, 3])

    assert majority(y, voxel, 5).tolist() == [2, 1, -1, 1, -1]
    assert majority(np.array([-1, -1]), np.array([0, 1]), 2).tolist() == [-1, -1]
