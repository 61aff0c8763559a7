"""The networks of a recipe: drawn from a random seed, or with the weights of a model file."""

from __future__ import annotations

import re
from collections.abc import Mapping

import torch
from torch import Tensor

from edgecond.errors import RecipeError
from edgecond.nn.network import Network
from edgecond.nn.training import check_weights, seeded
from edgecond.notation import C
from edgecond.runs.recipe import Recipe

MOST_WEIGHTS = 2**28
"""Weights of a network to train: a gibibyte, and as much again for gradients and for momentum."""
Widths = tuple[int, tuple[int, ...]]  # of the input signal, and of the labels at each level
NAME = re.compile(r"(member\d+\.)?network\.")
"""How the names of weights begin; the first network of an ensemble has no number."""


def named(networks: tuple[Network, ...]) -> dict[str, Tensor]:
    """Return the weights of all networks of a model by their names in its file."""
    return {
        f"{f'member{number}.' if number else ''}network.{name}": value
        for number, network in enumerate(networks)
        for name, value in network.state_dict().items()
    }


def drawn(recipe: Recipe, widths: Widths, features: int, seed: int) -> Network:
    """Return the network of a recipe with random weights."""
    numbers = sum(parameter.numel() for parameter in _outline(recipe, widths, features).parameters())
    if numbers > MOST_WEIGHTS:
        raise RecipeError(
            f"a network must have at most {MOST_WEIGHTS:,} weights: {recipe.network} with hidden layers of "
            f"{list(recipe.hidden)} has {numbers:,}. Choose smaller widths."
        )
    with seeded(seed, torch.device("cpu")):
        return _network(recipe, widths, features)


def restored(recipe: Recipe, widths: Widths, features: int, tensors: Mapping[str, Tensor]) -> tuple[Network, ...]:
    """Return all networks of a file, as many as its recipe has."""
    weights: dict[str, dict[str, Tensor]] = {}
    for name, tensor in tensors.items():
        if found := NAME.match(name):
            weights.setdefault(found[0], {})[name.removeprefix(found[0])] = tensor
    names = ["network.", *(f"member{number}.network." for number in range(1, recipe.ensemble))]
    if surplus := set(weights) - set(names):
        raise ValueError(
            f"it must have the weights of {recipe.ensemble} networks, as its recipe: it has {min(surplus)[:60]} too."
        )
    return tuple(_with_weights(recipe, widths, features, weights.get(name, {})) for name in names)


def _with_weights(recipe: Recipe, widths: Widths, features: int, weights: dict[str, Tensor]) -> Network:
    """Return the network of a recipe with these weights; their names and shapes are compared before it is allocated."""
    convolutions = sum(isinstance(layer, C) for layer in recipe.network)
    needed = recipe.network.parametric_layers + convolutions * len(recipe.hidden)
    if needed > len(weights) or len(recipe.network) > 2 * len(weights):  # each layer takes time and memory
        raise ValueError(
            f"the network has {len(recipe.network)} layers, and {needed} with weights: the file has {len(weights)} "
            "tensors of weights."
        )
    network = _outline(recipe, widths, features)
    check_weights(network, weights)
    network.load_state_dict(weights, assign=True)
    return network


def _outline(recipe: Recipe, widths: Widths, features: int) -> Network:
    """Return the network of a recipe, for whose weights no memory is allocated."""
    try:
        with torch.device("meta"):
            return _network(recipe, widths, features)
    except (TypeError, RuntimeError):  # sizes beyond 64 bits
        raise RecipeError("the network is larger than any file can hold. Choose smaller widths.") from None


def _network(recipe: Recipe, widths: Widths, features: int) -> Network:
    return Network(
        recipe.network,
        *widths,
        hidden=recipe.hidden,
        identity=recipe.identity,
        degree_factor=recipe.degree_factor,
        dropout=recipe.dropout,
        features=features,
    )
