"""Clouds and pyramids hold together; every value moves, and is what its leaves make of it."""

from __future__ import annotations

import pytest
import torch
import torch.utils._pytree as pytree
from torch import Tensor

from edgecond.graph import Cloud, Labels, Pyramid
from tests.graph.paths import graph_of, sample, vector
from tests.sentences import refused


@pytest.mark.parametrize(
    ("positions", "signal", "sentence"),
    [
        (
            torch.zeros(4, 2),
            torch.zeros(4, 1),
            "a cloud needs positions of shape (n, 3) and a signal of shape (n, d): got (4, 2) and (4, 1).",
        ),
        (
            torch.zeros(4, 3),
            torch.zeros(4),
            "a cloud needs positions of shape (n, 3) and a signal of shape (n, d): got (4, 3) and (4,).",
        ),
        (torch.zeros(4, 3), torch.zeros(5, 1), "a cloud needs one signal per point: got 5 for 4 points."),
    ],
    ids=["flat positions", "no channels", "a signal too many"],
)
def test_a_cloud_answers_a_mistake_by_a_sentence(positions: Tensor, signal: Tensor, sentence: str):
    with refused(sentence):
        Cloud(positions, signal)


def test_a_cloud_is_as_long_as_it_has_points():
    assert len(Cloud(torch.zeros(4, 3), torch.zeros(4, 0))) == 4


def test_a_cloud_has_a_class_for_each_point_or_for_none():
    with pytest.raises(ValueError, match=r"^a cloud needs one class per point: got 2 for 4 points\.$"):
        Cloud(torch.zeros(4, 3), torch.zeros(4, 1), torch.zeros(2, dtype=torch.long))


def test_a_pyramid_has_a_map_between_each_two_graphs():
    """Section 3.3: M(h) leads from G(h-1) to G(h)."""
    graph = graph_of(n=1)

    assert len(Pyramid((graph, graph), (vector(0),))) == 2
    sentence = "a pyramid needs one pool map between each two graphs: got 0 maps for 2 graphs."
    with refused(sentence):
        Pyramid((graph, graph))


def test_another_precision_is_for_real_numbers_only():
    """Vertex numbers stay integers."""
    moved = sample(3).to(torch.float64)

    assert moved.x.dtype == moved.pyramid.graphs[0].labels.values.dtype == torch.float64
    assert moved.pyramid.graphs[0].source.dtype == moved.y.dtype == torch.int64
    assert moved.pyramid.pool_maps[0].dtype == torch.int64


def test_another_device_is_for_all_tensors():
    """torch's meta device: shapes without numbers, on every machine."""
    before = sample(3, strided=True)

    moved = before.to("meta", torch.float16)

    leaves = [leaf for leaf in pytree.tree_leaves(moved) if leaf is not None]
    assert {leaf.device.type for leaf in leaves} == {"meta"}
    assert moved.x.dtype == torch.float16
    assert moved.pyramid.graphs[1].num_sources == 2
    assert before.x.device.type == "cpu"


@pytest.mark.parametrize(
    "value",
    [
        Cloud(torch.zeros(2, 3), torch.zeros(2, 1)),
        Labels(torch.zeros(2, 3)),
        Labels(torch.zeros(2, 3), vector(0)),
        graph_of((1, 0), n=2),
        graph_of((1, 0), n=2, num_sources=2),
        Pyramid((graph_of(n=1), graph_of(n=1)), (vector(0),)),
        sample(3),
    ],
    ids=["cloud", "labels", "indexed labels", "graph", "bipartite graph", "pyramid", "sample"],
)
def test_a_value_is_what_its_leaves_make_of_it(value: object):
    """torch.export and torch.compile take values apart and put them together again."""
    leaves, structure = pytree.tree_flatten(value)
    named, _ = pytree.tree_flatten_with_path(value)

    again = pytree.tree_unflatten(leaves, structure)

    assert type(again) is type(value)
    assert all(a is b for a, b in zip(pytree.tree_leaves(again), leaves, strict=True))
    assert all(a is b for (_, a), b in zip(named, leaves, strict=True))
    assert structure == pytree.treespec_loads(pytree.treespec_dumps(structure))
