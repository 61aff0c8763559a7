"""Kron reduction: the graph on the kept vertices, and the map of the others onto them (Section 3.5)."""

from __future__ import annotations

import numpy as np
from jaxtyping import Bool, Float, Int
from numpy import ndarray as Array
from scipy.sparse import csr_array

from edgecond.data.pyramid.kron.matrices import edges, entries, pieces, symmetric, Weights
from edgecond.data.pyramid.kron.splitting import ROUNDING


def absorption(weights: Weights, kept: Bool[Array, " n"]) -> Float[Array, "e k"] | csr_array:
    r"""Probability that the random walk from each eliminated vertex meets each kept vertex first.

    The walk steps along an edge with a probability in proportion to its weight, so $P = -L_{ee}^{-1} L_{ek}$. In a
    sparse graph the eliminated vertices fall into clusters, and the inverse into as many dense blocks.
    """
    degrees = weights.sum(1)[~kept]
    within, outwards = weights[np.ix_(~kept, ~kept)], weights[np.ix_(~kept, kept)]
    try:
        if isinstance(weights, Array):
            reached = np.maximum(np.linalg.solve(np.diag(degrees) - within, outwards), 0)
        else:
            reached = _inverse(degrees, within) @ outwards
    except np.linalg.LinAlgError:
        reached = np.zeros((1, 0))
    if not (np.abs(reached.sum(1) - 1) < 1e-6).all():
        raise ValueError(
            "every connected component must keep a vertex: found one that is eliminated as a whole. "
            "Choose the kept vertices by split."
        )
    return reached


def reduce(weights: Weights, kept: Bool[Array, " n"]) -> Weights:
    r"""Kron reduction: the graph on the kept vertices whose Laplacian is the Schur complement of $L$.

    $$L' = L_{kk} - L_{ke} L_{ee}^{-1} L_{ek}, \quad w' = w_{kk} + w_{ke} P$$

    off the diagonal, with the `absorption` $P$: sums of products that are not negative, so neither are the weights, and
    no digits cancel. Effective resistances between kept vertices remain.
    """
    return reduced(weights, kept, absorption(weights, kept))


def pool_map(weights: Weights, kept: Bool[Array, " n"]) -> Int[Array, " n"]:
    """The map $M$ onto the kept vertices, numbered in order.

    A kept vertex maps to itself, and any other to the one that absorbs its random walk with the highest probability;
    if several do, to the first.
    """
    return pooled(kept, absorption(weights, kept))


def reduced(weights: Weights, kept: Bool[Array, " n"], reached: Float[Array, "e k"] | csr_array) -> Weights:
    """`reduce`, where the absorption is known."""
    return symmetric(kept.sum(), *edges(weights[np.ix_(kept, kept)] + weights[np.ix_(kept, ~kept)] @ reached))


def pooled(kept: Bool[Array, " n"], reached: Float[Array, "e k"] | csr_array) -> Int[Array, " n"]:
    """`pool_map`, where the absorption is known."""
    row, column, probability = entries(reached)
    highest = np.zeros(reached.shape[0])
    np.maximum.at(highest, row, probability)
    best = np.flatnonzero(probability >= (1 - ROUNDING) * highest[row])[::-1]  # backwards: the first comes last
    first = np.zeros(len(highest), dtype=np.intp)
    first[row[best]] = column[best]
    index = np.cumsum(kept) - 1
    index[~kept] = first
    return index


def _inverse(degrees: Float[Array, " e"], weights: csr_array) -> csr_array:
    r"""$L_{ee}^{-1}$, block by block; it has no negative entries."""
    rows, columns, values = [], [], []
    for cluster, graph in pieces(weights):
        block = np.diag(degrees[cluster]) - graph
        rows.append(np.repeat(cluster, len(cluster)))
        columns.append(np.tile(cluster, len(cluster)))
        values.append(np.maximum(np.linalg.inv(block), 0).ravel())
    entries = np.concatenate(values), (np.concatenate(rows), np.concatenate(columns))
    return csr_array(entries, shape=weights.shape)
