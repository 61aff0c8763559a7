"""Blending before multiplying, and multiplying before blending, give the sums of Equation 1."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from edgecond.graph import Graph
from edgecond.nn.convolution import factored, REDUCTIONS
from tests.nn.convolution.factored.definition import bias, by, by_forming_filters, hubs, SIDES, transposed
from tests.nn.convolution.zoo import (
    assert_agree,
    engines_here,
    evaluate,
    graphs,
    numbers,
    running_on,
    WIDTHS,
    ZOO,
)


def inputs_of(graph: Graph, d_in: int, d_out: int, k: int, bias: bool) -> dict[str, Tensor]:
    """A signal, activations and weight; one matrix more than activations for the bias of F's last layer."""
    return {
        "x": numbers(graph.num_sources, d_in),
        "hidden": numbers(graph.num_edges, k, seed=1),
        "weight": numbers(k + bias, d_out, d_in, seed=2),
    }


@cache
def expected_in_the_zoo(name: str, d_in: int, d_out: int, k: int, bias: bool, reduce: str) -> dict[str, Tensor]:
    return evaluate(by_forming_filters(ZOO[name], reduce), **inputs_of(ZOO[name], d_in, d_out, k, bias))


def assert_factored_agrees(
    graph: Graph, inputs: dict[str, Tensor], expected: dict[str, Tensor], reduce: str, by: str, dtype: torch.dtype
) -> None:
    ours = evaluate(
        lambda x, hidden, weight: factored(x, graph, hidden, weight, reduce, by=by),
        **{name: tensor.to(dtype) for name, tensor in inputs.items()},
    )
    assert ours["the value"].dtype == dtype
    assert_agree(ours, expected)


@by
@bias
@pytest.mark.parametrize("reduce", REDUCTIONS)
@pytest.mark.parametrize("name", ZOO)
def test_factored_agrees_with_the_reference_on_every_graph(
    name: str, reduce: str, bias: bool, by: str, dtype: torch.dtype, engine: str
):
    """Exchanging the sums over neighbours and over k changes nothing but rounding: values and gradients."""
    inputs, expected = inputs_of(ZOO[name], 3, 7, 5, bias), expected_in_the_zoo(name, 3, 7, 5, bias, reduce)

    assert_factored_agrees(ZOO[name], inputs, expected, reduce, by, dtype)


@by
@bias
@pytest.mark.parametrize("widths", WIDTHS, ids=str)
def test_factored_agrees_with_the_reference_at_every_width(
    widths: tuple[int, int, int], bias: bool, by: str, dtype: torch.dtype, engine: str
):
    """Widths that fill vector registers, and that leave a remainder, on both sides."""
    name = "every degree to 12"
    inputs, expected = inputs_of(ZOO[name], *widths, bias), expected_in_the_zoo(name, *widths, bias, "mean")

    assert_factored_agrees(ZOO[name], inputs, expected, "mean", by, dtype)


@by
@pytest.mark.parametrize("widths", [(0, 2, 3), (2, 0, 3), (2, 3, 0)], ids=["no input", "no output", "bias alone"])
def test_factored_agrees_with_the_reference_where_a_width_is_zero(
    widths: tuple[int, int, int], by: str, dtype: torch.dtype, engine: str
):
    """An empty sum is 0; without activations the constant channel is all there is."""
    name = "every degree to 12"
    inputs, expected = inputs_of(ZOO[name], *widths, True), expected_in_the_zoo(name, *widths, True, "sum")

    assert_factored_agrees(ZOO[name], inputs, expected, "sum", by, dtype)


@cache
def expected_of_hubs(reverse: bool) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
    """Inputs for vertices of large degree, and the numbers to expect."""
    inputs = inputs_of(hubs(reverse), 3, 2, 5, True)
    return inputs, evaluate(by_forming_filters(hubs(reverse), "mean"), **inputs)


@by
@pytest.mark.parametrize("reverse", [False, True], ids=["receiving", "sending"])
def test_factored_agrees_with_the_reference_at_degrees_from_1_to_5000(
    reverse: bool, by: str, dtype: torch.dtype, engine: str
):
    """A row of any length is summed completely, however many blocks it is cut into."""
    inputs, expected = expected_of_hubs(reverse)

    assert_factored_agrees(hubs(reverse), inputs, expected, "mean", by, dtype)


VIEWS: dict[str, Callable[[Tensor], Tensor]] = {
    "transposed": transposed,
    "every other column": lambda tensor: tensor.repeat_interleave(2, -1)[..., ::2],
    "columns of a wider table": lambda tensor: torch.cat([tensor, 1e9 * tensor], -1)[..., : tensor.shape[-1]],
    "every other row": lambda tensor: tensor.repeat_interleave(2, 0)[::2],
    "one row for all": lambda tensor: tensor[:1].expand_as(tensor),
}


@cache
def views(which: str, view: str) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
    """Inputs of which one is a view, and what a copy of it gives."""
    inputs = inputs_of(ZOO["every degree to 12"], 8, 16, 4, False)
    inputs[which] = VIEWS[view](inputs[which])
    copies = {name: tensor.contiguous() for name, tensor in inputs.items()}
    return inputs, evaluate(by_forming_filters(ZOO["every degree to 12"], "mean"), **copies)


@by
@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("which", ["x", "hidden", "weight"])
def test_factored_takes_views_of_other_tensors(which: str, view: str, by: str, engine: str):
    """A view has the numbers of its copy, and so have its gradients."""
    inputs, expected = views(which, view)
    assert not inputs[which].is_contiguous()

    assert_factored_agrees(ZOO["every degree to 12"], inputs, expected, "mean", by, torch.float64)


@by
def test_factored_takes_the_columns_of_a_table_of_edges(by: str, engine: str):
    """Edges often come as pairs, one pair a row; their columns are views, sorted or not."""
    name = "every degree to 12"
    pairs = torch.stack([ZOO[name].source, ZOO[name].target], 1)
    labels = ZOO[name].labels
    graph = Graph.from_edges(pairs[:, 0], pairs[:, 1], labels, num_vertices=13)
    bare = Graph(pairs[:, 0], pairs[:, 1], ZOO[name].pointer, labels, ZOO[name].sizes)
    inputs, expected = inputs_of(graph, 3, 7, 5, True), expected_in_the_zoo(name, 3, 7, 5, True, "mean")

    assert_factored_agrees(graph, inputs, expected, "mean", by, torch.float64)
    assert_factored_agrees(bare, inputs, expected, "mean", by, torch.float64)


@by
def test_an_expanded_gradient_is_read_correctly(by: str, engine: str):
    """The gradient of a sum is a single 1, expanded: a tensor that is not contiguous."""
    graph = ZOO["duplicate edges"]
    inputs = inputs_of(graph, 3, 7, 5, True)
    leaves = [tensor.requires_grad_() for tensor in inputs.values()]

    ours = torch.autograd.grad(factored(leaves[0], graph, *leaves[1:], by=by).sum(), leaves)

    expected = torch.autograd.grad(by_forming_filters(graph, "mean")(*leaves).sum(), leaves)
    torch.testing.assert_close(ours, expected)


@by
@pytest.mark.parametrize("frozen", ["x", "hidden", "weight", "x hidden", "x weight", "hidden weight"])
def test_an_input_without_gradient_leaves_those_of_the_others_alone(frozen: str, by: str, engine: str):
    """If one input is frozen, the gradients of the others stay the same."""
    graph, name = ZOO["every degree to 12"], "every degree to 12"
    inputs, expected = inputs_of(graph, 3, 7, 5, True), expected_in_the_zoo(name, 3, 7, 5, True, "mean")
    learnt = {key: tensor for key, tensor in inputs.items() if key not in frozen.split()}
    kept = {key: tensor for key, tensor in inputs.items() if key in frozen.split()}

    def convolve(**leaves: Tensor) -> Tensor:
        given = {**kept, **leaves}
        return factored(given["x"], graph, given["hidden"], given["weight"], by=by)

    ours = evaluate(convolve, **learnt)

    assert_agree(ours, {key: tensor for key, tensor in expected.items() if key.split()[-1] not in kept})


@settings(deadline=None, max_examples=50)
@given(
    graph=graphs(),
    widths=st.tuples(st.integers(1, 9), st.integers(1, 9), st.integers(1, 9)),
    bias=st.booleans(),
    reduce=st.sampled_from(REDUCTIONS),
)
def test_factored_agrees_with_the_reference_on_any_graph(
    graph: Graph, widths: tuple[int, int, int], bias: bool, reduce: str
):
    """The same claim, for random graphs."""
    inputs = inputs_of(graph, *widths, bias)
    expected = evaluate(by_forming_filters(graph, reduce), **inputs)

    for engine in engines_here():
        for side in SIDES:
            with running_on(engine):
                assert_factored_agrees(graph, inputs, expected, reduce, side, torch.float64)
                assert_factored_agrees(graph, inputs, expected, reduce, side, torch.float32)


@by
def test_a_float_next_to_a_double_is_computed_in_double(by: str, engine: str):
    """Numbers that are exact in single precision are exact in double precision, too."""
    graph, name = ZOO["duplicate edges"], "duplicate edges"
    inputs, expected = inputs_of(graph, 3, 7, 5, True), expected_in_the_zoo(name, 3, 7, 5, True, "mean")

    ours = factored(inputs["x"].float(), graph, inputs["hidden"], inputs["weight"].float(), by=by)

    assert ours.dtype == torch.float64
    torch.testing.assert_close(ours, expected["the value"])


@by
def test_half_precision_is_within_the_rounding_of_its_inputs(by: str):
    """bfloat16 has 8 significant bits: 2^-8 per rounded factor of three, on values of size 1 summed in single."""
    graph, name = ZOO["every degree to 12"], "every degree to 12"
    inputs, expected = inputs_of(graph, 3, 7, 5, True), expected_in_the_zoo(name, 3, 7, 5, True, "mean")

    halves = {key: tensor.to(torch.bfloat16) for key, tensor in inputs.items()}
    ours = evaluate(lambda x, hidden, weight: factored(x, graph, hidden, weight, by=by), **halves)

    for key, exact in expected.items():
        assert ours[key].dtype == torch.bfloat16
        assert float((ours[key] - exact).abs().max()) <= 4 * 2**-8 * float(exact.abs().max())


@by
def test_vertices_may_be_renumbered(by: str, engine: str):
    """Section 3.1: the sum over N(i) has no order; renumbering the vertices renumbers the output."""
    graph = ZOO["every degree to 12"]
    inputs = inputs_of(graph, 3, 7, 5, True)
    new = torch.randperm(13, generator=torch.Generator().manual_seed(0))  # new number of each vertex
    order = torch.argsort(new[graph.target], stable=True)
    renumbered = Graph.from_edges(new[graph.source], new[graph.target], graph.labels, num_vertices=13)

    before = factored(inputs["x"], graph, inputs["hidden"], inputs["weight"], by=by)
    after = factored(inputs["x"][new.argsort()], renumbered, inputs["hidden"][order], inputs["weight"], by=by)

    torch.testing.assert_close(after[new], before)


@pytest.mark.parametrize(
    ("change", "facts"),
    [
        ({"x": (4, 3)}, r"the signal must have one row per source vertex: got \(4, 3\) for 3 vertices\."),
        ({"x": (3, 4)}, r"matrices of 7 by 3 do not fit signals of shape \(3, 4\)\."),
        ({"hidden": (5, 5)}, r"one row for each of 6 edges: got \(5, 5\)\."),
        ({"hidden": (6, 3)}, r"one matrix per activation, .*: got 5 matrices for 3 activations\."),
        ({"hidden": (6, 6)}, r"one matrix per activation, .*: got 5 matrices for 6 activations\."),
        ({"weight": (5, 7, 2)}, r"matrices of 7 by 2 do not fit signals of shape \(3, 3\)\."),
    ],
    ids=["rows of x", "columns of x", "too few rows", "too few activations", "too many activations", "columns of W"],
)
def test_wrong_shapes_are_refused(change: dict[str, tuple[int, ...]], facts: str, engine: str):
    """The kernels work on addresses: a wrong shape must not reach them."""
    shapes = {"x": (3, 3), "hidden": (6, 5), "weight": (5, 7, 3)} | change

    with pytest.raises(ValueError, match=facts):
        factored(numbers(*shapes["x"]), ZOO["duplicate edges"], numbers(*shapes["hidden"]), numbers(*shapes["weight"]))
