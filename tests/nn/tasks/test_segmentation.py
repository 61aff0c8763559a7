"""Metrics over vertices against scikit-learn and counts by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from sklearn.metrics import balanced_accuracy_score, confusion_matrix, jaccard_score

from edgecond.nn.tasks import Classification, Loss
from edgecond.nn.tasks.classification import confusion
from edgecond.nn.tasks.segmentation import Segmentation


def loss(sums: Loss) -> float:
    return float(sums.total.detach() / sums.weight)


def test_vertices_of_unknown_class_do_not_count():
    """By hand: scores of 0 have the loss log 2; the second vertex is unknown, and has no gradient."""
    scores = torch.tensor([[0.0, 0.0], [5.0, -5.0], [0.0, 0.0]], requires_grad=True)
    y = torch.tensor([0, -1, 1])

    for task in (Classification(), Classification.fit(y, 2, balanced=True)):
        scores.grad = None
        loss_sums = task.loss(scores, y)
        loss_sums.total.backward()
        assert loss(loss_sums) == pytest.approx(math.log(2))
        assert int(loss_sums.known) == 2
        assert scores.grad[1].tolist() == [0, 0]
    assert Classification.fit(torch.tensor([0, 0, 0, 1, -1, -1]), 2, balanced=True).weights == pytest.approx((2 / 3, 2))


def test_metrics_are_those_of_scikit_learn_where_classes_are_known():
    rng = np.random.default_rng(0)
    y, predicted = rng.integers(-1, 4, 200), rng.integers(0, 4, 200)
    known = y >= 0

    metrics = Segmentation().evaluate(y, [np.eye(4)[predicted]])

    assert metrics["accuracy"] == pytest.approx((y == predicted)[known].mean())
    assert metrics["class_accuracy"] == pytest.approx(balanced_accuracy_score(y[known], predicted[known]))
    assert metrics["mean_iou"] == pytest.approx(jaccard_score(y[known], predicted[known], average="macro"))
    assert (confusion(y, predicted, 4) == confusion_matrix(y[known], predicted[known])).all()


def test_the_intersection_over_union_leaves_out_classes_that_are_nowhere():
    """By hand: class 0 has 1 of 2, class 1 has 1 of 2; class 2 neither occurs nor is predicted."""
    metrics = Segmentation().evaluate(np.array([0, 0, 1]), [np.eye(3)[[0, 1, 1]]])

    assert metrics["mean_iou"] == pytest.approx((1 / 2 + 1 / 2) / 2)
    assert np.isnan(Segmentation().evaluate(np.array([-1]), [np.eye(3)[[0]]])["accuracy"])


def test_the_most_frequent_class_is_explained_by_the_vertices_that_are_predicted_as_it():
    """By hand: two of three vertices are predicted as class 1; none as class 2, which all vertices explain."""
    outputs = np.array([[0.1, 0.8, 0.1], [0.2, 0.7, 0.1], [0.6, 0.3, 0.1]])

    assert Segmentation().explained_target(outputs) == 1
    assert Segmentation().explained_rows(outputs, 1).tolist() == [True, True, False]
    assert Segmentation().explained_rows(outputs, 2).tolist() == [True, True, True]
