"""Equation 1 by forming the filters, some edges at a time: for a filter network of any kind."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from jaxtyping import Float
from torch import Tensor

from edgecond.graph import Graph
from edgecond.nn.convolution.blockwise import blockwise, FilterSum
from edgecond.nn.convolution.reduce import reduced

CHUNK_ELEMENTS = 1 << 20  # numbers in the filters of a chunk


def chunk_size(d_in: int, d_out: int) -> int:
    """Edges whose filters are formed at a time."""
    return max(64, CHUNK_ELEMENTS // max(1, d_in * d_out))


def per_edge(
    x: Float[Tensor, "n d_in"],
    graph: Graph,
    filters: Callable[[Float[Tensor, "e s"]], Float[Tensor, "e d_out d_in"]],
    d_out: int,
    reduce: str = "mean",
    *,
    parameters: Sequence[Tensor] = (),
    chunk: int | None = None,
) -> Float[Tensor, "n d_out"]:
    r"""$\Theta_{ji} = F(L(j,i))$ for a chunk of edges, multiplied and summed, then the next chunk.

    The backward pass evaluates $F$ again, so that the memory is that of one chunk.

    Args:
        x: Signal $X^{l-1}$ on the source vertices.
        graph: The edges $(j, i)$ and their labels.
        filters: $F$, from labels to filters; a pure function of each label.
        d_out: Width of the output.
        reduce: "mean" (the paper), "sum" or "max".
        parameters: The parameters of $F$.
        chunk: Edges per chunk.
    """
    size = chunk or chunk_size(x.shape[1], d_out)
    return reduced(
        graph,
        reduce,
        lambda edges: blockwise(x, edges, filters, FilterSum, d_out, parameters, size=size),
    )
