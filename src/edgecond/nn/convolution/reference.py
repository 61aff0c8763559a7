"""Equation 1 as it stands in the paper, edge by edge: the oracle of the tests."""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor

from edgecond.graph import Graph
from edgecond.nn.convolution.aggregation import find
from edgecond.nn.convolution.algorithm import Algorithm, Filters, Plan, Sizes


def reference(
    x: Float[Tensor, "n d_in"], graph: Graph, theta: Float[Tensor, "m d_out d_in"], reduce: str = "mean"
) -> Float[Tensor, "n d_out"]:
    r"""Compute $X^l(i) = \frac{1}{|N(i)|} \sum_{j \in N(i)} \Theta_{ji} X^{l-1}(j)$, or another aggregation.

    A vertex without edges gets 0.

    Args:
        x: Signal $X^{l-1}$ on the source vertices.
        graph: The edges $(j, i)$.
        theta: One filter per edge.
        reduce: Name of the aggregation; "mean" is that of the paper.

    Returns:
        Signal $X^l$, before the bias $b^l$.
    """
    aggregation = find(reduce)
    messages: list[list[Tensor]] = [[] for _ in range(graph.num_vertices)]
    for e, (j, i) in enumerate(zip(graph.source.tolist(), graph.target.tolist(), strict=True)):
        messages[i].append(theta[e] @ x[j])
    nothing = x.new_zeros(theta.shape[1])
    outputs = [aggregation.definition(torch.stack(received)) if received else nothing for received in messages]
    return torch.stack(outputs) if outputs else x.new_zeros(0, theta.shape[1])


class Reference(Algorithm):
    """`reference`, which is run only if it is asked for."""

    name, needs = "reference", "a filter network"

    def applies(self, graph: Graph, filters: Filters) -> bool:
        return True

    def cost(self, sizes: Sizes) -> tuple[Plan, ...]:
        return ()

    def run(
        self, x: Tensor, graph: Graph, filters: Filters, reduce: str, *, by: str | None, low_memory: bool
    ) -> Tensor:
        return reference(x, graph, graph.labels.per_edge(filters.theta(graph.labels.values)), reduce)


REFERENCE = Reference()
