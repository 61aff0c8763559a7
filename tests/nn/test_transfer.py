"""Weights of known columns and outputs are those of the other network, and all others stay as they were drawn."""

from __future__ import annotations

import pytest
import torch

from edgecond.graph import Graph, Pyramid
from edgecond.nn.network import Network
from edgecond.nn.transfer import Columns, places, transfer

NETWORK = "C(4)-C(5)-GAP-FC(6)-D(0.1)-FC({})"


def network(seed: int, d0: int = 3, s: int = 4, outputs: int = 2, features: int = 2, **options) -> Network:
    torch.manual_seed(seed)
    found = Network(NETWORK.format(outputs), d0, s, hidden=options.pop("hidden", (7,)), features=features, **options)
    for name, buffer in found.named_buffers():
        if name.endswith("running_mean"):
            buffer.normal_()
    return found.eval()


def sample(d0: int, s: int, seed: int = 9) -> tuple[torch.Tensor, Graph]:
    """A graph of six vertices; the signal and the labels of edges have these widths."""
    torch.manual_seed(seed)
    source, target = torch.randint(6, (20,)), torch.randint(6, (20,))
    return torch.randn(6, d0), Graph.from_edges(source, target, torch.randn(20, s), num_vertices=6)


def everything(d0: int = 3, s: int = 4, outputs: int = 2, features: int = 2) -> Columns:
    return Columns(range(d0), [range(s)], range(features), range(outputs))


@pytest.mark.parametrize("options", [{}, {"identity": True}, {"degree_factor": True}, {"hidden": ()}])
def test_with_the_same_columns_the_outputs_are_the_same(options):
    start, new = network(0, **options), network(1, **options)
    x, graph = sample(3, 4)
    beside = torch.randn(1, 2)

    changed = transfer(new, start, everything())

    assert changed == []
    torch.testing.assert_close(new(x, Pyramid((graph,)), beside), start(x, Pyramid((graph,)), beside))


@pytest.mark.parametrize("hidden", [(7,), (7, 8), ()])
@pytest.mark.parametrize("identity", [False, True])
def test_columns_that_are_permuted_and_new_ones_that_are_zero_change_nothing(hidden, identity):
    """A network sees the same graph if its columns are named: in another order, with two more that are always zero."""
    options = {"hidden": hidden, "identity": identity}
    start, new = network(0, **options), network(1, d0=5, s=6, outputs=3, features=3, **options)
    x, graph = sample(3, 4)
    beside = torch.randn(1, 2)
    signal, labels, features = [2, None, 0, 1, None], [3, 1, None, 0, None, 2], [None, 1, 0]
    given = [0, None, 1]

    def widened(columns: torch.Tensor, to: list[int | None]) -> torch.Tensor:
        return torch.stack([columns[:, p] if p is not None else torch.zeros(len(columns)) for p in to], 1)

    rows = graph.labels.per_edge(graph.labels.values)
    other = Graph.from_edges(graph.source, graph.target, widened(rows, labels), num_vertices=6)

    changed = transfer(new, start, Columns(signal, [labels], features, given))

    expected = start(x, Pyramid((graph,)), beside)
    found = new(widened(x, signal), Pyramid((other,)), widened(beside, features))
    torch.testing.assert_close(found[:, [0, 2]], expected)
    assert changed == [0, 1, 3, 5]  # labels are columns of every convolution


def test_new_columns_are_as_they_were_drawn():
    start, new, drawn = network(0), network(1, d0=4, outputs=3), network(1, d0=4, outputs=3)

    transfer(new, start, Columns([0, 1, 2, None], [range(4)], range(2), [0, 1, None]))

    last, as_drawn = (each.layers[0].conv.filters[-1].weight.view(4, 4, 7) for each in (new, drawn))
    torch.testing.assert_close(last[:, 3], as_drawn[:, 3])
    assert not torch.equal(last[:, 2], as_drawn[:, 2])
    torch.testing.assert_close(new.layers[-1][0].weight[2], drawn.layers[-1][0].weight[2])


def test_a_network_with_other_layers_is_refused():
    other = Network("C(4)-GAP-FC(2)", 3, 4, hidden=(7,), features=2)

    with pytest.raises(ValueError, match="differ in their last FC alone"):
        transfer(network(0), other, everything())


def test_places_are_found_by_name():
    assert places(["C", "N"], []) == [None, None]
    assert places(["C", "N"], ["N", "O", "C"]) == [2, 0]
