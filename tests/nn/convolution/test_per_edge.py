"""Forming filters a chunk of edges at a time gives the sums of Equation 1, for any filter network."""

from __future__ import annotations

from functools import cache

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn, Tensor

from edgecond.graph import Graph, Labels
from edgecond.nn.convolution import per_edge, REDUCTIONS, reference
from edgecond.nn.convolution.per_edge import CHUNK_ELEMENTS, chunk_size
from tests.nn.convolution.zoo import assert_agree, evaluate, graphs, numbers, S, ZOO


def bent(labels: Tensor, weight: Tensor, d_out: int) -> Tensor:
    """Filters by an F that ends in a nonlinearity."""
    return torch.tanh(labels @ weight).view(len(labels), d_out, weight.shape[1] // d_out)


def inputs_of(graph: Graph, d_in: int, d_out: int) -> dict[str, Tensor]:
    rows = len(graph.labels.values)
    return {
        "x": numbers(graph.num_sources, d_in),
        "values": numbers(rows, S, seed=1),
        "weight": numbers(S, d_out * d_in, seed=2),
    }


def by_forming_all_filters(graph: Graph, d_out: int, reduce: str, inputs: dict[str, Tensor]) -> dict[str, Tensor]:
    """The definition: F on the label of every edge."""

    def convolve(x: Tensor, values: Tensor, weight: Tensor) -> Tensor:
        return reference(x, graph, bent(graph.labels.per_edge(values), weight, d_out), reduce)

    return evaluate(convolve, **inputs)


@cache
def expected_in_the_zoo(name: str, d_in: int, d_out: int, reduce: str) -> dict[str, Tensor]:
    return by_forming_all_filters(ZOO[name], d_out, reduce, inputs_of(ZOO[name], d_in, d_out))


def assert_per_edge_agrees(
    graph: Graph,
    inputs: dict[str, Tensor],
    expected: dict[str, Tensor],
    d_out: int,
    reduce: str,
    chunk: int | None,
    dtype: torch.dtype = torch.float64,
) -> None:
    def convolve(x: Tensor, values: Tensor, weight: Tensor) -> Tensor:
        labelled = graph.with_labels(Labels(values, graph.labels.index))
        rule = lambda labels: bent(labels, weight, d_out)  # noqa: E731
        return per_edge(x, labelled, rule, d_out, reduce, parameters=[weight], chunk=chunk)

    ours = evaluate(convolve, **{name: tensor.to(dtype) for name, tensor in inputs.items()})
    assert ours["the value"].dtype == dtype
    assert_agree(ours, expected)


@pytest.mark.parametrize("chunk", [1, 5, None])
@pytest.mark.parametrize("reduce", REDUCTIONS)
@pytest.mark.parametrize("name", ZOO)
def test_per_edge_agrees_with_the_reference_on_every_graph(
    name: str, reduce: str, chunk: int | None, dtype: torch.dtype
):
    """Chunks of one edge, chunks that cut neighbourhoods, and one chunk of all: values and all gradients."""
    inputs, expected = inputs_of(ZOO[name], 3, 7), expected_in_the_zoo(name, 3, 7, reduce)

    assert_per_edge_agrees(ZOO[name], inputs, expected, 7, reduce, chunk, dtype)


@pytest.mark.parametrize("widths", [(1, 1), (1, 33), (7, 16), (8, 3), (33, 8), (16, 64), (64, 7)], ids=str)
def test_per_edge_agrees_with_the_reference_at_every_width(widths: tuple[int, int], dtype: torch.dtype):
    """Narrow and wide signals, whatever the chunks."""
    name = "every degree to 12"
    inputs, expected = inputs_of(ZOO[name], *widths), expected_in_the_zoo(name, *widths, "mean")

    assert_per_edge_agrees(ZOO[name], inputs, expected, widths[1], "mean", 7, dtype)


def test_per_edge_agrees_with_the_reference_on_a_star_of_5000_edges(dtype: torch.dtype):
    """A large degree, in chunks that end within the neighbourhood."""
    star = Graph.from_edges(
        torch.arange(5000), torch.zeros(5000, dtype=torch.long), numbers(5000, S), num_vertices=5000
    )
    inputs = inputs_of(star, 2, 2)

    expected = by_forming_all_filters(star, 2, "mean", inputs)

    assert_per_edge_agrees(star, inputs, expected, 2, "mean", 777, dtype)


@pytest.mark.parametrize("which", ["x", "values", "weight"])
def test_per_edge_takes_views_of_other_tensors(which: str):
    """A transposed matrix has the numbers of its copy, and so have its gradients."""
    name = "every degree to 12"
    inputs, expected = inputs_of(ZOO[name], 3, 7), expected_in_the_zoo(name, 3, 7, "mean")
    inputs[which] = inputs[which].T.contiguous().T
    assert not inputs[which].is_contiguous()

    assert_per_edge_agrees(ZOO[name], inputs, expected, 7, "mean", 5)


@settings(deadline=None, max_examples=50)
@given(
    graph=graphs(),
    widths=st.tuples(st.integers(1, 5), st.integers(1, 5)),
    reduce=st.sampled_from(REDUCTIONS),
    chunk=st.none() | st.integers(1, 13),
)
def test_per_edge_agrees_with_the_reference_on_any_graph(
    graph: Graph, widths: tuple[int, int], reduce: str, chunk: int | None
):
    """The same claim, for random graphs."""
    inputs = inputs_of(graph, *widths)

    expected = by_forming_all_filters(graph, widths[1], reduce, inputs)

    assert_per_edge_agrees(graph, inputs, expected, widths[1], reduce, chunk)


def test_a_label_that_a_step_function_reads_has_no_gradient():
    """By hand: theta is 1 where the label is positive and 0 elsewhere, so that small changes change nothing."""
    graph = ZOO["a cycle"]
    values = numbers(5, S).requires_grad_()
    x = numbers(5, 2).requires_grad_()

    def step(labels: Tensor) -> Tensor:
        return (labels[:, :1, None] > 0).double().expand(-1, 2, 2)

    out = per_edge(x, graph.with_labels(values), step, 2)

    (gradient,) = torch.autograd.grad(out.sum(), values)
    assert gradient.equal(torch.zeros(5, S))


def test_a_frozen_network_still_passes_gradients_to_the_signal():
    """With F frozen the output is linear in x, with the filters as its matrix: d(theta x)/dx = theta."""
    network = nn.Sequential(nn.Linear(S, 4), nn.Tanh()).double().requires_grad_(False)
    graph = ZOO["a cycle"].with_labels(numbers(5, S))
    x = numbers(5, 2).requires_grad_()

    out = per_edge(x, graph, lambda labels: network(labels).view(-1, 2, 2), 2, parameters=tuple(network.parameters()))
    (gradient,) = torch.autograd.grad(out.sum(), x)

    theta = network(graph.labels.values).view(-1, 2, 2)
    torch.testing.assert_close(gradient[graph.source], theta.sum(1))


def test_a_chunk_holds_a_million_numbers_or_64_edges():
    """By hand: 2^20 / (16 * 32) = 2048 filters; wide filters still come 64 at a time."""
    assert CHUNK_ELEMENTS == 2**20
    assert chunk_size(16, 32) == 2048
    assert chunk_size(1024, 1024) == 64
    assert chunk_size(0, 5) == 2**20
