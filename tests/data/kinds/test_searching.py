"""Every kind of data has settings that are worth searching, around those that fit the data."""

from __future__ import annotations

import pytest

from edgecond.data.kinds import KINDS, Range
from edgecond.data.kinds.searching import around, choices, network_sizes, resized
from edgecond.notation import Architecture
from edgecond.runs.recipe import find, with_settings


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_the_space_of_a_kind_contains_the_settings_it_starts_from_and_recipes_take_all_of_it(kind):
    """The first trial of a search is the default, so that the result is never worse on the validation set."""
    recipe = find(kind.base)
    settings = recipe.dotted()

    space = kind.search_space(settings)

    assert len(space) > 5
    for name, what in space.items():
        assert settings[name] in what
        for value in (what.low, what.high) if isinstance(what, Range) else what:
            with_settings(recipe, {name: value})


def test_shapes_are_searched_for_whole_clouds_alone():
    settings = find("plus/sydney").dotted()

    assert KINDS["clouds"].search_space(settings)["shape"] == (False, True)
    assert "shape" not in KINDS["clouds"].search_space(settings | {"network": "C(8)-MP(1,2)-C(8)-V-FC(2)"})


def test_counts_are_searched_for_whole_graphs_alone():
    """Counts enter the first FC after a global pooling, which a network for vertices does not have."""
    settings = find(KINDS["graphs"].base).dotted()

    assert KINDS["graphs"].search_space(settings)["counts"] == (False, True)
    assert "counts" not in KINDS["graphs"].search_space(settings | {"network": "C(8)-MP-C(8)-V-FC(2)"})


def test_every_kind_searches_the_learning_rate_on_a_log_scale():
    spaces = [kind.search_space(find(kind.base).dotted()) for kind in KINDS.values()]

    assert all(space["train.learning_rate"].log for space in spaces)


def test_the_networks_of_a_flat_one_have_other_widths_and_depths_and_the_same_outputs():
    """Two to four convolutions of half, the same and one and a half times the width."""
    networks = network_sizes("C(64)-C(64)-C(64)-GAP-FC(64)-D(0.1)-FC(3)", deeper=True)

    assert len(set(networks)) == 9
    assert {Architecture(network).classes for network in networks} == {3}
    assert {network.count("C(32)-") for network in networks} == {0, 2 + 1, 3 + 1, 4 + 1}  # FC(32)- is one more


def test_a_pyramid_keeps_its_convolutions():
    networks = network_sizes("C(16)-MP(0.1,0.2)-C(32)-GAP-FC(2)", deeper=True)

    assert networks == (
        "C(8)-MP(0.1,0.2)-C(16)-GAP-FC(2)",
        "C(16)-MP(0.1,0.2)-C(32)-GAP-FC(2)",
        "C(24)-MP(0.1,0.2)-C(48)-GAP-FC(2)",
    )


def test_the_only_convolution_is_not_removed():
    assert network_sizes("C(4)-GAP-FC(2)", deeper=True)[0] == "C(2)-GAP-FC(2)"
    assert resized("C(4)-C(6)-GAP-FC(2)", more=-1) == "C(4)-GAP-FC(2)"


@pytest.mark.parametrize("value", [0.001, 0.05, 0.3, 7.0])
def test_a_range_around_a_value_has_it_in_the_middle_of_its_logarithms(value):
    found = around(value, 5)

    assert found.low <= value / 4.9
    assert found.high >= value * 4.9
    assert found.low * found.high == pytest.approx(value**2, rel=0.1)
    assert value in found


def test_a_default_is_among_the_choices():
    assert choices([16], [32], default=[64]) == ([64], [16], [32])
    assert choices([16], [32], default=[32]) == ([16], [32])
