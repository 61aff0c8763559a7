"""Every way to call NNConv calls ECConv, and what can be asked of an NNConv can be asked of it."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn, Tensor

from edgecond import ECConv, FilterNetwork, Graph
from tests.nn.layers.zoo import agree, close, D_IN, D_OUT, FILTERS, LABELS, M, N, nnconv, random_edges, random_layer, S

SOURCES = 12  # of the bipartite graphs, whose targets are N vertices
Call = Callable[[nn.Module, Tensor, Tensor, Tensor, Tensor], Any]

ONE_SET: dict[str, Call] = {
    "positional": lambda conv, x, _, e, a: conv(x, e, a),
    "by name": lambda conv, x, _, e, a: conv(x=x, edge_index=e, edge_attr=a),
    "by name, with size": lambda conv, x, _, e, a: conv(x=x, edge_index=e, edge_attr=a, size=(N, N)),
    "labels by name": lambda conv, x, _, e, a: conv(x, e, edge_attr=a),
    "size": lambda conv, x, _, e, a: conv(x, e, a, (N, N)),
    "size of targets alone": lambda conv, x, _, e, a: conv(x, e, a, (None, N)),
    "no size": lambda conv, x, _, e, a: conv(x, e, a, size=None),
    "a pair": lambda conv, x, _, e, a: conv((x, x), e, a),
    "a pair without targets": lambda conv, x, _, e, a: conv((x, None), e, a),
    "a list": lambda conv, x, _, e, a: conv([x, x], e, a),
    "no edges": lambda conv, x, _, e, a: conv(x, e[:, :0], a[:0]),
    "edges that are not contiguous": lambda conv, x, _, e, a: conv(x, e.T.contiguous().T, a),
    "sorted edges": lambda conv, x, _, e, a: conv(x, e[:, e[1].argsort()], a[e[1].argsort()]),
}
TWO_SETS: dict[str, Call] = {
    "a pair": lambda conv, x, y, e, a: conv((x, y), e, a),
    "a list": lambda conv, x, y, e, a: conv([x, y], e, a),
    "a pair and size": lambda conv, x, y, e, a: conv((x, y), e, a, (SOURCES, N)),
    "a pair and size, by name": lambda conv, x, y, e, a: conv(x=(x, y), edge_index=e, edge_attr=a, size=(SOURCES, N)),
    "a pair without targets": lambda conv, x, y, e, a: conv((x, None), e, a, size=(SOURCES, N)) + 0 * y.sum(),
    "half a size": lambda conv, x, y, e, a: conv((x, None), e, a, size=(None, N)) + 0 * y.sum(),
    "no edges": lambda conv, x, y, e, a: conv((x, y), e[:, :0], a[:0]),
}
every_kind_of_labels = pytest.mark.parametrize("labels", LABELS.values(), ids=LABELS)
every_layer = pytest.mark.parametrize(
    "options",
    [
        {"aggr": aggr, "root_weight": root_weight, "bias": bias}
        for aggr in ("add", "mean", "max", "std")
        for root_weight, bias in ((True, True), (False, True), (True, False))
    ],
    ids=lambda options: f"{options['aggr']}{' root' * options['root_weight']}{' bias' * options['bias']}",
)


def run(call: Call, layer: nn.Module, sources: int, target: Tensor, labels: Tensor) -> None:
    """Compare output and gradients; those of continuous labels, too."""
    layer, edge_index = layer.double(), random_edges(sources=sources)[0]
    x = torch.randn(sources, D_IN).double()
    if len(labels.unique(dim=0)) == M:
        agree(layer, ECConv.from_nnconv(layer), lambda m, *t: call(m, t[0], t[1], edge_index, t[2]), x, target, labels)
    else:
        agree(layer, ECConv.from_nnconv(layer), lambda m, *t: call(m, *t, edge_index, labels), x, target)


@pytest.mark.parametrize("call", ONE_SET.values(), ids=ONE_SET)
@every_kind_of_labels
@every_layer
def test_a_call_on_one_set_of_vertices_gives_what_nnconv_gives(call: Call, labels: Callable, options: dict):
    """PyG's NNConv, output and gradients; two vertices have no edges."""
    run(lambda m, x, y, e, a: call(m, x, y, e, a) + 0 * y.sum(), *_layer(options, N, D_IN), labels(M))


@pytest.mark.parametrize("call", TWO_SETS.values(), ids=TWO_SETS)
@every_kind_of_labels
@every_layer
def test_a_call_on_two_sets_of_vertices_gives_what_nnconv_gives(call: Call, labels: Callable, options: dict):
    """PyG's NNConv, output and gradients, with signals of two widths."""
    run(call, *_layer(options, SOURCES, (D_IN, 7)), labels(M))


def _layer(options: dict, sources: int, d_in: int | tuple[int, int]) -> tuple[nn.Module, int, Tensor]:
    d_target = d_in if isinstance(d_in, int) else d_in[1]
    return nnconv(FILTERS["a perceptron"](), d_in=d_in, **options), sources, torch.randn(N, d_target).double()


@pytest.mark.parametrize("kinds", [M, 3])
def test_a_vector_of_labels_is_a_label_of_width_1(kinds: int):
    """As in earlier versions of PyG; the NNConv of this one takes a column only."""
    layer = nnconv(nn.Linear(1, D_IN * D_OUT))
    x, (edge_index, _) = torch.randn(N, D_IN), random_edges()
    labels = torch.randn(kinds)[torch.randint(kinds, (M,))]

    close(ECConv.from_nnconv(layer)(x, edge_index, labels), layer(x, edge_index, labels[:, None]))


def test_a_size_that_contradicts_the_signal_is_refused_as_in_pyg():
    layer, x, edges = nnconv(FILTERS["a perceptron"]()), torch.randn(N, D_IN), random_edges()

    for conv in (layer, ECConv.from_nnconv(layer)):
        with pytest.raises(ValueError, match=r"10|size"):
            conv(x, *edges, size=(N + 1, N))


class TestAttributes:
    @pytest.mark.parametrize("d_in", [D_IN, (D_IN, 7), (D_IN, D_IN)])
    def test_channels_have_the_names_of_pyg(self, d_in: int | tuple[int, int]):
        layer = nnconv(FILTERS["a perceptron"](), d_in=d_in)
        conv = ECConv.from_nnconv(layer)

        assert (conv.in_channels, conv.out_channels) == (layer.in_channels, layer.out_channels)

    def test_it_prints_as_much_as_nnconv(self):
        """PyG prints widths, aggregation and F."""
        conv = ECConv.from_nnconv(nnconv(FILTERS["a perceptron"](), d_in=(D_IN, 7), bias=False, aggr="max"))

        text = repr(conv)

        assert text.startswith("ECConv(\n  (3, 7), 5, reduce='max', bias=False\n  (filters): Sequential(")
        assert "(identity): Linear(in_features=7, out_features=5, bias=False)" in text

    def test_resetting_draws_what_nnconv_draws(self):
        """The same numbers from the same seed: F, then the root weight; the bias is 0."""
        layer = nnconv(FILTERS["a perceptron"](), d_in=(D_IN, 7))
        conv = ECConv.from_nnconv(layer)
        before = conv.filters[0].weight.clone()

        for module in (layer, conv):
            torch.manual_seed(1)
            module.reset_parameters()

        assert not torch.equal(conv.filters[0].weight, before)
        for ours, theirs in zip(conv.filters.parameters(), layer.nn.parameters(), strict=True):
            assert torch.equal(ours, theirs)
        assert torch.equal(conv.identity.weight, layer.lin.weight)
        assert conv.bias.eq(0).all()

    def test_resetting_draws_what_a_new_layer_draws(self):
        """The paper's orthogonal F and the factor of ECC-Z are drawn as the constructor draws them."""
        torch.manual_seed(2)
        new = random_layer(degree_factor=True)
        conv = random_layer(degree_factor=True)

        torch.manual_seed(2)
        conv.reset_parameters()

        for ours, expected in zip(conv.parameters(), new.parameters(), strict=True):
            assert torch.equal(ours, expected)

    def test_resetting_reaches_every_part_of_a_filter_network(self):
        """As PyG's reset: a module without `reset_parameters` has its children reset."""
        network = nn.Sequential(nn.Sequential(nn.Linear(S, 8), nn.ReLU()), FilterNetwork((8,), D_IN, D_OUT))
        conv = ECConv(D_IN, D_OUT, network)
        before = [parameter.clone() for parameter in conv.filters.parameters()]

        conv.reset_parameters()

        assert not any(torch.equal(a, b) for a, b in zip(before, conv.filters.parameters(), strict=True))


@every_kind_of_labels
@pytest.mark.parametrize("d_out", [2, 40], ids=["by source", "by target"])
def test_a_first_call_in_inference_mode_does_not_spoil_training(labels: Callable[[int], Tensor], d_out: int):
    """Validation may come first: the order of the edges that it leaves behind takes part in the backward pass."""
    filters = nn.Sequential(nn.Linear(S, 8), nn.ReLU(), nn.Linear(8, D_IN * d_out))
    conv = ECConv(D_IN, d_out, filters).double()
    x, edge_index, edge_attr = torch.randn(N, D_IN).double(), random_edges()[0], labels(M)
    graph = Graph.from_edges(*edge_index, edge_attr, num_vertices=N)

    with torch.inference_mode():
        expected = conv(x, edge_index, edge_attr), conv(x, graph)

    for out, before in zip((conv(x, edge_index, edge_attr), conv(x, graph)), expected, strict=True):
        out.sum().backward()
        close(out, before)


def test_edges_of_32_bits_give_what_those_of_64_give():
    """NNConv takes them too, but its gradient of the signal differs then (PyG 2.8.1, torch 2.13)."""
    conv, (edge_index, edge_attr) = random_layer(), random_edges()
    x = torch.randn(N, D_IN, requires_grad=True)

    outs = [conv(x, edges, edge_attr) for edges in (edge_index.int(), edge_index)]

    short, long = (torch.autograd.grad(out.square().sum(), x)[0] for out in outs)
    torch.testing.assert_close(outs[0], outs[1], rtol=0, atol=0)
    torch.testing.assert_close(short, long, rtol=0, atol=0)
