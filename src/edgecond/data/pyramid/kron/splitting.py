"""Selection of the vertices of the next level by the sign of the Laplacian's largest eigenvector (Section 3.5)."""

from __future__ import annotations

from contextlib import suppress
from inspect import signature

import numpy as np
from jaxtyping import Bool, Float
from numpy import ndarray as Array
from scipy.sparse import csr_array, eye_array
from scipy.sparse.linalg import ArpackNoConvergence, eigsh, LinearOperator

from edgecond.data.pyramid.kron.matrices import factor, laplacian, pieces, Weights

ROUNDING = 1e-7
"""Numbers that differ by less than this, relative to the largest, count as equal. An eigenvector whose eigenvalue is
farther from the others is computed more precisely than that."""
SIGNIFICANT = 1e-5
"""Smallest entry, relative to the largest, that may fix the sign: a smaller one would magnify rounding."""
MULTIPLICITY = 128
"""Number of eigenvectors to compute one by one; an eigenvalue of higher multiplicity is left to LAPACK."""
DENSE = 5800
"""Number of vertices up to which LAPACK is used, which takes 24 bytes for each pair of them: 0.8 GB."""
PRECISE, COARSE = 1e-14, 1e-3
"""Tolerances of Lanczos iterations: for eigenvectors, and to check whether the next eigenvalue is much smaller."""
RESTARTS = {"rng": 0} if "rng" in signature(eigsh).parameters else {}
"""Options of Lanczos iterations: restarts use a fixed random seed where scipy supports it."""
OPTIONS = {"maxiter": 150} | RESTARTS
"""The same, for those that may give up."""


def split(weights: Weights) -> Bool[Array, " n"]:
    """Select the vertices where the eigenvector of the largest Laplacian eigenvalue is positive.

    Each connected component has its own eigenvector $u$, whose sign is such that its first significant entry is
    positive. For a multiple eigenvalue, $u$ is the projection onto the eigenspace of the first unit vector that is not
    orthogonal to it; this does not depend on the computed basis and agrees with the rule for a simple one. Thus a
    complete graph keeps its first vertex, a star its centre or its leaves, whichever come first, and a path every
    other vertex.

    Vertices where $u$ is zero are undecided. The subgraph that they induce is split in turn, so a vertex without
    undecided neighbours is kept, as in GSPBox, and graphs with a localized eigenvector are coarsened everywhere.

    In a component of two or more vertices, at least one is kept and one is not; a single vertex is kept.
    """
    kept = np.zeros(weights.shape[0], dtype=bool)
    undecided = list(pieces(weights))
    while undecided:
        vertices, graph = undecided.pop()
        u = _largest_eigenvector(graph)
        kept[vertices] = u > 0
        zero = np.flatnonzero(u == 0)
        if len(zero):
            undecided += [(vertices[zero[part]], piece) for part, piece in pieces(graph[np.ix_(zero, zero)])]
    return kept


def _largest_eigenvector(weights: Weights) -> Float[Array, " n"]:
    """Compute the eigenvector used by `split` for a connected graph; entries within rounding of zero are zero."""
    n = weights.shape[0]
    if n < 3:
        return np.array([1.0, -1.0])[:n]
    space = _largest_eigenspace(laplacian(weights))  # (n, multiplicity)
    size = np.linalg.norm(space, axis=1)
    first = (size > SIGNIFICANT * size.max()).argmax()
    u = space @ space[first]
    return np.where(np.abs(u) > ROUNDING * np.abs(u).max(), u, 0)


def _largest_eigenspace(matrix: Weights) -> Float[Array, "n multiplicity"]:
    r"""Compute an orthonormal basis: by LAPACK, or for sparse matrices by Lanczos iterations.

    Iterations stall if eigenvalues cluster at the end of the spectrum, as for a long path. They are then repeated with
    the inverse of $\sigma - L$, where $\sigma$ is slightly above the largest eigenvalue, which separates eigenvalues.
    If they stall again, graphs of more than `DENSE` vertices are left with a coarse approximation, which is a
    combination of eigenvectors of the largest eigenvalues and alternates nearly as they do.
    """
    if isinstance(matrix, Array):
        return _by_lapack(matrix)
    with suppress(ArpackNoConvergence):
        return _by_lanczos(matrix, matrix)
    with suppress(ArpackNoConvergence):
        return _by_lanczos(_inverse(matrix), matrix)
    return _by_lapack(matrix) if matrix.shape[0] <= DENSE else _coarse(matrix)


def _by_lapack(matrix: Weights) -> Float[Array, "n multiplicity"]:
    values, vectors = np.linalg.eigh(matrix if isinstance(matrix, Array) else matrix.toarray())
    return vectors[:, values >= (1 - ROUNDING) * values[-1]]


def _by_lanczos(operator: csr_array | LinearOperator, matrix: csr_array) -> Float[Array, "n multiplicity"]:
    """Compute eigenvectors one by one, each orthogonal to those before, until the eigenvalue decreases.

    They are not computed at once because a Krylov space contains only one direction of the eigenspace of a multiple
    eigenvalue. The operator is the matrix, or any other with the same eigenvectors in the same order.
    """
    n = matrix.shape[0]
    space = np.zeros((n, 0))

    def without(x: Float[Array, " n"]) -> Float[Array, " n"]:
        return x - space @ (space.T @ x)

    def next_eigenvector(tolerance: float) -> tuple[Float[Array, " n"], float]:
        deflated = LinearOperator((n, n), lambda x: without(operator @ without(x)), dtype=float)
        start = without(np.random.default_rng(space.shape[1]).standard_normal(n))
        u = without(eigsh(deflated, 1, which="LA", v0=start, tol=tolerance, **OPTIONS)[1][:, 0])
        u /= np.linalg.norm(u)
        return u, u @ (matrix @ u)

    u, largest = next_eigenvector(PRECISE)
    value = largest
    while value >= (1 - ROUNDING) * largest:
        space = np.column_stack([space, u])
        if space.shape[1] == min(MULTIPLICITY, n // 2):
            return _by_lapack(matrix) if n <= DENSE else space
        u, value = next_eigenvector(COARSE)
        if value > (1 - 20 * COARSE) * largest:
            u, value = next_eigenvector(PRECISE)
    return _refined(space, matrix)


def _refined(space: Float[Array, "n multiplicity"], matrix: csr_array) -> Float[Array, "n multiplicity"]:
    """Refine the eigenvectors of a multiple eigenvalue, some of which have errors of 1e-9, by inverse iteration."""
    if space.shape[1] == 1:
        return space
    inverse = _inverse(matrix)
    return np.linalg.qr(inverse @ (inverse @ space))[0]


def _inverse(matrix: csr_array) -> LinearOperator:
    r"""Return the operator $(\sigma - L)^{-1}$."""
    n = matrix.shape[0]
    start = np.random.default_rng(0).standard_normal(n)
    sigma = (1 + COARSE) * eigsh(matrix, 1, which="LA", v0=start, tol=COARSE, return_eigenvectors=False, **RESTARTS)[0]
    factored = factor(csr_array(sigma * eye_array(n) - matrix))
    return LinearOperator((n, n), factored.solve, matmat=factored.solve, dtype=float)


def _coarse(matrix: csr_array) -> Float[Array, "n 1"]:
    r"""Return a unit vector $u$ with $L u = \lambda u$ up to an error of `COARSE` $\lambda$."""
    start = np.random.default_rng(0).standard_normal(matrix.shape[0])
    return eigsh(matrix, 1, which="LA", v0=start, tol=COARSE, **RESTARTS)[1]
