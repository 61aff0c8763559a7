"""Equation 1 by several exact algorithms that agree to rounding, and the choice among them (Section 3.1)."""

from __future__ import annotations

from jaxtyping import Float
from torch import Tensor

from edgecond.graph import Graph
from edgecond.graph.transforms import abstract
from edgecond.nn.convolution.aggregation import AGGREGATIONS, REDUCTIONS
from edgecond.nn.convolution.algorithm import Filters, Plan
from edgecond.nn.convolution.diagonal import diagonal
from edgecond.nn.convolution.factored import factored
from edgecond.nn.convolution.per_edge import per_edge
from edgecond.nn.convolution.per_label import per_label
from edgecond.nn.convolution.piecewise import piecewise
from edgecond.nn.convolution.plan import ALGORITHMS, BY_NAME, candidates, plan, plan_for, traced_plan
from edgecond.nn.convolution.reference import reference

__all__ = [
    "AGGREGATIONS",
    "ALGORITHMS",
    "REDUCTIONS",
    "Filters",
    "Plan",
    "candidates",
    "convolve",
    "factored",
    "per_edge",
    "per_label",
    "piecewise",
    "plan",
    "plan_for",
    "reference",
]


def convolve(
    x: Float[Tensor, "n d_in"],
    graph: Graph,
    filters: Filters,
    reduce: str = "mean",
    *,
    algorithm: str | None = None,
    by: str | None = None,
    low_memory: bool = False,
) -> Float[Tensor, "n d_out"]:
    r"""Compute Equation 1 without the bias: aggregate $\Theta_{ji} X(j)$ over $N(i)$.

    Args:
        x: Signal on the source vertices.
        graph: The edges and their labels.
        filters: The filter network.
        reduce: Name of one of `AGGREGATIONS`; "mean" is that of the paper.
        algorithm: Name of one of `ALGORITHMS`, to run it instead of the one that the plan picks.
        by: Form of that algorithm.
        low_memory: Keep nothing of the size of the edges; F is evaluated again in the backward pass.
    """
    if graph.labels.index is not None and not filters.pure:  # batch statistics are over edges, not distinct labels
        graph = graph.with_labels(graph.labels.per_edge(graph.labels.values))
    if filters.diagonal:
        return diagonal(x, graph, filters, reduce, low_memory=low_memory)
    without_numbers = abstract(graph.labels.values)
    if algorithm is None:
        if without_numbers:
            chosen = traced_plan(graph, filters, reduce)
        else:
            chosen = plan_for(graph, filters, x.shape[1], reduce, low_memory=low_memory)
        algorithm, by = chosen.algorithm, chosen.by
    elif algorithm not in BY_NAME:
        raise ValueError(
            f"the algorithm is one of {', '.join(BY_NAME)}, or none to let the plan pick: got {algorithm!r}."
        )
    elif not BY_NAME[algorithm].applies(graph, filters):
        raise ValueError(
            f"{algorithm} needs {BY_NAME[algorithm].needs}: got {_description(graph, filters)}. "
            "Use per_edge, or let the plan pick."
        )
    if without_numbers and BY_NAME[algorithm].traced is None:
        raise ValueError(
            f"{algorithm} reads the numbers of labels, which are not known where torch traces or transforms a layer, "
            "nor on the meta device. Let the plan pick the algorithm."
        )
    return BY_NAME[algorithm].run(x, graph, filters, reduce, by=by, low_memory=low_memory)


def _description(graph: Graph, filters: Filters) -> str:
    """Return the facts on which it depends whether an algorithm applies."""
    labels = (
        f"labels of width {graph.labels.width}, {'one per edge' if graph.labels.index is None else 'with an index'}"
    )
    last = "ends" if filters.weight is not None else "does not end"
    layers = "" if filters.layers is None else f" and has {len(filters.layers[0])} hidden layers with ReLU"
    return f"{labels}, and a filter network that {last} in a linear layer{layers}"
