"""Sparsification by Spielman and Srivastava: edges are sampled by effective resistance (Section 3.5)."""

from __future__ import annotations

from math import log, sqrt
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int
from numpy import ndarray as Array
from scipy.sparse import csr_array
from scipy.sparse.linalg import SuperLU

from edgecond.data.budget import MOST_ENTRIES
from edgecond.data.pyramid.kron.matrices import (
    edges,
    Entries,
    factor,
    first_vertex,
    laplacian,
    pieces,
    symmetric,
    Weights,
)

TRIES = 10
"""Largest number of draws until a sparsified graph is connected, as in GSPBox."""
EXACT = 5000
"""Number of vertices of a sparse graph above which resistances are estimated, as exact ones would take seconds."""
PROJECTIONS = 256
r"""Number of random directions of that estimate, whose relative standard deviation is $\sqrt{2 / 256} = 9\%$."""
COLUMNS = 32
"""Number of right-hand sides that are solved for at once."""


class Shares(NamedTuple):
    """A connected component, its edges between $i$ and $j$, and the probability of each edge to be drawn."""

    vertices: Int[Array, " n"]
    i: Int[Array, " m"]
    j: Int[Array, " m"]
    weights: Float[Array, " m"]
    share: Float[Array, " m"]


def sparsify(weights: Weights, epsilon: float, rng: np.random.Generator, *, tries: int = TRIES) -> Weights:
    r"""Draw $q$ edges with replacement, with probabilities proportional to $w_e R_e$.

    An edge drawn $c_e$ times has the new weight $c_e w_e / (q p_e)$, with $p_e = w_e R_e / (n - 1)$ by Foster's
    theorem. The expected Laplacian of one draw is that of the graph, as it would be for any other $p$.

    Details are those of GSPBox, here for each component of $n$ vertices: $q = 0.16\, n \ln n / \epsilon^2$, rounded,
    where $\epsilon$ is at least $2/\sqrt{n}$ and at most one. If the drawn component is disconnected, it is drawn again
    after halving the distance of $\epsilon$ from $1/\sqrt{n}$; the last draw is final. Components of one or two
    vertices do not change; all others do, even trees get new weights. (GSPBox rejects an $\epsilon$ above one, hence
    components of three vertices; its translation PyGSP uses one instead, and so do we.)

    Args:
        weights: Graph to sparsify.
        epsilon: Precision; a larger value leaves fewer edges.
        rng: Random generator.
        tries: Largest number of draws.
    """
    return sparsified(shares(weights), epsilon, rng, tries=tries)


def shares(weights: Weights) -> list[Shares]:
    """Compute the probabilities $p_e$ of `sparsify` for each connected component."""
    parts = []
    for vertices, graph in pieces(weights):
        i, j, w = edges(graph)
        # Rounded because numpy's draws differ below and above p = 1/2, which bridges and symmetric graphs reach up to
        # rounding errors: in the last four digits if weights range over four orders of magnitude.
        share = (w * resistances(graph, i, j)).round(9) if len(vertices) > 2 else w
        parts.append(Shares(vertices, i, j, w, share / share.sum()))
    return parts


def sparsified(parts: list[Shares], epsilon: float, rng: np.random.Generator, *, tries: int = TRIES) -> Weights:
    """Sparsify a graph given the probabilities of its edges."""
    i, j, weights = zip(*(_drawn(part, epsilon, rng, tries) for part in parts), strict=True)
    n = sum(len(part.vertices) for part in parts)
    return symmetric(n, np.concatenate(i), np.concatenate(j), np.concatenate(weights))


def resistances(weights: Weights, i: Int[Array, " p"], j: Int[Array, " p"]) -> Float[Array, " p"]:
    r"""Compute the effective resistances between the vertices $i$ and $j$ of a connected graph.

    $R_{ij} = g_{ii} + g_{jj} - 2 g_{ij}$, where $g$ is the inverse of $L$ with vertex 0 grounded: the mean degree is
    added to $L_{00}$. A sparse graph has a sparse factor, which gives $g$ a few columns at a time, in $O(n)$ memory.

    For sparse graphs of more than `EXACT` vertices, $R_{ij} \approx |z_i - z_j|^2$ with rows $z$ of $g B^T W^{1/2} Q$,
    where $B$ has a row $e_i - e_j$ for each edge, $W$ is the diagonal matrix of weights, and $Q$ has `PROJECTIONS`
    columns of random signs divided by $\sqrt{PROJECTIONS}$. The random seed is fixed: equal graphs have equal
    estimates.
    """
    n = weights.shape[0]
    grounded = laplacian(weights)
    grounded[0, 0] += weights.sum() / n or 1
    if isinstance(weights, Array):
        g = np.linalg.inv(grounded)
        own = g.diagonal()
        return np.maximum(own[i] + own[j] - 2 * g[i, j], 0)
    factored = factor(grounded, options={"SymmetricMode": True})
    return _estimated(factored, weights, i, j) if n > EXACT else _solved(factored, n, i, j)


def _drawn(part: Shares, epsilon: float, rng: np.random.Generator, tries: int) -> Entries:
    """Return the edges of one component that remain, with their new weights."""
    vertices, i, j, weights, share = part
    n = len(vertices)
    if n < 3:
        return vertices[i], vertices[j], weights
    least = 1 / sqrt(n)
    epsilon = min(max(epsilon, 2 * least), 1)
    for _ in range(tries):
        q = max(round(0.16 * n * log(n) / epsilon**2), 1)
        count = rng.multinomial(q, share)
        some = np.flatnonzero(count)
        if len(some) >= n - 1 and not first_vertex(i[some], j[some], n).any():
            break
        epsilon -= (epsilon - least) / 2
    return vertices[i[some]], vertices[j[some]], count[some] * weights[some] / (q * share[some])


def _solved(factored: SuperLU, n: int, i: Array, j: Array) -> Array:
    """Compute resistances from all columns of $g$."""
    own, mutual = np.empty(n), np.empty(len(i))
    order = np.argsort(i, kind="stable")
    bounds = np.searchsorted(i[order], np.arange(0, n + COLUMNS, COLUMNS))
    for start, first, last in zip(range(0, n, COLUMNS), bounds, bounds[1:], strict=False):
        columns = np.arange(start, min(start + COLUMNS, n))
        g = factored.solve(np.eye(n, len(columns), -start))
        own[columns] = g[columns, columns - start]
        some = order[first:last]
        mutual[some] = g[j[some], i[some] - start]
    return np.maximum(own[i] + own[j] - 2 * mutual, 0)


def _estimated(factored: SuperLU, weights: csr_array, i: Array, j: Array) -> Array:
    """Estimate resistances from random projections."""
    head, tail, w = edges(weights)
    n, m = weights.shape[0], len(w)
    ends = np.append(head, tail), np.tile(np.arange(m), 2)
    currents = csr_array((np.append(np.sqrt(w), -np.sqrt(w)), ends), shape=(n, m))  # B^T W^(1/2)
    rng, total = np.random.default_rng(0), np.zeros(len(i))
    columns = max(1, min(COLUMNS, MOST_ENTRIES // m))  # fewer for graphs of more than 262,144 edges
    for start in range(0, PROJECTIONS, columns):
        z = factored.solve(currents @ rng.choice([-1.0, 1.0], (m, min(columns, PROJECTIONS - start))))
        total += np.square(z[i] - z[j]).sum(1)
    return total / PROJECTIONS
