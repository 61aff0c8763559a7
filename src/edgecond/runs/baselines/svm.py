"""Support vector machines on kernels that are given, whose C and kernel are chosen within the training set."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Self

import numpy as np
from jaxtyping import Float
from numpy import ndarray as Array
from scipy import sparse

from edgecond.errors import DataError

C = (1.0, 10.0, 100.0, 1000.0)
PARTS = 3
"""Number of parts of the training set in the cross-validation that chooses C and the kernel."""
MOST = 10_000
"""Number of examples, at most: the kernel has a number for each pair."""
EPSILON = 0.1
"""Width of the tube of support vector regression, in standard deviations of the target."""


class KernelSVM:
    r"""A support vector machine on the sums of the linear kernels of blocks of columns, normalised.

    With blocks $\phi_0, \phi_1, \ldots$ the candidates are $k_h(a, b) = \sum_{i \le h} \langle \phi_i(a), \phi_i(b)
    \rangle$ divided by $\sqrt{k_h(a, a)\, k_h(b, b)}$. The best $h$ and $C$ in a cross-validation of the training set
    are used for all of it.

    Args:
        ends: Number of columns of the first block, of the first two, and so on.
        classes: Whether targets are classes, instead of numbers.
        seed: Random seed of the cross-validation.
    """

    def __init__(self, ends: Sequence[int], *, classes: bool, seed: int) -> None:
        self.ends, self.classes, self.seed = tuple(ends), classes, seed

    def fit(self, x: sparse.csr_matrix, y: Array) -> Self:
        """Choose the kernel and C, and fit to all rows."""
        if len(y) > MOST:
            raise DataError(
                f"a kernel compares all pairs of at most {MOST:,} training examples: got {len(y):,}. "
                "Choose another baseline."
            )
        self.mean, self.scale = (0.0, 1.0) if self.classes else (float(y.mean()), float(y.std()) or 1.0)
        targets = y if self.classes else (y - self.mean) / self.scale
        parts = [
            (a, b)
            for a, b in stratified_parts(y if self.classes else np.zeros(len(y)), self.seed)
            if not self.classes or len(np.unique(y[a])) > 1
        ]
        best = -np.inf
        for h, kernel in enumerate(self._kernels(x)):
            found = [self._scores(kernel[a], targets, a, b) for a, b in parts] or [np.zeros(len(C))]
            means = np.mean(found, axis=0)
            if means.max() > best:
                best, self.h, self.c = means.max(), h, C[means.argmax()]
        self.rows = normalised(x[:, : self.ends[self.h]])
        self.machine = self._machine(self.c).fit((self.rows @ self.rows.T).toarray(), targets)
        return self

    def predict(self, x: sparse.csr_matrix) -> Array:
        """Return the predicted class or number of each row."""
        found = self.machine.predict(self._kernel(x))
        return found if self.classes else self.mean + self.scale * found

    def decision_function(self, x: sparse.csr_matrix) -> Array:
        """Return how far each row is on the side of the second class, or of each of several."""
        return self.machine.decision_function(self._kernel(x))

    def _kernels(self, x: sparse.csr_matrix) -> Iterator[Float[Array, "n n"]]:
        """Yield each candidate, from the sum of the blocks so far."""
        total = np.zeros((x.shape[0],) * 2)
        for start, end in zip((0, *self.ends), self.ends, strict=False):
            block = x[:, start:end]
            total += (block @ block.T).toarray()
            norms = np.sqrt(np.maximum(total.diagonal(), np.finfo(float).tiny))
            yield total / norms[:, None] / norms

    def _kernel(self, x: sparse.csr_matrix) -> Float[Array, "n train"]:
        return (normalised(x[:, : self.ends[self.h]]) @ self.rows.T).toarray()

    def _scores(self, kernel: Float[Array, "k n"], targets: Array, a: Array, b: Array) -> Float[Array, " c"]:
        """Return the score on rows b of the machine that is fitted to rows a, for each C.

        Args:
            kernel: Rows a of the kernel.
            targets: Target of each row.
            a: Rows to fit to.
            b: Rows to score.
        """
        own, other = kernel[:, a], kernel[:, b].T
        return np.array([self._machine(c).fit(own, targets[a]).score(other, targets[b]) for c in C])

    def _machine(self, c: float) -> Any:
        from sklearn.svm import SVC, SVR

        options = {"kernel": "precomputed", "C": c, "cache_size": 500}
        return SVC(**options) if self.classes else SVR(**options, epsilon=EPSILON)


def normalised(x: sparse.csr_matrix) -> sparse.csr_matrix:
    """Return rows of length 1; those that are zero stay so."""
    from sklearn.preprocessing import normalize

    return normalize(x)


def stratified_parts(y: Array, seed: int) -> Iterator[tuple[Array, Array]]:
    """Yield the rows to fit to and those to score, part by part; each class is spread evenly over the parts."""
    order = np.random.default_rng(seed).permutation(len(y))
    order = order[np.argsort(y[order], kind="stable")]
    for part in range(PARTS):
        yield np.sort(np.concatenate([order[k::PARTS] for k in range(PARTS) if k != part])), np.sort(order[part::PARTS])
