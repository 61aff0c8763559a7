r"""Weighted graphs as matrices: dense if they are small or full, sparse otherwise (Section 3.5).

A graph is the symmetric matrix of its weights $w_{ij} \ge 0$, zero where there is no edge and on the diagonal, so that
$L = \mathrm{diag}(\sum_j w_{ij}) - w$ and the rows of every Laplacian sum to zero. Functions accept both kinds.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeAlias

import numpy as np
from jaxtyping import Float, Int
from numpy import ndarray as Array
from scipy.sparse import csc_array, csr_array, diags_array
from scipy.sparse.csgraph import reverse_cuthill_mckee
from scipy.sparse.linalg import splu, SuperLU

from edgecond.data.budget import MOST_ENTRIES
from edgecond.errors import DataError

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
    check_entries(n**2, n)
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


# Memory


def check_entries(entries: int, n: int) -> None:
    """Raise a `DataError` if a matrix of n vertices has more entries than the budget allows."""
    if entries > MOST_ENTRIES:
        raise DataError(
            f"a graph must be sparse enough to be coarsened, with at most {MOST_ENTRIES:,} entries in a matrix: "
            f"{n:,} of its vertices need up to {entries:,}. Cut it into smaller graphs, or use no pooling."
        )


def factor(matrix: csr_array, **options: Any) -> SuperLU:
    """Factor a symmetric matrix, after its `envelope` is checked: SuperLU finds an order with fewer entries."""
    if (entries := envelope(matrix)) > MOST_ENTRIES:
        entries = envelope(_without_leaves(matrix))  # which add no entries, whatever they hang on
    check_entries(entries, matrix.shape[0])
    return splu(csc_array(matrix), permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0, **options)


def envelope(matrix: csr_array) -> int:
    """Return the number of entries from the first of each row to the diagonal, in the order of Cuthill and McKee."""
    order = reverse_cuthill_mckee(matrix, symmetric_mode=True)
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order))
    coordinates = matrix.tocoo()
    first = rank.copy()
    np.minimum.at(first, coordinates.row, rank[coordinates.col])
    return int((rank - first).sum() + len(order))


def _without_leaves(matrix: csr_array) -> csr_array:
    """Remove vertices of a single neighbour, until there are none."""
    degree = np.diff(matrix.indptr) - (matrix.diagonal() != 0)
    waiting = np.flatnonzero(degree <= 1).tolist()
    left = np.ones(len(degree), bool)
    while waiting:
        vertex = waiting.pop()
        left[vertex] = False
        for other in matrix.indices[matrix.indptr[vertex] : matrix.indptr[vertex + 1]].tolist():
            degree[other] -= 1
            if degree[other] == 1 and left[other]:
                waiting.append(other)
    return matrix[np.ix_(left, left)]
