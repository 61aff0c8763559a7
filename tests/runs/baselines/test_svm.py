"""The support vector machine is scikit-learn's on the normalised kernel, and chooses within its training set."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn.svm import SVC

from edgecond.errors import DataError
from edgecond.runs.baselines import svm
from edgecond.runs.baselines.svm import KernelSVM, stratified_parts

RNG = np.random.default_rng(0)


def blobs(n: int, columns: int) -> tuple[sparse.csr_matrix, np.ndarray]:
    """Rows of counts, of which the first column grows with the class."""
    y = np.arange(n) % 2
    x = RNG.poisson(2, (n, columns)).astype(float)
    x[:, 0] += 6 * y
    return sparse.csr_matrix(x), y


def test_with_one_kernel_the_decisions_are_those_of_a_linear_svm_on_normalised_rows():
    """The same machine by another way: features instead of their products."""
    x, y = blobs(40, 5)
    machine = KernelSVM([5], classes=True, seed=0).fit(x, y)
    rows = x.toarray() / np.linalg.norm(x.toarray(), axis=1, keepdims=True)

    linear = SVC(kernel="linear", C=machine.c).fit(rows, y)

    np.testing.assert_allclose(machine.decision_function(x), linear.decision_function(rows), atol=1e-2)


def test_the_block_that_has_the_class_is_chosen():
    """The first block is noise, and the second has the class: the sum of both is better by far."""
    noise = sparse.csr_matrix(RNG.poisson(2, (60, 4)).astype(float))
    x, y = blobs(60, 3)

    machine = KernelSVM([4, 7], classes=True, seed=0).fit(sparse.hstack([noise, x], format="csr"), y)

    assert machine.h == 1


def test_each_row_is_scored_once_and_never_fitted_to_meanwhile():
    y = np.array([0] * 7 + [1] * 5)

    parts = list(stratified_parts(y, 0))

    assert sorted(np.concatenate([b for _, b in parts]).tolist()) == list(range(12))
    for a, b in parts:
        assert not set(a.tolist()) & set(b.tolist())
        assert len(a) + len(b) == 12
        assert {0, 1} == set(y[b].tolist())


def test_too_many_examples_are_refused_in_one_sentence(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(svm, "MOST", 10)
    x, y = blobs(11, 2)

    with pytest.raises(DataError, match="at most 10 training examples: got 11"):
        KernelSVM([2], classes=True, seed=0).fit(x, y)
