"""The factored sum is a well-behaved torch operator with derivatives of every order."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor

from edgecond.graph import Graph
from edgecond.nn.convolution.operators import blend
from tests.nn.convolution.zoo import graph_of, numbers, S, U

GRAPH = graph_of([(0, 1), (2, 1), (0, 1), (2, 2)], 4)  # duplicate edges, a self-loop, vertices without edges
BIPARTITE = graph_of([(4, 0), (1, 2), (4, 2)], 3, sources=5)
EMPTY = graph_of([], 3)
GRAPHS = {"graph": GRAPH, "bipartite": BIPARTITE, "no edge": EMPTY}
KINDS = ("dense", "dense with bias", "one-hot", "layers", "layers with bias")
D_IN, D_OUT, K = 2, 3, 2

every_kind = pytest.mark.parametrize("kind", KINDS)
every_graph = pytest.mark.parametrize("graph", GRAPHS.values(), ids=GRAPHS)
by = pytest.mark.parametrize("by", ["target", "source"])


def inputs_of(graph: Graph, kind: str) -> list[Tensor]:
    """x and the weight; then activations, or labels with the weights and biases of two layers."""
    x = numbers(graph.num_sources, D_IN)
    if kind == "one-hot":
        return [x, numbers(U, D_OUT, D_IN, seed=1)]
    weight = numbers(K + kind.endswith("bias"), D_OUT, D_IN, seed=1)
    if kind.startswith("dense"):
        return [x, weight, numbers(graph.num_edges, K, seed=2)]
    layers = [numbers(3, S, seed=3), numbers(K, 3, seed=4), numbers(3, seed=5), numbers(K, seed=6)]
    return [x, weight, numbers(graph.num_edges, S, seed=2), *layers]


def function_of(graph: Graph, kind: str, by: str) -> Callable[..., Tensor]:
    index = graph.labels.index if kind == "one-hot" else None

    def function(x: Tensor, weight: Tensor, hidden: Tensor | None = None, *layers: Tensor) -> Tensor:
        return blend(x, graph, weight, hidden, index, (layers[:2], layers[2:]), by=by)

    return function


@by
@every_kind
def test_gradients_are_numerical_derivatives(kind: str, by: str, engine: str):
    """torch's gradcheck: finite differences in double precision."""
    leaves = [tensor.requires_grad_() for tensor in inputs_of(GRAPH, kind)]

    assert torch.autograd.gradcheck(function_of(GRAPH, kind, by), leaves)


@by
@pytest.mark.parametrize("kind", ["dense with bias", "one-hot", "layers"])
@every_graph
def test_gradients_of_gradients_are_numerical_derivatives(graph: Graph, kind: str, by: str):
    """torch's gradgradcheck: finite differences of the gradient."""
    leaves = [tensor.requires_grad_() for tensor in inputs_of(graph, kind)]

    assert torch.autograd.gradcheck(function_of(graph, kind, by), leaves)
    assert torch.autograd.gradgradcheck(function_of(graph, kind, by), leaves)


@by
@every_kind
def test_a_gradient_with_a_record_equals_one_without(kind: str, by: str, engine: str):
    """Two ways to the same gradient: the kernels', and torch's own through a record of every operation."""
    leaves = [tensor.requires_grad_() for tensor in inputs_of(GRAPH, kind)]
    out = function_of(GRAPH, kind, by)(*leaves)
    received = numbers(*out.shape, seed=9)

    plain = torch.autograd.grad(out, leaves, received, retain_graph=True)
    recorded = torch.autograd.grad(out, leaves, received, create_graph=True)

    torch.testing.assert_close(plain, recorded)


@by
@pytest.mark.parametrize("kind", ["dense", "layers"])
def test_rows_of_activations_may_be_in_another_order_than_the_edges(kind: str, by: str, engine: str):
    """Labels in the order of an `edge_index` are read through the order of the edges; another way is to sort them."""
    x, weight, hidden, *layers = inputs_of(GRAPH, kind)
    order = torch.randperm(len(hidden), generator=torch.Generator().manual_seed(0))
    shuffled = torch.empty_like(hidden)
    shuffled[order] = hidden
    parameters = [tensor.requires_grad_() for tensor in (x, weight, *layers)]
    given = {"layers": (layers[:2], layers[2:]), "by": by}

    ours, expected = blend(x, GRAPH, weight, shuffled, row=order, **given), blend(x, GRAPH, weight, hidden, **given)

    torch.testing.assert_close(ours, expected)
    received = numbers(*ours.shape, seed=9)
    for create_graph in (False, True):
        found, wanted = (
            torch.autograd.grad(out, parameters, received, create_graph=create_graph, retain_graph=True)
            for out in (ours, expected)
        )
        torch.testing.assert_close(found, wanted)


@by
def test_activations_that_depend_on_the_signal_are_differentiated_once(by: str):
    """By gradgradcheck: where h is made of x, the path through h must not be counted a second time."""
    x, weight = numbers(4, D_IN).requires_grad_(), numbers(K, D_OUT, D_IN, seed=1).requires_grad_()
    mix = numbers(D_IN, K, seed=2)

    def function(x: Tensor, weight: Tensor) -> Tensor:
        return blend(x, GRAPH, weight, torch.tanh(x[GRAPH.source] @ mix), by=by)

    assert torch.autograd.gradcheck(function, (x, weight))
    assert torch.autograd.gradgradcheck(function, (x, weight))


def arguments_of(graph: Graph, kind: str, by: str, dtype: torch.dtype) -> tuple[Any, ...]:
    """The arguments of the operator itself."""
    x, weight, *rest = [tensor.to(dtype) for tensor in inputs_of(graph, kind)]
    hidden, layers = (rest[0], rest[1:]) if rest else (None, [])
    rows = graph.by_source if by == "source" else graph.by_target
    index = graph.labels.index if kind == "one-hot" else None
    return (x, hidden, index, weight, layers[:2], layers[2:], rows.pointer, rows.column, rows.edge, by == "source")


@by
@every_kind
def test_blend_is_a_well_behaved_operator(kind: str, by: str):
    """torch.library.opcheck: schema, autograd registration, fake tensors, and tracing with symbolic sizes."""
    graph = BIPARTITE if kind == "dense" else GRAPH
    arguments = arguments_of(graph, kind, by, torch.float32)
    for tensor in [arguments[0], arguments[1], arguments[3], *arguments[4], *arguments[5]]:
        if tensor is not None:
            tensor.requires_grad_()

    torch.library.opcheck(torch.ops.edgecond.blend, (*arguments, graph.num_vertices))


@pytest.mark.parametrize("frozen", [0, 1, 3], ids=["x", "hidden", "weight"])
def test_blend_is_a_well_behaved_operator_where_an_input_is_frozen(frozen: int):
    """The same checks, on other patterns of gradients."""
    arguments = arguments_of(GRAPH, "dense with bias", "target", torch.float64)
    for position in {0, 1, 3} - {frozen}:
        arguments[position].requires_grad_()

    torch.library.opcheck(torch.ops.edgecond.blend, (*arguments, GRAPH.num_vertices))


def assert_backward_is_well_behaved(kind: str, by: str, needs: tuple[bool, ...]) -> None:
    received = numbers(GRAPH.num_vertices, D_OUT, seed=9).float()
    arguments = arguments_of(GRAPH, kind, by, torch.float32)
    torch.library.opcheck(torch.ops.edgecond.blend_backward, (received, *arguments, *needs))


@by
@every_kind
def test_the_backward_pass_of_blend_is_a_well_behaved_operator(kind: str, by: str):
    """torch.library.opcheck, where the gradients of x, activations or labels, weight and layers are all needed."""
    assert_backward_is_well_behaved(kind, by, (True, True, True, True))


@pytest.mark.parametrize(
    ("kind", "needed"),
    [("dense with bias", 0), ("dense", 1), ("one-hot", 0), ("one-hot", 2), ("layers", 1), ("layers", 3)],
)
def test_the_backward_pass_of_blend_is_a_well_behaved_operator_where_one_gradient_is_needed(kind: str, needed: int):
    """The same for one gradient alone: the first, second, ... of x, activations or labels, weight and layers."""
    assert_backward_is_well_behaved(kind, "source", tuple(position == needed for position in range(4)))


def test_these_are_all_operators_of_the_project():
    """An operator that is added must be added to the checks above."""
    names = {name.partition("::")[2] for name in torch._C._dispatch_get_all_op_names() if name.startswith("edgecond::")}

    assert names == {"blend", "blend_backward"}
