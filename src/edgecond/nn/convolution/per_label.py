"""Equation 1 with one filter per distinct label (Section 3.1, footnote 1)."""

from __future__ import annotations

from collections.abc import Iterator

from jaxtyping import Float
from torch import Tensor

from edgecond.graph import Graph
from edgecond.nn.convolution.aggregation import aggregate
from edgecond.nn.convolution.algorithm import Algorithm, BLEND, Filters, Plan, SCATTERED, Sizes
from edgecond.nn.convolution.grouped import grouped
from edgecond.nn.convolution.operators import blend
from edgecond.nn.kernels import Runs

BY_LABEL = 4  # effort per number that passes through memory if edges are sorted by label


def per_label(
    x: Float[Tensor, "n d_in"],
    graph: Graph,
    theta: Float[Tensor, "u d_out d_in"],
    reduce: str = "mean",
    *,
    by: str = "target",
) -> Float[Tensor, "n d_out"]:
    r"""Sum the signal per target and label, then multiply each sum by the filter of its label.

    $$\sum_{j \in N(i)} \Theta_{L(j,i)}\, x_j = \sum_u \Theta_u \sum_{j \in N(i):\, L(j,i)=u} x_j$$

    By target, as written: $m d_{in} + n u d_{in} d_{out}$ multiply-adds. By source, multiplying first:
    $n_{src} u d_{in} d_{out} + m d_{out}$. By label, one product for all edges of a label: $m d_{in} d_{out}$.

    Args:
        x: Signal $X^{l-1}$ on the source vertices.
        graph: The edges $(j, i)$, with labels that have an index.
        theta: One filter per distinct label.
        reduce: Name of the aggregation; "mean" is that of the paper.
        by: The form, "target", "source" or "label".
    """
    index = graph.labels.index
    if index is None:
        raise ValueError("per_label needs labels with an index of distinct values: got one label per edge.")
    if by == "label":
        return aggregate(graph, reduce, lambda edges: _by_label(x, edges, theta))
    return aggregate(graph, reduce, lambda edges: blend(x, edges, theta, index=index, by=by))


def _by_label(x: Tensor, graph: Graph, theta: Tensor) -> Tensor:
    return grouped(x, theta[:, None], Runs(*graph.by_label), graph.num_vertices)


class PerLabel(Algorithm):
    """`per_label`, for labels with an index of distinct values."""

    name, needs, traced = "per_label", "labels with an index of distinct values", 1

    def applies(self, graph: Graph, filters: Filters) -> bool:
        return graph.labels.index is not None

    def cost(self, sizes: Sizes) -> Iterator[Plan]:
        if sizes.u is None:
            return
        m, u, theta, formed = sizes.m, sizes.u, sizes.theta, sizes.u * (sizes.k or 1) * sizes.theta
        for by, rows, width, scale in (
            ("target", sizes.n, sizes.d_in, BLEND),
            ("source", sizes.num_sources, sizes.d_out, SCATTERED),
        ):
            product = formed + rows * u * theta
            yield sizes.plan(self.name, by, product=product, blend=m * width, numbers=2 * u * theta, scale=scale)
        if not sizes.low_memory:
            numbers, moved = u * theta + 2 * sizes.passing, BY_LABEL * sizes.passing
            yield sizes.plan(self.name, "label", product=formed + m * theta, blend=0, numbers=numbers, moved=moved)

    def run(
        self, x: Tensor, graph: Graph, filters: Filters, reduce: str, *, by: str | None, low_memory: bool
    ) -> Tensor:
        return per_label(x, graph, filters.theta(graph.labels.values), reduce, by=by or "target")


PER_LABEL = PerLabel()
