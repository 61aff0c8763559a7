"""Scores against scikit-learn and against counts by hand."""

import numpy as np
import pytest
import torch
from sklearn.metrics import (
    balanced_accuracy_score,
    confusion_matrix,
    f1_score,
    jaccard_score,
    r2_score,
    roc_auc_score,
)

from edgecond.graph import Sample
from edgecond.nn.evaluation import answers, average_scores, confusion, errors, figures, metrics, predict, vertices, vote
from edgecond.nn.network import Network
from tests.pyramids import random_batch, random_samples


def test_weighted_f1_and_accuracies_are_those_of_scikit_learn():
    rng = np.random.default_rng(0)
    for _ in range(20):
        y, predicted = rng.integers(0, 5, 40), rng.integers(0, 5, 40)

        found = metrics(y, predicted, 5)

        assert found["f1"] == pytest.approx(f1_score(y, predicted, average="weighted"))
        assert found["accuracy"] == pytest.approx((y == predicted).mean())
        assert found["class_accuracy"] == pytest.approx(balanced_accuracy_score(y, predicted))


def test_the_legacy_f1_is_too_low_for_a_weak_class():
    """By hand: class 1 has P = 1/2 and R = 1/3, so 2PR = 1/3 and P+R = 5/6 < 1; class 0 has P = 1/3, R = 1/2."""
    y, predicted = np.array([0, 0, 1, 1, 1]), np.array([0, 1, 1, 0, 0])

    found = metrics(y, predicted, 2)

    assert found["f1"] == pytest.approx(0.4 * 0.4 + 0.6 * 0.4)
    assert found["f1_legacy"] == pytest.approx(1 / 3)


def test_a_class_that_never_occurs_does_not_count():
    y, predicted = np.array([0, 0, 1]), np.array([0, 0, 2])

    found = metrics(y, predicted, 4)

    assert found["class_accuracy"] == pytest.approx(0.5)
    assert found["f1"] == pytest.approx(2 / 3)


def test_confusion_has_true_classes_in_rows():
    y, predicted = np.array([0, 0, 2, 1]), np.array([0, 1, 2, 1])

    assert (confusion(y, predicted, 3) == confusion_matrix(y, predicted)).all()


def test_votes_count_looks_and_scores_average_them():
    """Two weak views for class 0 outvote one strong look for class 1, whose mean probability is higher."""
    views = [np.array([[0.6, 0.4]]), np.array([[0.6, 0.4]]), np.array([[0.0, 1.0]])]

    assert vote(views).tolist() == [0]
    assert average_scores(views).tolist() == [1]


def test_a_tied_vote_goes_to_the_more_probable_class():
    views = [np.array([[0.9, 0.1]]), np.array([[0.4, 0.6]])]

    assert vote(views).tolist() == [0]


def test_prediction_gives_probabilities_in_the_order_of_the_samples():
    written = "C(4)-MP(1,2)-C(4)-GAP-FC(3)"
    torch.manual_seed(0)
    network = Network(written, 2, 3, hidden=(4,))
    samples = random_samples(written, [5, 6, 7], d0=2, s=3)

    one_by_one, ys = predict(network, samples)
    together, _ = predict(network, [random_batch(written, [5, 6, 7], d0=2, s=3)])

    np.testing.assert_allclose(one_by_one.sum(1), 1)
    np.testing.assert_allclose(one_by_one, together, atol=1e-6)
    assert ys.tolist() == [int(sample.y) for sample in samples]


def test_figures_of_several_looks_are_their_mean_and_those_of_their_votes():
    """By hand, three views at two examples: right four times of six, and by vote right for the first alone."""
    right, wrong = np.array([0.9, 0.1]), np.array([0.2, 0.8])
    views = [np.array(look) for look in ([right, right], [right, wrong], [right, wrong])]
    y = np.array([0, 0])

    found = figures(y, views)

    assert found["accuracy"] == pytest.approx(4 / 6)
    assert found["accuracy_votes"] == pytest.approx(1 / 2)
    assert figures(y, views[:1]) == metrics(y, np.array([0, 0]), 2)


def test_one_look_may_be_the_first_and_scores_are_averaged_beside_votes():
    """Section 4.3: one run, 5 votes, 5 scores. By hand: the first look is right twice, and two weak ones outvote it."""
    strong, weak = np.array([1.0, 0.0]), np.array([0.4, 0.6])
    views = [np.array(look) for look in ([strong, strong], [weak, strong], [weak, strong])]

    found = figures(np.array([0, 0]), views, every=False)

    assert found["accuracy"] == 1
    assert found["accuracy_votes"] == pytest.approx(1 / 2)
    assert found["accuracy_scores"] == 1


def test_answers_are_scored_over_the_questions_that_have_both():
    """scikit-learn, question by question; the second has one answer alone, the third a blank."""
    nan = float("nan")
    y = np.array([[1, 1, 0], [0, 1, nan], [1, 1, 1], [0, 1, 0]])
    probabilities = np.array([[0.9, 0.5, 0.2], [0.6, 0.5, 0.9], [0.4, 0.5, 0.7], [0.1, 0.5, 0.8]])

    found = answers(y, probabilities)

    known = [0, 2, 3]
    aucs = [roc_auc_score(y[:, 0], probabilities[:, 0]), roc_auc_score(y[known, 2], probabilities[known, 2])]
    assert found["roc_auc"] == pytest.approx(np.mean(aucs))
    assert found["accuracy"] == pytest.approx((2 / 4 + 2 / 3) / 2)
    assert np.isnan(answers(np.ones((3, 1)), np.ones((3, 1)))["roc_auc"])


def test_errors_of_quantities_are_means_over_what_is_known():
    """scikit-learn for R squared; by hand, errors of 1, 0 and -2 have the root mean square sqrt(5/3)."""
    y = np.array([[1.0], [2.0], [4.0], [float("nan")]])
    predicted = np.array([[2.0], [2.0], [2.0], [7.0]])

    found = errors(y, predicted)

    assert found["rmse"] == pytest.approx((5 / 3) ** 0.5)
    assert found["mae"] == pytest.approx(1)
    assert found["r2"] == pytest.approx(r2_score(y[:3, 0], predicted[:3, 0]))


def test_figures_of_vertices_are_those_of_scikit_learn_where_classes_are_known():
    rng = np.random.default_rng(0)
    y, predicted = rng.integers(-1, 4, 200), rng.integers(0, 4, 200)
    known = y >= 0

    found = vertices(y, np.eye(4)[predicted])

    assert found["accuracy"] == pytest.approx((y == predicted)[known].mean())
    assert found["class_accuracy"] == pytest.approx(balanced_accuracy_score(y[known], predicted[known]))
    assert found["mean_iou"] == pytest.approx(jaccard_score(y[known], predicted[known], average="macro"))
    assert (confusion(y, predicted, 4) == confusion_matrix(y[known], predicted[known])).all()


def test_the_intersection_over_union_leaves_out_classes_that_are_nowhere():
    """By hand: class 0 has 1 of 2, class 1 has 1 of 2; class 2 neither occurs nor is predicted."""
    found = vertices(np.array([0, 0, 1]), np.eye(3)[[0, 1, 1]])

    assert found["mean_iou"] == pytest.approx((1 / 2 + 1 / 2) / 2)
    assert np.isnan(vertices(np.array([-1]), np.eye(3)[[0]])["accuracy"])


def test_every_point_is_told_what_its_vertex_is_told():
    written = "C(4)-MP-C(4)-V-FC(3)"
    network = Network(written, 2, 3, hidden=(4,))
    sample = random_batch(written, [5, 6], d0=2, s=3)
    voxel = torch.tensor([3, 3, 0, 10, 4])

    of_vertices, _ = predict(network, [sample])
    of_points, ys = predict(network, [Sample(sample.x, sample.pyramid, sample.y, voxel)])

    assert of_vertices.shape == (11, 3)
    np.testing.assert_array_equal(of_points, of_vertices[voxel])
    assert ys.tolist() == sample.y[voxel].tolist()
