"""Frozen layers keep weights and statistics of batch normalisation, and others are trained."""

from __future__ import annotations

import pytest
import torch

from edgecond.graph import Graph, Pyramid
from edgecond.nn.network import Network


def steps(network: Network, count: int = 3) -> dict[str, torch.Tensor]:
    """Train for some steps, and return what changed."""
    before = {name: value.clone() for name, value in network.state_dict().items()}
    optimizer = torch.optim.AdamW(network.parameters(), lr=0.1, weight_decay=0.5)
    torch.manual_seed(0)
    graph = Graph.from_edges(*torch.randint(8, (2, 30)), torch.randn(30, 2), num_vertices=8, sizes=torch.tensor([4, 4]))
    network.train()
    for _ in range(count):
        optimizer.zero_grad()
        network(torch.randn(8, 3), Pyramid((graph,))).square().sum().backward()
        optimizer.step()
    return {name for name, value in network.state_dict().items() if not torch.equal(value, before[name])}


def network() -> Network:
    torch.manual_seed(1)
    return Network("C(4)-C(4)-GAP-FC(4)-FC(2)", 3, 2, hidden=(3,), dropout=0.5)


@pytest.mark.parametrize(("count", "frozen"), [(0, []), (1, [0]), (2, [0, 1]), (3, [0, 1, 2, 3])])
def test_the_first_layers_stay_as_they_are_and_the_others_are_trained(count, frozen):
    """Global pooling, layer 2, has no weights; weight decay does not shrink frozen weights either."""
    trained = network()
    trained.freeze(count)

    changed = steps(trained)

    assert {int(name.split(".")[1]) for name in changed} == {0, 1, 3, 4} - set(frozen)


def test_frozen_layers_have_no_dropout_and_predict_in_either_mode():
    trained = network()
    trained.freeze(2)

    trained.train()

    assert trained.training
    assert not any(module.training for layer in trained.layers[:2] for module in layer.modules())
    assert trained.layers[3].training


def test_nothing_is_frozen_any_more_after_zero():
    trained = network()
    trained.freeze(2)
    trained.freeze(0)

    assert {int(name.split(".")[1]) for name in steps(trained)} == {0, 1, 3, 4}


@pytest.mark.parametrize("count", [-1, 4])
def test_the_last_layer_cannot_be_frozen(count):
    with pytest.raises(ValueError, match="4 layers with weights"):
        network().freeze(count)
