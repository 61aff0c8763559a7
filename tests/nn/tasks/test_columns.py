"""Metrics of several targets leave out what is unknown."""

from __future__ import annotations

import numpy as np

from edgecond.nn.tasks.columns import known_pairs, means


def test_unknown_values_are_left_out_column_by_column():
    y = np.array([[1.0, np.nan], [2.0, 5.0]])

    pairs = [
        (truth.tolist(), predicted.tolist()) for truth, predicted in known_pairs(y, np.array([[3.0, 4.0], [6.0, 7.0]]))
    ]

    assert pairs == [([1, 2], [3, 6]), ([5], [7])]


def test_means_are_over_the_columns_that_have_metrics():
    assert means([{"mae": 1.0}, {}, {"mae": 3.0}], ["mae"]) == {"mae": 2.0}
    assert np.isnan(means([{}], ["mae"])["mae"])
