"""Equation 1 with one pair of filters per linear piece of F, for labels that are a single number (Section 4.3)."""

from __future__ import annotations

from collections.abc import Iterator
from functools import reduce as fold

import torch
from jaxtyping import Float
from torch import Tensor

from edgecond.graph import Graph
from edgecond.nn.convolution.aggregation import aggregate
from edgecond.nn.convolution.algorithm import Algorithm, Filters, Plan, Sizes
from edgecond.nn.convolution.grouped import grouped
from edgecond.nn.convolution.operators import check_signal, Layers
from edgecond.nn.kernels import Runs

PIECES = 0.25  # share of the pieces of F in which there are labels: 10 to 20 of 65 on NCI1
BY_PIECE = 10  # effort per number that passes through memory if edges are sorted by piece of F


def piecewise(
    x: Float[Tensor, "n d_in"],
    graph: Graph,
    weight: Float[Tensor, "k d_out d_in"],
    layers: Layers,
    reduce: str = "mean",
) -> Float[Tensor, "n d_out"]:
    r"""Compute Equation 1 from filters that are linear in a scalar label $w$ between the breakpoints of $F$.

    With one hidden layer, $h_k(w) = \mathrm{relu}(a_k w + c_k)$, a ReLU turns on or off at each of the $k$ breakpoints
    $-c_k / a_k$, which cut the line into pieces. On piece $p$, where the set $A_p$ of hidden units is active,

    $$\Theta(w) = P_p + w\, Q_p, \qquad P_p = \sum_{k \in A_p} c_k W_k, \quad Q_p = \sum_{k \in A_p} a_k W_k.$$

    Sorted by label, the edges of a piece form a run, and one product with $P_p$ and $Q_p$ gives all their messages.
    Exact, in $2 m d_{in} d_{out}$ multiply-adds, and $2 k d_{in} d_{out}$ more for each of the at most $k + 1$ pieces
    that contain labels.

    Args:
        x: Signal $X^{l-1}$ on the source vertices.
        graph: The edges $(j, i)$, with labels $w$ of a single number.
        weight: The matrices $W_k$ of the last layer of $F$; one more than there are hidden units if it has a bias.
        layers: Weights $a$ and biases $c$ of the hidden layer, as lists of one.
        reduce: Name of the aggregation; "mean" is that of the paper.

    Returns:
        Signal $X^l$, before the bias $b^l$.
    """
    check_signal(x, graph)
    if graph.labels.width != 1 or len(layers[0]) != 1:
        raise ValueError(
            "piecewise needs labels of one number and a filter network with one hidden layer, with ReLU: "
            f"got labels of width {graph.labels.width} and {len(layers[0])} hidden layers. Use factored instead."
        )
    labels = graph.labels.per_edge(graph.labels.values)
    given = (x, labels, weight, layers[0][0], layers[1][0])
    dtype = fold(torch.promote_types, [tensor.dtype for tensor in given])  # halves from autocast widen
    x, labels, weight, a, c = (tensor.to(dtype) for tensor in given)
    order, pointer, middle = _pieces(labels, a, c)
    with torch.autocast(x.device.type, enabled=False):
        filters = _filters(middle, a, c, weight)

    def sum_over(edges: Graph) -> Tensor:
        runs = Runs(pointer, edges.source[order], edges.target[order], labels[:, 0].index_select(0, order))
        return grouped(x, filters, runs, edges.num_vertices)

    return aggregate(graph, reduce, sum_over)


class Piecewise(Algorithm):
    """`piecewise`, for labels of one number and filter networks with one hidden layer."""

    name, needs = "piecewise", "labels of one number and a filter network with one hidden layer, with ReLU"

    def applies(self, graph: Graph, filters: Filters) -> bool:
        return filters.weight is not None and filters.piecewise_linear(graph.labels.width)

    def cost(self, sizes: Sizes) -> Iterator[Plan]:
        if sizes.k is None or not sizes.scalar or sizes.low_memory:
            return
        matrices = 2 * min(sizes.m, sizes.k + 1) * sizes.theta
        yield sizes.plan(
            self.name,
            "label",
            product=2 * sizes.m * sizes.theta,
            blend=sizes.k * matrices,
            numbers=matrices + 2 * sizes.passing,
            scale=PIECES,
            moved=BY_PIECE * sizes.passing,
        )

    def run(
        self, x: Tensor, graph: Graph, filters: Filters, reduce: str, *, by: str | None, low_memory: bool
    ) -> Tensor:
        assert filters.weight is not None
        assert filters.layers is not None
        return piecewise(x, graph, filters.weight, filters.layers, reduce)


PIECEWISE = Piecewise()


@torch.no_grad()
def _pieces(
    labels: Float[Tensor, "m 1"], a: Float[Tensor, "k 1"], c: Float[Tensor, " k"]
) -> tuple[Tensor, Tensor, Float[Tensor, "p 1"]]:
    """Return the edges in the order of their labels, where each piece begins, and the middle of its labels.

    A label at a breakpoint is a piece of its own: there torch takes the slope of the ReLU to be 0.
    """
    w, order = torch.sort(labels[:, 0], stable=True)
    breakpoints = -c / a[:, 0]  # infinite or NaN where a is zero, and sorted to the end, where it cuts nothing
    ends = torch.tensor([0, len(w)], device=w.device)
    cuts = torch.cat([torch.searchsorted(w, breakpoints), torch.searchsorted(w, breakpoints, right=True), ends])
    # How many cuts are distinct would have to be read back from a device: there, pieces may be empty.
    cuts = cuts.unique() if w.device.type == "cpu" else cuts.sort().values
    # In the middle of a piece, rounding cannot change which units are active.
    middle = (w[cuts[:-1].clamp(max=len(w) - 1)] + w[cuts[1:] - 1]) / 2
    return order, cuts, middle[:, None]


def _filters(
    middle: Float[Tensor, "p 1"],
    a: Float[Tensor, "k 1"],
    c: Float[Tensor, " k"],
    weight: Float[Tensor, "k d_out d_in"],
) -> Float[Tensor, "p 2 d_out d_in"]:
    """Return $P_p$ and $Q_p$ for every piece."""
    active = torch.nn.functional.linear(middle, a, c) > 0
    parts = torch.stack([active * c, active * a[:, 0]], 1)  # (p, 2, k)
    if len(weight) > len(c):  # the bias of the last layer belongs to every P
        ones = parts.new_tensor([1.0, 0.0]).expand(len(parts), 2)
        parts = torch.cat([parts, ones[:, :, None]], 2)
    _, d_out, d_in = weight.shape
    return (parts.flatten(0, 1) @ weight.flatten(1)).view(len(parts), 2, d_out, d_in)
