"""One filter per distinct label gives the sums of Equation 1, in all three forms (footnote 1)."""

from __future__ import annotations

from functools import cache

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from edgecond.graph import Graph, Labels
from edgecond.nn.convolution import per_label, REDUCTIONS, reference
from tests.nn.convolution.zoo import assert_agree, engines_here, evaluate, graph_of, graphs, numbers, running_on, ZOO

FORMS = ("target", "source", "label")
form = pytest.mark.parametrize("by", FORMS)


def inputs_of(graph: Graph, d_in: int, d_out: int) -> dict[str, Tensor]:
    u = len(graph.labels.values)
    return {"x": numbers(graph.num_sources, d_in), "theta": numbers(u, d_out, d_in, seed=1)}


def by_repeating_filters(graph: Graph, reduce: str, inputs: dict[str, Tensor]) -> dict[str, Tensor]:
    """The definition: every edge has the filter of its label."""
    index = graph.labels.index
    return evaluate(lambda x, theta: reference(x, graph, theta[index], reduce), **inputs)


@cache
def expected_in_the_zoo(name: str, d_in: int, d_out: int, reduce: str) -> dict[str, Tensor]:
    return by_repeating_filters(ZOO[name], reduce, inputs_of(ZOO[name], d_in, d_out))


def assert_per_label_agrees(
    graph: Graph, inputs: dict[str, Tensor], expected: dict[str, Tensor], reduce: str, by: str, dtype: torch.dtype
) -> None:
    ours = evaluate(
        lambda x, theta: per_label(x, graph, theta, reduce, by=by),
        **{name: tensor.to(dtype) for name, tensor in inputs.items()},
    )
    assert ours["the value"].dtype == dtype
    assert_agree(ours, expected)


@form
@pytest.mark.parametrize("reduce", REDUCTIONS)
@pytest.mark.parametrize("name", ZOO)
def test_per_label_agrees_with_the_reference_on_every_graph(
    name: str, reduce: str, by: str, dtype: torch.dtype, engine: str
):
    """Edges of one label share a filter, and the sum may be taken before or after it: values and gradients."""
    inputs, expected = inputs_of(ZOO[name], 3, 7), expected_in_the_zoo(name, 3, 7, reduce)

    assert_per_label_agrees(ZOO[name], inputs, expected, reduce, by, dtype)


@form
@pytest.mark.parametrize(
    "widths", [(1, 1), (1, 33), (3, 64), (7, 8), (8, 7), (16, 16), (33, 3), (64, 1), (64, 33)], ids=str
)
def test_per_label_agrees_with_the_reference_at_every_width(
    widths: tuple[int, int], by: str, dtype: torch.dtype, engine: str
):
    """Widths that fill vector registers, and that leave a remainder, on both sides."""
    name = "every degree to 12"
    inputs, expected = inputs_of(ZOO[name], *widths), expected_in_the_zoo(name, *widths, "mean")

    assert_per_label_agrees(ZOO[name], inputs, expected, "mean", by, dtype)


@cache
def with_distinct_labels(u: int) -> tuple[Graph, dict[str, Tensor], dict[str, Tensor]]:
    graph = graph_of([(j, i) for i in range(13) for j in range(i)], 13, u=u)
    inputs = inputs_of(graph, 16, 5)
    return graph, inputs, by_repeating_filters(graph, "mean", inputs)


@form
@pytest.mark.parametrize("u", [1, 2, 32, 33, 100])
def test_per_label_agrees_with_the_reference_for_any_number_of_labels(u: int, by: str, dtype: torch.dtype, engine: str):
    """From one label for all edges to more labels than edges, most of which no edge has."""
    graph, inputs, expected = with_distinct_labels(u)

    assert_per_label_agrees(graph, inputs, expected, "mean", by, dtype)


@cache
def star(reverse: bool) -> tuple[Graph, dict[str, Tensor], dict[str, Tensor]]:
    pairs = [(0, j) if reverse else (j, 0) for j in range(5000)]
    graph = graph_of(pairs, 5000)
    inputs = inputs_of(graph, 3, 2)
    return graph, inputs, by_repeating_filters(graph, "mean", inputs)


@form
@pytest.mark.parametrize("reverse", [False, True], ids=["receiving", "sending"])
def test_per_label_agrees_with_the_reference_on_a_star_of_5000_edges(
    reverse: bool, by: str, dtype: torch.dtype, engine: str
):
    """A large degree, as one row and as one edge in each of 5,000 rows."""
    graph, inputs, expected = star(reverse)

    assert_per_label_agrees(graph, inputs, expected, "mean", by, dtype)


@form
@pytest.mark.parametrize("which", ["x", "theta"])
def test_per_label_takes_views_of_other_tensors(which: str, by: str, engine: str):
    """A transposed matrix has the numbers of its copy, and so have its gradients."""
    name = "every degree to 12"
    inputs, expected = inputs_of(ZOO[name], 16, 16), expected_in_the_zoo(name, 16, 16, "mean")
    inputs[which] = inputs[which].transpose(0, -1).contiguous().transpose(0, -1)
    assert not inputs[which].is_contiguous()

    assert_per_label_agrees(ZOO[name], inputs, expected, "mean", by, torch.float64)


@form
def test_per_label_takes_an_index_that_is_a_column_of_a_table(by: str, engine: str):
    """A view has the numbers of its copy."""
    name = "every degree to 12"
    index = torch.stack([ZOO[name].labels.index, torch.full((78,), 77)], 1)[:, 0]
    graph = ZOO[name].with_labels(Labels(ZOO[name].labels.values, index))
    inputs, expected = inputs_of(graph, 3, 7), expected_in_the_zoo(name, 3, 7, "mean")

    assert_per_label_agrees(graph, inputs, expected, "mean", by, torch.float64)


@form
def test_a_table_of_no_labels_gives_zeros(by: str, engine: str):
    """A graph without edges may have no labels, either; an empty sum is 0."""
    nothing = torch.empty(0, dtype=torch.long)
    graph = Graph.from_edges(nothing, nothing, Labels(torch.empty(0, 2), nothing), num_vertices=3)

    ours = evaluate(lambda x, theta: per_label(x, graph, theta, by=by), x=torch.ones(3, 4), theta=torch.empty(0, 5, 4))

    assert ours["the value"].equal(torch.zeros(3, 5))
    assert ours["the gradient of x"].equal(torch.zeros(3, 4))


@form
@pytest.mark.parametrize("learnt", ["x", "theta"])
def test_a_frozen_input_leaves_the_gradient_of_the_other_alone(learnt: str, by: str, engine: str):
    """If one input is frozen, the gradients of the others stay the same."""
    graph, name = ZOO["every degree to 12"], "every degree to 12"
    inputs, expected = inputs_of(graph, 3, 7), expected_in_the_zoo(name, 3, 7, "mean")

    def convolve(**leaf: Tensor) -> Tensor:
        given = {**inputs, **leaf}
        return per_label(given["x"], graph, given["theta"], by=by)

    ours = evaluate(convolve, **{learnt: inputs[learnt]})

    assert_agree(ours, {key: expected[key] for key in ("the value", f"the gradient of {learnt}")})


@settings(deadline=None, max_examples=50)
@given(
    graph=graphs(),
    widths=st.tuples(st.integers(1, 9), st.integers(1, 9)),
    reduce=st.sampled_from(REDUCTIONS),
)
def test_per_label_agrees_with_the_reference_on_any_graph(graph: Graph, widths: tuple[int, int], reduce: str):
    """The same claim, for random graphs."""
    inputs = inputs_of(graph, *widths)
    expected = by_repeating_filters(graph, reduce, inputs)

    for engine in engines_here():
        for by in FORMS:
            with running_on(engine):
                assert_per_label_agrees(graph, inputs, expected, reduce, by, torch.float64)


def test_labels_without_an_index_are_refused():
    graph = ZOO["a cycle"].with_labels(torch.zeros(5, 3))

    with pytest.raises(ValueError, match=r"per_label needs labels with an index .*: got one label per edge"):
        per_label(torch.zeros(5, 3), graph, torch.zeros(5, 2, 3))
