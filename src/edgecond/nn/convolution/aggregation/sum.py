"""The sum over the neighbourhood."""

from __future__ import annotations

from torch import Tensor

from edgecond.graph import Graph
from edgecond.nn.convolution.aggregation.interface import Aggregation, SumOver


class Sum(Aggregation):
    r"""$\sum_{j \in N(i)} \Theta_{ji} x_j$."""

    name, pyg = "sum", ("add", "sum")

    def aggregate(self, graph: Graph, sum_over: SumOver) -> Tensor:
        return sum_over(graph)

    def definition(self, messages: Tensor) -> Tensor:
        return messages.sum(0)


SUM = Sum()
