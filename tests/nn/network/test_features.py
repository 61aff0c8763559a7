"""Features of a sample enter the first FC beside the globally pooled signal."""

from dataclasses import replace

import pytest
import torch

from edgecond import Network
from edgecond.graph import collate
from edgecond.nn.evaluation import predict
from edgecond.nn.schedules import SCHEDULES
from edgecond.nn.tasks.regression import Regression
from edgecond.nn.training import Training
from tests.nn.network.zoo import settled
from tests.pyramids import random_batch
from tests.sentences import refused

WRITTEN = "C(4)-GMP-D(0.5)-FC(6)-FC(3)"


def batch_of(*features: tuple[float, float]):
    batch = random_batch(WRITTEN, (12, 9), d0=2, s=3)
    return replace(batch, features=torch.tensor(features))


def test_the_first_fc_sees_the_pooled_signal_and_then_the_features():
    """The layers, called one after the other by hand; dropout does nothing while predicting."""
    batch = batch_of((1.0, 2.0), (-3.0, 0.5))
    network = Network(WRITTEN, d0=2, s=3, hidden=(8,), features=2)
    for _ in range(3):
        network.train()(*batch.inputs)
    network.eval()
    first, pooling, _, third, last = network.layers

    x = torch.relu(first.norm(first.conv(batch.x, batch.pyramid.graphs[0])))
    x = torch.cat([pooling(x, batch.pyramid, 0), batch.features], 1)
    expected = last[0](torch.relu(third[1](third[0](x))))

    assert torch.equal(network(batch.x, batch.pyramid, batch.features), expected)
    assert third[0].in_features == 4 + 2
    assert last[0].in_features == 6


def test_a_network_without_features_is_what_it_was():
    """The same seed gives the same parameters and scores, by the argument's default."""
    batch = random_batch(WRITTEN, (12, 9), d0=2, s=3)
    networks = []
    for options in ({}, {"features": 0}):
        torch.manual_seed(0)
        networks.append(settled(Network(WRITTEN, d0=2, s=3, **options), batch))

    one, two = (network(batch.x, batch.pyramid) for network in networks)

    assert torch.equal(one, two)


def test_features_that_are_missing_wide_or_unwanted_are_refused():
    batch = batch_of((1.0, 2.0), (-3.0, 0.5))
    network, other = (Network(WRITTEN, d0=2, s=3, features=count) for count in (2, 0))

    with refused("this network needs 2 features of each sample: got none."):
        network(batch.x, batch.pyramid)
    with refused("this network needs 2 features of each sample: got 1."):
        network(batch.x, batch.pyramid, batch.features[:, :1])
    with refused("this network needs no features of each sample: got 2."):
        other(batch.x, batch.pyramid, batch.features)


@pytest.mark.parametrize("written", ["C(4)-MP-C(4)-V-FC(3)", "C(4)-GAP"])
def test_networks_for_vertices_and_those_without_fc_have_no_features(written: str):
    with refused(
        "features are for networks that predict for whole graphs, by FC after a global pooling: "
        f"got {written}. Leave them out."
    ):
        Network(written, d0=2, s=3, features=2)


def test_what_only_the_features_tell_is_learned():
    """Two samples with equal graphs and opposite targets differ in their features alone."""
    one = random_batch("C(4)-GAP-FC(1)", (12,), d0=2, s=3)
    samples = [replace(one, y=torch.tensor([[y]]), features=torch.tensor([[y]])) for y in (-1.0, 1.0)]
    batch = collate(samples)
    network = Network("C(4)-GAP-FC(1)", d0=2, s=3, features=1)

    class Same:
        def __len__(self) -> int:
            return 1

        def run(self, epoch: int, number: int, epochs: int):
            return iter([batch] * (epochs - epoch))

    task = Regression.fit(batch.y, 1, balanced=False)
    training = Training(network, SCHEDULES["steps"](60, 0.1), task=task)
    steps = list(training.steps(Same()))

    assert steps[-1].loss < 0.01 < steps[0].loss
    outputs, ys = predict(network, [batch], task)
    assert outputs == pytest.approx(ys, abs=0.2)
