"""Equation 1 by forming the filters, a chunk of edges at a time: for any filter network."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import torch
from jaxtyping import Float
from torch import Tensor

from edgecond.graph import Graph
from edgecond.graph.segment import segment_sum
from edgecond.nn.convolution.aggregation import aggregate
from edgecond.nn.convolution.algorithm import Algorithm, Filters, Plan, Sizes
from edgecond.nn.convolution.blockwise import blockwise, FilterSum

CHUNK_ELEMENTS = 1 << 20  # numbers in the filters of a chunk
FORMED = 8.0  # effort per element of a filter that is formed, read, and formed again


def chunk_size(d_in: int, d_out: int) -> int:
    """Return the number of edges whose filters are formed at a time."""
    return max(64, CHUNK_ELEMENTS // max(1, d_in * d_out))


def per_edge(
    x: Float[Tensor, "n d_in"],
    graph: Graph,
    filters: Callable[[Float[Tensor, "e s"]], Float[Tensor, "e d_out d_in"]],
    d_out: int,
    reduce: str = "mean",
    *,
    parameters: Sequence[Tensor] = (),
    chunk: int | None = None,
) -> Float[Tensor, "n d_out"]:
    r"""Form $\Theta_{ji} = F(L(j,i))$ for a chunk of edges, multiply and sum, then go on to the next chunk.

    The backward pass evaluates $F$ again, so the memory is that of one chunk.

    Args:
        x: Signal $X^{l-1}$ on the source vertices.
        graph: The edges $(j, i)$ and their labels.
        filters: $F$, which maps labels to filters; a pure function of each label.
        d_out: Width of the output.
        reduce: Name of the aggregation; "mean" is that of the paper.
        parameters: The parameters of $F$.
        chunk: Number of edges per chunk; by default, as many as make a million elements.
    """
    size = chunk or chunk_size(x.shape[1], d_out)
    return aggregate(
        graph,
        reduce,
        lambda edges: blockwise(x, edges, filters, FilterSum, d_out, parameters, size=size),
    )


class PerEdge(Algorithm):
    """`per_edge`, for every filter network."""

    name, needs, traced = "per_edge", "a filter network", 2

    def applies(self, graph: Graph, filters: Filters) -> bool:
        return True

    def cost(self, sizes: Sizes) -> Iterator[Plan]:
        theta, chunk = sizes.theta, min(sizes.m, chunk_size(sizes.d_in, sizes.d_out))
        product, blend = sizes.m * (sizes.k or 1) * theta, sizes.m * theta
        yield sizes.plan(self.name, "target", product=product, blend=blend, numbers=3 * chunk * theta, scale=FORMED)

    def run(
        self, x: Tensor, graph: Graph, filters: Filters, reduce: str, *, by: str | None, low_memory: bool
    ) -> Tensor:
        if filters.in_parts(graph.labels.values):
            return per_edge(x, graph, filters.theta, filters.d_out, reduce, parameters=filters.parameters)
        theta = graph.labels.per_edge(filters.theta(graph.labels.values))
        return aggregate(graph, reduce, lambda edges: _at_once(x, edges, theta))


PER_EDGE = PerEdge()


def _at_once(x: Tensor, graph: Graph, theta: Float[Tensor, "m d_out d_in"]) -> Tensor:
    """Sum with all filters in memory: for an F that depends on all labels together, and for tracing."""
    messages = torch.bmm(theta, x.index_select(0, graph.source)[:, :, None]).squeeze(2)
    return segment_sum(messages, graph.target, graph.num_vertices)
