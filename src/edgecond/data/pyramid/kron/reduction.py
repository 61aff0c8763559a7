"""Kron reduction: the graph on the kept vertices, and the pool map of the other vertices (Section 3.5)."""

from __future__ import annotations

import numpy as np
from jaxtyping import Bool, Float, Int
from numpy import ndarray as Array
from scipy.sparse import csr_array

from edgecond.data.pyramid.kron.matrices import check_entries, edges, entries, pieces, symmetric, Weights
from edgecond.data.pyramid.kron.splitting import ROUNDING


def absorption(weights: Weights, kept: Bool[Array, " n"]) -> Float[Array, "e k"] | csr_array:
    r"""Compute the probability that a random walk from each eliminated vertex reaches each kept vertex first.

    The walk takes an edge with a probability proportional to its weight, so $P = -L_{ee}^{-1} L_{ek}$. In a sparse
    graph the eliminated vertices form clusters, and the inverse has one dense block for each.
    """
    degrees = weights.sum(1)[~kept]
    eliminated, outgoing = weights[np.ix_(~kept, ~kept)], weights[np.ix_(~kept, kept)]
    try:
        if isinstance(weights, Array):
            reached = np.maximum(np.linalg.solve(np.diag(degrees) - eliminated, outgoing), 0)
        else:
            reached = _product(_inverse(degrees, eliminated), outgoing)
    except np.linalg.LinAlgError:
        reached = np.zeros((1, 0))
    if not (np.abs(reached.sum(1) - 1) < 1e-6).all():
        raise ValueError(
            "every connected component must keep a vertex: found one without any. Choose the kept vertices with split."
        )
    return reached


def reduce(weights: Weights, kept: Bool[Array, " n"]) -> Weights:
    r"""Compute the Kron reduction: the graph on the kept vertices whose Laplacian is the Schur complement of $L$.

    $$L' = L_{kk} - L_{ke} L_{ee}^{-1} L_{ek}, \quad w' = w_{kk} + w_{ke} P$$

    off the diagonal, with the `absorption` $P$. All products are nonnegative, hence the weights are nonnegative too and
    there is no cancellation. Effective resistances between kept vertices do not change.
    """
    return reduced(weights, kept, absorption(weights, kept))


def pool_map(weights: Weights, kept: Bool[Array, " n"]) -> Int[Array, " n"]:
    """Compute the map $M$ onto the kept vertices, numbered in order.

    A kept vertex maps to itself, any other to the kept vertex that absorbs its random walk with the highest
    probability, or to the first of several.
    """
    return pooled(kept, absorption(weights, kept))


def reduced(weights: Weights, kept: Bool[Array, " n"], reached: Float[Array, "e k"] | csr_array) -> Weights:
    """Compute `reduce` from the absorption."""
    return symmetric(kept.sum(), *edges(weights[np.ix_(kept, kept)] + _product(weights[np.ix_(kept, ~kept)], reached)))


def pooled(kept: Bool[Array, " n"], reached: Float[Array, "e k"] | csr_array) -> Int[Array, " n"]:
    """Compute `pool_map` from the absorption."""
    row, column, probability = entries(reached)
    highest = np.zeros(reached.shape[0])
    np.maximum.at(highest, row, probability)
    best = np.flatnonzero(probability >= (1 - ROUNDING) * highest[row])[::-1]  # backwards: the first is assigned last
    first = np.zeros(len(highest), dtype=np.intp)
    first[row[best]] = column[best]
    index = np.cumsum(kept) - 1
    index[~kept] = first
    return index


def _inverse(degrees: Float[Array, " e"], weights: csr_array) -> csr_array:
    r"""Compute $L_{ee}^{-1}$, which has no negative entries, block by block."""
    rows, columns, values = [], [], []
    size = 0
    for cluster, graph in pieces(weights):
        size += len(cluster) ** 2
        check_entries(size, weights.shape[0])
        block = np.diag(degrees[cluster]) - graph
        rows.append(np.repeat(cluster, len(cluster)))
        columns.append(np.tile(cluster, len(cluster)))
        values.append(np.maximum(np.linalg.inv(block), 0).ravel())
    entries = np.concatenate(values), (np.concatenate(rows), np.concatenate(columns))
    return csr_array(entries, shape=weights.shape)


def _product(left: Weights, right: Weights) -> Weights:
    """Multiply two matrices, sparse ones after an upper bound of the number of entries of the product is checked."""
    if not isinstance(left, Array) and not isinstance(right, Array):
        ends = np.append(0, np.cumsum(np.diff(right.indptr)[left.indices]))
        check_entries(int(np.minimum(np.diff(ends[left.indptr]), right.shape[1]).sum()), max(left.shape))
    return left @ right
