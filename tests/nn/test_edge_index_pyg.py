"""An `EdgeIndex` of PyG is a tensor like others, and the order that it has computed is used."""

from __future__ import annotations

import pytest
import torch
from torch import nn, Tensor

from edgecond import ECConv, Graph
from edgecond.graph import edges
from edgecond.nn.edge_index import graph_of

pyg = pytest.importorskip("torch_geometric")
NNConv, EdgeIndex = pyg.nn.NNConv, pyg.EdgeIndex

N, M, S = 12, 60, 3
every_order = pytest.mark.parametrize("order", [None, "row", "col"])
every_cache = pytest.mark.parametrize("filled", [False, True], ids=["", "cached"])


@pytest.fixture(params=[True, False], ids=["C++", "torch"])
def backend(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where edges are sorted in C++, and where they are not, as on a GPU."""
    if not request.param:
        monkeypatch.setattr(edges, "_extension", None)


def an_edge_index(order: str | None, filled: bool, n_src: int = N) -> tuple[Tensor, Tensor]:
    """Return random edges in an order, with or without the other order computed, and labels."""
    generator = torch.Generator().manual_seed(0)
    ends = torch.stack([torch.randint(count, (M,), generator=generator) for count in (n_src, N - 2)])
    edge_index, labels = EdgeIndex(ends, sparse_size=(n_src, N)), torch.randn(M, S, generator=generator).double()
    if order is not None:
        edge_index, permutation = edge_index.sort_by(order)
        labels = labels[permutation]
    return edge_index.fill_cache_() if filled else edge_index, labels


@pytest.mark.usefixtures("backend")
@every_order
@every_cache
@pytest.mark.parametrize("aggr", ["add", "mean", "max", "std"])
@pytest.mark.parametrize("n_src", [N, 15])
def test_the_output_and_the_gradients_are_those_of_nnconv(order: str | None, filled: bool, aggr: str, n_src: int):
    """PyG's NNConv with the same EdgeIndex; a bipartite one has its size from the EdgeIndex."""
    torch.manual_seed(1)
    layer = NNConv(2, 5, nn.Sequential(nn.Linear(S, 4), nn.ReLU(), nn.Linear(4, 10)), aggr=aggr).double()
    conv = ECConv.from_nnconv(layer)
    edge_index, labels = an_edge_index(order, filled, n_src)
    x = torch.randn(n_src, 2).double()

    found = []
    for module in (conv, layer):
        leaves = x.clone().requires_grad_(), labels.clone().requires_grad_()
        out = module(leaves[0] if n_src == N else (leaves[0], None), edge_index, leaves[1])
        found.append([out, *torch.autograd.grad(out.sin().sum(), leaves)])

    assert found[0][0].shape == (N, 5)
    for ours, theirs in zip(*found, strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-9, atol=1e-9)


@pytest.mark.usefixtures("backend")
@every_order
@every_cache
def test_both_orders_are_those_of_the_plain_tensor(order: str | None, filled: bool):
    """Edges into or out of a vertex may come in another order, as PyG's sort is not stable."""
    edge_index, labels = an_edge_index(order, filled)

    graph = graph_of(edge_index, labels, num_vertices=N)

    expected = Graph.from_edges(*edge_index.as_tensor(), labels, num_vertices=N)
    assert rows(graph) == rows(expected)
    assert graph.pointer.tolist() == expected.pointer.tolist()
    assert graph.by_source.pointer.tolist() == expected.by_source.pointer.tolist()
    numbers, by_source = graph.by_source.edge, graph.by_source
    assert sorted(numbers.tolist()) == list(range(M))
    assert torch.equal(graph.source[numbers], by_source.row)
    assert torch.equal(graph.target[numbers], by_source.column)


def rows(graph: Graph) -> list[tuple]:
    """Return the edges with their labels, in one order."""
    values = graph.labels.per_edge(graph.labels.values)
    return sorted(map(tuple, torch.column_stack([graph.target, graph.source, values]).tolist()))


@pytest.mark.parametrize("order", ["row", "col"])
def test_an_order_that_is_known_is_not_computed_again(order: str, monkeypatch: pytest.MonkeyPatch):
    """Without C++, as on a GPU: its edges are sorted by one end, and PyG keeps the order by the other."""
    edge_index, labels = an_edge_index(order, True)
    monkeypatch.setattr(edges, "_extension", None)
    monkeypatch.setattr(edges, "sort", None)

    assert graph_of(edge_index, labels, num_vertices=N).by_source.edge is not None


def test_a_second_call_gets_the_edges_of_the_first():
    edge_index, labels = an_edge_index(None, False)

    first, second = (graph_of(edge_index, labels, num_vertices=N) for _ in range(2))

    assert first.source is second.source


@pytest.mark.usefixtures("backend")
@every_order
def test_changes_in_place_are_seen(order: str | None):
    """Through the tensor inside, of which PyG does not know: what it has computed is wrong then."""
    edge_index, labels = an_edge_index(order, True)
    graph_of(edge_index, labels, num_vertices=N)

    edge_index.as_tensor()[:, :20] = edge_index.as_tensor()[:, 20:40].flip(1)
    graph = graph_of(edge_index, labels, num_vertices=N)

    expected = Graph.from_edges(*edge_index.as_tensor(), labels, num_vertices=N)
    assert rows(graph) == rows(expected)
    assert graph.by_source.pointer.tolist() == expected.by_source.pointer.tolist()


def test_the_size_of_an_edge_index_takes_precedence_as_in_pyg():
    """MessagePassing ignores `size` then."""
    layer = NNConv(2, 5, nn.Linear(S, 10), root_weight=False).double()
    edge_index, labels = an_edge_index(None, False, 15)
    x = torch.randn(15, 2).double()

    for module in (layer, ECConv.from_nnconv(layer)):
        assert module((x, None), edge_index, labels, size=(15, N + 1)).shape == (N, 5)
