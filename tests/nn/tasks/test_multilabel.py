"""Binary cross-entropy by hand, and metrics against scikit-learn."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from sklearn.metrics import roc_auc_score

from edgecond.nn.tasks import Loss
from edgecond.nn.tasks.multilabel import Multilabel

NAN = float("nan")


def loss(sums: Loss) -> float:
    return float(sums.total.detach() / sums.weight)


def test_unknown_labels_do_not_count():
    """By hand: scores of 0 have the loss log 2 each; the third question of the first example is blank."""
    scores = torch.tensor([[0.0, 0.0, 9.0], [0.0, 2.0, -2.0]], requires_grad=True)
    y = torch.tensor([[1.0, 0.0, NAN], [NAN, 1.0, 1.0]], dtype=torch.double)

    loss_sums = Multilabel().loss(scores, y)
    loss_sums.total.backward()

    two = math.log(1 + math.exp(-2)), math.log(1 + math.exp(2))
    assert loss(loss_sums) == pytest.approx((2 * math.log(2) + sum(two)) / 4)
    assert (int(loss_sums.metric), int(loss_sums.known)) == (2, 4)  # a score of 0 says no
    assert scores.grad[0, 2] == scores.grad[1, 0] == 0
    assert Multilabel().outputs(torch.zeros(1, 1)).item() == 0.5


def test_metrics_are_means_over_the_labels_that_are_both_yes_and_no():
    """scikit-learn, question by question; the second has one answer alone, the third a blank."""
    nan = float("nan")
    y = np.array([[1, 1, 0], [0, 1, nan], [1, 1, 1], [0, 1, 0]])
    probabilities = np.array([[0.9, 0.5, 0.2], [0.6, 0.5, 0.9], [0.4, 0.5, 0.7], [0.1, 0.5, 0.8]])

    metrics = Multilabel().evaluate(y, [probabilities])

    known = [0, 2, 3]
    aucs = [roc_auc_score(y[:, 0], probabilities[:, 0]), roc_auc_score(y[known, 2], probabilities[known, 2])]
    assert metrics["roc_auc"] == pytest.approx(np.mean(aucs))
    assert metrics["accuracy"] == pytest.approx((2 / 4 + 2 / 3) / 2)
    assert np.isnan(Multilabel().evaluate(np.ones((3, 1)), [np.ones((3, 1))])["roc_auc"])


def test_smoothed_labels_are_drawn_towards_a_half():
    """By hand: with a share of 0.2, yes is 0.9 and no is 0.1."""
    scores = torch.tensor([[2.0, 2.0]])
    yes, no = torch.sigmoid(torch.tensor(2.0)).log().item(), torch.sigmoid(torch.tensor(-2.0)).log().item()

    smooth = Multilabel().loss(scores, torch.tensor([[1.0, 0.0]]), label_smoothing=0.2)

    assert float(smooth.total) == pytest.approx(-(0.9 * yes + 0.1 * no) - (0.1 * yes + 0.9 * no), rel=1e-5)


def test_labels_of_user_data_are_not_smoothed():
    """On validation parts of Tox21 smoothing by 0.1 costs 0.007 and 0.013 of ROC-AUC (results/choices.jsonl)."""
    assert Multilabel.settings(np.array([[1.0, 0.0]])) == {"train.label_smoothing": 0.0}


def test_log_odds_of_the_calibrated_mean_probability_are_explained():
    """By hand: the probabilities of yes are 0.9 and 0.5, their mean is 0.7; the temperature of the label is 2."""
    scores = torch.tensor([[[0.0, 0.9]], [[0.0, 0.5]]]).logit(eps=1e-6)

    assert Multilabel().explained(scores, 1).item() == pytest.approx(math.log(0.7 / 0.3), abs=1e-6)
    halved = Multilabel(temperature=(1.0, 2.0)).explained(scores, 1)
    assert halved.item() == pytest.approx(math.log(0.7 / 0.3) / 2, abs=1e-6)
    assert Multilabel().explained_target(np.array([[0.1, 0.8, 0.3]])) == 1
