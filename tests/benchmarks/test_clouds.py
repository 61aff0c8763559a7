"""Peers on point clouds learn, and see each training object once in an epoch."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from benchmarks import clouds
from edgecond.data.datasets import synthetic
from edgecond.data.examples import Examples


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


@pytest.mark.parametrize(("method", "epochs"), [("voxnet", 8), ("pointnet", 40)])
def test_a_peer_tells_spheres_from_planes(method: str, epochs: int, monkeypatch: pytest.MonkeyPatch):
    """A plane is flat from all sides about z, and a sphere is not; PointNet's batch normalisation needs some steps."""
    monkeypatch.setattr(clouds, "POINTS", 32)

    record = clouds.train(method, spheres_and_planes(16, 4), 0, epochs=epochs)

    assert record["metrics"]["accuracy"] == 1.0
    assert record["epochs"] == epochs


def test_an_epoch_has_every_example_once():
    """33 examples are one batch of 32 and one that is left over, which batch normalisation cannot take."""
    examples, _ = spheres_and_planes(20, 1)
    rng = np.random.default_rng(0)

    sizes = [len(y) for _, y in clouds.batches(examples, clouds.points, rng)]
    left = [len(y) for _, y in clouds.batches(examples.take(range(33)), clouds.points, rng)]

    assert sizes == [32, 8]
    assert left == [32]


def test_points_for_pointnet_are_centred_and_of_a_fixed_number():
    examples, _ = spheres_and_planes(1, 1)

    drawn = clouds.points(examples.clouds[0], np.random.default_rng(0))

    centred = examples.clouds[0].positions - examples.clouds[0].positions.mean(0)
    assert drawn.shape == (clouds.POINTS, 3)
    assert torch.isin(drawn[:, 0], centred[:, 0]).all()
