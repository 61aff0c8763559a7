"""Equation 1 without forming a single filter, for filter networks whose last layer is linear."""

from __future__ import annotations

from collections.abc import Iterator

from jaxtyping import Float, Int
from torch import Tensor

from edgecond.graph import Graph
from edgecond.nn import kernels
from edgecond.nn.convolution.aggregation import aggregate
from edgecond.nn.convolution.algorithm import Algorithm, BLEND, Filters, Plan, SCATTERED, Sizes
from edgecond.nn.convolution.blockwise import BLOCK, blockwise, FactorSum
from edgecond.nn.convolution.operators import blend, Layers


def factored(
    x: Float[Tensor, "n d_in"],
    graph: Graph,
    hidden: Float[Tensor, "m k"],
    weight: Float[Tensor, "k d_out d_in"],
    reduce: str = "mean",
    *,
    layers: Layers = ((), ()),
    by: str = "target",
    row: Int[Tensor, " m"] | None = None,
) -> Float[Tensor, "n d_out"]:
    r"""Compute Equation 1 by blending the neighbours instead of the matrices of the last layer of $F$.

    That layer is linear, $\Theta_{ji} = \sum_k h_{ji,k} W_k$, so the sums can be exchanged:

    $$\sum_{j \in N(i)} \Theta_{ji}\, x_j
      = \sum_k W_k \sum_{j \in N(i)} h_{ji,k}\, x_j
      = \sum_{j \in N(i)} \sum_k h_{ji,k}\, (W_k x_j).$$

    Both forms are exact. The middle one, by target, takes $m k d_{in} + n k d_{in} d_{out}$ multiply-adds; the right
    one, by source, takes $m k d_{out} + n_{src} k d_{in} d_{out}$.

    Args:
        x: Signal $X^{l-1}$ on the source vertices.
        graph: The edges $(j, i)$ to sum over.
        hidden: Activations $h_{ji}$ entering the last layer of $F$; the labels $L(j,i)$ if there are layers.
        weight: The matrices $W_k$ of that layer; one more than `hidden` has columns if the layer has a bias.
        reduce: Name of the aggregation; "mean" is that of the paper.
        layers: Weights and biases of hidden layers with ReLUs, which map `hidden` to the activations. Where the kernels
            allow it, these are computed when they are needed, in both passes, and never stored.
        by: The form, "target" or "source".
        row: Row of `hidden` of each edge, for a `hidden` without gradient; by default the number of the edge.

    Returns:
        Signal $X^l$, before the bias $b^l$.
    """
    return aggregate(graph, reduce, lambda edges: blend(x, edges, weight, hidden, layers=layers, by=by, row=row))


class Factored(Algorithm):
    """`factored`, for filter networks whose last layer is linear."""

    name, needs, traced = "factored", "a filter network whose last layer is linear", 0

    def applies(self, graph: Graph, filters: Filters) -> bool:
        return filters.hidden is not None and filters.weight is not None

    def cost(self, sizes: Sizes) -> Iterator[Plan]:
        if sizes.k is None:
            return
        k, theta = sizes.k, sizes.theta
        hidden = 0 if sizes.fused else k * (min(sizes.m, BLOCK) if sizes.low_memory else sizes.m)
        numbers = hidden + k * theta
        yield sizes.plan(
            self.name,
            "target",
            product=sizes.n * k * theta,
            blend=sizes.m * k * sizes.d_in,
            numbers=numbers,
            scale=BLEND,
        )
        if sizes.fused or not sizes.low_memory:
            yield sizes.plan(
                self.name,
                "source",
                product=sizes.num_sources * k * theta,
                blend=sizes.m * k * sizes.d_out,
                numbers=numbers,
                scale=SCATTERED,
            )

    def run(
        self, x: Tensor, graph: Graph, filters: Filters, reduce: str, *, by: str | None, low_memory: bool
    ) -> Tensor:
        assert filters.hidden is not None
        assert filters.weight is not None
        hidden, weight, labels, by = filters.hidden, filters.weight, graph.labels, by or "target"
        if filters.layers and not labels.shared and (not low_memory or kernels.fuses(x)):
            values, row = labels.values, labels.index
            if row is not None and (values.requires_grad or len(values) != graph.num_edges):
                values, row = labels.per_edge(values), None
            return factored(x, graph, values, weight, reduce, layers=filters.layers, by=by, row=row)
        if not (low_memory and filters.in_parts(labels.values)):
            return factored(x, graph, labels.per_edge(hidden(labels.values)), weight, reduce, by=by)
        parameters = filters.hidden_parameters
        return aggregate(
            graph,
            reduce,
            lambda edges: blockwise(x, edges, hidden, FactorSum, filters.d_out, parameters, weight, size=BLOCK),
        )


FACTORED = Factored()
