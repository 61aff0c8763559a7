r"""Weighted graphs as matrices: dense if they are small or full, sparse otherwise (Section 3.5).

A graph is the symmetric matrix of its weights $w_{ij} \ge 0$, zero where there is no edge and on the diagonal, so that
$L = \mathrm{diag}(\sum_j w_{ij}) - w$ and the rows of every Laplacian sum to zero. Functions accept both kinds.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

import numpy as np
from jaxtyping import Float, Int
from numpy import ndarray as Array
from scipy.sparse import csr_array, diags_array

LARGE = 250
"""Number of vertices above which a graph is a sparse matrix; between 200 and 400 both kinds take the same time."""
FULL = 0.1
"""Fraction of nonzero entries above which a graph is always dense, as Kron reductions of random graphs are."""

Weights: TypeAlias = Float[Array, "n n"] | csr_array
Entries: TypeAlias = tuple[Int[Array, " m"], Int[Array, " m"], Float[Array, " m"]]


def symmetric(n: int, i: Int[Array, " m"], j: Int[Array, " m"], weights: Float[Array, " m"]) -> Weights:
    """Build the graph of $n$ vertices with edges between $i$ and $j$, each given once."""
    if n > LARGE and 2 * len(i) < FULL * n**2:
        return csr_array((np.tile(weights, 2), (np.append(i, j), np.append(j, i))), shape=(n, n))
    matrix = np.zeros((n, n))
    matrix[i, j] = matrix[j, i] = weights
    return matrix


def entries(matrix: Weights) -> Entries:
    """Return row, column and value of all nonzero entries, row by row."""
    if isinstance(matrix, Array):
        i, j = matrix.nonzero()
        return i, j, matrix[i, j]
    matrix.sort_indices()
    i = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
    nonzero = matrix.data != 0
    return i[nonzero], matrix.indices[nonzero].astype(np.intp), matrix.data[nonzero]


def edges(matrix: Weights) -> Entries:
    """Return the entries below the diagonal: each edge once, $i > j$."""
    i, j, weights = entries(matrix)
    below = i > j
    return i[below], j[below], weights[below]


def laplacian(weights: Weights) -> Weights:
    r"""Compute the Laplacian $L = \mathrm{diag}(\sum_j w_{ij}) - w$."""
    degrees = weights.sum(1)
    return (np.diag(degrees) if isinstance(weights, Array) else diags_array(degrees, format="csr")) - weights


def components(weights: Weights) -> list[Int[Array, " c"]]:
    """Return the vertices of each connected component, ascending; components are sorted by their first vertices."""
    return [vertices for vertices, _ in pieces(weights)]


def pieces(weights: Weights) -> Iterator[tuple[Int[Array, " c"], Weights]]:
    """Yield the vertices of each connected component, as `components`, and the graph on them."""
    n = weights.shape[0]
    i, j, w = edges(weights)
    first = first_vertex(i, j, n)
    if not first.any():
        yield np.arange(n), weights
        return
    order = np.argsort(first, kind="stable")
    starts = np.append(np.flatnonzero(np.diff(first[order], prepend=-1)), n)
    rank = np.empty(n, dtype=np.intp)  # within the component
    rank[order] = np.arange(n) - np.repeat(starts[:-1], np.diff(starts))
    by_component = np.argsort(first[i], kind="stable")
    bounds = np.append(np.searchsorted(first[i[by_component]], first[order[starts[:-1]]]), len(i))
    i, j, w = rank[i[by_component]], rank[j[by_component]], w[by_component]
    for start, stop, a, b in zip(starts, starts[1:], bounds, bounds[1:], strict=False):
        yield order[start:stop], symmetric(int(stop - start), i[a:b], j[a:b], w[a:b])


def first_vertex(i: Int[Array, " m"], j: Int[Array, " m"], n: int) -> Int[Array, " n"]:
    """Find the first vertex of the component of each vertex, given edges between $i$ and $j$.

    Each of a few rounds hooks trees onto neighbours and shortens them: faster than scipy for small graphs.
    """
    first = np.arange(n)
    while True:
        before = first.copy()
        np.minimum.at(first, before[i], before[j])
        np.minimum.at(first, before[j], before[i])
        first = first[first]
        if (first == before).all():
            return first
