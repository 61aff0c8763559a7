"""Optimizers take the steps that their papers write down, and keep what a checkpoint needs to resume them."""

import pytest
import torch
from torch import nn

from edgecond.nn.optimizers import AdamW, OPTIMIZERS, SGD


def layer():
    torch.manual_seed(0)
    return nn.Linear(3, 2)


def step(network, optimizer):
    optimizer.zero_grad()
    network(torch.arange(6.0).view(2, 3)).square().sum().backward()
    optimizer.step()


def test_optimizers_are_listed_by_their_names():
    assert list(OPTIMIZERS.values()) == [SGD, AdamW]
    assert list(OPTIMIZERS) == ["sgd", "adamw"]
    assert SGD.defaults() == {"momentum": 0.9, "weight_decay": 5e-4}  # the authors' code
    assert AdamW.defaults() == {"betas": (0.9, 0.999), "weight_decay": 0.01}  # those of torch


def test_two_steps_of_sgd_are_those_of_the_equation():
    """v <- momentum v + (g + decay w), w <- w - rate v, from v = 0."""
    network = layer()
    optimizer = SGD(momentum=0.5, weight_decay=0.1).build(network.parameters(), 0.01)
    w, v = network.weight.detach().clone(), 0.0

    for _ in range(2):
        step(network, optimizer)
        v = 0.5 * v + network.weight.grad + 0.1 * w
        w = w - 0.01 * v
        torch.testing.assert_close(network.weight.detach(), w)


def test_two_steps_of_adamw_are_those_of_the_paper():
    """Loshchilov & Hutter (2019), Algorithm 2, with the learning rate on the decay as torch has it."""
    network = layer()
    optimizer = AdamW(betas=(0.8, 0.9), weight_decay=0.1).build(network.parameters(), 0.01)
    w, m, v = network.weight.detach().clone(), 0.0, 0.0

    for t in (1, 2):
        step(network, optimizer)
        g = network.weight.grad
        m, v = 0.8 * m + 0.2 * g, 0.9 * v + 0.1 * g.square()
        w = w - 0.01 * 0.1 * w - 0.01 * (m / (1 - 0.8**t)) / ((v / (1 - 0.9**t)).sqrt() + 1e-8)
        torch.testing.assert_close(network.weight.detach(), w)


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_the_state_that_is_kept_is_all_that_torch_keeps(name):
    settings, network = OPTIMIZERS[name](), layer()
    optimizer = settings.build(network.parameters(), 0.01)
    assert settings.state(optimizer, network) == {}
    step(network, optimizer)

    kept = settings.state(optimizer, network)

    assert len(kept) == sum(len(tensors) for tensors in optimizer.state_dict()["state"].values())
    assert {key.partition(".")[2] for key in kept} == {"weight", "bias"}


def test_momenta_have_the_names_that_older_checkpoints_have():
    network = layer()
    optimizer = SGD().build(network.parameters(), 0.01)
    momenta = {"momentum.weight": torch.ones(2, 3), "momentum.bias": torch.ones(2)}

    SGD().restore(optimizer, network, momenta)

    assert all(torch.equal(optimizer.state[p]["momentum_buffer"], torch.ones_like(p)) for p in network.parameters())
