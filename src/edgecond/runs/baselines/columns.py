"""Estimators of scikit-learn for the targets of a task: one for classes, or one for each label or number."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from jaxtyping import Float
from numpy import ndarray as Array
from scipy.special import softmax

from edgecond.nn.tasks import Outputs, Task

Make = Callable[[], Any]
"""Returns a new estimator."""


def fit_columns(x: Any, ys: Array, outputs: int, task: Task, make: Make) -> Callable[[Any], Outputs]:
    """Fit an estimator to each target where it is known, and return what predicts all of them.

    Args:
        x: A row per example: an array or a sparse matrix.
        ys: Class of each example, -1 where it is unknown; or a column per label or number, NaN where it is unknown.
        outputs: Number of outputs: of classes, or of columns.
        task: The task.
        make: Returns a classifier if the targets of the task are classes or labels, or else a regressor.
    """
    if ys.ndim == 1:
        return _probabilities(x, ys, np.flatnonzero(ys >= 0), outputs, make)
    known = [np.flatnonzero(~np.isnan(y)) for y in ys.T]
    if task.has_classes:
        labels = [_probabilities(x, y, rows, 2, make) for y, rows in zip(ys.T, known, strict=True)]
        return lambda new: np.stack([label(new)[:, 1] for label in labels], axis=1)
    fitted = [make().fit(x[rows], y[rows]) if len(rows) else None for y, rows in zip(ys.T, known, strict=True)]
    return lambda new: np.stack(
        [np.zeros(new.shape[0]) if each is None else each.predict(new) for each in fitted], axis=1
    )


def _probabilities(x: Any, y: Array, known: Array, classes: int, make: Make) -> Callable[[Any], Outputs]:
    """Return what predicts the probability of each class; those that the training set lacks have 0."""
    present = np.unique(y[known]).astype(int)
    estimator = make().fit(x[known], y[known].astype(int)) if len(present) > 1 else None

    def predict(new: Any) -> Outputs:
        found = np.zeros((new.shape[0], classes))
        found[:, present] = 1.0 if estimator is None else scores(estimator, new)
        return found

    return predict


def scores(estimator: Any, x: Any) -> Float[Array, "n classes"]:
    """Return the probabilities of a classifier, or numbers between 0 and 1 in the order of its decision function."""
    if hasattr(estimator, "predict_proba"):
        return estimator.predict_proba(x)
    decision = estimator.decision_function(x)
    return softmax(np.stack([-decision / 2, decision / 2], 1) if decision.ndim == 1 else decision, axis=1)
