"""The receptive field: no point beyond it changes a prediction, and lengths done by hand."""

from __future__ import annotations

from math import sqrt

import numpy as np
import pytest
import torch

from edgecond.data.pyramid import levels_of
from edgecond.data.pyramid.receptive import receptive_field
from edgecond.data.samples.clouds import Builder
from edgecond.graph import Cloud
from edgecond.nn.network import Network
from edgecond.notation import Architecture

ROOT3 = sqrt(3)


@pytest.mark.parametrize(
    ("network", "resolution", "radius", "expected"),
    [
        ("C(4)-V-FC(2)", None, 2.0, 2.0),
        ("C(4)-C(4)-V-FC(2)", None, 2.0, 4.0),
        ("C(4)-V-FC(2)", 1.0, 2.0, 2 + 2 * ROOT3),  # from a point to its vertex, and from the other vertex to a point
        ("C(4)-MP(3,5)-C(4)-V-FC(2)", None, 2.0, 3 * ROOT3 + 5 + 9 * ROOT3),
    ],
)
def test_radii_and_diagonals_add_up(network: str, resolution: float | None, radius: float, expected: float):
    """By hand. In the last case: back along the pool map, a radius, members, their nearest centroids, their points."""
    architecture = Architecture(network)

    assert receptive_field(architecture, levels_of(architecture, resolution, radius)) == pytest.approx(expected)


@pytest.mark.parametrize("seed", range(5))
def test_points_beyond_the_field_change_nothing(seed: int):
    """Points of a strip: those beyond the field on the right are removed, and the first is predicted as before."""
    network = Architecture("C(4)-MP(0.4,0.5)-C(4)-MP(0.8,0.9)-C(4)-V-FC(2)")
    levels = levels_of(network, 0.2, 0.3)
    field = receptive_field(network, levels)
    rng = np.random.default_rng(seed)
    points = rng.random((8000, 3)) * [5 * field, 1, 1]
    points = points[np.argsort(points[:, 0])].astype(np.float32)
    near = points[points[:, 0] <= points[40, 0] + field]
    builder = Builder(levels, per_vertex=True, origin=points.min(0).astype(float))
    model = Network(network, d0=1, s=6).eval()

    outputs = []
    for kept in (points, near):
        cloud = Cloud(torch.from_numpy(kept), torch.ones(len(kept), 1))
        sample = builder([cloud], [0])
        with torch.no_grad():
            outputs.append(model(*sample.inputs)[sample.voxel][:40])

    assert len(near) < len(points)
    torch.testing.assert_close(*outputs, rtol=1e-4, atol=1e-5)
