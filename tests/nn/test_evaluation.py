"""Outputs are in the order of the samples, and every point has those of its vertex."""

from __future__ import annotations

import numpy as np
import torch

from edgecond.graph import Sample
from edgecond.nn.evaluation import predict
from edgecond.nn.network import Network
from tests.pyramids import random_batch, random_samples


def test_prediction_gives_probabilities_in_the_order_of_the_samples():
    written = "C(4)-MP(1,2)-C(4)-GAP-FC(3)"
    torch.manual_seed(0)
    network = Network(written, 2, 3, hidden=(4,))
    samples = random_samples(written, [5, 6, 7], d0=2, s=3)

    one_by_one, ys = predict(network, samples)
    together, _ = predict(network, [random_batch(written, [5, 6, 7], d0=2, s=3)])

    np.testing.assert_allclose(one_by_one.sum(1), 1)
    np.testing.assert_allclose(one_by_one, together, atol=1e-6)
    assert ys.tolist() == [int(sample.y) for sample in samples]


def test_every_point_has_the_outputs_of_its_vertex():
    written = "C(4)-MP-C(4)-V-FC(3)"
    network = Network(written, 2, 3, hidden=(4,))
    sample = random_batch(written, [5, 6], d0=2, s=3)
    voxel = torch.tensor([3, 3, 0, 10, 4])

    of_vertices, _ = predict(network, [sample])
    of_points, ys = predict(network, [Sample(sample.x, sample.pyramid, sample.y, voxel)])

    assert of_vertices.shape == (11, 3)
    np.testing.assert_array_equal(of_points, of_vertices[voxel])
    assert ys.tolist() == sample.y[voxel].tolist()
