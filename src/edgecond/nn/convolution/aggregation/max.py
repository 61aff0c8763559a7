"""The maximum over the neighbourhood, channel by channel."""

from __future__ import annotations

from torch import Tensor

from edgecond.graph import Graph
from edgecond.graph.segment import segment_max
from edgecond.nn.convolution.aggregation.interface import Aggregation, SumOver


class Max(Aggregation):
    r"""$\max_{j \in N(i)} \Theta_{ji} x_j$."""

    name, pyg, of_messages = "max", ("max",), True

    def aggregate(self, graph: Graph, sum_over: SumOver) -> Tensor:
        return segment_max(sum_over(graph.per_edge), graph.target, graph.num_vertices)

    def definition(self, messages: Tensor) -> Tensor:
        return messages.amax(0)


MAX = Max()
