"""From the sum over neighbours to the mean of Equation 1, or to the maximum."""

from __future__ import annotations

from collections.abc import Callable

from jaxtyping import Float
from torch import Tensor

from edgecond.graph import Graph
from edgecond.graph.segment import segment_max

REDUCTIONS = ("mean", "sum", "max")


def check_reduction(reduce: str) -> None:
    if reduce not in REDUCTIONS:
        raise ValueError(f"neighbours are reduced by one of {', '.join(REDUCTIONS)}: got {reduce!r}.")


def check_signal(x: Tensor, graph: Graph) -> None:
    """The kernels read the signal at the sources without looking."""
    if x.dim() != 2 or x.shape[0] != graph.num_sources:
        raise ValueError(
            f"the signal must have one row per source vertex: got {tuple(x.shape)} for {graph.num_sources} vertices."
        )


def reduced(
    graph: Graph, reduce: str, sum_over: Callable[[Graph], Float[Tensor, "n d_out"]]
) -> Float[Tensor, "n d_out"]:
    r"""The reduction of $\Theta_{ji} x_j$ over $N(i)$, given the sum over the edges of any graph.

    For the maximum the sum is taken over the graph that gives each edge a target of its own.
    """
    check_reduction(reduce)
    if reduce == "max":
        return segment_max(sum_over(graph.per_edge), graph.target, graph.num_vertices)
    total = sum_over(graph)
    return total if reduce == "sum" else total / graph.degree.clamp(min=1)[:, None].to(total.dtype)
