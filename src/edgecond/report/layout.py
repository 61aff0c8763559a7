"""Layout of graphs: a spring between each two vertices, as long as the shortest path."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float, Int
from numpy import ndarray as Array
from scipy.sparse import coo_array, csr_array
from scipy.sparse.csgraph import breadth_first_order, shortest_path


def undirected(source: Int[Array, " m"], target: Int[Array, " m"]) -> Int[Array, " e"]:
    """Return one edge of each two that are each other's reverse, and no self-connections."""
    low, high = np.minimum(source, target), np.maximum(source, target)
    _, first = np.unique(np.stack([low, high]), axis=1, return_index=True)
    return first[low[first] < high[first]]


def nearby(n: int, source: Int[Array, " m"], target: Int[Array, " m"], most: int) -> Int[Array, " kept"]:
    """Return all vertices, or the `most` that are nearest to the vertex of the highest degree."""
    if n <= most:
        return np.arange(n)
    centre = int(np.bincount(target, minlength=n).argmax())
    links = _links(n, source, target)
    return np.sort(breadth_first_order(links, centre, directed=False, return_predecessors=False)[:most])


def spread(n: int, source: Int[Array, " m"], target: Int[Array, " m"], rounds: int = 100) -> Float[Array, "n 2"]:
    r"""Return positions in the plane whose distances are nearly those of the graph: a spring between each two vertices.

    The stress $\sum_{i<j} d_{ij}^{-2} (\|x_i - x_j\| - d_{ij})^2$, with the lengths $d_{ij}$ of shortest paths, is
    lowered by majorisation (Gansner, Koren and North, 2004), which never raises it.
    """
    if n < 2:
        return np.zeros((n, 2))
    lengths = shortest_path(_links(n, source, target), directed=False, unweighted=True)
    reached = np.isfinite(lengths)
    lengths[~reached] = lengths[reached].max() + 2  # components are drawn side by side
    stiffness = 1 / np.where(lengths > 0, lengths, np.inf) ** 2
    inverse = np.linalg.pinv(np.diag(stiffness.sum(1)) - stiffness, hermitian=True)
    places = _scaled(lengths) + np.random.default_rng(0).normal(0, 0.05, (n, 2))  # no two at one position
    for _ in range(rounds):
        apart = np.linalg.norm(places[:, None] - places[None], axis=2)
        pull = stiffness * lengths / np.maximum(apart, 1e-9)
        places = inverse @ ((np.diag(pull.sum(1)) - pull) @ places)
    return places


def _scaled(lengths: Float[Array, "n n"]) -> Float[Array, "n 2"]:
    """Return the positions of classical multidimensional scaling."""
    squares = lengths**2
    centred = squares - squares.mean(0) - squares.mean(1)[:, None] + squares.mean()
    values, vectors = np.linalg.eigh(-centred / 2)
    return vectors[:, -2:] * np.sqrt(np.maximum(values[-2:], 0))


def _links(n: int, source: Int[Array, " m"], target: Int[Array, " m"]) -> csr_array:
    return coo_array((np.ones(len(source)), (source, target)), shape=(n, n)).tocsr()
