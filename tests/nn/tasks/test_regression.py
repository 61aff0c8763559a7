"""Squared errors by hand, and R squared against scikit-learn."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from sklearn.metrics import r2_score

from edgecond.nn.tasks import Loss
from edgecond.nn.tasks.regression import Regression

NAN = float("nan")


def loss(sums: Loss) -> float:
    return float(sums.total.detach() / sums.weight)


def test_numbers_are_learned_in_standard_deviations_and_predicted_in_their_units():
    """By hand: mean 20, deviation 10; a score of 0.5 says 25, where 15 is true: an error of one deviation."""
    task = Regression((20.0,), (10.0,))
    scores = torch.tensor([[0.5], [3.0]])

    loss_sums = task.loss(scores, torch.tensor([[15.0], [NAN]]))

    assert task.outputs(scores).flatten().tolist() == [25, 50]
    assert loss(loss_sums) == pytest.approx(1)
    assert (float(loss_sums.metric), int(loss_sums.known)) == (100, 1)


def test_mean_and_scale_are_those_of_the_known_values():
    """By hand; a quantity that never varies, or is never known, has the scale 1."""
    ys = torch.tensor([[1.0, 5.0, NAN], [3.0, 5.0, NAN], [NAN, 5.0, NAN]])

    task = Regression.fit(ys, 3)

    assert task.mean == (2, 5, 0)
    assert task.scale == (1, 1, 1)


@pytest.mark.parametrize(
    ("numbers", "sentence"),
    [
        ([1e9, 1e9 + 2, NAN], r"y lies around 1e\+09, with a standard deviation of 1\. Subtract 1e\+09\.$"),
        ([4e38, 0.0, 1.0], r"single precision: y has 4e\+38\. Scale it down\.$"),
    ],
    ids=["a large offset", "beyond single precision"],
)
def test_targets_that_single_precision_cannot_tell_apart_are_refused(numbers: list[float], sentence: str):
    """Its steps are 64 near a billion, and its largest number is 3.4e38."""
    with pytest.raises(ValueError, match=sentence):
        Regression.check_targets(torch.tensor(numbers, dtype=torch.double)[:, None], ["y"])


def test_targets_may_lie_far_from_zero_or_be_constant():
    """Absolute temperatures, years, and a target that was measured once."""
    ys = torch.tensor([[300.0, 1990.0, 7.0], [301.0, 2024.0, NAN]]).double()

    Regression.check_targets(ys, ["T", "year", "once"])


def test_errors_are_means_over_the_known_values():
    """scikit-learn for R squared; by hand, errors of 1, 0 and -2 have the root mean square sqrt(5/3)."""
    y = np.array([[1.0], [2.0], [4.0], [float("nan")]])
    predicted = np.array([[2.0], [2.0], [2.0], [7.0]])

    metrics = Regression((0.0,), (1.0,)).evaluate(y, [predicted])

    assert metrics["rmse"] == pytest.approx((5 / 3) ** 0.5)
    assert metrics["mae"] == pytest.approx(1)
    assert metrics["r2"] == pytest.approx(r2_score(y[:3, 0], predicted[:3, 0]))


def test_the_mean_prediction_is_explained_in_its_own_units():
    """By hand: scores of 1 and 3 with mean 10 and scale 2 are 12 and 16."""
    task = Regression((0.0, 10.0), (1.0, 2.0))

    assert task.explained(torch.tensor([[[0.0, 1.0]], [[0.0, 3.0]]]), 1).tolist() == [14.0]
    assert task.explained_target(np.zeros((1, 2))) == 0


@pytest.mark.parametrize(
    ("scale", "written"),
    [
        (2e-9, 1.234568e-9),  # seven digits of 2.000000e-9 end at the fifteenth decimal
        (0.05, 0.0),  # and those of 0.05000000 at the eighth
        (1.0, 0.0),
        (300.0, 0.0),
    ],
)
def test_small_numbers_have_seven_digits_of_the_deviation_of_their_target(scale: float, written: float):
    """By hand, for 1.23456789e-9."""
    task, value = Regression((0.0,), (scale,)), np.array([1.23456789e-9])

    cells = [
        *task.row(["y"], value).values(),
        *task.spread_row(["y"], value, value).values(),
        task.bounds_row(["y"], value, None, [0.0])["upper"],
    ]

    assert cells == [written] * 3


@pytest.mark.parametrize(("scale", "written"), [(0.05, 0.12345679), (1.0, 0.123457), (300.0, 0.123457)])
def test_other_numbers_have_at_least_six_decimals(scale: float, written: float):
    """By hand: targets of deviation 1 and more are written as they were before."""
    assert Regression((0.0,), (scale,)).row(["y"], np.array([0.123456789])) == {"y": written}
