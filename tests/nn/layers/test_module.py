"""ECConv is a module like others: of any precision, saved, copied, planned and traced."""

from collections.abc import Callable
from copy import deepcopy

import pytest
import torch
from torch import nn

from edgecond import ECConv, Labels
from tests.nn.layers.zoo import (
    close,
    D_IN,
    D_OUT,
    FILTERS,
    M,
    N,
    random_edges,
    random_graph,
    random_layer,
    S,
    Wave,
)


class TestPrecision:
    @pytest.mark.parametrize("reduce", ["mean", "sum", "max"])
    def test_half_precision_is_near_single_precision(self, reduce: str):
        """bfloat16 has 8 bits: numbers of size 1 are right to 1/256, sums of some of them to some of that."""
        conv, graph, x = (
            random_layer(reduce=reduce, identity=True, degree_factor=True),
            random_graph(),
            torch.randn(N, D_IN),
        )
        half = deepcopy(conv).to(torch.bfloat16)

        out = half(x.bfloat16(), graph.to(torch.bfloat16))

        assert out.dtype == torch.bfloat16
        scale = float(conv(x, graph).detach().abs().max())
        torch.testing.assert_close(out.float(), conv(x, graph), rtol=0, atol=0.03 * scale)
        out.sum().backward()
        assert all(parameter.grad.isfinite().all() for parameter in half.parameters())

    def test_categorical_labels_work_in_half_precision(self):
        conv, x = random_layer(), torch.randn(N, D_IN)
        graph = random_graph(Labels.one_hot(torch.randint(S, (M,)), S))

        out = deepcopy(conv).to(torch.bfloat16)(x.bfloat16(), graph.to(torch.bfloat16))

        torch.testing.assert_close(out.float(), conv(x, graph), rtol=0, atol=0.03)

    @pytest.mark.parametrize("filters", [FILTERS["a perceptron"], FILTERS["no linear layer at the end"]])
    @pytest.mark.parametrize("low_memory", [False, True])
    @pytest.mark.parametrize("inside", [False, True], ids=["", "backward pass inside"])
    def test_autocast_is_near_single_precision(self, filters: Callable, low_memory: bool, inside: bool):
        conv, graph, x = ECConv(D_IN, D_OUT, filters(), low_memory=low_memory), random_graph(), torch.randn(N, D_IN)
        expected = conv(x.requires_grad_(), graph)

        with torch.autocast("cpu", dtype=torch.bfloat16):
            out = conv(x, graph)
            loss = out.float().square().sum()
            if inside:
                loss.backward()
        if not inside:
            loss.backward()

        torch.testing.assert_close(out.float(), expected, rtol=0, atol=0.03)
        assert all(parameter.grad.isfinite().all() for parameter in conv.parameters())

    def test_double_precision_is_exact_to_its_last_digits(self):
        conv, graph = random_layer().double(), random_graph().to(torch.float64)
        reference = deepcopy(conv)
        reference.algorithm = "reference"
        x = torch.randn(N, D_IN).double()

        torch.testing.assert_close(conv(x, graph), reference(x, graph), rtol=1e-13, atol=1e-13)


class TestModule:
    def test_parameters_come_back_from_a_state_dict(self):
        options = {"identity": "linear", "degree_factor": True}
        saved, fresh = random_layer(**options), random_layer(**options)
        x, edges = torch.randn(N, D_IN), random_edges()

        fresh.load_state_dict(saved.state_dict())

        assert torch.equal(fresh(x, *edges), saved(x, *edges))

    def test_a_copy_computes_the_same_and_shares_nothing(self):
        conv, x, edges = random_layer(), torch.randn(N, D_IN), random_edges()
        copied = deepcopy(conv)

        before = copied(x, *edges)
        nn.init.zeros_(conv.filters[0].weight)

        assert torch.equal(copied(x, *edges), before)

    def test_it_prints_its_widths(self):
        assert repr(random_layer(reduce="max")).startswith("ECConv(\n  3, 5, reduce='max'\n  (filters): FilterNetwork(")

    @pytest.mark.parametrize("reduce", ["mean", "max"])
    def test_a_plan_names_one_of_the_algorithms(self, reduce: str):
        categorical = random_graph(Labels.one_hot(torch.randint(S, (M,)), S))

        plans = [random_layer(reduce=reduce).plan(graph) for graph in (random_graph(), categorical)]

        for plan in plans:
            assert plan.algorithm in ("factored", "piecewise", "per_label", "per_edge")
            assert plan.multiply_adds > 0
            assert plan.bytes > 0
            assert str(plan).startswith(f"{plan.algorithm} by {plan.by}: ")

    def test_an_arbitrary_filter_network_is_planned_edge_by_edge(self):
        assert ECConv(D_IN, D_OUT, Wave()).plan(random_graph()).algorithm == "per_edge"

    @pytest.mark.parametrize("algorithm", ["factored", "per_label", "per_edge", "reference"])
    def test_the_algorithm_can_be_chosen(self, algorithm: str):
        conv, x = random_layer(), torch.randn(N, D_IN)
        graph = random_graph(Labels.one_hot(torch.randint(S, (M,)), S))
        expected = conv(x, graph)

        conv.algorithm = algorithm

        close(conv(x, graph), expected)


class TestTracing:
    """With `edge_index` the graph is made inside the traced layer; networks are traced in `tests/network`."""

    @pytest.mark.parametrize("reduce", ["mean", "max"])
    def test_a_compiled_layer_agrees_for_graphs_of_every_size(self, reduce: str):
        torch._dynamo.reset()
        conv = random_layer(reduce=reduce, identity=True, degree_factor=True)
        compiled = torch.compile(conv, fullgraph=True, dynamic=True, backend="aot_eager")

        for m in (30, 50):
            x, edge_index, edge_attr = torch.randn(N + m, D_IN), torch.randint(N, (2, m)), torch.randn(m, S)
            close(compiled(x, edge_index, edge_attr), conv(x, edge_index, edge_attr))

    @pytest.mark.parametrize("reduce", ["mean", "max"])
    def test_an_exported_layer_agrees_for_graphs_of_every_size(self, reduce: str):
        conv = random_layer(reduce=reduce, identity=True, degree_factor=True)
        free = torch.export.Dim.DYNAMIC

        program = torch.export.export(
            conv, (torch.randn(N, D_IN), *random_edges()), dynamic_shapes=({0: free}, {1: free}, {0: free})
        )

        x, edge_index, edge_attr = torch.randn(20, D_IN), torch.randint(20, (2, 50)), torch.randn(50, S)
        close(program.module()(x, edge_index, edge_attr), conv(x, edge_index, edge_attr))
