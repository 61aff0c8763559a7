"""The mean over the neighbourhood, as in Equation 1."""

from __future__ import annotations

from torch import Tensor

from edgecond.graph import Graph
from edgecond.nn.convolution.aggregation.interface import Aggregation, SumOver


class Mean(Aggregation):
    r"""$\frac{1}{|N(i)|} \sum_{j \in N(i)} \Theta_{ji} x_j$."""

    name, pyg = "mean", ("mean",)

    def aggregate(self, graph: Graph, sum_over: SumOver) -> Tensor:
        total = sum_over(graph)
        return total / graph.degree.clamp(min=1)[:, None].to(total.dtype)

    def definition(self, messages: Tensor) -> Tensor:
        return messages.mean(0)


MEAN = Mean()
