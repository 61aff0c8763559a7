"""The weights of a file belong to as many networks as its recipe has."""

import pytest
import torch

from edgecond.errors import RecipeError
from edgecond.notation import Architecture
from edgecond.runs import weights
from edgecond.runs.recipe import find
from tests.sentences import mentions

RECIPE = find("synthetic/ecc").model_copy(update={"network": Architecture("C(2)-GAP-FC(6)"), "hidden": ()})
WIDTHS = (1, (3,))


def file(count: int) -> dict[str, torch.Tensor]:
    return weights.named(tuple(weights.drawn(RECIPE, WIDTHS, 0, seed) for seed in range(count)))


def test_the_networks_of_a_file_are_restored_in_their_order():
    recipe = RECIPE.model_copy(update={"ensemble": 12})

    networks = weights.restored(recipe, WIDTHS, 0, file(12))

    for seed, network in enumerate(networks):
        expected = weights.drawn(RECIPE, WIDTHS, 0, seed).state_dict()
        assert all(torch.equal(value, expected[name]) for name, value in network.state_dict().items())


def test_a_single_network_has_the_names_of_the_first_format():
    """Files of format 1 hold `network.layers...`, and nothing before it."""
    assert all(name.startswith("network.layers.") for name in file(1))


@pytest.mark.parametrize(
    ("ensemble", "change", "facts"),
    [
        (1, {}, ["1 networks", "member1.network."]),
        (3, {}, ["2 with weights", "0 tensors of weights"]),
        (2, {"member2.network.layers.2.0.bias": torch.zeros(6)}, ["2 networks", "member2.network."]),
        (2, {"member01.network.layers.2.0.bias": torch.zeros(6)}, ["2 networks", "member01.network."]),
        (2, {"member1.network.layers.2.0.bias": torch.zeros(5)}, ["must be (6,)", "has (5,)"]),
        (2, {"member1.network.more": torch.zeros(5)}, ["no weights more"]),
    ],
)
def test_weights_of_more_or_fewer_networks_are_refused(
    ensemble: int, change: dict[str, torch.Tensor], facts: list[str]
):
    recipe = RECIPE.model_copy(update={"ensemble": ensemble})

    with mentions(*facts, kind=ValueError):
        weights.restored(recipe, WIDTHS, 0, file(2) | change)


def test_a_network_of_too_many_weights_is_refused_before_it_is_allocated():
    recipe = RECIPE.model_copy(update={"hidden": (100_000, 100_000)})

    with mentions("at most 268,435,456 weights", "Choose smaller widths", kind=RecipeError):
        weights.drawn(recipe, WIDTHS, 0, 0)
