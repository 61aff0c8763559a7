"""Block by block, with F evaluated twice, the sums are those of Equation 1."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from functools import cache

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from edgecond.graph import Graph, Labels
from edgecond.nn.convolution import REDUCTIONS, reference
from edgecond.nn.convolution.aggregation import aggregate
from edgecond.nn.convolution.blockwise import blocks, blockwise, DiagonalSum, FactorSum, FilterSum, Kind
from tests.nn.convolution.zoo import assert_agree, engines_here, evaluate, graphs, numbers, running_on, S, ZOO

KINDS: tuple[Kind, ...] = (FactorSum, FilterSum, DiagonalSum)
kinds = pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
D_IN, D_OUT, K = 3, 7, 5
ALL = 1 << 14


def rule(kind: Kind, labels: Tensor, first: Tensor, second: Tensor, d_out: int) -> Tensor:
    """An F of two layers: activations, or filters, or the diagonals of filters, from labels."""
    produced = torch.tanh(labels @ first) @ second
    return produced.view(len(labels), d_out, second.shape[1] // d_out) if kind is FilterSum else produced


def inputs_of(graph: Graph, kind: Kind, d_in: int = D_IN, d_out: int = D_OUT, k: int = K) -> dict[str, Tensor]:
    width = {FactorSum: k, FilterSum: d_out * d_in, DiagonalSum: d_in}[kind]
    inputs = {
        "x": numbers(graph.num_sources, d_in),
        "labels": numbers(graph.num_edges, S, seed=1),
        "first": numbers(S, 4, seed=2),
        "second": numbers(4, width, seed=3),
    }
    # One matrix more than activations: the bias of F's last layer.
    return inputs | ({"weight": numbers(k + 1, d_out, d_in, seed=4)} if kind is FactorSum else {})


def width_of(inputs: dict[str, Tensor], kind: Kind, d_out: int) -> int:
    return inputs["x"].shape[1] if kind is DiagonalSum else d_out


def at_once(graph: Graph, kind: Kind, d_out: int, reduce: str) -> Callable[..., Tensor]:
    """The definition: all filters as matrices, then the reference."""

    def convolve(x: Tensor, labels: Tensor, first: Tensor, second: Tensor, weight: Tensor | None = None) -> Tensor:
        theta = rule(kind, labels, first, second, d_out)
        if weight is not None:
            theta = torch.einsum("mk,koi->moi", torch.cat([theta, theta.new_ones(len(theta), 1)], 1), weight)
        return reference(x, graph, torch.diag_embed(theta) if kind is DiagonalSum else theta, reduce)

    return convolve


def in_blocks(graph: Graph, kind: Kind, d_out: int, reduce: str, size: int) -> Callable[..., Tensor]:
    def convolve(x: Tensor, labels: Tensor, first: Tensor, second: Tensor, weight: Tensor | None = None) -> Tensor:
        return aggregate(
            graph,
            reduce,
            lambda edges: blockwise(
                x,
                edges.with_labels(labels),
                lambda part: rule(kind, part, first, second, d_out),
                kind,
                d_out,
                [first, second],
                weight,
                size=size,
            ),
        )

    return convolve


@cache
def expected_in_the_zoo(name: str, kind: Kind, reduce: str) -> dict[str, Tensor]:
    inputs = inputs_of(ZOO[name], kind)
    return evaluate(at_once(ZOO[name], kind, width_of(inputs, kind, D_OUT), reduce), **inputs)


@kinds
@pytest.mark.parametrize("size", [1, 2, 5, ALL])
@pytest.mark.parametrize("reduce", REDUCTIONS)
@pytest.mark.parametrize("name", ZOO)
def test_blocks_of_every_size_agree_with_the_reference(
    name: str, reduce: str, size: int, kind: Kind, dtype: torch.dtype
):
    """Blocks of one edge, blocks that cut neighbourhoods, one block of all: values and all gradients."""
    inputs = inputs_of(ZOO[name], kind)
    d_out = width_of(inputs, kind, D_OUT)

    ours = evaluate(
        in_blocks(ZOO[name], kind, d_out, reduce, size), **{key: tensor.to(dtype) for key, tensor in inputs.items()}
    )

    assert ours["the value"].dtype == dtype
    assert_agree(ours, expected_in_the_zoo(name, kind, reduce))


@pytest.mark.parametrize("size", [1, 5, ALL])
def test_blocks_agree_with_the_reference_on_every_engine(size: int, dtype: torch.dtype, engine: str):
    """The blend of a block is computed by each backend."""
    name = "every degree to 12"
    inputs = {key: tensor.to(dtype) for key, tensor in inputs_of(ZOO[name], FactorSum).items()}

    ours = evaluate(in_blocks(ZOO[name], FactorSum, D_OUT, "mean", size), **inputs)

    assert_agree(ours, expected_in_the_zoo(name, FactorSum, "mean"))


@kinds
@settings(deadline=None, max_examples=30)
@given(
    graph=graphs(),
    widths=st.tuples(st.integers(1, 9), st.integers(1, 9), st.integers(1, 9)),
    reduce=st.sampled_from(REDUCTIONS),
    size=st.integers(1, 13),
)
def test_blocks_agree_with_the_reference_on_any_graph(
    kind: Kind, graph: Graph, widths: tuple[int, int, int], reduce: str, size: int
):
    """The same claim, for whatever hypothesis finds."""
    inputs = inputs_of(graph, kind, *widths)
    d_out = width_of(inputs, kind, widths[1])
    expected = evaluate(at_once(graph, kind, d_out, reduce), **inputs)

    for engine in engines_here():
        with running_on(engine):
            assert_agree(evaluate(in_blocks(graph, kind, d_out, reduce, size), **inputs), expected)


@kinds
def test_the_size_of_blocks_changes_nothing_but_rounding(kind: Kind):
    """A star of 5,000 edges, whole and cut at several places."""
    star = Graph.from_edges(
        torch.arange(5000), torch.zeros(5000, dtype=torch.long), numbers(5000, S), num_vertices=5000
    )
    inputs = inputs_of(star, kind)
    d_out = width_of(inputs, kind, D_OUT)

    whole = evaluate(in_blocks(star, kind, d_out, "mean", ALL), **inputs)

    for size in (777, 1024, 4999):
        assert_agree(evaluate(in_blocks(star, kind, d_out, "mean", size), **inputs), whole)


@pytest.mark.parametrize(
    ("kind", "which"),
    [(kind, which) for kind in KINDS for which in ("x", "labels", "second")] + [(FactorSum, "weight")],
    ids=lambda value: value if isinstance(value, str) else value.__name__,
)
def test_blocks_take_views_of_other_tensors(kind: Kind, which: str):
    """A transposed matrix has the numbers of its copy, and so have its gradients."""
    name = "every degree to 12"
    inputs = inputs_of(ZOO[name], kind)
    inputs[which] = inputs[which].transpose(0, -1).contiguous().transpose(0, -1)
    assert not inputs[which].is_contiguous()

    ours = evaluate(in_blocks(ZOO[name], kind, width_of(inputs, kind, D_OUT), "mean", 5), **inputs)

    assert_agree(ours, expected_in_the_zoo(name, kind, "mean"))


@kinds
def test_blocks_take_filters_and_activations_column_by_column(kind: Kind, monkeypatch: pytest.MonkeyPatch, engine: str):
    """The layout in memory of what F returns changes neither values nor gradients."""
    name, row_by_row = "every degree to 12", rule
    inputs = inputs_of(ZOO[name], kind)

    def column_by_column(*arguments) -> Tensor:
        return row_by_row(*arguments).transpose(0, -1).contiguous().transpose(0, -1)

    monkeypatch.setattr(sys.modules[__name__], "rule", column_by_column)
    ours = evaluate(in_blocks(ZOO[name], kind, width_of(inputs, kind, D_OUT), "mean", 5), **inputs)

    assert_agree(ours, expected_in_the_zoo(name, kind, "mean"))


@pytest.mark.parametrize(
    ("kind", "learnt"),
    [(kind, learnt) for kind in KINDS for learnt in ("x", "labels", "second", "first, x")] + [(FactorSum, "weight")],
    ids=lambda value: value if isinstance(value, str) else value.__name__,
)
def test_frozen_inputs_leave_the_gradients_of_the_others_alone(kind: Kind, learnt: str):
    """Whatever a training step freezes, the rest learns as before."""
    name = "every degree to 12"
    inputs, expected = inputs_of(ZOO[name], kind), expected_in_the_zoo(name, kind, "mean")
    names = learnt.split(", ")

    def convolve(**leaves: Tensor) -> Tensor:
        return in_blocks(ZOO[name], kind, width_of(inputs, kind, D_OUT), "mean", 5)(**{**inputs, **leaves})

    ours = evaluate(convolve, **{key: inputs[key] for key in names})

    assert_agree(ours, {key: expected[key] for key in ["the value", *[f"the gradient of {key}" for key in names]]})


@kinds
@pytest.mark.parametrize("constant", [True, False], ids=["constant", "learnt"])
def test_a_second_derivative_is_an_error_that_says_what_to_do(kind: Kind, constant: bool):
    """Blocks are computed again without a record; a gradient of that gradient would miss every path through x and F.

    torch's own once_differentiable lets it pass in silence if the gradient of the output is a constant.
    """
    inputs = {key: tensor.requires_grad_() for key, tensor in inputs_of(ZOO["a cycle"], kind).items()}
    out = in_blocks(ZOO["a cycle"], kind, width_of(inputs, kind, D_OUT), "mean", 2)(**inputs)
    received = torch.ones_like(out, requires_grad=not constant)

    with pytest.raises(RuntimeError, match=r"has no second derivative .*low_memory=False"):
        torch.autograd.grad(out, inputs["x"], received, create_graph=True)


@kinds
def test_a_block_keeps_nothing_of_the_size_of_the_edges(kind: Kind):
    """What autograd saves is the input itself: the same storage, no copy."""
    graph = ZOO["every degree to 12"]
    inputs = {key: tensor.requires_grad_() for key, tensor in inputs_of(graph, kind).items()}
    saved: list[Tensor] = []

    with torch.autograd.graph.saved_tensors_hooks(lambda t: saved.append(t) or t, lambda t: t):
        in_blocks(graph, kind, width_of(inputs, kind, D_OUT), "sum", 5)(**inputs)

    given = {tensor.data_ptr() for tensor in inputs.values()}
    assert {tensor.data_ptr() for tensor in saved} <= given
    assert saved


def test_a_half_from_autocast_is_computed_in_the_precision_of_the_parameters(engine: str):
    """Under autocast F gives bfloat16, 8 significant bits, next to single-precision signals: 2^-8 per factor."""
    name = "every degree to 12"
    inputs = {key: tensor.float() for key, tensor in inputs_of(ZOO[name], FactorSum).items()}
    exact = expected_in_the_zoo(name, FactorSum, "mean")["the value"]

    with torch.autocast("cpu", torch.bfloat16):
        single = in_blocks(ZOO[name], FactorSum, D_OUT, "mean", 5)(**inputs)
        half = in_blocks(ZOO[name], FactorSum, D_OUT, "mean", 5)(**{**inputs, "x": inputs["x"].bfloat16()})

    for ours in (single, half):
        assert ours.dtype == torch.float32
        assert float((ours - exact).abs().max()) <= 4 * 2**-8 * float(exact.abs().max())


@kinds
def test_a_signal_of_the_wrong_length_is_refused(kind: Kind):
    """The error states both lengths."""
    inputs = inputs_of(ZOO["a cycle"], kind)
    inputs["x"] = inputs["x"][:4]

    with pytest.raises(ValueError, match=r"one row per source vertex: got \(4, 3\) for 5 vertices"):
        in_blocks(ZOO["a cycle"], kind, D_OUT, "mean", 2)(**inputs)


def test_blocks_are_the_edges_in_order():
    """By hand: targets 0, 0, 1, 1, 1, 1, four at a time; a vertex lies in as many blocks as its edges do."""
    found = list(blocks(ZOO["duplicate edges"], 4))

    assert [(block.edges, block.first, block.count) for block in found] == [
        (slice(0, 4), 0, 2),
        (slice(4, 6), 1, 1),
    ]
    assert found[0].target.tolist() == [0, 0, 1, 1]
    assert found[1].target.tolist() == [0, 0]
    assert found[0].rows.pointer.tolist() == [0, 2, 4]
    assert list(blocks(ZOO["no edge"], 4)) == []


@kinds
def test_distinct_labels_are_looked_up_block_by_block(kind: Kind):
    """The same as labels written out per edge, the gradient of a label being the sum over its edges."""
    torch.manual_seed(0)
    graph = ZOO["every degree to 12"]
    index, values = torch.randint(0, 3, (graph.num_edges,)), numbers(3, S)
    inputs = inputs_of(graph, kind)
    d_out = width_of(inputs, kind, D_OUT)
    rest = {name: value for name, value in inputs.items() if name != "labels"}

    def looked_up(labels: Tensor, x: Tensor, first: Tensor, second: Tensor, weight: Tensor | None = None) -> Tensor:
        indexed = replace(graph, labels=Labels(labels, index))
        return blockwise(
            x,
            indexed,
            lambda part: rule(kind, part, first, second, d_out),
            kind,
            d_out,
            [first, second],
            weight,
            size=5,
        )

    def written_out(labels: Tensor, **others: Tensor) -> Tensor:
        return at_once(graph, kind, d_out, "sum")(labels=labels[index], **others)

    found, expected = evaluate(looked_up, labels=values, **rest), evaluate(written_out, labels=values, **rest)

    assert_agree(found, expected)
