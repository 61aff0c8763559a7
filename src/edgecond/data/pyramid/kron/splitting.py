"""Which vertices of a graph make up the next level: one side of the Laplacian's largest eigenvector (Section 3.5)."""

from __future__ import annotations

from contextlib import suppress
from inspect import signature

import numpy as np
from jaxtyping import Bool, Float
from numpy import ndarray as Array
from scipy.sparse import csc_array, csr_array, eye_array
from scipy.sparse.linalg import ArpackNoConvergence, eigsh, LinearOperator, splu

from edgecond.data.pyramid.kron.matrices import laplacian, pieces, Weights

ROUNDING = 1e-7
"""Numbers this close, relative to the largest, count as equal. An eigenvector whose eigenvalue stands further apart
from the others is known more precisely than that."""
TANGIBLE = 1e-5
"""Least size, relative to the largest, of the entry that fixes a sign: a smaller one would magnify rounding."""
MULTIPLICITY = 128
"""Eigenvectors to look for one by one; an eigenvalue that has more of them is left to LAPACK."""
PRECISE, GLANCE = 1e-14, 1e-3
"""Tolerances of Lanczos iterations: for vectors, and to see whether the next eigenvalue is much smaller."""
OPTIONS = {"maxiter": 150} | ({"rng": 0} if "rng" in signature(eigsh).parameters else {})
"""Iterations that restart do so from a fixed seed, where scipy lets us choose it."""


def split(weights: Weights) -> Bool[Array, " n"]:
    """Which vertices are kept: those where the eigenvector of the largest Laplacian eigenvalue is positive.

    Each connected component has its own eigenvector $u$. Its first tangible entry is positive. If the eigenvalue is a
    multiple one, $u$ is the projection onto the eigenspace of the first unit vector that is not orthogonal to it, which
    does not depend on the basis that is found and is the same rule. So of a complete graph the first vertex is
    kept, of a star the centre or the leaves, whichever come first, and of a path every other vertex.

    Vertices where $u$ is zero are undecided. They are split in turn, as the subgraph that they induce; so one that has
    no undecided neighbours is kept, as in GSPBox, and graphs whose eigenvector is localised are coarsened everywhere.

    Of a component of two or more vertices at least one is kept and one is not; a single vertex is kept.
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
    """The eigenvector that `split` decides by, of a connected graph; entries within rounding of zero are zero."""
    n = weights.shape[0]
    if n < 3:
        return np.array([1.0, -1.0])[:n]
    space = _largest_eigenspace(laplacian(weights))  # (n, multiplicity)
    size = np.linalg.norm(space, axis=1)
    first = (size > TANGIBLE * size.max()).argmax()
    u = space @ space[first]
    return np.where(np.abs(u) > ROUNDING * np.abs(u).max(), u, 0)


def _largest_eigenspace(matrix: Weights) -> Float[Array, "n multiplicity"]:
    r"""Orthonormal vectors: by LAPACK, or of sparse matrices by Lanczos iterations.

    These stall where eigenvalues crowd at the end of the spectrum, as on a long path. Then they go on with the inverse
    of $\sigma - L$, for a $\sigma$ a little above the largest eigenvalue, which spreads them.
    """
    if not isinstance(matrix, Array):
        with suppress(ArpackNoConvergence):
            return _by_lanczos(matrix, matrix)
        with suppress(ArpackNoConvergence):
            return _by_lanczos(_inverse(matrix), matrix)
    return _by_lapack(matrix)


def _by_lapack(matrix: Weights) -> Float[Array, "n multiplicity"]:
    values, vectors = np.linalg.eigh(matrix if isinstance(matrix, Array) else matrix.toarray())
    return vectors[:, values >= (1 - ROUNDING) * values[-1]]


def _by_lanczos(operator: csr_array | LinearOperator, matrix: csr_array) -> Float[Array, "n multiplicity"]:
    """One vector after the other, each from a new start and orthogonal to those before, until the eigenvalue falls.

    A single Krylov space has only one direction of a multiple eigenvalue's space, so asking for several at once would
    not do. The operator is the matrix, or any with the same vectors in the same order.
    """
    n = matrix.shape[0]
    space = np.zeros((n, 0))

    def without(x: Float[Array, " n"]) -> Float[Array, " n"]:
        return x - space @ (space.T @ x)

    def following(tolerance: float) -> tuple[Float[Array, " n"], float]:
        deflated = LinearOperator((n, n), lambda x: without(operator @ without(x)), dtype=float)
        start = without(np.random.default_rng(space.shape[1]).standard_normal(n))
        u = without(eigsh(deflated, 1, which="LA", v0=start, tol=tolerance, **OPTIONS)[1][:, 0])
        u /= np.linalg.norm(u)
        return u, u @ (matrix @ u)

    u, largest = following(PRECISE)
    value = largest
    while value >= (1 - ROUNDING) * largest:
        space = np.column_stack([space, u])
        if space.shape[1] == min(MULTIPLICITY, n // 2):
            return _by_lapack(matrix)
        u, value = following(GLANCE)
        if value > (1 - 20 * GLANCE) * largest:
            u, value = following(PRECISE)
    return _polished(space, matrix)


def _polished(space: Float[Array, "n multiplicity"], matrix: csr_array) -> Float[Array, "n multiplicity"]:
    """Vectors of a multiple eigenvalue after two steps of inverse iteration: some come with errors of 1e-9."""
    if space.shape[1] == 1:
        return space
    inverse = _inverse(matrix)
    return np.linalg.qr(inverse @ (inverse @ space))[0]


def _inverse(matrix: csr_array) -> LinearOperator:
    r"""$(\sigma - L)^{-1}$."""
    n = matrix.shape[0]
    start = np.random.default_rng(0).standard_normal(n)
    sigma = (1 + GLANCE) * eigsh(matrix, 1, which="LA", v0=start, tol=GLANCE, return_eigenvectors=False)[0]
    factor = splu(csc_array(sigma * eye_array(n) - matrix), permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0)
    return LinearOperator((n, n), factor.solve, matmat=factor.solve, dtype=float)
