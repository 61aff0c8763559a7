"""Cross-entropy by hand, and metrics against scikit-learn and counts by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from sklearn.metrics import balanced_accuracy_score, confusion_matrix, f1_score

from edgecond.nn.tasks import Loss
from edgecond.nn.tasks.classification import average_scores, class_metrics, Classification, confusion, vote


def loss(sums: Loss) -> float:
    return float(sums.total.detach() / sums.weight)


def test_the_loss_is_cross_entropy_and_the_metric_counts_right_predictions():
    """By hand: odds of 3 to 1 for class 0, which is true of the first example and not of the second."""
    scores = torch.tensor([[math.log(3), 0.0], [math.log(3), 0.0]])

    loss_sums = Classification().loss(scores, torch.tensor([0, 1]))

    assert loss(loss_sums) == pytest.approx((math.log(4 / 3) + math.log(4)) / 2)
    assert (int(loss_sums.metric), int(loss_sums.known)) == (1, 2)
    torch.testing.assert_close(Classification().outputs(scores), torch.tensor([[0.75, 0.25]] * 2))


def test_balanced_classes_count_equally_however_rare():
    """Another method: torch's own mean of weighted cross-entropy; by hand, 3 and 1 of 4 examples weigh 2/3 and 2."""
    y, scores = torch.tensor([0, 0, 1, 0]), torch.randn(4, 2, generator=torch.Generator().manual_seed(0))

    task = Classification.fit(y, 2, balanced=True)

    assert task.weights == pytest.approx((2 / 3, 2))
    expected = torch.nn.functional.cross_entropy(scores, y, torch.tensor([2 / 3, 2.0]))
    assert loss(task.loss(scores, y)) == pytest.approx(float(expected))


def test_a_class_that_never_occurs_has_a_finite_weight():
    assert Classification.fit(torch.tensor([0, 0]), 2, balanced=True).weights == pytest.approx((0.5, 1))


def test_weighted_f1_and_accuracies_are_those_of_scikit_learn():
    rng = np.random.default_rng(0)
    for _ in range(20):
        y, predicted = rng.integers(0, 5, 40), rng.integers(0, 5, 40)

        metrics = class_metrics(y, predicted, 5)

        assert metrics["f1"] == pytest.approx(f1_score(y, predicted, average="weighted"))
        assert metrics["accuracy"] == pytest.approx((y == predicted).mean())
        assert metrics["class_accuracy"] == pytest.approx(balanced_accuracy_score(y, predicted))


def test_the_legacy_f1_is_too_low_for_a_weak_class():
    """By hand: class 1 has P = 1/2 and R = 1/3, so 2PR = 1/3 and P+R = 5/6 < 1; class 0 has P = 1/3, R = 1/2."""
    y, predicted = np.array([0, 0, 1, 1, 1]), np.array([0, 1, 1, 0, 0])

    metrics = class_metrics(y, predicted, 2)

    assert metrics["f1"] == pytest.approx(0.4 * 0.4 + 0.6 * 0.4)
    assert metrics["f1_legacy"] == pytest.approx(1 / 3)


def test_a_class_that_never_occurs_does_not_count():
    y, predicted = np.array([0, 0, 1]), np.array([0, 0, 2])

    metrics = class_metrics(y, predicted, 4)

    assert metrics["class_accuracy"] == pytest.approx(0.5)
    assert metrics["f1"] == pytest.approx(2 / 3)


def test_confusion_has_true_classes_in_rows():
    y, predicted = np.array([0, 0, 2, 1]), np.array([0, 1, 2, 1])

    assert (confusion(y, predicted, 3) == confusion_matrix(y, predicted)).all()


def test_votes_count_views_and_scores_average_them():
    """Two weak views for class 0 outvote one strong look for class 1, whose mean probability is higher."""
    views = [np.array([[0.6, 0.4]]), np.array([[0.6, 0.4]]), np.array([[0.0, 1.0]])]

    assert vote(views).tolist() == [0]
    assert average_scores(views).tolist() == [1]


def test_a_tied_vote_goes_to_the_more_probable_class():
    views = [np.array([[0.9, 0.1]]), np.array([[0.4, 0.6]])]

    assert vote(views).tolist() == [0]


def test_metrics_of_several_views_are_their_mean_and_those_of_their_votes():
    """By hand, three views at two examples: right four times of six, and by vote right for the first alone."""
    right, wrong = np.array([0.9, 0.1]), np.array([0.2, 0.8])
    views = [np.array(view) for view in ([right, right], [right, wrong], [right, wrong])]
    y = np.array([0, 0])

    metrics = Classification().evaluate(y, views)

    assert metrics["accuracy"] == pytest.approx(4 / 6)
    assert metrics["accuracy_votes"] == pytest.approx(1 / 2)
    assert Classification().evaluate(y, views[:1]) == class_metrics(y, np.array([0, 0]), 2)


def test_one_view_may_be_the_first_and_scores_are_averaged_beside_votes():
    """Section 4.3: one run, 5 votes, 5 scores. By hand: the first look is right twice, and two weak ones outvote it."""
    strong, weak = np.array([1.0, 0.0]), np.array([0.4, 0.6])
    views = [np.array(view) for view in ([strong, strong], [weak, strong], [weak, strong])]

    metrics = Classification().evaluate(np.array([0, 0]), views, average=False)

    assert metrics["accuracy"] == 1
    assert metrics["accuracy_votes"] == pytest.approx(1 / 2)
    assert metrics["accuracy_scores"] == 1


def test_one_class_alone_cannot_be_learned():
    with pytest.raises(ValueError, match="must have at least two classes: all examples are of the class tree"):
        Classification.check_targets(torch.tensor([1, 1]), ["car", "tree"])


def test_classes_are_weighted_where_one_is_three_times_as_frequent_as_another():
    """By hand: 4 to 1 is, 3 to 1 is not more than three times."""
    assert Classification.settings(np.array([0, 0, 0, 0, 1])) == {"balanced": True}
    assert Classification.settings(np.array([0, 0, 0, 1, -1])) == {"balanced": False}


def test_the_mistakes_of_a_report_begin_with_the_surest():
    """By hand: the second and the third example are wrong, with probabilities 0.6 and 0.9."""
    outputs = np.array([[0.8, 0.2], [0.6, 0.4], [0.9, 0.1], [0.3, 0.7]])

    *_, mistakes = Classification().findings(["cat", "dog"], np.array([0, 1, 1, 1]), [outputs])

    (gallery,) = mistakes.parts
    assert [number for number, _ in gallery.examples] == [2, 1]
    assert "dog, predicted as cat with probability 90.00" in gallery.examples[0][1]


def test_smoothed_labels_spread_a_share_over_all_classes():
    """Szegedy et al. 2016: the target is 1 - e + e/K for the true class and e/K for the others; by hand, K = 2."""
    scores = torch.tensor([[1.0, -1.0]])
    right, wrong = scores.log_softmax(1)[0].tolist()

    smooth = Classification().loss(scores, torch.tensor([0]), label_smoothing=0.2)

    assert float(smooth.total) == pytest.approx(-0.9 * right - 0.1 * wrong)


def test_log_odds_of_the_calibrated_mean_probability_are_explained():
    """By hand: the probabilities of a class are 0.6 and 0.2, their mean is 0.4; a temperature of 2 takes the roots."""
    probabilities = torch.tensor([[[0.6, 0.3, 0.1]], [[0.2, 0.7, 0.1]]])

    plain = Classification().explained(probabilities.log() + 3.0, 0)
    tempered = Classification(temperature=(2.0,)).explained(probabilities.log(), 0)

    assert plain.item() == pytest.approx(np.log(0.4 / 0.6), abs=1e-6)
    assert tempered.item() == pytest.approx(np.log(0.4**0.5 / (0.5**0.5 + 0.1**0.5)), abs=1e-6)
    assert Classification().explained_target(np.array([[0.2, 0.5, 0.3]])) == 1
