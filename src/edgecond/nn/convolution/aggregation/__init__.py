"""The aggregations over a neighbourhood: Equation 1 takes the mean, other members are as in PyG."""

from __future__ import annotations

from jaxtyping import Float
from torch import Tensor

from edgecond.graph import Graph
from edgecond.nn.convolution.aggregation.interface import Aggregation, SumOver
from edgecond.nn.convolution.aggregation.max import MAX
from edgecond.nn.convolution.aggregation.mean import MEAN
from edgecond.nn.convolution.aggregation.std import STD
from edgecond.nn.convolution.aggregation.sum import SUM

AGGREGATIONS: dict[str, Aggregation] = {member.name: member for member in (MEAN, SUM, MAX, STD)}
REDUCTIONS = tuple(AGGREGATIONS)


def find(reduce: str) -> Aggregation:
    """Return the aggregation of this name."""
    if reduce not in AGGREGATIONS:
        raise ValueError(f"reduce must be one of {', '.join(AGGREGATIONS)}: got {reduce!r}.")
    return AGGREGATIONS[reduce]


def find_pyg(aggr: str) -> Aggregation:
    """Return the aggregation that PyG calls by this name."""
    for member in AGGREGATIONS.values():
        if aggr in member.pyg:
            return member
    names = ", ".join(member.pyg[0] for member in AGGREGATIONS.values())
    raise ValueError(f"ECConv aggregates by one of {names}, in the words of PyG: got aggr={aggr!r}.")


def aggregate(graph: Graph, reduce: str, sum_over: SumOver) -> Float[Tensor, "n d_out"]:
    r"""Aggregate the messages $\Theta_{ji} x_j$ over $N(i)$.

    Args:
        graph: The edges $(j, i)$.
        reduce: Name of the aggregation.
        sum_over: Sums the messages over the edges of a graph into its targets.
    """
    return find(reduce).aggregate(graph, sum_over)
