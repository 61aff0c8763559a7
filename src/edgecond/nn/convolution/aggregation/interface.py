"""The interface of the aggregations over a neighbourhood."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable

from jaxtyping import Float
from torch import Tensor

from edgecond.graph import Graph

SumOver = Callable[[Graph], Float[Tensor, "n d_out"]]  # sums the messages over the edges of a graph into its targets


class Aggregation(ABC):
    r"""One way to aggregate the messages $\Theta_{ji} x_j$ over the neighbours $N(i)$; 0 for a vertex without any.

    Attributes:
        name: The value of `reduce=`.
        pyg: Its names in PyG, values of `aggr=`.
        of_messages: Whether it needs every message rather than their sum. The sum is then taken over the graph in which
            every edge has a target of its own, and the plan counts as many targets as edges.
    """

    name: str
    pyg: tuple[str, ...]
    of_messages: bool = False

    @abstractmethod
    def aggregate(self, graph: Graph, sum_over: SumOver) -> Float[Tensor, "n d_out"]:
        """Aggregate over the edges of the graph, given the sum over the edges of any graph."""

    @abstractmethod
    def definition(self, messages: Float[Tensor, "e d_out"]) -> Float[Tensor, " d_out"]:
        """Aggregate the messages of one vertex, at least one: the definition that `reference` uses."""
