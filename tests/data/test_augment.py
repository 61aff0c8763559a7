"""Each augmentation changes what it is meant to change, and nothing else."""

from __future__ import annotations

from math import ceil, pi

import numpy as np
import pytest
import torch

from edgecond.data.augment import augment, jittered, orientation, rotated, thinned
from edgecond.graph import Cloud, Mesh
from tests.meshes import BOX, mesh_of
from tests.sentences import refused

OFF = {"rotate": False, "scale": 1, "mirror": 0, "drop": 0, "noise": 0}
ALL = {"rotate": True, "scale": 1.2, "mirror": 0.2, "drop": 0.1, "noise": 0.02}


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def random_cloud(n: int = 40) -> Cloud:
    generator = torch.Generator().manual_seed(0)
    return Cloud(torch.randn(n, 3, generator=generator), torch.arange(float(n))[:, None])


def test_a_rotation_by_90_degrees_maps_x_to_y():
    """By hand: (1, 2, 3) becomes (-2, 1, 3), and the signal does not change."""
    cloud = rotated(Cloud(torch.tensor([[1.0, 2.0, 3.0]]), torch.tensor([[7.0]])), pi / 2)

    torch.testing.assert_close(cloud.positions, torch.tensor([[-2.0, 1.0, 3.0]]))
    assert cloud.signal.item() == 7


def test_vectors_in_the_signal_turn_with_the_points_and_keep_their_lengths():
    """Normals of a sphere are its points divided by the radius, in every orientation and augmented; z stays."""
    points = torch.nn.functional.normalize(random_cloud().positions)
    heat = torch.arange(40.0)[:, None]
    sphere = Cloud(5 * points, torch.cat([heat, points[:, [2, 0, 1]]], dim=1))  # heat, nz, nx, ny

    changed = [orientation(sphere, turn, 12, vectors=[(2, 3)]) for turn in range(12)]
    options = OFF | {"rotate": True, "scale": 1.2, "mirror": 0.9}
    changed += [augment(sphere, rng(seed), vectors=[(2, 3)], **options) for seed in range(20)]

    for cloud in changed:
        radius = cloud.positions.norm(dim=1, keepdim=True)
        torch.testing.assert_close(cloud.signal[:, [2, 3, 1]], cloud.positions / radius)
        assert cloud.signal[:, 0].equal(heat[:, 0])
    assert {round(float(cloud.positions.norm(dim=1).mean()), 2) for cloud in changed} > {5.0}  # some are scaled
    assert sphere.signal[:, 0].equal(heat[:, 0])


def test_twelve_orientations_are_thirty_degrees_apart():
    """Section 4.2: test sets include 12 orientations; the first is the cloud itself."""
    cloud = random_cloud()
    orientations = [orientation(cloud, turn) for turn in range(12)]

    assert orientations[0].positions.equal(cloud.positions)
    torch.testing.assert_close(rotated(orientations[11], pi / 6).positions, cloud.positions)
    torch.testing.assert_close(orientations[3].positions[:, 1], cloud.positions[:, 0])


def test_without_any_augmentation_the_cloud_is_returned():
    cloud = random_cloud()

    assert augment(cloud, rng(), **OFF) is cloud


def test_rotation_is_about_z_and_keeps_lengths():
    """Section 3.4: "about their up-axis"."""
    cloud = random_cloud()
    changed = augment(cloud, rng(), **OFF | {"rotate": True})

    assert changed.positions[:, 2].equal(cloud.positions[:, 2])
    assert not changed.positions.allclose(cloud.positions)
    torch.testing.assert_close(changed.positions.norm(dim=1), cloud.positions.norm(dim=1))


def test_angles_of_rotation_are_uniform():
    """The mean direction of many is near zero, and all quadrants occur equally often."""
    one = Cloud(torch.tensor([[1.0, 0, 0]]), torch.zeros(1, 1))
    generator = rng()
    directions = torch.cat([augment(one, generator, **OFF | {"rotate": True}).positions for _ in range(2000)])

    assert directions.mean(0).abs().max() < 0.06
    quadrants = torch.bincount((directions[:, 0] > 0) * 2 + (directions[:, 1] > 0).long())
    assert (quadrants - 500).abs().max() < 100


def test_the_scale_factor_is_between_1_over_scale_and_scale():
    """The authors' code: uniform in [1/1.2, 1.2], one factor for all axes."""
    cloud, generator = random_cloud(), rng()
    ratios = [augment(cloud, generator, **OFF | {"scale": 1.2}).positions / cloud.positions for _ in range(500)]

    factors = torch.stack([ratio.mean() for ratio in ratios])
    assert all(ratio.max() - ratio.min() < 1e-5 for ratio in ratios)
    assert 1 / 1.2 <= factors.min() < 0.85
    assert 1.18 < factors.max() <= 1.2


def test_x_and_y_are_mirrored_with_half_the_probability_each():
    """The authors' code: a probability of 0.2 is 0.1 for x and, independently, 0.1 for y; never for z."""
    cloud, generator = random_cloud(1), rng()
    signs = [augment(cloud, generator, **OFF | {"mirror": 0.2}).positions / cloud.positions for _ in range(4000)]

    mirrored = torch.cat(signs) < 0
    assert mirrored[:, :2].double().mean(0).tolist() == pytest.approx([0.1, 0.1], abs=0.02)
    assert not mirrored[:, 2].any()
    assert mirrored[:, :2].all(1).any()


@pytest.mark.parametrize("n", [1, 2, 9, 10, 40])
@pytest.mark.parametrize("p", [0, 0.1, 0.5, 0.99])
def test_thinning_keeps_a_fraction_of_the_points_and_their_signal(n: int, p: float):
    """The authors' code keeps (1 - p) n points, rounded up: at least one."""
    cloud = random_cloud(n)
    thin = thinned(cloud, rng(), p)

    kept = thin.signal[:, 0].long()
    assert len(kept) == ceil((1 - p) * n) >= 1
    assert kept.tolist() == sorted(set(kept.tolist()))
    assert thin.positions.equal(cloud.positions[kept])


def test_each_point_is_dropped_equally_often():
    """Dropping a tenth of 40 points a thousand times drops each about 100 times."""
    cloud, generator = random_cloud(), rng()
    kept = torch.cat([thinned(cloud, generator, 0.1).signal[:, 0].long() for _ in range(1000)])

    dropped = 1000 - torch.bincount(kept)
    assert (dropped - 100).abs().max() < 45
    assert dropped.sum() == 4000


@pytest.mark.parametrize("p", [-0.1, 1])
def test_the_fraction_of_points_to_drop_must_be_below_1(p: float):
    with refused(f"the fraction of points to drop must be at least 0 and below 1: got {p}."):
        thinned(random_cloud(), rng(), p)


def test_noise_has_the_given_standard_deviation():
    """Appendix B: additive Gaussian noise; 3·20,000 numbers estimate sigma to within 2 %."""
    cloud = Cloud(torch.zeros(20_000, 3), torch.ones(20_000, 1))
    noisy = jittered(cloud, rng(), 0.2)

    assert noisy.positions.std(0).tolist() == pytest.approx([0.2] * 3, rel=0.02)
    assert noisy.positions.mean(0).abs().max() < 0.006
    assert noisy.signal is cloud.signal


def test_augmentation_depends_on_the_random_generator_only():
    """Equal generators give equal clouds, others do not; the input does not change."""
    cloud = random_cloud()
    before = cloud.positions.clone()

    first, again, other = (augment(cloud, rng(seed), **ALL) for seed in (1, 1, 2))

    assert first.positions.equal(again.positions)
    assert not first.positions.equal(other.positions)
    assert cloud.positions.equal(before)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
def test_precision_is_kept(dtype: torch.dtype):
    cloud = random_cloud().to(dtype)

    assert augment(cloud, rng(), **ALL).positions.dtype == dtype


def test_an_augmented_mesh_is_a_mesh_with_all_its_vertices():
    """Removing a vertex could remove a large part of the surface."""
    mesh = mesh_of(BOX)

    changed = augment(mesh, rng(), **ALL)

    assert isinstance(changed, Mesh)
    assert len(changed) == len(mesh)


@pytest.mark.parametrize("seed", range(12))
def test_the_faces_of_a_mirrored_mesh_still_face_outward(seed: int):
    """By hand: a cube of side 1 has the volume 1; trimesh gives a negative volume if faces point inward."""
    import trimesh

    changed = augment(mesh_of(BOX), rng(seed), rotate=True, scale=1, mirror=1.0, drop=0)

    assert isinstance(changed, Mesh)
    volume = trimesh.Trimesh(changed.positions.numpy(), changed.faces.numpy(), process=False).volume
    assert volume == pytest.approx(1, rel=1e-5)


@pytest.mark.parametrize("changes", [OFF, ALL, {**OFF, "drop": 0.5}, {**OFF, "rotate": True}, {**OFF, "noise": 1}])
def test_points_keep_their_classes(changes: dict):
    """The signal and the class of a point are both its number."""
    cloud = random_cloud()
    marked = Cloud(cloud.positions, cloud.signal, torch.arange(len(cloud)))

    changed = augment(marked, rng(), **changes)

    assert changed.y.tolist() == changed.signal.flatten().tolist()
    assert augment(cloud, rng(), **changes).y is None
