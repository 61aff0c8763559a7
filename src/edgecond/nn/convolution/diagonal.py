"""Equation 1 with diagonal filters, one weight per channel, as the authors' code offers."""

from __future__ import annotations

from jaxtyping import Float
from torch import Tensor

from edgecond.graph import Graph
from edgecond.graph.segment import segment_sum
from edgecond.nn.convolution.aggregation import aggregate
from edgecond.nn.convolution.algorithm import Filters
from edgecond.nn.convolution.blockwise import BLOCK, blockwise, DiagonalSum


def diagonal(
    x: Float[Tensor, "n d"], graph: Graph, filters: Filters, reduce: str, *, low_memory: bool
) -> Float[Tensor, "n d"]:
    r"""Aggregate $\theta_{ji} \odot x_j$ over the neighbours $j$ of each vertex $i$; see `convolve`."""
    if low_memory and filters.in_parts(graph.labels.values):
        return aggregate(
            graph,
            reduce,
            lambda edges: blockwise(
                x, edges, filters.theta, DiagonalSum, filters.d_out, filters.parameters, size=BLOCK
            ),
        )
    theta = graph.labels.per_edge(filters.theta(graph.labels.values))
    messages = theta * x.index_select(0, graph.source)
    return aggregate(graph, reduce, lambda edges: segment_sum(messages, edges.target, edges.num_vertices))
