"""Equation 1 block by block: F is evaluated on a block of edges at a time, and again in the backward pass.

Nothing of the size of the edges is kept beyond the input. This is the low-memory mode of `factored` and the only mode
of `per_edge`, whose filters would not fit into memory otherwise.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from edgecond.graph import Graph, Rows
from edgecond.graph.segment import segment_sum
from edgecond.graph.transforms import abstract
from edgecond.nn import kernels
from edgecond.nn.convolution.operators import check_signal
from edgecond.nn.kernels import Activations, Gradients

BLOCK = 1 << 14  # edges per block of the low-memory mode: their activations stay in the cache

Rule = Callable[[Tensor], Tensor]  # maps the labels of a block to its filters, or to its hidden activations


@dataclass(frozen=True, eq=False)
class Block:
    """Consecutive edges of a graph, and the range of vertices that they go into.

    Attributes:
        edges: Positions of the edges in the graph.
        source: Source of each edge.
        target: Target of each edge, counted from `first`.
        first: First vertex of the range.
        count: Number of vertices in the range.
    """

    edges: slice
    source: Tensor
    target: Tensor
    first: int
    count: int

    @property
    def rows(self) -> Rows:
        """The edges of the block grouped by target."""
        vertices = torch.arange(self.count + 1, device=self.target.device)
        return Rows(torch.searchsorted(self.target, vertices), self.source)

    def labels(self, graph: Graph, values: Tensor) -> Tensor:
        """Return the label of each edge of this block."""
        index = graph.labels.index
        return values[self.edges] if index is None else values.index_select(0, index[self.edges])

    def add_to_labels(self, graph: Graph, values: Tensor, rows: Tensor) -> None:
        """Add one row per edge of this block to the rows of their labels."""
        index = graph.labels.index
        if index is None:
            values[self.edges] += rows
        else:
            values.scatter_add_(0, index[self.edges, None].expand_as(rows), rows)

    def of(self, signal: Tensor) -> Tensor:
        """Return the rows of a signal that belong to the vertices of this block."""
        return signal[self.first : self.first + self.count]


def blocks(graph: Graph, size: int) -> Iterator[Block]:
    """Yield the edges of the graph in order, `size` at a time; the edges of a vertex may lie in several blocks."""
    for begin in range(0, graph.num_edges, size):
        edges = slice(begin, min(begin + size, graph.num_edges))
        source, target = graph.source[edges], graph.target[edges]
        kernels.check_range("the sources of edges", source, graph.num_sources)
        kernels.check_range("the targets of edges", target, graph.num_vertices)
        first, last = int(target[0]), int(target[-1])
        yield Block(edges, source, target - first, first, last - first + 1)


class FilterSum:
    """The sum over a block from one filter per edge."""

    @staticmethod
    def add(out: Tensor, x: Tensor, theta: Tensor, weight: Tensor | None, block: Block) -> None:
        messages = torch.bmm(theta, x[block.source][:, :, None]).squeeze(2)
        block.of(out).add_(segment_sum(messages, block.target, block.count))

    @staticmethod
    def gradients(
        gradient: Tensor, x: Tensor, theta: Tensor, weight: Tensor | None, block: Block, for_x: Tensor | None
    ) -> tuple[Tensor, Tensor | None]:
        received = block.of(gradient)[block.target]
        if for_x is not None:
            back = torch.bmm(received[:, None, :], theta).squeeze(1).to(for_x.dtype)  # a half inside autocast
            for_x.scatter_add_(0, block.source[:, None].expand_as(back), back)
        return received[:, :, None] * x[block.source][:, None, :], None


class DiagonalSum:
    """The sum over a block from one weight per channel and edge."""

    @staticmethod
    def add(out: Tensor, x: Tensor, theta: Tensor, weight: Tensor | None, block: Block) -> None:
        block.of(out).add_(segment_sum(theta * x[block.source], block.target, block.count))

    @staticmethod
    def gradients(
        gradient: Tensor, x: Tensor, theta: Tensor, weight: Tensor | None, block: Block, for_x: Tensor | None
    ) -> tuple[Tensor, Tensor | None]:
        received = block.of(gradient)[block.target]
        if for_x is not None:
            for_x.scatter_add_(0, block.source[:, None].expand_as(received), received * theta)
        return received * x[block.source], None


class FactorSum:
    """The sum over a block from the hidden activations and the matrices of the last layer of F."""

    @staticmethod
    def add(out: Tensor, x: Tensor, hidden: Tensor, weight: Tensor | None, block: Block) -> None:
        assert weight is not None
        block.of(out).add_(kernels.gather(block.rows, Activations(hidden), weight, x))

    @staticmethod
    def gradients(
        gradient: Tensor, x: Tensor, hidden: Tensor, weight: Tensor | None, block: Block, for_x: Tensor | None
    ) -> tuple[Tensor | None, Tensor | None]:
        assert weight is not None
        to = Gradients(for_x, hidden.new_empty(hidden.shape), torch.empty_like(weight))
        kernels.spread(block.rows, Activations(hidden), weight, block.of(gradient), x, to)
        return to.hidden, to.weight


Kind = type[FilterSum] | type[DiagonalSum] | type[FactorSum]


def blockwise(
    x: Float[Tensor, "n d_in"],
    graph: Graph,
    rule: Rule,
    kind: Kind,
    d_out: int,
    parameters: Sequence[Tensor],
    weight: Float[Tensor, "k d_out d_in"] | None = None,
    *,
    size: int,
) -> Float[Tensor, "n d_out"]:
    """Sum over the neighbours, with `rule` evaluated on `size` labels at a time, in both passes.

    Args:
        x: Signal on the source vertices.
        graph: The edges to sum over, and their labels; an index of distinct labels is looked up block by block.
        rule: Maps labels to filters, or to hidden activations of F; a pure function of each label.
        kind: How to sum over a block, given the values of `rule`.
        d_out: Width of the output.
        parameters: The tensors that `rule` depends on and that may need gradients.
        weight: The matrices of the last layer of F, if `rule` gives hidden activations.
        size: Number of edges per block.
    """
    check_signal(x, graph)
    if abstract(graph.labels.values):
        raise ValueError(
            "a convolution is computed block by block only where torch neither traces nor transforms it: "
            "call ECConv, which chooses another way there."
        )
    # A half from autocast is computed in the precision of the parameters.
    dtype = functools.reduce(torch.promote_types, [p.dtype for p in parameters], x.dtype)
    dtype = dtype if weight is None else torch.promote_types(dtype, weight.dtype)
    weight = None if weight is None else weight.to(dtype)
    return _Blockwise.apply(graph, rule, kind, d_out, size, x.to(dtype), graph.labels.values, weight, *parameters)


class _Blockwise(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        graph: Graph,
        rule: Rule,
        kind: Kind,
        d_out: int,
        size: int,
        x: Tensor,
        values: Tensor,
        weight: Tensor | None,
        *parameters: Tensor,
    ) -> Tensor:
        ctx.graph, ctx.rule, ctx.kind, ctx.size = graph, rule, kind, size
        ctx.save_for_backward(x, values, weight, *parameters)
        out = x.new_zeros(graph.num_vertices, d_out)
        for block in blocks(graph, size):
            kind.add(out, x, rule(block.labels(graph, values)).to(x.dtype), weight, block)
        return out

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        if torch.is_grad_enabled():  # torch's once_differentiable misses this if `gradient` is a constant
            raise RuntimeError(
                "a convolution that is computed block by block has no second derivative (create_graph=True): "
                "set low_memory=False, and give F a linear last layer."
            )
        x, values, weight, *parameters = ctx.saved_tensors
        needs_x, needs_labels, needs_weight = ctx.needs_input_grad[5:8]
        for_x = x.new_zeros(x.shape) if needs_x else None
        for_labels = torch.zeros_like(values) if needs_labels else None
        for_weight = torch.zeros_like(weight) if needs_weight else None
        learnt = [p for p, needed in zip(parameters, ctx.needs_input_grad[8:], strict=True) if needed]
        sums = [torch.zeros_like(p) for p in learnt]
        gradient = gradient.contiguous()
        for block in blocks(ctx.graph, ctx.size):
            part = block.labels(ctx.graph, values).detach().requires_grad_(needs_labels)
            with torch.enable_grad():
                produced = ctx.rule(part).to(x.dtype)
            back, part_weight = ctx.kind.gradients(gradient, x, produced.detach(), weight, block, for_x)
            if for_weight is not None:
                for_weight += part_weight
            inputs = [*learnt, part] if needs_labels else learnt
            if not inputs or not produced.requires_grad:
                continue
            gradients = torch.autograd.grad(produced, inputs, back, allow_unused=True, materialize_grads=True)
            for total, part_gradient in zip(sums, gradients, strict=False):
                total += part_gradient
            if for_labels is not None:
                block.add_to_labels(ctx.graph, for_labels, gradients[-1])
        learnt_sums = iter(sums)
        by_parameter = [next(learnt_sums) if needed else None for needed in ctx.needs_input_grad[8:]]
        return (None,) * 5 + (for_x, for_labels, for_weight, *by_parameter)
