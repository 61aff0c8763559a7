"""The list of exact algorithms, and the choice among them by a cost model, before anything runs."""

from __future__ import annotations

from functools import lru_cache

import torch

from edgecond.graph import Graph
from edgecond.nn import kernels
from edgecond.nn.convolution.aggregation import find
from edgecond.nn.convolution.algorithm import Algorithm, Filters, Plan, Sizes
from edgecond.nn.convolution.factored import FACTORED
from edgecond.nn.convolution.per_edge import PER_EDGE
from edgecond.nn.convolution.per_label import PER_LABEL
from edgecond.nn.convolution.piecewise import PIECEWISE
from edgecond.nn.convolution.reference import REFERENCE

ALGORITHMS: tuple[Algorithm, ...] = (PER_EDGE, FACTORED, PIECEWISE, PER_LABEL, REFERENCE)

BY_NAME = {algorithm.name: algorithm for algorithm in ALGORITHMS}
_TRACED = sorted((a for a in ALGORITHMS if a.traced is not None), key=lambda a: a.traced or 0)


def plan(
    *,
    n: int,
    m: int,
    d_in: int,
    d_out: int,
    k: int | None,
    u: int | None = None,
    num_sources: int | None = None,
    fused: bool = False,
    scalar: bool = False,
    low_memory: bool = False,
    itemsize: int = 4,
) -> Plan:
    """Return the plan with the least effort for a convolution of the given size.

    Args:
        n: Number of vertices (targets).
        m: Number of edges.
        d_in: Width of the input signal.
        d_out: Width of the output signal.
        k: Width of the activations that enter the last layer of F, if that layer is linear; none for any other F.
        u: Number of distinct labels if they are categorical; none if every edge has a label of its own.
        num_sources: Number of source vertices if they are not the targets.
        fused: Whether the kernels compute the hidden layers of F where they need them, so that nothing is stored.
        scalar: Whether labels are single numbers, in which F is linear between at most k breakpoints.
        low_memory: Whether to leave out algorithms that keep anything of the size of the edges.
        itemsize: Bytes per number.
    """
    plans = candidates(n, m, d_in, d_out, k, u, num_sources, fused, scalar, low_memory, itemsize)
    return min(plans, key=lambda candidate: candidate.effort)


@lru_cache(maxsize=4096)
def candidates(
    n: int,
    m: int,
    d_in: int,
    d_out: int,
    k: int | None,
    u: int | None,
    num_sources: int | None = None,
    fused: bool = False,
    scalar: bool = False,
    low_memory: bool = False,
    itemsize: int = 4,
) -> tuple[Plan, ...]:
    """Return every way to compute the convolution, with its cost (see the table in docs/guide/3-exact-and-fast.md)."""
    sources = n if num_sources is None else num_sources
    sizes = Sizes(n, m, d_in, d_out, k, u, sources, fused, scalar, low_memory, itemsize)
    return tuple(candidate for algorithm in ALGORITHMS for candidate in algorithm.cost(sizes))


def traced_plan(graph: Graph, filters: Filters, reduce: str = "mean") -> Plan:
    """Return the plan where numbers cannot be read: the first algorithm that applies, without its cost."""
    by = "source" if find(reduce).of_messages else "target"
    return next(Plan(a.name, by, 0, 0, 0.0) for a in _TRACED if a.applies(graph, filters))


def plan_for(graph: Graph, filters: Filters, d_in: int, reduce: str = "mean", *, low_memory: bool = False) -> Plan:
    """Return the plan that `convolve` will follow."""
    if torch.compiler.is_compiling():  # sizes are symbols there
        return traced_plan(graph, filters, reduce)
    of_messages, labels = find(reduce).of_messages, graph.labels
    return plan(
        n=graph.num_edges if of_messages else graph.num_vertices,
        m=graph.num_edges,
        d_in=d_in,
        d_out=filters.d_out,
        k=filters.width,
        u=len(labels.values) if labels.shared else None,
        num_sources=graph.num_sources,
        fused=filters.layers is not None and not labels.shared and kernels.fuses(labels.values),
        scalar=not labels.shared and filters.piecewise_linear(labels.width),
        low_memory=low_memory,
        itemsize=labels.values.element_size(),
    )
