"""One estimator serves classes, and several serve labels or numbers, each where it is known."""

from __future__ import annotations

from functools import partial

import numpy as np
import torch
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.svm import SVC

from edgecond.nn.tasks import TASKS
from edgecond.runs.baselines.columns import fit_columns, scores

X = np.zeros((4, 1))
prior, mean = partial(DummyClassifier, strategy="prior"), partial(DummyRegressor, strategy="mean")


def task(name, ys, outputs):
    return TASKS[name].fit(torch.from_numpy(ys), outputs)


def test_the_probability_of_a_class_that_is_not_in_the_training_set_is_0():
    """By hand: of three known examples one is of class 0, and two are of class 2."""
    ys = np.array([0, 2, 2, -1])

    outputs = fit_columns(X, ys, 4, task("classification", ys, 4), prior)(X[:1])

    np.testing.assert_allclose(outputs, [[1 / 3, 0, 2 / 3, 0]])


def test_unknown_labels_are_left_out_and_labels_that_are_all_alike_are_certain():
    ys = np.array([[1.0, np.nan], [0.0, 1.0], [np.nan, 1.0], [1.0, np.nan]])

    outputs = fit_columns(X, ys, 2, task("multilabel", ys, 2), prior)(X[:1])

    np.testing.assert_allclose(outputs, [[2 / 3, 1.0]])


def test_unknown_numbers_are_left_out():
    ys = np.array([[1.0, np.nan], [2.0, np.nan], [np.nan, np.nan], [6.0, np.nan]])

    outputs = fit_columns(X, ys, 2, task("regression", ys, 2), mean)(X[:1])

    np.testing.assert_allclose(outputs, [[3.0, 0.0]])


def test_scores_of_a_machine_without_probabilities_have_the_order_of_its_decisions():
    x, y = np.arange(6.0)[:, None], np.array([0, 0, 0, 1, 1, 1])

    found = scores(SVC(kernel="linear").fit(x, y), x)

    np.testing.assert_allclose(found.sum(1), 1)
    assert (np.diff(found[:, 1]) > 0).all()
    assert (found.argmax(1) == y).all()
