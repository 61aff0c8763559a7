"""One pair of filters per linear piece of F gives the sums of Equation 1 for labels of a single number."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch.nn.functional import linear, relu

from edgecond.graph import Graph, Labels
from edgecond.nn.convolution import convolve, Filters, piecewise, plan_for, REDUCTIONS, reference
from tests.nn.convolution.zoo import assert_agree, evaluate, graph_of, graphs, numbers, ZOO


def scalar(graph: Graph) -> Graph:
    """The same edges with a number each: -1 for self-loops, as in coarse graphs, and above 0 for others."""
    weights = numbers(graph.num_edges, seed=1).exp()
    return graph.with_labels(torch.where(graph.source == graph.target, -1.0, weights)[:, None])


def inputs_of(graph: Graph, d_in: int, d_out: int, k: int, *, bias: bool = False) -> dict[str, Tensor]:
    """A signal, the labels, and the parameters of F = FC(k)-FC(d_in d_out)."""
    return {
        "x": numbers(graph.num_sources, d_in),
        "labels": graph.labels.values,
        "a": numbers(k, 1, seed=2),
        "c": numbers(k, seed=3),
        "weight": numbers(k + bias, d_out, d_in, seed=4),
    }


def by_pieces(graph: Graph, reduce: str = "mean") -> Callable[..., Tensor]:
    def function(x: Tensor, labels: Tensor, a: Tensor, c: Tensor, weight: Tensor) -> Tensor:
        return piecewise(x, graph.with_labels(Labels(labels, graph.labels.index)), weight, ([a], [c]), reduce)

    return function


def by_the_equation(graph: Graph, reduce: str = "mean") -> Callable[..., Tensor]:
    """The definition: F of every label, then the reference."""

    def function(x: Tensor, labels: Tensor, a: Tensor, c: Tensor, weight: Tensor) -> Tensor:
        hidden = relu(linear(labels, a, c))
        if len(weight) > len(c):
            hidden = torch.cat([hidden, torch.ones_like(hidden[:, :1])], 1)
        theta = torch.einsum("ek,koi->eoi", hidden, weight)
        return reference(x, graph, graph.labels.per_edge(theta), reduce)

    return function


def assert_agrees(graph: Graph, inputs: dict[str, Tensor], reduce: str = "mean") -> None:
    assert_agree(evaluate(by_pieces(graph, reduce), **inputs), evaluate(by_the_equation(graph, reduce), **inputs))


@cache
def expected_in_the_zoo(name: str, widths: tuple[int, int, int], bias: bool, reduce: str) -> dict[str, Tensor]:
    graph = scalar(ZOO[name])
    return evaluate(by_the_equation(graph, reduce), **inputs_of(graph, *widths, bias=bias))


def assert_agrees_in_the_zoo(
    name: str, widths: tuple[int, int, int], bias: bool, reduce: str, dtype: torch.dtype
) -> None:
    graph = scalar(ZOO[name])
    inputs = {key: tensor.to(dtype) for key, tensor in inputs_of(graph, *widths, bias=bias).items()}

    ours = evaluate(by_pieces(graph.to(dtype), reduce), **inputs)

    assert ours["the value"].dtype == dtype
    assert_agree(ours, expected_in_the_zoo(name, widths, bias, reduce))


@pytest.mark.parametrize("bias", [False, True], ids=["", "with a bias in F"])
@pytest.mark.parametrize("reduce", REDUCTIONS)
@pytest.mark.parametrize("name", ZOO)
def test_piecewise_agrees_with_the_reference_on_every_graph(
    name: str, reduce: str, bias: bool, dtype: torch.dtype, engine: str
):
    """F is linear on each piece, so nothing is approximated: values, and gradients of everything, labels included."""
    assert_agrees_in_the_zoo(name, (3, 7, 5), bias, reduce, dtype)


@pytest.mark.parametrize("widths", [(1, 1, 1), (1, 33, 64), (7, 8, 2), (16, 3, 64), (64, 33, 5)], ids=str)
def test_piecewise_agrees_with_the_reference_at_every_width(
    widths: tuple[int, int, int], dtype: torch.dtype, engine: str
):
    """From one hidden unit, which makes two pieces, to about as many units as edges."""
    assert_agrees_in_the_zoo("every degree to 12", widths, False, "mean", dtype)


@settings(deadline=None, max_examples=50)
@given(
    graph=graphs(),
    widths=st.tuples(st.integers(1, 5), st.integers(1, 5), st.integers(1, 8)),
    reduce=st.sampled_from(REDUCTIONS),
    data=st.data(),
)
def test_piecewise_agrees_with_the_reference_on_any_graph(
    graph: Graph, widths: tuple[int, int, int], reduce: str, data: st.DataObject
):
    """Small whole numbers, so that labels are often exactly at a breakpoint, and slopes and offsets are often 0."""
    graph, whole = scalar(graph), st.integers(-2, 2)

    def drawn(count: int) -> Tensor:
        return torch.tensor(data.draw(st.lists(whole, min_size=count, max_size=count)), dtype=torch.float64)

    inputs = inputs_of(graph, *widths) | {
        "labels": drawn(graph.num_edges)[:, None],
        "a": drawn(widths[2])[:, None],
        "c": drawn(widths[2]),
    }

    assert_agrees(graph, inputs, reduce)


def test_the_filter_of_a_hat_is_found_on_all_its_pieces():
    """By hand: relu(w) - 2 relu(w - 1) + relu(w - 2) is a hat on 0 to 2, and 0 elsewhere; the signal is 1."""
    labels = [-1.0, 0.0, 0.25, 0.5, 1.0, 1.25, 2.0, 3.0]
    graph = graph_of([(0, i) for i in range(8)], 8, sources=1).with_labels(torch.tensor(labels)[:, None])
    a, c, weight = torch.ones(3, 1), torch.tensor([0.0, -1.0, -2.0]), torch.tensor([1.0, -2.0, 1.0]).view(3, 1, 1)

    hat = piecewise(torch.ones(1, 1), graph, weight, ([a], [c]))

    assert hat.flatten().tolist() == [0, 0, 0.25, 0.5, 1, 0.75, 0, 0]


@pytest.mark.parametrize("a", [-2.0, 2.0], ids=["falling", "rising"])
def test_a_relu_has_no_slope_at_its_breakpoint(a: float):
    """torch's rule, relu'(0) = 0. By hand: only the label 2 a^{-1} + 1 is active for a > 0, 2 a^{-1} - 1 for a < 0.

    There h = |a|, and the derivatives by a and c are the label itself and 1.
    """
    turn = 2 / a
    labels = torch.tensor([turn - 1, turn, turn + 1])[:, None]
    graph = graph_of([(0, 0)] * 3, 1).with_labels(labels)
    inputs = {"a": torch.full((1, 1), a), "c": torch.full((1,), -2.0)}

    found = evaluate(lambda a, c: piecewise(torch.ones(1, 1), graph, torch.ones(1, 1, 1), ([a], [c]), "sum"), **inputs)

    received = float(numbers(1, 1, seed=99).float())
    active = turn + (1 if a > 0 else -1)
    assert float(found["the value"]) == abs(a)
    assert float(found["the gradient of a"]) == pytest.approx(received * active)
    assert float(found["the gradient of c"]) == pytest.approx(received)


def test_labels_next_to_a_breakpoint_do_not_change_their_piece(dtype: torch.dtype):
    """Where a w + c is nothing but rounding, a unit may seem active or not; far labels of the piece must not follow.

    At such a label the value is 0 to rounding either way, and the gradient either of two.
    """
    graph = scalar(ZOO["every degree to 12"]).to(dtype)
    inputs = {key: tensor.to(dtype) for key, tensor in inputs_of(graph, 3, 7, 26).items()}
    turns = -inputs["c"] / inputs["a"][:, 0]
    nearby = [turns, torch.nextafter(turns, turns + 1), torch.nextafter(turns, turns - 1)]
    inputs["labels"] = torch.cat(nearby)[:, None]  # as many as there are edges, 78

    expected = by_the_equation(graph)(**{key: tensor.double() for key, tensor in inputs.items()})

    assert_agree({"the value": by_pieces(graph)(**inputs)}, {"the value": expected})


@pytest.mark.parametrize("labels", [-1.0, 0.0, 4.0])
@pytest.mark.parametrize(("a", "c"), [(0.0, 1.0), (0.0, -1.0), (0.0, 0.0), (-0.0, 1.0), (1.0, -9.0)])
def test_units_without_a_breakpoint_among_the_labels_are_active_everywhere_or_nowhere(
    a: float, c: float, labels: float
):
    """A unit of slope zero has no breakpoint, and a breakpoint may be beyond all labels; no division by zero shows."""
    graph = scalar(ZOO["every degree to 12"])
    inputs = inputs_of(graph, 3, 7, 5)
    inputs["labels"] = torch.full_like(inputs["labels"], labels)
    inputs["a"][2:], inputs["c"][2:] = a, c

    assert_agrees(graph, inputs)


def test_labels_of_very_different_size_lose_no_precision():
    """Weights of coarse graphs may span decades: each filter is as precise as its own label in single precision."""
    graph = graph_of([(0, i) for i in range(7)], 7, sources=1)
    graph = graph.with_labels(10.0 ** torch.arange(-3, 4)[:, None])
    inputs = inputs_of(graph, 3, 2, 64)
    inputs["c"] = inputs["c"].abs()
    inputs["a"] = inputs["a"].abs()

    ours = by_pieces(graph)(**{key: tensor.float() for key, tensor in inputs.items()})

    expected = by_the_equation(graph)(**{key: tensor.double() for key, tensor in inputs.items()})
    torch.testing.assert_close(ours.double(), expected, rtol=1e-4, atol=1e-4)


def test_distinct_labels_with_an_index_agree_with_the_reference():
    """Edges may share a label; its gradient is the sum over these edges."""
    graph = ZOO["every degree to 12"]
    graph = graph.with_labels(Labels(numbers(4, 1), graph.labels.index))

    assert_agrees(graph, inputs_of(graph, 3, 7, 5))


@pytest.mark.parametrize("which", ["x", "labels", "a", "weight"])
def test_piecewise_takes_views_of_other_tensors(which: str):
    """A transposed matrix has the numbers of its copy, and so have its gradients."""
    graph = scalar(ZOO["every degree to 12"])
    inputs = inputs_of(graph, 3, 7, 5)
    inputs[which] = torch.stack([inputs[which], inputs[which]], -1)[..., 0]
    assert not inputs[which].is_contiguous()

    assert_agrees(graph, inputs)


@pytest.mark.parametrize("learnt", ["x", "labels", "a", "c", "weight"])
def test_a_frozen_input_leaves_the_gradient_of_the_other_alone(learnt: str):
    """If one input is frozen, the gradients of the others stay the same."""
    graph = scalar(ZOO["every degree to 12"])
    inputs, expected = inputs_of(graph, 3, 7, 5), expected_in_the_zoo("every degree to 12", (3, 7, 5), False, "mean")

    ours = evaluate(lambda **leaf: by_pieces(graph)(**{**inputs, **leaf}), **{learnt: inputs[learnt]})

    assert_agree(ours, {key: expected[key] for key in ("the value", f"the gradient of {learnt}")})


def test_second_derivatives_agree_with_differences():
    """The derivative of the gradient, by all inputs at once, as torch checks it."""
    graph = scalar(ZOO["a batch"])
    inputs = [tensor.requires_grad_() for tensor in inputs_of(graph, 2, 3, 4).values()]

    assert torch.autograd.gradgradcheck(lambda *given: by_pieces(graph)(*given), inputs)


def test_a_half_from_autocast_is_computed_in_the_precision_of_the_parameters():
    """As the other algorithms: bfloat16 beside float32 gives float32, equal to that of the signal converted."""
    graph = scalar(ZOO["every degree to 12"]).to(torch.float32)
    inputs = {key: tensor.float() for key, tensor in inputs_of(graph, 3, 7, 5).items()}
    inputs["x"] = inputs["x"].bfloat16()

    with torch.autocast("cpu", torch.bfloat16):
        ours = by_pieces(graph)(**inputs)

    assert ours.dtype == torch.float32
    assert ours.equal(by_pieces(graph)(**{**inputs, "x": inputs["x"].float()}))


def test_values_and_gradients_are_bit_identical_from_run_to_run():
    """The order of every sum is fixed by the graph, two threads or not."""
    torch.set_num_threads(2)
    source, target = torch.randint(200, (2, 30_000), generator=torch.Generator().manual_seed(0))
    graph = Graph.from_edges(source, target, numbers(30_000, 1).float().round(decimals=1), num_vertices=200)
    inputs = {key: tensor.float() for key, tensor in inputs_of(graph, 16, 16, 32).items()}

    first, second = (evaluate(by_pieces(graph), **inputs) for _ in range(2))

    for key, tensor in first.items():
        assert tensor.equal(second[key]), key


# The plan, and errors


def filters_of(k: int, s: int, hidden_layers: int = 1, d: int = 48) -> Filters:
    weights = [torch.zeros(k, width) for width in (s, k)[:hidden_layers]]
    layers = (weights, [torch.zeros(k) for _ in weights])
    return Filters(lambda labels: labels, d, (), lambda labels: labels, torch.zeros(k, d, d), k, (), layers)


@cache
def coarse() -> Graph:
    """As large as the second level of a batch of NCI1."""
    source, target = torch.randint(977, (2, 3453), generator=torch.Generator().manual_seed(0))
    return Graph.from_edges(source, target, torch.rand(3453, 1), num_vertices=977)


def test_the_plan_picks_piecewise_for_the_coarse_graphs_of_molecules():
    """By hand: 2 m d^2 + 2 (k + 1) k d^2 = 35 million multiply-adds, beside n k d^2 + m k d = 155 of factored."""
    chosen = plan_for(coarse(), filters_of(64, 1), 48)

    assert (chosen.algorithm, chosen.multiply_adds) == ("piecewise", 2 * 48**2 * (3453 + 65 * 64))


@pytest.mark.parametrize(
    ("graph", "filters", "options"),
    [
        (coarse().with_labels(torch.rand(3453, 2)), filters_of(64, 2), {}),
        (coarse().with_labels(Labels(torch.rand(2, 1), torch.zeros(3453).long())), filters_of(64, 1), {}),
        (coarse(), filters_of(64, 1, hidden_layers=2), {}),
        (coarse(), filters_of(64, 1), {"low_memory": True}),
    ],
    ids=["labels of two numbers", "distinct labels", "two hidden layers", "little memory"],
)
def test_the_plan_picks_others_where_piecewise_does_not_apply(graph: Graph, filters: Filters, options: dict[str, bool]):
    assert plan_for(graph, filters, 48, **options).algorithm != "piecewise"


def test_the_plan_of_a_traced_network_does_not_depend_on_the_labels(monkeypatch: pytest.MonkeyPatch):
    """A trace has no numbers, and so no labels on pieces."""
    monkeypatch.setattr(torch.compiler, "is_compiling", lambda: True)

    assert plan_for(coarse(), filters_of(64, 1), 48).algorithm == "factored"


@pytest.mark.parametrize(
    ("s", "filters", "found"),
    [
        (2, filters_of(5, 2, d=3), r"labels of width 2, .* ends in a linear layer and has 1 hidden layers"),
        (1, filters_of(5, 1, hidden_layers=2, d=3), r"labels of width 1, .* and has 2 hidden layers"),
        (1, Filters(lambda labels: labels, 3, ()), r"labels of width 1, .* does not end in a linear layer"),
    ],
    ids=["labels of two numbers", "two hidden layers", "any network"],
)
def test_a_network_without_pieces_is_refused(s: int, filters: Filters, found: str):
    """The error states what piecewise needs, what was found, and what to use instead."""
    graph = ZOO["a cycle"].with_labels(torch.zeros(5, s))
    needs = "piecewise needs labels of one number and a filter network with one hidden layer, with ReLU"

    with pytest.raises(ValueError, match=rf"^{needs}: got .*{found}.*\. Use per_edge, or let the plan pick\.$"):
        convolve(torch.zeros(5, 3), graph, filters, algorithm="piecewise")


def test_the_function_refuses_labels_of_two_numbers():
    graph = ZOO["a cycle"].with_labels(torch.zeros(5, 2))

    with pytest.raises(
        ValueError, match=r"piecewise needs labels of one number .* got labels of width 2 and 1 hidden layers"
    ):
        piecewise(torch.zeros(5, 3), graph, torch.zeros(4, 3, 3), ([torch.zeros(4, 2)], [torch.zeros(4)]))
