r"""The multiresolution pyramid of Shuman, Faraji and Vandergheynst, which coarsens general graphs (Section 3.5).

A level keeps the vertices on one side of the Laplacian's largest eigenvector (`split`), connects them by Kron reduction
(`reduce`) and removes edges at random (`sparsify`); the weights of the remaining edges are their labels. The other
vertices pool into the kept vertex that their random walk is most likely to reach first (`pool_map`). Connected
components are coarsened one by one with the same random generator.

Details that the paper leaves to its reference, GSPBox, are taken from there: $\epsilon$, the number of samples, and the
treatment of sparsified graphs that are disconnected.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from math import sqrt
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int
from numpy import ndarray as Array

from edgecond.data.pyramid.kron.matrices import components, entries, laplacian, symmetric, Weights
from edgecond.data.pyramid.kron.reduction import absorption, pool_map, pooled, reduce, reduced
from edgecond.data.pyramid.kron.sparsification import resistances, shares, sparsified, sparsify, TRIES
from edgecond.data.pyramid.kron.splitting import split

__all__ = [
    "TRIES",
    "Multiresolution",
    "WeightedGraph",
    "absorption",
    "components",
    "laplacian",
    "multiresolution",
    "multiresolutions",
    "pool_map",
    "reduce",
    "resistances",
    "sparsify",
    "split",
]


class WeightedGraph(NamedTuple):
    """A level $G^{(h)}$: each edge in both directions, without self-loops, sorted by target, then by source."""

    n: int
    source: Int[Array, " m"]
    target: Int[Array, " m"]
    weights: Float[Array, " m"]


class Multiresolution(NamedTuple):
    r"""The pyramid of one graph.

    Attributes:
        levels: Graphs $G^{(0)}, G^{(1)}, \dots$
        kept: Vertices of each level but the last that are the vertices of the next, ascending.
        pool_maps: Maps $M^{(h)}$ from the vertices of each level to those of the next.
    """

    levels: tuple[WeightedGraph, ...]
    kept: tuple[Int[Array, " n"], ...]
    pool_maps: tuple[Int[Array, " n"], ...]


def multiresolution(
    source: Int[Array, " m"], target: Int[Array, " m"], n: int, levels: int, rng: np.random.Generator
) -> Multiresolution:
    r"""Build the pyramid of a graph, which is treated as undirected, unweighted and without self-loops (Section 3.5).

    Components of a single vertex stay as they are; a graph of nothing else is repeated on all further levels.

    Args:
        source: Vertex $j$ of each edge; one direction of an edge suffices.
        target: Vertex $i$ of each edge.
        n: Number of vertices.
        levels: Number of levels, including the input: one more than the network has pooling layers.
        rng: Random generator of the sparsification.
    """
    return multiresolutions(source, target, n, levels, [rng])[0]


def multiresolutions(
    source: Int[Array, " m"],
    target: Int[Array, " m"],
    n: int,
    levels: int,
    rngs: Sequence[np.random.Generator],
    *,
    tries: int = TRIES,
) -> list[Multiresolution]:
    """Build one pyramid per random generator of the same graph, for data augmentation (Section 3.5).

    Each is that of `multiresolution`. Everything before the first draw, level 0 and its reduction, is computed once and
    shared. A sparsified graph that is disconnected is drawn again, up to `tries` draws: see `sparsify`.
    """
    if levels < 1:
        raise ValueError(f"a pyramid needs at least one level: got {levels}.")
    weights = _unweighted(np.asarray(source), np.asarray(target), n)
    return _multiresolutions(weights, levels, partial(sparsified, epsilon=min(10 / sqrt(n), 0.3), tries=tries), rngs)


def _multiresolutions(
    weights: Weights, levels: int, thin: Callable[..., Weights], rngs: Sequence[np.random.Generator]
) -> list[Multiresolution]:
    """Build the levels from this one upwards."""
    target, source, labels = entries(weights)
    graph = WeightedGraph(weights.shape[0], source, target, labels)
    if levels == 1:
        return [Multiresolution((graph,), (), ()) for _ in rngs]
    keep = split(weights)
    kept = np.flatnonzero(keep)
    if keep.all():
        index = kept
        coarser = _multiresolutions(weights, levels - 1, thin, rngs)
    else:
        reached = absorption(weights, keep)
        index = pooled(keep, reached)
        parts = shares(reduced(weights, keep, reached))  # one per connected component
        coarser = [_multiresolutions(thin(parts, rng=rng), levels - 1, thin, [rng])[0] for rng in rngs]
    return [Multiresolution((graph, *rest.levels), (kept, *rest.kept), (index, *rest.pool_maps)) for rest in coarser]


def _unweighted(source: Array, target: Array, n: int) -> Weights:
    """Build an undirected graph without self-loops and with weights of one."""
    if n < 1:
        raise ValueError(f"a graph needs at least one vertex: got {n}.")
    for name, ends in (("source", source), ("target", target)):
        if len(ends) and not 0 <= ends.min() <= ends.max() < n:
            raise ValueError(
                f"{name} must number the {n} vertices from 0 to {n - 1}: found {ends.min()} to {ends.max()}."
            )
    low, high = np.minimum(source, target).astype(np.int64), np.maximum(source, target)
    j, i = np.divmod(np.unique((low * n + high)[low < high]), n)
    return symmetric(n, i, j, np.ones(len(i)))
