"""Filter networks are initialised as in the paper, and all their forms give the numbers of the definition."""

from collections.abc import Callable
from copy import deepcopy

import pytest
import torch
from torch import nn

from edgecond import ECConv, FilterNetwork, Labels
from tests.nn.layers.zoo import (
    close,
    D_IN,
    D_OUT,
    every_filter_network,
    M,
    N,
    random_edges,
    random_graph,
    random_layer,
    S,
    step,
)


class TestLowMemory:
    @every_filter_network
    @pytest.mark.parametrize("reduce", ["mean", "sum", "max"])
    def test_numbers_and_gradients_are_those_of_the_ordinary_mode(self, filters: Callable, reduce: str):
        """More than one block of edges, so that blocks meet inside a neighbourhood."""
        ordinary = ECConv(D_IN, D_OUT, filters(), reduce=reduce)
        small = deepcopy(ordinary)
        small.low_memory = True
        m = 20_000
        edge_index, edge_attr = torch.randint(20, (2, m)), torch.randn(m, S)
        x, cotangent = torch.randn(20, D_IN), torch.randn(20, D_OUT) / m

        expected = step(ordinary.double(), x.double(), edge_index, edge_attr.double(), cotangent.double())
        found = step(small.double(), x.double(), edge_index, edge_attr.double(), cotangent.double())

        for one, other in zip((*found, *small.parameters()), (*expected, *ordinary.parameters()), strict=True):
            torch.testing.assert_close(one, other, rtol=1e-9, atol=1e-9)


class TestDiagonalFilters:
    """One weight per channel, as the authors' code offers."""

    @pytest.mark.parametrize("low_memory", [False, True])
    def test_each_channel_is_scaled_by_its_own_weight(self, low_memory: bool):
        """F(l) = (l, 10 l): edges 0 -> 1 and 1 -> 1 with labels 2 and 3 give (2 + 9, 40 + 120) / 2 at vertex 1."""
        filters = nn.Linear(1, 2, bias=False)
        conv = ECConv(2, 2, filters, diagonal=True, low_memory=low_memory)
        with torch.no_grad():
            filters.weight.copy_(torch.tensor([[1.0], [10.0]]))

        out = conv(torch.tensor([[1.0, 2.0], [3.0, 4.0]]), torch.tensor([[0, 1], [1, 1]]), torch.tensor([[2.0], [3.0]]))

        close(out, torch.tensor([[0.0, 0.0], [5.5, 80.0]]))

    @pytest.mark.parametrize("reduce", ["mean", "sum", "max"])
    @pytest.mark.parametrize("low_memory", [False, True])
    def test_they_are_full_filters_with_zeros_elsewhere(self, reduce: str, low_memory: bool):
        diagonal = ECConv(D_IN, D_IN, FilterNetwork((S, 8), D_IN, D_IN, diagonal=True), reduce=reduce, diagonal=True)
        diagonal.low_memory = low_memory
        full = ECConv(D_IN, D_IN, FilterNetwork((S, 8), D_IN, D_IN), reduce=reduce)
        full.load_state_dict(
            diagonal.state_dict()
            | {
                "filters.2.weight": torch.einsum("ij,ik->ijk", torch.eye(D_IN), diagonal.filters[2].weight).flatten(
                    0, 1
                )
            }
        )
        x, edges = torch.randn(N, D_IN), random_edges()

        close(diagonal(x, *edges), full(x, *edges))

    def test_categorical_labels_work_too(self):
        conv = ECConv(D_IN, D_IN, FilterNetwork((S,), D_IN, D_IN, diagonal=True), diagonal=True)
        compact = random_graph(Labels.one_hot(torch.randint(S, (M,)), S))
        x = torch.randn(N, D_IN)

        close(conv(x, compact), conv(x, compact.with_labels(compact.labels.per_edge(compact.labels.values))))


class TestInitialisation:
    """Sections 4.1 and 4.3: orthogonal weights. The authors' code: ReLU gain, no bias in the last layer."""

    @pytest.mark.parametrize(("widths", "d_in", "d_out"), [((6, 16, 32), 16, 32), ((4, 64), 48, 48), ((20, 8), 2, 2)])
    def test_filter_networks_start_orthogonal(self, widths: tuple[int, ...], d_in: int, d_out: int):
        """The rows or the columns of a weight, whichever are fewer, are orthogonal and of length g."""
        linear = [layer for layer in FilterNetwork(widths, d_in, d_out) if isinstance(layer, nn.Linear)]

        assert [layer.out_features for layer in linear] == [*widths[1:], d_in * d_out]
        for layer in linear:
            weight = layer.weight if layer.out_features < layer.in_features else layer.weight.T
            squared_gain = 1.0 if layer is linear[-1] else 2.0
            close(weight @ weight.T, squared_gain * torch.eye(len(weight)))
        assert linear[-1].bias is None
        for layer in linear[:-1]:
            assert 0 < layer.bias.abs().max() <= layer.in_features**-0.5  # torch's, as in the authors' code

    def test_a_label_of_zeros_has_a_filter_and_a_gradient(self):
        """That of a self-loop, and of every edge in the row "(0)" of the table of labels, whose 38.9 is no guess."""
        filters = FilterNetwork((6, 16, 32), 2, 3)

        theta = filters(torch.zeros(1, 6))
        theta.square().sum().backward()

        assert theta.abs().min() > 0
        assert filters[0].bias.grad.abs().max() > 0

    def test_layers_alternate_with_relus(self):
        kinds = [type(layer) for layer in FilterNetwork((6, 16, 32), 2, 3)]

        assert kinds == [nn.Linear, nn.ReLU, nn.Linear, nn.ReLU, nn.Linear]

    def test_a_slice_of_a_filter_network_is_a_sequence_of_its_own_layers(self):
        """Theta = W h: what the layers before the last give, multiplied by the weight of the last."""
        filters, labels = FilterNetwork((6, 16, 32), 2, 3), torch.randn(4, 6)

        before = filters[:-1]

        assert type(before) is nn.Sequential
        assert list(before) == list(filters)[:-1]
        close(before(labels) @ filters[-1].weight.T, filters(labels))

    def test_the_bias_starts_at_zero(self):
        assert not random_layer().bias.any()


@pytest.mark.filterwarnings("ignore:.*weight_norm.*is deprecated")
def test_hooks_on_the_layers_of_f_are_not_bypassed():
    """The older weight norm computes the weight in a hook: a step on its parameters must change the output."""
    torch.manual_seed(0)
    layers = [nn.Linear(2, 4), nn.ReLU(), nn.Linear(4, 3 * 5)]
    conv = ECConv(3, 5, nn.Sequential(*map(torch.nn.utils.weight_norm, layers[::2])), bias=False)
    x, edge_index, edge_attr = torch.randn(4, 3), torch.randint(0, 4, (2, 9)), torch.randn(9, 2)
    with torch.no_grad():
        conv.filters[1].weight_g.mul_(2)

    found = conv(x, edge_index, edge_attr)

    theta = conv.filters(edge_attr).view(-1, 5, 3)
    messages = (theta @ x[edge_index[0], :, None]).squeeze(2)
    total = torch.zeros(4, 5).index_add(0, edge_index[1], messages)
    count = torch.bincount(edge_index[1], minlength=4).clamp(min=1)
    torch.testing.assert_close(found, total / count[:, None])
