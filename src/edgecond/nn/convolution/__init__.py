"""Equation 1 by several exact algorithms that agree to rounding, and the choice among them (Section 3.1)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from edgecond.graph import Graph
from edgecond.graph.segment import segment_sum
from edgecond.nn import kernels
from edgecond.nn.convolution.blockwise import blockwise, DiagonalSum, FactorSum
from edgecond.nn.convolution.factored import factored
from edgecond.nn.convolution.operators import Layers
from edgecond.nn.convolution.per_edge import per_edge
from edgecond.nn.convolution.per_label import per_label
from edgecond.nn.convolution.piecewise import applies, piecewise
from edgecond.nn.convolution.plan import BLOCK, candidates, Plan, plan
from edgecond.nn.convolution.reduce import check_reduction, reduced, REDUCTIONS
from edgecond.nn.convolution.reference import reference

__all__ = [
    "REDUCTIONS",
    "Filters",
    "Plan",
    "candidates",
    "check_reduction",
    "convolve",
    "factored",
    "per_edge",
    "per_label",
    "piecewise",
    "plan",
    "plan_for",
    "reference",
]


@dataclass(frozen=True, eq=False)
class Filters:
    """A filter network $F$ as the algorithms see it.

    Attributes:
        theta: From labels to filters, `(e, s)` to `(e, d_out, d_in)`.
        d_out: Width of the output.
        parameters: What `theta` depends on.
        hidden: From labels to what enters the last layer, if that is linear.
        layers: Weights and biases of the layers before it, if they are linear maps with ReLUs.
        weight: The matrices of that layer; one more than `hidden` is wide if it has a bias.
        width: $k$, the width of `hidden`.
        hidden_parameters: What `hidden` depends on.
        diagonal: Filters are one weight per channel, `(e, d_out)`.
        pure: Whether F may be evaluated on parts of the labels, and twice.
    """

    theta: Callable[[Tensor], Tensor]
    d_out: int
    parameters: Sequence[Tensor]
    hidden: Callable[[Tensor], Tensor] | None = None
    weight: Float[Tensor, "k d_out d_in"] | None = None
    width: int | None = None
    hidden_parameters: Sequence[Tensor] = ()
    layers: Layers | None = None
    diagonal: bool = False
    pure: bool = True


def plan_for(graph: Graph, filters: Filters, d_in: int, reduce: str = "mean", *, low_memory: bool = False) -> Plan:
    """What `convolve` will do."""
    if torch.compiler.is_compiling():  # sizes are symbols there; decide by what is fixed
        categorical = graph.labels.index is not None and filters.hidden is None
        algorithm = "per_label" if categorical else "factored" if filters.hidden is not None else "per_edge"
        return Plan(algorithm, "source" if reduce == "max" else "target", 0, 0, 0.0)
    return plan(
        n=graph.num_edges if reduce == "max" else graph.num_vertices,
        m=graph.num_edges,
        d_in=d_in,
        d_out=filters.d_out,
        k=filters.width,
        u=None if graph.labels.index is None else len(graph.labels.values),
        num_sources=graph.num_sources,
        fused=filters.layers is not None and graph.labels.index is None and kernels.fuses(graph.labels.values),
        scalar=graph.labels.index is None and applies(graph.labels.width, filters.layers),
        low_memory=low_memory,
        itemsize=graph.labels.values.element_size(),
    )


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
    r"""Equation 1 without the bias: the mean (or sum, or maximum) of $\Theta_{ji} X(j)$ over $N(i)$.

    Args:
        x: Signal on the source vertices.
        graph: The edges and their labels.
        filters: The filter network.
        reduce: "mean", "sum" or "max".
        algorithm: "factored", "piecewise", "per_label", "per_edge" or "reference" instead of the one that the plan
            picks.
        by: The form of that algorithm.
        low_memory: Keep nothing of the size of the edges; F is evaluated again in the backward pass.
    """
    if graph.labels.index is not None and not filters.pure:  # batch statistics are over edges, not distinct labels
        graph = graph.with_labels(graph.labels.per_edge(graph.labels.values))
    labels, traced = graph.labels, torch.compiler.is_compiling()
    parts = filters.pure and not traced  # F may be evaluated on parts of the labels
    if filters.diagonal:
        return _diagonal(x, graph, filters, reduce, low_memory and parts)
    if algorithm is None:
        chosen = plan_for(graph, filters, x.shape[1], reduce, low_memory=low_memory)
        algorithm, by = chosen.algorithm, chosen.by
    match algorithm:
        case "factored" if filters.hidden is not None and filters.weight is not None:
            hidden, weight = filters.hidden, filters.weight
            if filters.layers and labels.index is None and (kernels.fuses(x) or not low_memory):
                return factored(x, graph, labels.values, weight, reduce, layers=filters.layers, by=by or "target")
            if not (low_memory and parts):
                return factored(x, graph, labels.per_edge(hidden(labels.values)), weight, reduce, by=by or "target")
            parameters = filters.hidden_parameters
            return reduced(
                graph,
                reduce,
                lambda edges: blockwise(x, edges, hidden, FactorSum, filters.d_out, parameters, weight, size=BLOCK),
            )
        case "factored":
            raise ValueError("factored needs a filter network whose last layer is linear: use per_edge for others.")
        case "piecewise" if filters.weight is not None and filters.layers is not None:
            return piecewise(x, graph, filters.weight, filters.layers, reduce)
        case "piecewise":
            raise ValueError("piecewise needs a filter network of linear layers with ReLUs: use per_edge for others.")
        case "per_label":
            return per_label(x, graph, filters.theta(labels.values), reduce, by=by or "target")
        case "per_edge" if parts:
            return per_edge(x, graph, filters.theta, filters.d_out, reduce, parameters=filters.parameters)
        case "per_edge":
            theta = labels.per_edge(filters.theta(labels.values))
            return reduced(graph, reduce, lambda edges: _formed(x, edges, theta))
        case "reference":
            return reference(x, graph, labels.per_edge(filters.theta(labels.values)), reduce)
    raise ValueError(
        "the algorithm is one of factored, piecewise, per_label, per_edge and reference, or none to let the plan pick: "
        f"got {algorithm!r}."
    )


def _formed(x: Tensor, graph: Graph, theta: Float[Tensor, "m d_out d_in"]) -> Tensor:
    """The sum with all filters in memory: for an F that looks at all labels together, and for tracing."""
    messages = torch.bmm(theta, x.index_select(0, graph.source)[:, :, None]).squeeze(2)
    return segment_sum(messages, graph.target, graph.num_vertices)


def _diagonal(x: Tensor, graph: Graph, filters: Filters, reduce: str, low_memory: bool) -> Tensor:
    """Filters of one weight per channel, as the authors' code offers."""
    labels = graph.labels
    if low_memory:
        return reduced(
            graph,
            reduce,
            lambda edges: blockwise(
                x, edges, filters.theta, DiagonalSum, filters.d_out, filters.parameters, size=BLOCK
            ),
        )
    theta = labels.per_edge(filters.theta(labels.values))
    messages = theta * x.index_select(0, graph.source)
    return reduced(graph, reduce, lambda edges: segment_sum(messages, edges.target, edges.num_vertices))
