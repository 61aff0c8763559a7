"""ECConv computes what PyG's NNConv computes, and is called as it is."""

from collections.abc import Callable
from copy import deepcopy

import pytest
import torch
from torch import nn, Tensor

from edgecond import ECConv, Graph
from edgecond.nn.inspection import last_linear
from tests.nn.layers.zoo import (
    close,
    D_IN,
    D_OUT,
    every_aggregation,
    every_filter_network,
    FILTERS,
    M,
    N,
    nnconv,
    pyg,
    random_edges,
    random_layer,
    S,
    step,
)


class TestFromNNConv:
    @every_filter_network
    @every_aggregation
    @pytest.mark.parametrize("root_weight", [True, False], ids=["root", ""])
    @pytest.mark.parametrize("bias", [True, False], ids=["bias", ""])
    def test_the_output_is_that_of_pyg(self, filters: Callable, aggr: str, root_weight: bool, bias: bool):
        layer = nnconv(filters(), aggr=aggr, root_weight=root_weight, bias=bias)
        x, edges = torch.randn(N, D_IN), random_edges()

        ours = ECConv.from_nnconv(layer)(x, *edges)

        close(ours, layer(x, *edges))

    @every_filter_network
    @every_aggregation
    @pytest.mark.parametrize("low_memory", [False, True], ids=["", "low memory"])
    def test_a_step_of_training_leads_where_it_leads_in_pyg(self, filters: Callable, aggr: str, low_memory: bool):
        """The gradients of signal, labels, bias, root weight and every parameter of F agree, and batch statistics."""
        layer = nnconv(filters(), aggr=aggr)
        conv = ECConv.from_nnconv(layer, low_memory=low_memory)
        x, edges, cotangent = torch.randn(N, D_IN), random_edges(), torch.randn(N, D_OUT)

        ours, theirs = step(conv, x, *edges, cotangent), step(layer, x, *edges, cotangent)

        for mine, other in zip(ours, theirs, strict=True):
            close(mine, other)
        expected = ECConv.from_nnconv(layer).state_dict()
        for name, value in conv.state_dict().items():
            close(value, expected[name], msg=lambda difference, name=name: f"{name}: {difference}")

    @every_aggregation
    @every_filter_network
    def test_one_hot_labels_give_what_pyg_gives(self, filters: Callable, aggr: str):
        """Also where F mixes labels: a norm is over edges, however few of their labels are distinct."""
        layer = nnconv(filters(), aggr=aggr)
        x, (edge_index, _) = torch.randn(N, D_IN), random_edges()
        edge_attr = torch.eye(S)[torch.randint(S, (M,))]

        close(ECConv.from_nnconv(layer)(x, edge_index, edge_attr), layer(x, edge_index, edge_attr))

    @pytest.mark.parametrize("end", [[], [nn.Tanh()]], ids=["linear", "not linear"])
    def test_labels_that_are_numbers_of_categories_reach_an_embedding(self, end: list[nn.Module]):
        """Bonds as integers, and an F that looks them up."""
        layer = nnconv(nn.Sequential(nn.Embedding(4, 8), nn.Flatten(), nn.Linear(8, D_IN * D_OUT), *end))
        x, (edge_index, _) = torch.randn(N, D_IN), random_edges()
        bonds, cotangent = torch.randint(4, (M, 1)), torch.randn(N, D_OUT)
        conv = ECConv.from_nnconv(layer)

        ours, theirs = conv(x, edge_index, bonds), layer(x, edge_index, bonds)
        for out in (ours, theirs):
            out.backward(cotangent)

        close(ours, theirs)
        close(next(conv.filters.parameters()).grad, layer.nn[0].weight.grad)

    @pytest.mark.parametrize("norm", [None, "batch_norm", "layer_norm"])
    def test_the_layers_of_an_mlp_of_pyg_are_seen(self, norm: str | None):
        """Its last layer is linear, so no filter is formed."""
        layer = nnconv(pyg.MLP([S, 8, D_IN * D_OUT], norm=norm, dropout=0.1))

        conv = ECConv.from_nnconv(layer)

        assert last_linear(conv.filters) is not None
        assert all(part.training for part in conv.filters.modules())
        assert not any(part.training for part in ECConv.from_nnconv(layer.eval()).filters.modules())

    @pytest.mark.parametrize("end", [[], [nn.Tanh()]], ids=["linear", "not linear"])
    def test_what_f_draws_at_random_is_that_of_the_gradient(self, end: list[nn.Module]):
        """Against differences: the gradient is that of the output that was returned, with its dropout."""
        network = nn.Sequential(pyg.MLP([S, 6, D_IN * D_OUT], dropout=0.5, norm=None), *end)
        conv = ECConv.from_nnconv(nnconv(network)).double()
        x, (edge_index, edge_attr) = torch.randn(N, D_IN).double().requires_grad_(), random_edges()

        def output(x: Tensor) -> Tensor:
            torch.manual_seed(3)
            return conv(x, edge_index, edge_attr.double()).square().sum()

        (gradient,) = torch.autograd.grad(output(x), x)

        direction = torch.randn(N, D_IN).double()
        with torch.no_grad():
            difference = (output(x + 1e-5 * direction) - output(x - 1e-5 * direction)) / 2e-5
        torch.testing.assert_close((gradient * direction).sum(), difference, rtol=1e-6, atol=1e-6)

    def test_a_network_that_f_is_conditioned_on_has_its_gradient(self):
        """A tensor that F uses need not be one of its parameters."""
        context = nn.Linear(2, 2)

        class Conditioned(nn.Module):
            def __init__(self) -> None:
                super().__init__()
                self.weight, self.held = nn.Parameter(torch.randn(S + 2, D_IN * D_OUT)), [context]

            def forward(self, labels: Tensor) -> Tensor:
                beside = self.held[0](torch.ones(1, 2)).expand(len(labels), -1)
                return (torch.cat([labels, beside], 1) @ self.weight).tanh()

        layer = nnconv(Conditioned())
        x, edges = torch.randn(N, D_IN), random_edges()
        layer(x, *edges).square().sum().backward()
        expected, context.weight.grad = context.weight.grad, None
        conv = ECConv.from_nnconv(layer)

        conv(x, *edges).square().sum().backward()

        close(conv.filters.get_submodule("network").held[0].weight.grad, expected)

    def test_statistics_that_are_learnt_are_used(self):
        """F in evaluation mode stays in it."""
        layer = nnconv(FILTERS["batch normalisation"]())
        x, edges = torch.randn(N, D_IN), random_edges()
        layer(x, *edges)
        layer.eval()

        close(ECConv.from_nnconv(layer)(x, *edges), layer(x, *edges))

    def test_the_layer_is_a_copy(self):
        layer = nnconv(FILTERS["a perceptron"]())
        before = deepcopy(layer.state_dict())
        conv = ECConv.from_nnconv(layer)

        with torch.no_grad():
            for parameter in conv.parameters():
                parameter.zero_()

        assert all(torch.equal(value, before[name]) for name, value in layer.state_dict().items())

    def test_precision_is_kept(self):
        layer = nnconv(FILTERS["a perceptron"]()).double()
        x, (edge_index, edge_attr) = torch.randn(N, D_IN).double(), random_edges()

        ours = ECConv.from_nnconv(layer)(x, edge_index, edge_attr.double())

        torch.testing.assert_close(ours, layer(x, edge_index, edge_attr.double()), rtol=1e-12, atol=1e-12)

    @pytest.mark.parametrize(
        ("options", "facts"),
        [
            ({"aggr": "min"}, r"by one of mean, add, max\b.*: got aggr='min'\."),
            ({"flow": "target_to_source"}, r"the edges into a vertex: .* has flow='target_to_source'\."),
            ({"aggr": "std", "aggr_kwargs": {"semi_grad": True}}, r"whole gradient .* has semi_grad=True\."),
            ({"aggr": ["add", "max"]}, r"got aggr='multi'\."),
            ({"aggr": None}, r"got aggr='None'\."),
        ],
    )
    def test_a_layer_that_computes_something_else_is_refused(self, options: dict, facts: str):
        with pytest.raises(ValueError, match=facts):
            ECConv.from_nnconv(nnconv(FILTERS["a perceptron"](), **options))

    def test_a_subclass_with_messages_of_its_own_is_refused(self):
        class Doubled(pyg.NNConv):
            def message(self, x_j: Tensor, edge_attr: Tensor) -> Tensor:
                return 2 * super().message(x_j, edge_attr)

        with pytest.raises(ValueError, match=r"what NNConv computes: Doubled has its own message\."):
            ECConv.from_nnconv(Doubled(D_IN, D_OUT, FILTERS["a perceptron"]()))

    @pytest.mark.parametrize("register", ["register_forward_hook", "register_message_forward_hook"])
    def test_a_layer_with_hooks_is_refused(self, register: str):
        layer = nnconv(FILTERS["a perceptron"]())
        getattr(layer, register)(lambda *arguments: None)

        with pytest.raises(ValueError, match=r"does not run the hooks of an NNConv"):
            ECConv.from_nnconv(layer)

    def test_another_layer_is_refused(self):
        with pytest.raises(ValueError, match=r"takes an NNConv of PyG: got Linear\."):
            ECConv.from_nnconv(nn.Linear(3, 5))

    def test_a_filter_network_that_is_no_module_is_refused(self):
        """PyG takes any function; its parameters could not be found."""
        weight = torch.randn(S, D_IN * D_OUT)

        with pytest.raises(ValueError, match=r"must be a torch module: this NNConv has a function\."):
            ECConv.from_nnconv(nnconv(lambda labels: labels @ weight))

    def test_an_aggregation_that_is_a_module_is_found(self):
        layer = nnconv(FILTERS["a perceptron"](), aggr=pyg.StdAggregation())
        x, edges = torch.randn(N, D_IN), random_edges()

        torch.testing.assert_close(ECConv.from_nnconv(layer)(x, *edges), layer(x, *edges), rtol=1e-4, atol=1e-4)

    def test_frozen_parameters_and_the_mode_are_kept(self):
        layer = nnconv(FILTERS["a perceptron"]()).eval()
        for parameter in (layer.bias, layer.lin.weight, layer.nn[0].weight):
            parameter.requires_grad_(False)

        conv = ECConv.from_nnconv(layer)

        frozen = {name for name, parameter in conv.named_parameters() if not parameter.requires_grad}
        assert frozen == {"bias", "identity.weight", "filters.0.weight"}
        assert not conv.training


class TestCalledAsNNConv:
    """What PyG expects of its layer holds for ours, called the same way."""

    def test_the_output_has_a_row_per_vertex(self):
        assert random_layer()(torch.randn(N, D_IN), *random_edges()).shape == (N, D_OUT)

    def test_edge_index_and_graph_are_two_ways_to_say_the_same(self):
        conv, x, (edge_index, edge_attr) = random_layer(), torch.randn(N, D_IN), random_edges()

        assert torch.equal(
            conv(x, edge_index, edge_attr), conv(x, Graph.from_edges(*edge_index, edge_attr, num_vertices=N))
        )

    @every_aggregation
    @pytest.mark.parametrize("same_width", [True, False])
    def test_a_pair_of_signals_makes_the_graph_bipartite(self, aggr: str, same_width: bool):
        d_target = D_IN if same_width else 7
        layer = nnconv(FILTERS["a perceptron"](), d_in=(D_IN, d_target), aggr=aggr)
        edges = random_edges(sources=12)
        x = torch.randn(12, D_IN), torch.randn(N, d_target)

        ours = ECConv.from_nnconv(layer)(x, *edges)

        assert ours.shape == (N, D_OUT)
        close(ours, layer(x, *edges))

    @every_aggregation
    def test_a_pair_without_a_signal_of_targets_takes_their_number_from_size(self, aggr: str):
        """There is no root term then."""
        layer = nnconv(FILTERS["a perceptron"](), d_in=(D_IN, D_IN), aggr=aggr)
        edges = random_edges(sources=12)
        x = torch.randn(12, D_IN), None

        ours = ECConv.from_nnconv(layer)(x, *edges, size=(12, N))

        assert ours.shape == (N, D_OUT)
        close(ours, layer(x, *edges, size=(12, N)))

    def test_a_pair_with_a_signal_of_targets_may_also_name_the_size(self):
        conv, edges = random_layer(identity="linear"), random_edges(sources=12)
        x = torch.randn(12, D_IN), torch.randn(N, D_IN)

        assert torch.equal(conv(x, *edges, size=(12, N)), conv(x, *edges))

    def test_the_size_of_an_ordinary_graph_changes_nothing(self):
        conv, edges, x = random_layer(), random_edges(), torch.randn(N, D_IN)

        assert torch.equal(conv(x, *edges, size=(N, N)), conv(x, *edges))

    def test_a_pair_of_one_signal_is_that_signal(self):
        conv, edges, x = random_layer(identity="linear"), random_edges(), torch.randn(N, D_IN)

        close(conv((x, x), *edges), conv(x, *edges))

    @pytest.mark.parametrize("reduce", ["mean", "sum", "max"])
    def test_the_order_of_edges_does_not_matter(self, reduce: str):
        conv, x, (edge_index, edge_attr) = random_layer(reduce=reduce), torch.randn(N, D_IN), random_edges()
        order = torch.randperm(M)

        close(conv(x, edge_index[:, order], edge_attr[order]), conv(x, edge_index, edge_attr))

    @pytest.mark.parametrize("reduce", ["mean", "sum", "max"])
    def test_renumbering_vertices_renumbers_the_output(self, reduce: str):
        conv, x, (edge_index, edge_attr) = random_layer(reduce=reduce), torch.randn(N, D_IN), random_edges()
        order = torch.randperm(N)
        number = order.argsort()  # vertex order[i] is now called i

        close(conv(x[order], number[edge_index], edge_attr), conv(x, edge_index, edge_attr)[order])

    def test_a_vertex_without_edges_gets_the_bias(self):
        conv = random_layer()
        nn.init.normal_(conv.bias)

        out = conv(torch.randn(N, D_IN), *random_edges())

        close(out[-2:], conv.bias.expand(2, -1))

    def test_a_graph_without_edges_gives_the_bias(self):
        conv = random_layer()
        nn.init.normal_(conv.bias)

        out = conv(torch.randn(N, D_IN), torch.zeros(2, 0, dtype=torch.long), torch.zeros(0, S))

        close(out, conv.bias.expand(N, -1))
