"""Graphs for the tests of Kron pyramids, as dense matrices, and other methods to compute with them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import pytest
from hypothesis import strategies as st

from edgecond.data.pyramid.kron import laplacian, matrices, Multiresolution, multiresolution


@contextmanager
def sparse_above(n: int) -> Iterator[None]:
    """Make all graphs of more than n vertices sparse."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(matrices, "LARGE", n)
        patch.setattr(matrices, "FULL", 2)
        yield


def weights_of(n: int, *edges: tuple[int, int] | tuple[int, int, float]) -> np.ndarray:
    weights = np.zeros((n, n))
    for i, j, *weight in edges:
        weights[i, j] = weights[j, i] = weight[0] if weight else 1
    return weights


def path(n: int) -> np.ndarray:
    return weights_of(n, *((i, i + 1) for i in range(n - 1)))


def cycle(n: int) -> np.ndarray:
    return weights_of(n, *((i, (i + 1) % n) for i in range(n)))


def complete(n: int) -> np.ndarray:
    return np.ones((n, n)) - np.eye(n)


def star(n: int, centre: int = 0) -> np.ndarray:
    return weights_of(n, *((centre, i) for i in range(n) if i != centre))


def grid(rows: int, columns: int) -> np.ndarray:
    index = np.arange(rows * columns).reshape(rows, columns)
    across = zip(index[:, 1:].flat, index[:, :-1].flat, strict=True)
    down = zip(index[1:].flat, index[:-1].flat, strict=True)
    return weights_of(index.size, *across, *down)


def hubs(count: int, apart: int, leaves: int) -> np.ndarray:
    """Build a long path with bunches of leaves, so far from each other that their eigenvalues are equal."""
    n = count * apart
    bunches = ((apart * hub + apart // 2, n + leaves * hub + leaf) for hub in range(count) for leaf in range(leaves))
    return weights_of(n + count * leaves, *((i, i + 1) for i in range(n - 1)), *bunches)


def random_weights(n: int, density: float, weighted: bool, seed: int) -> np.ndarray:
    """Draw a graph, often with several components and isolated vertices."""
    rng = np.random.default_rng(seed)
    weights = np.tril(rng.random((n, n)) < density, -1) * (10 ** rng.uniform(-2, 2, (n, n)) if weighted else 1.0)
    return weights + weights.T


def side_by_side(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    return np.block([[one, np.zeros((len(one), len(other)))], [np.zeros((len(other), len(one))), other]])


def by_pseudo_inverse(weights: np.ndarray) -> np.ndarray:
    """Compute effective resistances, infinite between components."""
    g = np.linalg.pinv(laplacian(weights), rcond=1e-12, hermitian=True)  # rounding leaves 1e-16 where 0 belongs
    resistance = g.diagonal()[:, None] + g.diagonal() - 2 * g
    reach = np.linalg.matrix_power(weights + np.eye(len(weights)), len(weights)) > 0
    return np.where(reach, resistance, np.inf)


def by_star_mesh(weights: np.ndarray, kept: np.ndarray) -> np.ndarray:
    """Reduce by eliminating one vertex at a time: its neighbours i and j gain w_i w_j / (sum of w)."""
    weights = weights.copy()
    for vertex in np.flatnonzero(~kept):
        arms = weights[vertex].copy()
        weights[vertex] = weights[:, vertex] = 0
        weights += np.outer(arms, arms) / arms.sum()
        np.fill_diagonal(weights, 0)
    return weights[np.ix_(kept, kept)]


def flags(n: int, *kept: int) -> np.ndarray:
    return np.isin(np.arange(n), kept)


def matrix(graph) -> np.ndarray:
    weights = np.zeros((graph.n, graph.n))
    weights[graph.target, graph.source] = graph.weights
    return weights


def pyramid(weights: np.ndarray, levels: int, seed: int = 0) -> Multiresolution:
    return multiresolution(*np.nonzero(weights), len(weights), levels, np.random.default_rng(seed))


graphs = st.builds(
    random_weights, st.integers(1, 14), st.sampled_from([0, 0.1, 0.2, 0.5, 1]), st.booleans(), st.integers(0, 2**20)
)
