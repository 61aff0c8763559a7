"""Probabilities are calibrated, and intervals and sets hold the truth as often as they should."""

import numpy as np
import pytest
import torch

from edgecond.nn.tasks import Classification
from edgecond.nn.tasks.conformal import condensed, limit
from edgecond.nn.tasks.findings import Curves, Table
from edgecond.nn.tasks.multilabel import Multilabel
from edgecond.nn.tasks.regression import Regression
from edgecond.nn.tasks.uncertainty import reliability, retention


def softmax(scores: np.ndarray) -> np.ndarray:
    powers = np.exp(scores - scores.max(1, keepdims=True))
    return powers / powers.sum(1, keepdims=True)


def drawn(probabilities: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Draw a class of each row."""
    return (rng.random((len(probabilities), 1)) > probabilities.cumsum(1)).sum(1).clip(max=probabilities.shape[1] - 1)


def classes(n: int, temperature: float, seed: int = 0, scale: float = 2.0) -> tuple[np.ndarray, np.ndarray]:
    """Return classes drawn from the softmax of scores, and the probabilities of a network that is too sure of them."""
    rng = np.random.default_rng(seed)
    scores = scale * rng.normal(size=(n, 4))
    return drawn(softmax(scores), rng), softmax(temperature * scores)


@pytest.mark.parametrize("temperature", [0.5, 1.0, 3.0])
def test_the_temperature_of_synthetic_scores_is_recovered(temperature: float):
    """Scores are T times those that the classes are drawn from, so the least cross-entropy is at T."""
    y, outputs = classes(20_000, temperature)

    task = Classification().calibrated(y, outputs)

    assert task.temperature[0] == pytest.approx(temperature, rel=0.03)
    np.testing.assert_array_equal(task.tempered(outputs).argmax(1), outputs.argmax(1))
    np.testing.assert_allclose(task.tempered(outputs).sum(1), 1)


def test_the_temperature_of_each_label_is_recovered():
    """As above with sigmoids; a label that is never yes, and one that is hardly known, keep their probabilities."""
    rng = np.random.default_rng(0)
    scores, temperatures = 2 * rng.normal(size=(20_000, 4)), np.array([2.0, 0.5, 1.7, 1.7])
    y = (rng.random(scores.shape) < 1 / (1 + np.exp(-scores))).astype(float)
    y[:, 2], y[10:, 3] = 0, np.nan
    outputs = 1 / (1 + np.exp(-temperatures * scores))

    task = Multilabel().calibrated(y, outputs)

    np.testing.assert_allclose(task.temperature, [2.0, 0.5, 1, 1], rtol=0.05)
    np.testing.assert_array_equal(task.tempered(outputs) > 0.5, outputs > 0.5)


def test_a_few_examples_give_no_temperature():
    y, outputs = classes(29, 3.0)

    assert Classification().calibrated(y, outputs).temperature == ()


def test_the_expected_calibration_error_is_that_of_the_definition():
    """By hand: of four predictions at 0.95 three are true, and both of two at 0.55: 4/6 * 0.2 + 2/6 * 0.45."""
    found = reliability(np.array([0.95] * 4 + [0.55] * 2), np.array([1, 1, 1, 0, 1, 1], bool))

    assert found.error == pytest.approx(4 / 6 * 0.2 + 2 / 6 * 0.45)
    np.testing.assert_allclose(found.share, [1, 0.75])


def test_the_error_by_chance_of_two_predictions_is_that_of_the_definition():
    """By hand: of two predictions at 0.75 none, one or both are true with probability 1/16, 6/16 and 9/16."""
    found = reliability(np.array([0.75, 0.75]), np.array([True, False]))

    assert found.chance == pytest.approx(1 / 16 * 0.75 + 6 / 16 * 0.25 + 9 / 16 * 0.25)


def test_certain_predictions_have_no_error_by_chance():
    assert reliability(np.ones(5), np.ones(5, bool)).chance == 0


def test_the_error_by_chance_is_that_of_simulated_truths():
    """150 predictions, as in a fold of Sydney: truths are drawn from the probabilities themselves, 2,000 times."""
    rng = np.random.default_rng(0)
    probability = 1 - 0.7 * rng.random(150) ** 2
    errors = [reliability(probability, rng.random(150) < probability).error for _ in range(2000)]

    assert reliability(probability, np.ones(150, bool)).chance == pytest.approx(np.mean(errors), rel=0.05)


def test_a_calibration_set_lowers_the_expected_calibration_error():
    """Guo et al. 2017: at the temperature of the scores, probabilities are the frequencies of the classes."""
    task = Classification().calibrated(*classes(1000, 3.0, seed=1))
    y, outputs = classes(20_000, 3.0)
    before, after = (reliability(each.max(1), each.argmax(1) == y).error for each in (outputs, task.tempered(outputs)))

    assert before > 0.1
    assert after < 0.02


def test_errors_are_retained_in_the_order_of_uncertainty():
    """By hand: errors 4, 1, 3 in the order of uncertainty 1, 3, 4 have the means 1, 2 and 8/3."""
    np.testing.assert_allclose(retention(np.array([4.0, 1, 3]), np.array([9.0, 1, 5])), [1, 2, 8 / 3])


N = 60


def test_intervals_hold_the_truth_as_often_as_was_asked_for():
    """Over 300 calibration sets of 60, coverage is in [0.9, 0.9 + 1/61], up to chance."""
    task, rng = Regression((0.0,), (2.0,)), np.random.default_rng(0)
    covered = []
    for _ in range(300):
        y = rng.standard_t(3, size=(N + 200, 1))
        scores = condensed(task.nonconformity(y[:N], np.zeros((N, 1)), None)[0])
        row = task.bounds_row(["logS"], np.zeros(1), None, [limit(scores, 0.9)])
        covered.append(np.mean((row["lower"] <= y[N:]) & (y[N:] <= row["upper"])))

    assert 0.9 - 0.01 <= np.mean(covered) <= 0.9 + 1 / (N + 1) + 0.01


@pytest.mark.parametrize(("scale", "accuracy"), [(2.0, (0.5, 0.9)), (20.0, (0.93, 1.0))])
def test_sets_hold_the_true_class_as_often_as_was_asked_for(scale: float, accuracy: tuple[float, float]):
    """The same for sets of classes, even where more predictions are right; one set calibrates the temperature too."""
    names, covered, sizes, right = list("abcd"), [], [], []
    for seed in range(150):
        y, outputs = classes(N + 100, 2.0, seed, scale)
        right += (outputs.argmax(1) == y).tolist()
        task = Classification().calibrated(y[:N], outputs[:N])
        tempered = task.tempered(outputs)
        bound = limit(condensed(task.nonconformity(y[:N], tempered[:N], None)[0]), 0.9)
        sets = [task.bounds_row(names, row, None, [bound])["set"].split("|") for row in tempered[N:]]
        covered += [names[k] in found for k, found in zip(y[N:], sets, strict=True)]
        sizes += [len(found) for found in sets]

    assert 0.9 - 0.01 <= np.mean(covered) <= 0.9 + 1 / (N + 1) + 0.01
    assert accuracy[0] < np.mean(right) < accuracy[1]
    assert np.mean(sizes) < 3  # of four


def test_a_set_begins_with_the_predicted_class():
    """By hand: with a bound of 0.75, classes are in the set from a probability of 0.25 on."""
    row, none = (
        Classification().bounds_row(list("abc"), np.array([0.3, 0.6, 0.1]), None, [bound]) for bound in (0.75, 0.1)
    )

    assert (row, none) == ({"set": "b|a"}, {"set": ""})


def test_a_label_is_both_or_none_as_the_bound_has_it():
    """By hand: an answer needs a probability of 0.3, 0.3, 0.3 and 0.7."""
    row = Multilabel().bounds_row(list("abcd"), np.array([0.9, 0.6, 0.2, 0.6]), None, [0.7, 0.7, 0.7, 0.3])

    assert row == {"set(a)": "yes", "set(b)": "yes|no", "set(c)": "no", "set(d)": ""}


def test_unknown_targets_have_no_score():
    y, outputs = np.array([[1.0, np.nan], [3.0, 0.0]]), np.array([[0.0, 0.0], [0.0, 1.0]])

    of_numbers = Regression((0.0, 0.0), (1.0, 2.0)).nonconformity(y, outputs, None)
    of_labels = Multilabel().nonconformity(np.array([[1, np.nan], [0, 0]]), np.array([[0.2, 0.5], [0.2, 0.9]]), None)
    of_classes = Classification().nonconformity(np.array([-1, 0]), np.array([[0.5, 0.5], [0.3, 0.7]]), None)

    np.testing.assert_allclose(of_numbers[0], [1, 3])
    np.testing.assert_allclose(of_numbers[1], [0.5])
    np.testing.assert_allclose(of_labels[0], [0.8, 0.2])
    np.testing.assert_allclose(of_labels[1], [0.9])
    np.testing.assert_allclose(of_classes[0], [0.7])


def test_a_report_compares_the_coverage_asked_for_with_that_of_the_test_set():
    """By hand: errors 1 to 99 calibrate, so half the errors of the same are at most 50, in an interval of 100."""
    task, errors = Regression((0.0,), (1.0,)), np.arange(1.0, 100)
    y, outputs = errors[:, None], np.zeros((99, 1))

    (finding,) = task.uncertainty(["logS"], y, outputs, outputs + y, (errors,))

    curve, table = finding.parts
    assert isinstance(curve, Curves)
    assert isinstance(table, Table)
    assert table.rows[0] == ("logS", "50 %", "50.51 %", "100")
    assert [row[1] for row in table.rows] == ["50 %", "80 %", "90 %", "95 %"]
    np.testing.assert_allclose(curve.lines[0][2], curve.lines[1][2])  # the spread is the error


@pytest.mark.parametrize("task", [Classification(), Multilabel()])
def test_a_report_has_a_reliability_diagram(task):
    """A model that is always right, and always fully sure, has no calibration error."""
    outputs = np.eye(2)[np.array([0, 1, 1])]
    y = outputs.argmax(1) if task.name == "classification" else outputs

    (finding,) = task.uncertainty(list("ab"), y, outputs, None, ())

    (curve,) = finding.parts
    assert "expected calibration error 0.00 %" in curve.caption
    assert curve.diagonal


def test_scores_are_those_of_calibrated_outputs():
    """The sigmoid or softmax of scores, and numbers in standard deviations, give back the calibrated outputs."""
    probabilities = torch.tensor([[0.2, 0.7, 0.1], [0.5, 0.25, 0.25]], dtype=torch.float64)
    one, several = Classification(temperature=(2.0,)), Multilabel(temperature=(2.0, 0.5, 1.0))
    numbers = Regression((1.0, 2.0, 3.0), (4.0, 5.0, 6.0))

    tempered = torch.from_numpy(one.tempered(probabilities.numpy()))
    torch.testing.assert_close(one.scores(probabilities).softmax(1), tempered)
    tempered = torch.from_numpy(several.tempered(probabilities.numpy()))
    torch.testing.assert_close(several.scores(probabilities).sigmoid(), tempered, rtol=1e-5, atol=1e-6)
    torch.testing.assert_close(numbers.outputs(numbers.scores(probabilities)), probabilities)
    assert (one.rescales, Classification().rescales, numbers.rescales) == (True, False, False)


def test_intervals_are_wider_where_the_networks_of_an_ensemble_differ():
    """By hand: with a mean spread of 2, spreads of 0 and 4 give intervals in units of 2 and 6."""
    task = Regression((0.0,), (9.0,)).calibrated(np.zeros((2, 1)), np.zeros((2, 1)), np.array([[1.0], [3.0]]))

    narrow, wide = (task.bounds_row(["logS"], np.zeros(1), np.array([spread]), [1.5]) for spread in (0.0, 4.0))

    assert narrow == {"lower": -3.0, "upper": 3.0}
    assert wide == {"lower": -9.0, "upper": 9.0}
