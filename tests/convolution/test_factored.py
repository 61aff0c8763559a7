"""Blending before multiplying, and multiplying before blending, give the sums of Equation 1."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from itertools import pairwise

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from edgecond.convolution import factored, REDUCTIONS, reference
from edgecond.graph import Graph
from tests.convolution.zoo import (
    assert_agree,
    engines_here,
    evaluate,
    graph_of,
    graphs,
    numbers,
    running_on,
    WIDTHS,
    ZOO,
)

SIDES = ("target", "source")
bias = pytest.mark.parametrize("bias", [False, True], ids=["no bias", "bias"])
by = pytest.mark.parametrize("by", SIDES)


def inputs_of(graph: Graph, d_in: int, d_out: int, k: int, bias: bool) -> dict[str, Tensor]:
    """A signal, activations and weight; one matrix more than activations for the bias of F's last layer."""
    return {
        "x": numbers(graph.num_sources, d_in),
        "hidden": numbers(graph.num_edges, k, seed=1),
        "weight": numbers(k + bias, d_out, d_in, seed=2),
    }


def by_forming_filters(graph: Graph, reduce: str) -> Callable[..., Tensor]:
    """The definition: theta is the blend of the matrices of the weight, the constant channel included."""

    def convolve(x: Tensor, hidden: Tensor, weight: Tensor) -> Tensor:
        constant = hidden.new_ones(len(hidden), len(weight) - hidden.shape[1])
        theta = torch.einsum("mk,koi->moi", torch.cat([hidden, constant], 1), weight)
        return reference(x, graph, theta, reduce)

    return convolve


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


# Degrees about the numbers of edges and of rows that kernels handle at a time, up to the largest of the bar.
DEGREES = (1, 47, 48, 49, 1023, 1024, 1025, 5000)


@cache
def hubs(reverse: bool) -> tuple[Graph, dict[str, Tensor], dict[str, Tensor]]:
    """Vertices that receive (or send, if `reverse`) that many edges, with the inputs and the numbers to expect."""
    pairs = [(j, i) for i, degree in enumerate(DEGREES) for j in range(degree)]
    pairs = [(i, j) for j, i in pairs] if reverse else pairs
    graph = graph_of(pairs, max(DEGREES))
    inputs = inputs_of(graph, 3, 2, 5, True)
    return graph, inputs, evaluate(by_forming_filters(graph, "mean"), **inputs)


@by
@pytest.mark.parametrize("reverse", [False, True], ids=["receiving", "sending"])
def test_factored_agrees_with_the_reference_at_degrees_from_1_to_5000(
    reverse: bool, by: str, dtype: torch.dtype, engine: str
):
    """A row of any length is summed whole, however many pieces it is handled in."""
    graph, inputs, expected = hubs(reverse)

    assert_factored_agrees(graph, inputs, expected, "mean", by, dtype)


VIEWS: dict[str, Callable[[Tensor], Tensor]] = {
    "transposed": lambda tensor: tensor.transpose(0, -1).contiguous().transpose(0, -1),
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
def test_a_gradient_of_one_number_for_all_is_taken(by: str, engine: str):
    """The gradient of a sum is one 1, expanded: a tensor that does not lie in memory as it looks."""
    graph = ZOO["duplicate edges"]
    inputs = inputs_of(graph, 3, 7, 5, True)
    leaves = [tensor.requires_grad_() for tensor in inputs.values()]

    ours = torch.autograd.grad(factored(leaves[0], graph, *leaves[1:], by=by).sum(), leaves)

    expected = torch.autograd.grad(by_forming_filters(graph, "mean")(*leaves).sum(), leaves)
    torch.testing.assert_close(ours, expected)


@by
@pytest.mark.parametrize("frozen", ["x", "hidden", "weight", "x hidden", "x weight", "hidden weight"])
def test_an_input_without_gradient_leaves_those_of_the_others_alone(frozen: str, by: str, engine: str):
    """Whatever a training step freezes, the rest learns as before."""
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
    """The same claim, for whatever hypothesis finds."""
    inputs = inputs_of(graph, *widths, bias)
    expected = evaluate(by_forming_filters(graph, reduce), **inputs)

    for engine in engines_here():
        for by in SIDES:
            with running_on(engine):
                assert_factored_agrees(graph, inputs, expected, reduce, by, torch.float64)
                assert_factored_agrees(graph, inputs, expected, reduce, by, torch.float32)


@by
def test_a_float_next_to_a_double_is_computed_in_double(by: str, engine: str):
    """Numbers that are exact in single precision lose nothing on the way to double."""
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
    """Section 3.1: the sum over N(i) knows no order of the vertices; renumbering them renumbers the output."""
    graph = ZOO["every degree to 12"]
    inputs = inputs_of(graph, 3, 7, 5, True)
    new = torch.randperm(13, generator=torch.Generator().manual_seed(0))  # new number of each vertex
    order = torch.argsort(new[graph.target], stable=True)
    renumbered = Graph.from_edges(new[graph.source], new[graph.target], graph.labels, num_vertices=13)

    before = factored(inputs["x"], graph, inputs["hidden"], inputs["weight"], by=by)
    after = factored(inputs["x"][new.argsort()], renumbered, inputs["hidden"][order], inputs["weight"], by=by)

    torch.testing.assert_close(after[new], before)


# With the hidden layers of F inside


def labelled_inputs(graph: Graph, d_in: int, d_out: int, widths: tuple[int, ...], bias: bool) -> dict[str, Tensor]:
    """A signal, labels, and layers of the given widths, scaled such that activations keep their size."""
    layers = {}
    for l, (fan_in, fan_out) in enumerate(pairwise(widths)):
        layers[f"weight {l}"] = (numbers(fan_out, fan_in, seed=10 + l) / fan_in**0.5).float().double()
        layers[f"bias {l}"] = numbers(fan_out, seed=20 + l)
    return {
        "x": numbers(graph.num_sources, d_in),
        "labels": numbers(graph.num_edges, widths[0], seed=1),
        "last": numbers(widths[-1] + bias, d_out, d_in, seed=2),
        **layers,
    }


def by_torch_layers(graph: Graph, reduce: str = "mean") -> Callable[..., Tensor]:
    """The definition: torch's own layers, then filters, then the reference."""

    def convolve(x: Tensor, labels: Tensor, last: Tensor, **layers: Tensor) -> Tensor:
        for l in range(len(layers) // 2):
            labels = torch.relu(torch.nn.functional.linear(labels, layers[f"weight {l}"], layers[f"bias {l}"]))
        return by_forming_filters(graph, reduce)(x, labels, last)

    return convolve


def with_layers_inside(graph: Graph, by: str, reduce: str = "mean") -> Callable[..., Tensor]:
    def convolve(x: Tensor, labels: Tensor, last: Tensor, **layers: Tensor) -> Tensor:
        count = range(len(layers) // 2)
        inside = [layers[f"weight {l}"] for l in count], [layers[f"bias {l}"] for l in count]
        return factored(x, graph, labels, last, reduce, layers=inside, by=by)

    return convolve


@cache
def expected_of_layers(
    name: str, d_in: int, d_out: int, widths: tuple[int, ...], bias: bool, reduce: str
) -> dict[str, Tensor]:
    return evaluate(by_torch_layers(ZOO[name], reduce), **labelled_inputs(ZOO[name], d_in, d_out, widths, bias))


def cast(inputs: dict[str, Tensor], dtype: torch.dtype) -> dict[str, Tensor]:
    return {name: tensor.to(dtype) for name, tensor in inputs.items()}


@by
@pytest.mark.parametrize("reduce", REDUCTIONS)
@pytest.mark.parametrize("name", ZOO)
def test_hidden_layers_inside_give_the_numbers_of_torch_s_layers_on_every_graph(
    name: str, reduce: str, by: str, dtype: torch.dtype, engine: str
):
    """F = s-4-5, evaluated where its activations are needed: values and the gradients of labels and layers."""
    inputs = labelled_inputs(ZOO[name], 3, 7, (3, 4, 5), True)

    ours = evaluate(with_layers_inside(ZOO[name], by, reduce), **cast(inputs, dtype))

    assert_agree(ours, expected_of_layers(name, 3, 7, (3, 4, 5), True, reduce))


@by
@bias
@pytest.mark.parametrize(
    ("d_in", "d_out", "widths"),
    [
        (1, 1, (1, 1)),
        (16, 32, (6, 16, 32)),  # the layers of Section 4.1
        (33, 8, (2, 33)),
        (3, 64, (7, 8, 1)),
        (8, 3, (16, 7, 3, 8)),
        (7, 16, (3, 4, 5, 6, 7)),
        (5, 5, (64, 32, 64)),
        (4, 3, (2,) + (4,) * 8),  # as many layers as the kernels take
        (4, 3, (2,) + (4,) * 9),  # more than the kernels take
    ],
    ids=str,
)
def test_hidden_layers_inside_give_the_numbers_of_torch_s_layers_at_every_width(
    d_in: int, d_out: int, widths: tuple[int, ...], bias: bool, by: str, dtype: torch.dtype, engine: str
):
    """One to nine layers, widths that fill vector registers and that leave a remainder."""
    name = "every degree to 12"
    inputs = labelled_inputs(ZOO[name], d_in, d_out, widths, bias)

    ours = evaluate(with_layers_inside(ZOO[name], by), **cast(inputs, dtype))

    assert_agree(ours, expected_of_layers(name, d_in, d_out, widths, bias, "mean"))


@cache
def labelled_hubs(reverse: bool) -> tuple[Graph, dict[str, Tensor], dict[str, Tensor]]:
    graph = hubs(reverse)[0]
    inputs = labelled_inputs(graph, 2, 3, (3, 4, 5), True)
    return graph, inputs, evaluate(by_torch_layers(graph), **inputs)


@by
@pytest.mark.parametrize("reverse", [False, True], ids=["receiving", "sending"])
def test_hidden_layers_inside_give_the_numbers_of_torch_s_layers_at_degrees_from_1_to_5000(
    reverse: bool, by: str, dtype: torch.dtype, engine: str
):
    """However many pieces a neighbourhood is handled in, each of its labels passes the layers once."""
    graph, inputs, expected = labelled_hubs(reverse)

    ours = evaluate(with_layers_inside(graph, by), **cast(inputs, dtype))

    assert_agree(ours, expected)


@by
@pytest.mark.parametrize("which", ["x", "labels", "last", "weight 0", "weight 1", "bias 1"])
def test_hidden_layers_may_be_views_of_other_tensors(which: str, by: str, engine: str):
    """A view has the numbers of its copy, and so have its gradients."""
    name = "every degree to 12"
    inputs = labelled_inputs(ZOO[name], 3, 7, (3, 4, 5), True)
    tensor = inputs[which]
    inputs[which] = tensor.repeat_interleave(2)[::2] if tensor.dim() == 1 else VIEWS["transposed"](tensor)
    assert not inputs[which].is_contiguous()

    ours = evaluate(with_layers_inside(ZOO[name], by), **inputs)

    assert_agree(ours, expected_of_layers(name, 3, 7, (3, 4, 5), True, "mean"))


@by
@pytest.mark.parametrize(
    "learnt", ["x", "labels", "last", "weight 0", "bias 1", "x, last", "labels, bias 0", "last, weight 1", "x, labels"]
)
def test_frozen_layers_leave_the_gradients_of_the_others_alone(learnt: str, by: str, engine: str):
    """Whatever a training step freezes, the rest learns as before."""
    name = "every degree to 12"
    inputs = labelled_inputs(ZOO[name], 3, 7, (3, 4, 5), True)
    expected = expected_of_layers(name, 3, 7, (3, 4, 5), True, "mean")
    names = learnt.split(", ")

    def convolve(**leaves: Tensor) -> Tensor:
        return with_layers_inside(ZOO[name], by)(**{**inputs, **leaves})

    ours = evaluate(convolve, **{key: inputs[key] for key in names})

    assert_agree(ours, {key: expected[key] for key in ["the value", *[f"the gradient of {key}" for key in names]]})


@by
def test_a_label_that_is_not_a_number_stays_one(by: str, dtype: torch.dtype, engine: str):
    """torch's ReLU passes NaN on, in both directions: a broken label shows at its target, and there only."""
    graph = ZOO["every degree to 12"]
    inputs = labelled_inputs(graph, 3, 7, (3, 4, 5), True)
    inputs["labels"][40, 1] = torch.nan

    ours = evaluate(with_layers_inside(graph, by), **cast(inputs, dtype))

    expected = evaluate(by_torch_layers(graph), **inputs)
    broken = expected["the value"].isnan().any(1)
    assert broken.nonzero().flatten().tolist() == [int(graph.target[40])]
    for key, exact in expected.items():
        torch.testing.assert_close(
            ours[key], exact.to(dtype), equal_nan=True, msg=lambda text, key=key: f"{key}: {text}"
        )


@settings(deadline=None, max_examples=30)
@given(
    graph=graphs(),
    d_in=st.integers(1, 9),
    d_out=st.integers(1, 9),
    widths=st.lists(st.integers(1, 9), min_size=2, max_size=4).map(tuple),
    bias=st.booleans(),
    reduce=st.sampled_from(REDUCTIONS),
)
def test_hidden_layers_inside_give_the_numbers_of_torch_s_layers_on_any_graph(
    graph: Graph, d_in: int, d_out: int, widths: tuple[int, ...], bias: bool, reduce: str
):
    """The same claim, for whatever hypothesis finds."""
    inputs = labelled_inputs(graph, d_in, d_out, widths, bias)
    expected = evaluate(by_torch_layers(graph, reduce), **inputs)

    for engine in engines_here():
        for by in SIDES:
            with running_on(engine):
                assert_agree(evaluate(with_layers_inside(graph, by, reduce), **inputs), expected)


# What it does not take


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"x": (4, 3)}, r"the signal must have one row per source vertex: got \(4, 3\) for 3 vertices\."),
        ({"x": (3, 4)}, r"matrices of 7 by 3 do not fit signals of shape \(3, 4\)\."),
        (
            {"hidden": (5, 5)},
            r"activations, or the int64 index of labels, must have one row per edge: got \(5, 5\) of torch\.float64\.",
        ),
        (
            {"hidden": (6, 3)},
            r"the weight must have one matrix per activation, and perhaps one for the bias of F: "
            r"got 5 matrices for 3 activations\.",
        ),
        (
            {"hidden": (6, 6)},
            r"the weight must have one matrix per activation, and perhaps one for the bias of F: "
            r"got 5 matrices for 6 activations\.",
        ),
        ({"weight": (5, 7, 2)}, r"matrices of 7 by 2 do not fit signals of shape \(3, 3\)\."),
    ],
    ids=["rows of x", "columns of x", "too few rows", "too few activations", "too many activations", "columns of W"],
)
def test_wrong_shapes_are_answered_by_a_sentence(change: dict[str, tuple[int, ...]], sentence: str, engine: str):
    """Bar 8. The kernels work on addresses: a wrong shape must not reach them."""
    shapes = {"x": (3, 3), "hidden": (6, 5), "weight": (5, 7, 3)} | change

    with pytest.raises(ValueError, match=f"^{sentence}$"):
        factored(numbers(*shapes["x"]), ZOO["duplicate edges"], numbers(*shapes["hidden"]), numbers(*shapes["weight"]))


def test_a_hidden_layer_of_the_wrong_width_is_answered_by_a_sentence(engine: str):
    """Bar 8: a filter network of the wrong width."""
    sentence = (
        r"^a hidden layer of F must take what comes before it: "
        r"got a layer of \(4, 2\) with a bias of \(4,\) after 3 numbers\.$"
    )

    with pytest.raises(ValueError, match=sentence):
        factored(
            numbers(3, 3),
            ZOO["duplicate edges"],
            numbers(6, 3),
            numbers(4, 7, 3),
            layers=([numbers(4, 2)], [numbers(4)]),
        )
