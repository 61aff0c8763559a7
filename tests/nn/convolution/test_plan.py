"""The plan has the costs in the table of docs/guide/3-exact-and-fast.md, and picks the cheapest algorithm."""

from __future__ import annotations

import re

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from edgecond.nn.convolution import candidates, Filters, Plan, plan, plan_for
from tests.nn.convolution.zoo import graph_of

# A layer on a point cloud: n = 10,000, m = 100,000, F = 6-16-32, 16 to 32 channels.
CLOUD = {"n": 10_000, "m": 100_000, "d_in": 16, "d_out": 32, "k": 32}


def listed(**sizes: int | None) -> dict[tuple[str, str], Plan]:
    plans = candidates(**{"u": None, **sizes})
    return {(plan.algorithm, plan.by): plan for plan in plans}


def test_the_multiply_adds_are_those_of_the_table():
    """The table of the guide, by hand.

    factored by target: m k d_in + n k d_in d_out = 100,000*32*16 + 10,000*32*16*32 = 51.2 + 163.84 million;
    by source: n_src k d_in d_out + m k d_out = 163.84 + 100,000*32*32 = 163.84 + 102.4 million;
    per_edge: m k d_in d_out + m d_in d_out = 1,638.4 + 51.2 million.
    """
    assert {key: plan.multiply_adds for key, plan in listed(**CLOUD).items()} == {
        ("factored", "target"): 215_040_000,
        ("factored", "source"): 266_240_000,
        ("per_edge", "target"): 1_689_600_000,
    }


def test_the_multiply_adds_per_label_are_those_of_the_table():
    """The table of the guide for u = 4, by hand: forming filters takes u k d_in d_out = 4*32*16*32 = 65,536.

    by target: m d_in + n u d_in d_out = 1.6 + 20.48 million more;
    by source: m d_out + n_src u d_in d_out = 3.2 + 20.48 million; by label, grouped: m d_in d_out = 51.2 million.
    """
    multiply_adds = {key: plan.multiply_adds for key, plan in listed(**CLOUD, u=4).items() if key[0] == "per_label"}

    assert multiply_adds == {
        ("per_label", "target"): 65_536 + 1_600_000 + 20_480_000,
        ("per_label", "source"): 65_536 + 3_200_000 + 20_480_000,
        ("per_label", "label"): 65_536 + 51_200_000,
    }


def test_the_multiply_adds_of_piecewise_are_those_of_the_table():
    """By hand, on scalar labels: a message takes two products, 2 m d_in d_out = 2*100,000*16*32 = 102.4 million.

    The 33 pieces of 32 units have two filters of k d_in d_out each: 2*33*32*16*32 = 1,081,344.
    """
    assert listed(**CLOUD, scalar=True)["piecewise", "label"].multiply_adds == 102_400_000 + 1_081_344


def test_sources_count_where_they_are_fewer():
    """By hand: 1,000 sources multiply 1,000*32*16*32 = 16.384 million times, whatever the number of targets."""
    plans = listed(**CLOUD, num_sources=1000)

    assert plans["factored", "source"].multiply_adds == 16_384_000 + 102_400_000
    assert plans["factored", "target"].multiply_adds == 215_040_000


def test_the_bytes_are_those_of_the_activations_and_of_the_weight():
    """By hand, 4 bytes a number: m k + k d_in d_out = 3.2 million + 16,384; beside 1 MiB in which a thread works."""
    plans = listed(**CLOUD)

    assert plans["factored", "target"].bytes == 4 * (3_200_000 + 16_384) + 2**20
    assert candidates(**CLOUD, u=None, itemsize=8)[1].bytes == 8 * (3_200_000 + 16_384) + 2**20


def test_layers_inside_the_kernels_store_no_activations():
    """The same without m k."""
    assert listed(**CLOUD, fused=True)["factored", "target"].bytes == 4 * 16_384 + 2**20


def test_a_plan_prints_its_costs():
    """By hand: 215.04 million, and (4 * 3,216,384 + 2^20) / 2^20 = 13.27 MiB."""
    assert str(plan(**CLOUD)) == ("factored by target: 215.0 million multiply-adds, 13.3 MiB beyond input and output")


@pytest.mark.parametrize(
    ("sizes", "expected"),
    [
        (CLOUD, ("factored", "target")),
        ({**CLOUD, "u": 4}, ("per_label", "target")),
        ({**CLOUD, "u": 50_000}, ("factored", "target")),
        ({**CLOUD, "d_in": 64, "d_out": 4}, ("factored", "source")),
        ({**CLOUD, "num_sources": 500}, ("factored", "source")),
        ({**CLOUD, "num_sources": 500, "u": 4}, ("per_label", "source")),
        ({"n": 100_000, "m": 1000, "d_in": 48, "d_out": 48, "k": 32, "u": 16}, ("per_label", "label")),
        ({**CLOUD, "m": 30_000, "d_in": 48, "d_out": 48, "k": 64, "scalar": True}, ("piecewise", "label")),
        ({"n": 120, "m": 360, "d_in": 48, "d_out": 48, "k": 64, "scalar": True}, ("piecewise", "label")),
        ({**CLOUD, "m": 1_000_000, "scalar": True}, ("factored", "target")),
        ({**CLOUD, "k": None}, ("per_edge", "target")),
        ({**CLOUD, "k": None, "u": 4}, ("per_label", "target")),
    ],
    ids=[
        "a cloud",
        "few labels",
        "half as many labels as edges",
        "a narrow output",
        "few sources",
        "few sources and labels",
        "more vertices than edges",
        "scalar labels on few edges",
        "scalar labels of a few small graphs",
        "scalar labels on many edges",
        "F that ends in a nonlinearity",
        "such an F on few labels",
    ],
)
def test_the_plan_picks_what_the_counts_favour(sizes: dict[str, int | None], expected: tuple[str, str]):
    """The smallest count of the table in each case, by more than a factor of efficiency could turn round."""
    chosen = plan(**sizes)

    assert (chosen.algorithm, chosen.by) == expected


def test_an_arbitrary_network_is_computed_edge_by_edge_only():
    """The guide: only per_edge takes an arbitrary F, and per_label if labels have an index."""
    assert set(listed(**{**CLOUD, "k": None})) == {("per_edge", "target")}
    assert {algorithm for algorithm, _ in listed(**{**CLOUD, "k": None}, u=4)} == {"per_edge", "per_label"}


@given(
    sizes=st.fixed_dictionaries(
        {
            "n": st.integers(0, 10**5),
            "d_in": st.integers(1, 256),
            "d_out": st.integers(1, 256),
            "k": st.none() | st.integers(1, 128),
            "u": st.none() | st.integers(1, 100),
            "num_sources": st.none() | st.integers(0, 10**5),
            "fused": st.booleans(),
            "scalar": st.booleans(),
        }
    )
)
def test_in_little_memory_nothing_grows_with_the_edges(sizes: dict[str, int | None]):
    """The low-memory mode keeps nothing of size m: ten times the edges, the same bytes, for all that is listed."""
    few, many = (candidates(m=m, low_memory=True, **sizes) for m in (2_000_000, 20_000_000))

    assert [(plan.algorithm, plan.by, plan.bytes) for plan in few] == [
        (plan.algorithm, plan.by, plan.bytes) for plan in many
    ]


@given(
    n=st.integers(0, 1000),
    m=st.integers(0, 1000),
    d_in=st.integers(0, 64),
    d_out=st.integers(0, 64),
    k=st.none() | st.integers(0, 64),
    u=st.none() | st.integers(0, 64),
    scalar=st.booleans(),
    low_memory=st.booleans(),
)
def test_the_plan_is_the_candidate_of_least_effort(
    n: int, m: int, d_in: int, d_out: int, k: int | None, u: int | None, scalar: bool, low_memory: bool
):
    """Whatever the sizes, zero included, there is one; and no effort is below its multiply-adds.

    By pieces, the multiply-adds are the most there can be: pieces in which no label lies have no filter.
    """
    chosen = plan(n=n, m=m, d_in=d_in, d_out=d_out, k=k, u=u, scalar=scalar, low_memory=low_memory)
    others = candidates(n, m, d_in, d_out, k, u, scalar=scalar, low_memory=low_memory)

    assert chosen in others
    assert chosen.effort == min(other.effort for other in others)
    assert all(other.effort >= other.multiply_adds for other in others if other.algorithm != "piecewise")


def test_planning_evaluates_nothing():
    """Sizes are enough: on a device that holds no numbers, with a filter network that must not be called."""

    def refuse(labels: Tensor) -> Tensor:
        raise AssertionError("F was evaluated")

    graph = graph_of([(0, 1), (1, 1)], 2).to("meta")
    weight = torch.empty(32, 8, 16, device="meta")

    chosen = plan_for(graph, Filters(refuse, 8, (), refuse, weight, 32), 16)

    # By hand, u = 4 labels, n = m = 2: by label 4*32*128 + 2*128; factored by target 2*32*128 + 2*32*16.
    assert (chosen.algorithm, chosen.multiply_adds) == ("factored", 2 * 32 * 128 + min(2 * 32 * 16, 2 * 32 * 8))


def test_a_maximum_is_planned_with_a_target_for_every_edge():
    """The maximum needs every message: n is m there. By hand: m k d_in d_out + m k d_out, by source n_src < m."""
    graph = graph_of([(0, 1)] * 50, 2, u=200)
    filters = Filters(lambda labels: labels, 8, (), lambda labels: labels, torch.empty(4, 8, 16), 4)

    chosen = plan_for(graph, filters, 16, "max")

    assert (chosen.algorithm, chosen.by) == ("factored", "source")
    assert chosen.multiply_adds == 2 * 4 * 128 + 50 * 4 * 8


def test_the_words_of_a_plan_are_its_fields():
    words = str(Plan("per_label", "label", 1_500_000, 3 * 2**20, 0.0))

    assert re.fullmatch(r"per_label by label: 1\.5 million multiply-adds, 3\.0 MiB beyond input and output", words)
