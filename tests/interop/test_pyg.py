"""Graphs are converted to PyTorch Geometric and back without loss."""

from __future__ import annotations

import pytest
import torch

from edgecond import Labels
from edgecond.interop import graph_from_pyg, graph_to_pyg
from tests.interop.graphs import assert_same, BIPARTITE, edges_of, random_graph
from tests.sentences import refused

pyg = pytest.importorskip("torch_geometric.data")


def test_a_graph_is_the_same_after_a_round_trip():
    graph = random_graph()

    assert_same(graph_from_pyg(graph_to_pyg(graph)), graph)


def test_a_batch_is_the_same_after_a_round_trip():
    """Including a graph of one isolated vertex, and an isolated vertex at the end of each graph."""
    graph = random_graph(sizes=(5, 1, 4))

    batch = graph_to_pyg(graph)

    assert isinstance(batch, pyg.Batch)
    assert_same(graph_from_pyg(batch), graph)


def test_a_batch_can_be_separated_by_pyg():
    """`to_data_list` of PyG gives the single graphs, and `from_data_list` the same batch again."""
    sizes = (5, 1, 4)
    graph = random_graph(sizes=sizes)
    x, y = torch.randn(10, 2), torch.tensor([1, 0, 2])

    parts = graph_to_pyg(graph, x, y).to_data_list()

    assert [part.num_nodes for part in parts] == list(sizes)
    assert [part.y.tolist() for part in parts] == [[1], [0], [2]]
    assert torch.equal(torch.cat([part.x for part in parts]), x)
    batch = pyg.Batch.from_data_list(parts)
    assert torch.equal(batch.edge_index, torch.stack([graph.source, graph.target]))
    assert torch.equal(batch.edge_attr, graph.labels.values)


def test_edges_of_data_are_sorted_by_target_with_their_labels():
    data = pyg.Data(edge_index=torch.tensor([[0, 1, 2], [2, 0, 1]]), edge_attr=torch.tensor([5.0, 6.0, 7.0]))
    data.num_nodes = 4

    graph = graph_from_pyg(data)

    assert edges_of(graph) == {(0, 2, (5.0,)), (1, 0, (6.0,)), (2, 1, (7.0,))}
    assert graph.target.tolist() == [0, 1, 2]
    assert graph.num_vertices == 4


def test_integer_labels_become_floating_point():
    data = pyg.Data(edge_index=torch.tensor([[0], [1]]), edge_attr=torch.tensor([3]), num_nodes=2)

    assert graph_from_pyg(data).labels.values.tolist() == [[3.0]]


def test_labels_may_have_another_name_or_be_compact():
    data = pyg.Data(edge_index=torch.tensor([[0, 1], [1, 0]]), bond=torch.tensor([2, 0]), num_nodes=2)

    named, compact = graph_from_pyg(data, "bond"), graph_from_pyg(data, Labels.one_hot(data.bond, 3))

    assert edges_of(named) == {(0, 1, (2.0,)), (1, 0, (0.0,))}
    assert edges_of(compact) == {(0, 1, (0.0, 0.0, 1.0)), (1, 0, (1.0, 0.0, 0.0))}
    assert compact.labels.index is not None


def test_a_data_with_a_batch_vector_is_a_batch():
    """A Data may contain several graphs without being a Batch."""
    data = pyg.Data(edge_index=torch.tensor([[0], [1]]), edge_attr=torch.zeros(1, 1), num_nodes=5)
    data.batch = torch.tensor([0, 0, 1, 1, 1])

    assert graph_from_pyg(data).sizes.tolist() == [2, 3]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (
            pyg.Data(edge_index=torch.tensor([[0], [1]]), num_nodes=2),
            "edge-conditioned convolution needs labels: this Data has no 'edge_attr'. "
            "Set it to one row per edge, or pass labels=...",
        ),
        (
            pyg.HeteroData(),
            "a graph needs an edge_index: this HeteroData has none. "
            "A HeteroData has one per edge type; convert each with Graph.from_edges.",
        ),
    ],
)
def test_data_without_edges_or_labels_is_an_error(data, message: str):
    with refused(message):
        graph_from_pyg(data)


@pytest.mark.parametrize(
    ("arguments", "facts"),
    [
        ((BIPARTITE,), r"a PyG Data needs .*: this graph is bipartite, with 3 sources and 2 targets\.$"),
        ((random_graph(), torch.zeros(6, 2)), r"^x must have one row per vertex: got shape \(6, 2\) for 7 rows\.$"),
        ((random_graph(), None, torch.zeros(2)), r"^y must have one row per graph: got shape \(2,\) for 1 rows\.$"),
    ],
)
def test_a_graph_that_pyg_cannot_represent_is_an_error(arguments: tuple, facts: str):
    with pytest.raises(ValueError, match=facts):
        graph_to_pyg(*arguments)
