r"""The multiresolution of Shuman, Faraji and Vandergheynst, which coarsens a general graph (Section 3.5).

A level keeps the vertices on one side of the Laplacian's largest eigenvector (`split`), connects them by Kron reduction
(`reduce`) and thins the edges at random (`sparsify`); the weights that remain are the labels of the coarse edges. The
others pool into the kept vertex that their random walk reaches most often (`pool_map`).

A graph is the symmetric matrix of its weights $w_{ij} \ge 0$, zero where there is no edge and on the diagonal, so that
$L = \mathrm{diag}(\sum_j w_{ij}) - w$ and the rows of every Laplacian sum to zero. All is dense, for one graph at a
time, in $O(n^3)$. Connected components are coarsened one by one; they share the generator.

Numbers that the paper leaves to its reference, GSPBox, are taken from there: $\epsilon$, the count of samples, and what
happens to a sparsified graph that falls apart.
"""

from __future__ import annotations

from contextlib import suppress
from inspect import signature
from math import log, sqrt
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int
from numpy import ndarray as Array
from scipy.sparse import csr_array
from scipy.sparse.linalg import ArpackNoConvergence, eigsh

ROUNDING = 1e-7
"""Numbers this close, relative to the largest, count as equal. An eigenvector whose eigenvalue stands further apart
from the others is known more precisely than that."""
LARGE = 400
"""Vertices above which the largest eigenvectors are found without the others, by Lanczos iterations."""
LANCZOS = 6
"""How many of them."""
LANCZOS_OPTIONS = {"maxiter": 1000} | ({"rng": 0} if "rng" in signature(eigsh).parameters else {})
"""Iterations that restart do so from a fixed seed, where scipy lets us choose it."""
TRIES = 10
"""Draws until a sparsified graph is connected, as in GSPBox."""

Weights = Float[Array, "n n"]


class WeightedGraph(NamedTuple):
    """A level $G^{(h)}$: each edge in both directions, no self-loops, sorted by target, then by source."""

    n: int
    source: Int[Array, " m"]
    target: Int[Array, " m"]
    weights: Float[Array, " m"]


class Multiresolution(NamedTuple):
    """The pyramid of one graph.

    Attributes:
        levels: $G^{(0)}, G^{(1)}$ and so on.
        kept: Vertices of each level that make up the next, ascending; one array fewer than levels.
        pool_maps: $M^{(h)}$, from the vertices of each level to those of the next.
    """

    levels: tuple[WeightedGraph, ...]
    kept: tuple[Int[Array, " n"], ...]
    pool_maps: tuple[Int[Array, " n"], ...]


def multiresolution(
    source: Int[Array, " m"], target: Int[Array, " m"], n: int, levels: int, rng: np.random.Generator
) -> Multiresolution:
    r"""A pyramid of a graph, which is regarded as undirected, without self-loops, and unweighted (Section 3.5).

    Components of a single vertex stay as they are; a graph of nothing else is repeated on all further levels.

    Args:
        source: Vertex $j$ of each edge; one direction of an edge stands for both.
        target: Vertex $i$ of each edge.
        n: Number of vertices.
        levels: Number of levels, the input among them: one more than the network has poolings.
        rng: Source of the samples; the only randomness.
    """
    if levels < 1:
        raise ValueError(f"a pyramid needs at least one level: got {levels}.")
    weights = _unweighted(np.asarray(source), np.asarray(target), n)
    epsilon = min(10 / sqrt(n), 0.3)
    graphs, kept, pool_maps = [_graph(weights)], [], []
    for _ in range(levels - 1):
        keep = split(weights)
        reached = absorption(weights, keep)
        pool_maps.append(_pooled(keep, reached))
        kept.append(np.flatnonzero(keep))
        if not keep.all():
            weights = sparsify(_reduced(weights, keep, reached), epsilon, rng)
        graphs.append(_graph(weights))
    return Multiresolution(tuple(graphs), tuple(kept), tuple(pool_maps))


def split(weights: Weights) -> Bool[Array, " n"]:
    """Which vertices are kept: those where the eigenvector of the largest Laplacian eigenvalue is positive.

    Each connected component has its own eigenvector $u$. Its first non-zero entry is positive. If the eigenvalue is a
    multiple one, $u$ is the projection onto the eigenspace of the first unit vector that is not orthogonal to it, which
    does not depend on the basis that LAPACK returns and is the same rule. So of a complete graph the first vertex is
    kept, of a star the centre or the leaves, whichever come first, and of a path every other vertex.

    Vertices where $u$ is zero are undecided. They are split in turn, as the subgraph that they induce; so one that has
    no undecided neighbours is kept, as in GSPBox, and graphs whose eigenvector is localised are coarsened everywhere.

    Of a component of two or more vertices at least one is kept and one is not; a single vertex is kept.
    """
    kept = np.zeros(len(weights), dtype=bool)
    undecided = np.arange(len(weights))
    while len(undecided):
        later = []
        for part in components(weights[np.ix_(undecided, undecided)]):
            vertices = undecided[part]
            u = _largest_eigenvector(weights[np.ix_(vertices, vertices)])
            kept[vertices] = u > 0
            later.append(vertices[u == 0])
        undecided = np.concatenate(later)
    return kept


def absorption(weights: Weights, kept: Bool[Array, " n"]) -> Float[Array, "e k"]:
    r"""Probability that the random walk from each eliminated vertex meets each kept vertex first.

    The walk steps along an edge with a probability in proportion to its weight, so $P = -L_{ee}^{-1} L_{ek}$.
    """
    if kept.all():
        return np.zeros((0, len(kept)))
    inner = laplacian(weights)[np.ix_(~kept, ~kept)]
    try:
        reached = np.maximum(np.linalg.solve(inner, weights[np.ix_(~kept, kept)]), 0)
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
    return _reduced(weights, kept, absorption(weights, kept))


def pool_map(weights: Weights, kept: Bool[Array, " n"]) -> Int[Array, " n"]:
    """The map $M$ onto the kept vertices, numbered in order.

    A kept vertex maps to itself, and any other to the one that absorbs its random walk with the highest probability;
    if several do, to the first.
    """
    return _pooled(kept, absorption(weights, kept))


def resistances(weights: Weights) -> Weights:
    r"""Effective resistances between all pairs of vertices of a connected graph.

    $R_{ij} = g_{ii} + g_{jj} - 2 g_{ij}$ with $g$ the inverse of $L + s/n$, a matrix that differs from the
    pseudo-inverse of $L$ by a constant; $s$, the mean degree, has the size of $L$.
    """
    n, degrees = len(weights), weights.sum(1)
    g = np.linalg.inv(laplacian(weights) + (degrees.mean() or 1) / n)
    return np.maximum(g.diagonal()[:, None] + g.diagonal() - g - g.T, 0)


def sparsify(weights: Weights, epsilon: float, rng: np.random.Generator, *, tries: int = TRIES) -> Weights:
    r"""Spielman and Srivastava: $q$ edges drawn with replacement, in proportion to $w_e R_e$.

    An edge drawn $c_e$ times has the new weight $c_e w_e / (q p_e)$, with $p_e = w_e R_e / (n - 1)$ by Foster's
    theorem; so the expected Laplacian of one draw is that of the graph.

    Details are those of GSPBox, here for each component of $n$ vertices: $q = 0.16\, n \ln n / \epsilon^2$, rounded,
    where $\epsilon$ is at least $2/\sqrt{n}$ and at most one. If the component falls apart, all is drawn again after
    halving the distance of $\epsilon$ from $1/\sqrt{n}$; the last draw stands whatever it is. Components of one or two
    vertices stay as they are. Others do not, however few edges they have: even a tree gets new weights. (GSPBox refuses
    an $\epsilon$ above one, so components of three; its translation PyGSP takes one instead, and so do we.)

    Args:
        weights: The graph.
        epsilon: Precision: the larger, the fewer edges remain.
        rng: Source of the samples.
        tries: Draws at most.
    """
    sparse = weights.copy()
    for part in components(weights):
        if len(part) > 2:
            sparse[np.ix_(part, part)] = _sparsify(weights[np.ix_(part, part)], epsilon, rng, tries)
    return sparse


def laplacian(weights: Weights) -> Weights:
    r"""$L = \mathrm{diag}(\sum_j w_{ij}) - w$."""
    return np.diag(weights.sum(1)) - weights


def components(weights: Weights) -> list[Int[Array, " c"]]:
    """The vertices of each connected component, ascending; components in the order of their first vertices."""
    i, j = np.nonzero(np.tril(weights))
    first = _first_vertex(i, j, len(weights))
    if not first.any():
        return [np.arange(len(weights))]
    order = np.argsort(first, kind="stable")
    return np.split(order, np.flatnonzero(np.diff(first[order])) + 1)


def _reduced(weights: Array, kept: Array, reached: Array) -> Array:
    """`reduce`, where the absorption is known."""
    reduced = weights[np.ix_(kept, kept)] + weights[np.ix_(kept, ~kept)] @ reached
    np.fill_diagonal(reduced, 0)
    return (reduced + reduced.T) / 2


def _pooled(kept: Array, reached: Array) -> Array:
    """`pool_map`, where the absorption is known."""
    index = np.cumsum(kept) - 1
    index[~kept] = (reached >= (1 - ROUNDING) * reached.max(1, keepdims=True)).argmax(1)
    return index


def _first_vertex(i: Array, j: Array, n: int) -> Array:
    """The first vertex of the component of each vertex, from edges between $i$ and $j$.

    A few rounds, in each of which trees hook onto neighbours and grow shorter: for small graphs faster than scipy.
    """
    first = np.arange(n)
    while True:
        before = first.copy()
        np.minimum.at(first, before[i], before[j])
        np.minimum.at(first, before[j], before[i])
        first = first[first]
        if (first == before).all():
            return first


def _largest_eigenvector(weights: Array) -> Array:
    """The eigenvector that `split` decides by, of a connected graph; entries within rounding of zero are zero."""
    if len(weights) < 3:
        return np.array([1.0, -1.0])[: len(weights)]
    space = _largest_eigenspace(laplacian(weights))  # (n, multiplicity)
    size = np.linalg.norm(space, axis=1)
    first = (size > ROUNDING * size.max()).argmax()
    u = space @ space[first]
    return np.where(np.abs(u) > ROUNDING * np.abs(u).max(), u, 0)


def _largest_eigenspace(matrix: Array) -> Array:
    """Orthonormal vectors; by Lanczos iterations if the graph is large, unless these stall or find no end of them."""
    if len(matrix) > LARGE:
        start = np.cos(np.arange(len(matrix)))  # any vector that knows no symmetry
        with suppress(ArpackNoConvergence):
            values, vectors = eigsh(
                csr_array(matrix), LANCZOS, which="LA", v0=start, ncv=8 * LANCZOS, **LANCZOS_OPTIONS
            )
            equal = values >= (1 - ROUNDING) * values.max()
            if not equal.all():
                return vectors[:, equal]
    values, vectors = np.linalg.eigh(matrix)
    return vectors[:, values >= (1 - ROUNDING) * values[-1]]


def _sparsify(weights: Array, epsilon: float, rng: np.random.Generator, tries: int) -> Array:
    """The same for a connected graph of at least three vertices."""
    n = len(weights)
    i, j = np.nonzero(np.tril(weights))
    share = weights[i, j] * resistances(weights)[i, j]
    share /= share.sum()
    least = 1 / sqrt(n)
    epsilon = min(max(epsilon, 2 * least), 1)
    for _ in range(tries):
        q = max(round(0.16 * n * log(n) / epsilon**2), 1)
        drawn = rng.multinomial(q, share)
        if np.count_nonzero(drawn) >= n - 1 and not _first_vertex(i[drawn > 0], j[drawn > 0], n).any():
            break
        epsilon -= (epsilon - least) / 2
    sparse = np.zeros_like(weights)
    sparse[i, j] = np.divide(drawn * weights[i, j], q * share, out=np.zeros(len(i)), where=drawn > 0)
    return sparse + sparse.T


def _unweighted(source: Array, target: Array, n: int) -> Array:
    """The matrix of an undirected graph without self-loops, whose weights are one."""
    if n < 1:
        raise ValueError(f"a graph needs at least one vertex: got {n}.")
    for name, ends in (("source", source), ("target", target)):
        if len(ends) and not 0 <= ends.min() <= ends.max() < n:
            raise ValueError(
                f"the {name} of an edge is one of the {n} vertices, 0 to {n - 1}: found {ends.min()} to {ends.max()}."
            )
    weights = np.zeros((n, n))
    weights[source, target] = weights[target, source] = 1
    np.fill_diagonal(weights, 0)
    return weights


def _graph(weights: Array) -> WeightedGraph:
    target, source = np.nonzero(weights)
    return WeightedGraph(len(weights), source, target, weights[target, source])
