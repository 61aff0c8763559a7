"""Every way to compute a convolution gives the same numbers, and convolve follows the plan."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.nn.functional import linear, relu

from edgecond.graph import collate, Graph, Labels, Pyramid, Sample
from edgecond.nn.convolution import ALGORITHMS, convolve, Filters, plan_for, REDUCTIONS, reference
from tests.nn.convolution.zoo import assert_agree, evaluate, numbers, S, ZOO

D_IN, D_OUT, K = 3, 7, 5

WAYS: dict[str, dict[str, Any]] = {
    "as planned": {},
    "as planned, in little memory": {"low_memory": True},
    "factored by target": {"algorithm": "factored", "by": "target"},
    "factored by source": {"algorithm": "factored", "by": "source"},
    "factored in little memory": {"algorithm": "factored", "low_memory": True},
    "per_edge": {"algorithm": "per_edge"},
    "per_label by target": {"algorithm": "per_label", "by": "target"},
    "per_label by source": {"algorithm": "per_label", "by": "source"},
    "per_label by label": {"algorithm": "per_label", "by": "label"},
}
ANY_LABELS = [way for way in WAYS if not way.startswith("per_label")]
ways = pytest.mark.parametrize("way", WAYS)


def filters_of(parameters: dict[str, Tensor], *, inside: bool = True, pure: bool = True) -> Filters:
    """F = FC(6)-FC(5)-FC(21) with ReLUs in between, with or without a bias in its last layer.

    Args:
        parameters: Weights and biases, in order.
        inside: Whether `Filters.layers` has the hidden layers, which are linear maps with ReLUs.
        pure: Whether F may be evaluated on parts of the labels.
    """
    w0, b0, w1, b1, last, *bias = parameters.values()

    def hidden(labels: Tensor) -> Tensor:
        return relu(linear(relu(linear(labels, w0, b0)), w1, b1))

    def theta(labels: Tensor) -> Tensor:
        return linear(hidden(labels), last, *bias).view(-1, D_OUT, D_IN)

    weight = last.view(D_OUT, D_IN, K).permute(2, 0, 1)
    if bias:
        weight = torch.cat([weight, bias[0].view(1, D_OUT, D_IN)])
    layers = ([w0, w1], [b0, b1]) if inside else None
    return Filters(theta, D_OUT, list(parameters.values()), hidden, weight, K, [w0, b0, w1, b1], layers, pure=pure)


def inputs_of(graph: Graph, bias: bool) -> dict[str, Tensor]:
    """A signal, the values of the labels, and the parameters of F."""
    inputs = {
        "x": numbers(graph.num_sources, D_IN),
        "values": numbers(len(graph.labels.values), S, seed=1),
        "w0": numbers(6, S, seed=2),
        "b0": numbers(6, seed=3),
        "w1": numbers(K, 6, seed=4),
        "b1": numbers(K, seed=5),
        "last": numbers(D_OUT * D_IN, K, seed=6),
    }
    return inputs | ({"last_bias": numbers(D_OUT * D_IN, seed=7)} if bias else {})


def convolution(graph: Graph, reduce: str = "mean", *, inside: bool = True, pure: bool = True, **way: Any) -> Callable:
    def function(x: Tensor, values: Tensor, **parameters: Tensor) -> Tensor:
        labelled = graph.with_labels(Labels(values, graph.labels.index))
        return convolve(x, labelled, filters_of(parameters, inside=inside, pure=pure), reduce, **way)

    return function


def one_label_per_edge(graph: Graph) -> Graph:
    return graph.with_labels(graph.labels.per_edge(graph.labels.values))


def by_the_equation(graph: Graph, reduce: str) -> Callable[..., Tensor]:
    """The definition: the filter of every edge, then the reference."""

    def function(x: Tensor, values: Tensor, **parameters: Tensor) -> Tensor:
        theta = graph.labels.per_edge(filters_of(parameters).theta(values))
        return reference(x, graph, theta, reduce)

    return function


@cache
def expected_in_the_zoo(name: str, distinct: bool, bias: bool, reduce: str) -> dict[str, Tensor]:
    graph = ZOO[name] if distinct else one_label_per_edge(ZOO[name])
    return evaluate(by_the_equation(graph, reduce), **inputs_of(graph, bias))


@ways
@pytest.mark.parametrize("reduce", REDUCTIONS)
@pytest.mark.parametrize("name", ZOO)
def test_every_way_agrees_with_the_reference_on_distinct_labels(name: str, reduce: str, way: str):
    """Values, and the gradients of the signal, of the labels and of all parameters of F."""
    ours = evaluate(convolution(ZOO[name], reduce, **WAYS[way]), **inputs_of(ZOO[name], True))

    assert_agree(ours, expected_in_the_zoo(name, True, True, reduce))


@pytest.mark.parametrize("way", ANY_LABELS)
@pytest.mark.parametrize("reduce", REDUCTIONS)
@pytest.mark.parametrize("name", ZOO)
def test_every_way_agrees_with_the_reference_on_one_label_per_edge(name: str, reduce: str, way: str):
    """The same without a bias in the last layer of F, as the authors' code has it."""
    graph = one_label_per_edge(ZOO[name])

    ours = evaluate(convolution(graph, reduce, **WAYS[way]), **inputs_of(graph, False))

    assert_agree(ours, expected_in_the_zoo(name, False, False, reduce))


@ways
@pytest.mark.parametrize("reduce", REDUCTIONS)
def test_every_way_agrees_with_the_reference_on_every_engine(reduce: str, way: str, dtype: torch.dtype, engine: str):
    """The same on every backend and instruction set, in both precisions."""
    name = "every degree to 12"
    inputs = {key: tensor.to(dtype) for key, tensor in inputs_of(ZOO[name], True).items()}

    ours = evaluate(convolution(ZOO[name], reduce, **WAYS[way]), **inputs)

    assert_agree(ours, expected_in_the_zoo(name, True, True, reduce))


@pytest.mark.parametrize("way", ANY_LABELS)
@pytest.mark.parametrize("inside", [False, True], ids=["any hidden layers", "linear maps with ReLUs"])
@pytest.mark.parametrize("pure", [False, True], ids=["all labels together", "label by label"])
def test_every_way_agrees_with_the_reference_on_every_kind_of_network(pure: bool, inside: bool, way: str, engine: str):
    """What `Filters` contains changes where F is evaluated, not the numbers."""
    name = "every degree to 12"
    graph = one_label_per_edge(ZOO[name])

    ours = evaluate(convolution(graph, inside=inside, pure=pure, **WAYS[way]), **inputs_of(graph, True))

    assert_agree(ours, expected_in_the_zoo(name, False, True, "mean"))


@pytest.mark.parametrize("distinct", [False, True], ids=["one label per edge", "distinct labels"])
@pytest.mark.parametrize("low_memory", [False, True], ids=["", "in little memory"])
@pytest.mark.parametrize("reduce", REDUCTIONS)
@pytest.mark.parametrize("name", ZOO)
def test_diagonal_filters_are_filters_with_zeros_elsewhere(name: str, reduce: str, low_memory: bool, distinct: bool):
    """By the definition: one weight per channel is a diagonal matrix."""
    graph = ZOO[name] if distinct else one_label_per_edge(ZOO[name])
    inputs = {
        "x": numbers(graph.num_sources, 4),
        "values": numbers(len(graph.labels.values), S, seed=1),
        "weight": numbers(4, S, seed=2),
    }

    def ours(x: Tensor, values: Tensor, weight: Tensor) -> Tensor:
        filters = Filters(lambda labels: torch.tanh(linear(labels, weight)), 4, [weight], diagonal=True)
        return convolve(
            x, graph.with_labels(Labels(values, graph.labels.index)), filters, reduce, low_memory=low_memory
        )

    def definition(x: Tensor, values: Tensor, weight: Tensor) -> Tensor:
        theta = torch.diag_embed(torch.tanh(linear(graph.labels.per_edge(values), weight)))
        return reference(x, graph, theta, reduce)

    assert_agree(evaluate(ours, **inputs), evaluate(definition, **inputs))


# The order of vertices, edges and graphs does not matter


@ways
@pytest.mark.parametrize("reduce", REDUCTIONS)
def test_vertices_may_be_numbered_in_any_order(reduce: str, way: str):
    """Section 3.1: a sum over N(i) has no order; renumbering the vertices renumbers the output."""
    graph = ZOO["every degree to 12"]
    inputs = inputs_of(graph, True)
    new = torch.randperm(13, generator=torch.Generator().manual_seed(0))  # the new number of each vertex
    renumbered = Graph.from_edges(new[graph.source], new[graph.target], graph.labels, num_vertices=13)

    before = evaluate(convolution(graph, reduce, **WAYS[way]), **inputs)["the value"]
    after = convolution(renumbered, reduce, **WAYS[way])(**{**inputs, "x": inputs["x"][new.argsort()]})

    torch.testing.assert_close(after[new], before, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("way", ANY_LABELS)
@pytest.mark.parametrize("reduce", REDUCTIONS)
def test_edges_may_be_listed_in_any_order(reduce: str, way: str):
    """Section 3.1: the output stays, and the gradient of every label stays with its edge."""
    graph = one_label_per_edge(ZOO["every degree to 12"])
    inputs = inputs_of(graph, True)
    order = torch.randperm(78, generator=torch.Generator().manual_seed(0))

    def relisted(x: Tensor, values: Tensor, **parameters: Tensor) -> Tensor:
        other = Graph.from_edges(graph.source[order], graph.target[order], values[order], num_vertices=13)
        return convolve(x, other, filters_of(parameters), reduce, **WAYS[way])

    before, after = evaluate(convolution(graph, reduce, **WAYS[way]), **inputs), evaluate(relisted, **inputs)

    assert_agree(after, before)


@ways
@pytest.mark.parametrize("reduce", REDUCTIONS)
def test_graphs_of_a_batch_may_stand_in_any_order(reduce: str, way: str):
    """A batch is a larger graph without edges between its parts: each gets what it would get alone."""
    names = ["a cycle", "every degree to 12", "isolated vertices", "duplicate edges"]
    inputs = inputs_of(ZOO[names[0]], True)
    signals = {name: numbers(ZOO[name].num_vertices, D_IN, seed=50 + i) for i, name in enumerate(names)}

    def outputs(order: list[str]) -> dict[str, Tensor]:
        batch = collate([Sample(signals[name], Pyramid((ZOO[name],)), torch.zeros(1)) for name in order])
        out = convolution(batch.pyramid.graphs[0], reduce, **WAYS[way])(**{**inputs, "x": batch.x})
        return dict(zip(order, out.split([len(signals[name]) for name in order]), strict=True))

    forwards, backwards = outputs(names), outputs(names[::-1])

    for name in names:
        alone = convolution(ZOO[name], reduce, **WAYS[way])(**{**inputs, "x": signals[name]})
        torch.testing.assert_close(forwards[name], backwards[name], rtol=1e-12, atol=1e-12)
        torch.testing.assert_close(forwards[name], alone, rtol=1e-12, atol=1e-12)


# The plan, repeatability, and errors


@pytest.mark.parametrize("low_memory", [False, True], ids=["", "in little memory"])
@pytest.mark.parametrize("reduce", REDUCTIONS)
@pytest.mark.parametrize("distinct", [False, True], ids=["one label per edge", "distinct labels"])
def test_convolve_follows_the_plan(distinct: bool, reduce: str, low_memory: bool):
    """The same call with the planned algorithm as an argument gives the same bits."""
    graph = ZOO["every degree to 12"] if distinct else one_label_per_edge(ZOO["every degree to 12"])
    x, values, *_ = inputs_of(graph, True).values()
    filters = filters_of({key: t for key, t in inputs_of(graph, True).items() if key not in ("x", "values")})
    graph = graph.with_labels(Labels(values, graph.labels.index))

    chosen = plan_for(graph, filters, D_IN, reduce, low_memory=low_memory)

    explicit = convolve(x, graph, filters, reduce, algorithm=chosen.algorithm, by=chosen.by, low_memory=low_memory)
    assert convolve(x, graph, filters, reduce, low_memory=low_memory).equal(explicit)


@cache
def crowded() -> Graph:
    """Few vertices and labels that many edges share, so that an order of addition that varies would show."""
    generator = torch.Generator().manual_seed(0)
    source, target = torch.randint(200, (2, 30_000), generator=generator)
    labels = Labels(numbers(4, S), torch.randint(4, (30_000,), generator=generator))
    return Graph.from_edges(source, target, labels, num_vertices=200)


def assert_identical_from_run_to_run(function: Callable[..., Tensor], inputs: dict[str, Tensor]) -> None:
    torch.set_num_threads(2)
    singles = {key: tensor.float() for key, tensor in inputs.items()}
    first, *others = (evaluate(function, **singles) for _ in range(3))
    for other in others:
        for key, tensor in first.items():
            assert tensor.equal(other[key]), key


@pytest.mark.parametrize(
    ("way", "distinct"),
    [(way, True) for way in WAYS] + [(way, False) for way in ANY_LABELS],
    ids=lambda value: value if isinstance(value, str) else "distinct labels" if value else "one label per edge",
)
def test_values_and_gradients_are_bit_identical_from_run_to_run(way: str, distinct: bool):
    """The order of every sum is fixed by the graph, two threads or not."""
    graph = crowded() if distinct else one_label_per_edge(crowded())

    assert_identical_from_run_to_run(convolution(graph, **WAYS[way]), inputs_of(graph, True))


def test_a_network_that_needs_all_labels_at_once_is_bit_identical_from_run_to_run():
    """The filters of all edges in memory, as for batch normalisation in F."""
    graph = one_label_per_edge(crowded())
    function = convolution(graph, inside=False, pure=False, algorithm="per_edge")

    assert_identical_from_run_to_run(function, inputs_of(graph, True))


def test_diagonal_filters_are_bit_identical_from_run_to_run():
    """One weight per channel and label, shared by thousands of edges."""

    def function(x: Tensor, values: Tensor, weight: Tensor) -> Tensor:
        filters = Filters(lambda labels: linear(labels, weight), D_IN, [weight], diagonal=True)
        return convolve(x, crowded().with_labels(Labels(values, crowded().labels.index)), filters)

    inputs = {"x": numbers(200, D_IN), "values": numbers(4, S, seed=1), "weight": numbers(D_IN, S, seed=2)}

    assert_identical_from_run_to_run(function, inputs)


@pytest.mark.parametrize(
    ("options", "facts"),
    [
        (
            {"algorithm": "magic"},
            r"one of per_edge, factored, piecewise, per_label, reference, or none to let the plan pick: got 'magic'\.",
        ),
        (
            {"algorithm": "factored"},
            r"factored needs a .* whose last layer is linear: .*does not end in a linear layer\. Use per_edge",
        ),
        (
            {"algorithm": "per_label"},
            r"per_label needs labels with an index of distinct values: .*one per edge.*\. Use per_edge",
        ),
        ({"reduce": "median"}, r"reduce must be one of mean, sum, max\b.*: got 'median'\."),
    ],
    ids=["an unknown algorithm", "factored without a linear layer", "per_label without an index", "a reduction"],
)
def test_a_convolution_that_cannot_be_computed_is_refused(options: dict[str, str], facts: str):
    """The error states what must hold, what was found, and what to do."""
    graph = one_label_per_edge(ZOO["a cycle"])
    filters = Filters(lambda labels: labels.new_zeros(len(labels), D_OUT, D_IN), D_OUT, ())

    with pytest.raises(ValueError, match=facts):
        convolve(numbers(5, D_IN), graph, filters, **options)


def test_every_algorithm_that_applies_agrees_with_the_reference():
    """The list is what `algorithm=` takes; a member that does not apply to a graph is refused above."""
    graph = ZOO["every degree to 12"]
    inputs = inputs_of(graph, True)
    filters = filters_of({key: tensor for key, tensor in inputs.items() if key not in ("x", "values")})
    listed = [algorithm.name for algorithm in ALGORITHMS if algorithm.applies(graph, filters)]

    assert listed == ["per_edge", "factored", "per_label", "reference"]
    for name in listed:
        ours = evaluate(convolution(graph, algorithm=name), **inputs)
        assert_agree(ours, expected_in_the_zoo("every degree to 12", True, True, "mean"))


def test_an_unknown_form_is_refused():
    """A misspelt form must not run another one."""
    graph = ZOO["a cycle"]
    filters = filters_of({key: t for key, t in inputs_of(graph, True).items() if key not in ("x", "values")})

    with pytest.raises(ValueError, match=r"'target' or 'source': got 'sideways'"):
        convolve(numbers(5, D_IN), graph, filters, algorithm="factored", by="sideways")
    with pytest.raises(ValueError, match=r"'target' or 'source': got 'sideways'"):
        convolve(numbers(5, D_IN), graph, filters, algorithm="per_label", by="sideways")
