"""Targets become numbers: a class of each row, labels of 0 and 1, or numbers, NaN where one is unknown."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from edgecond import Architecture
from edgecond.estimator.targets import (
    column_names,
    encode_classes,
    encode_labels,
    encode_numbers,
    has_several_columns,
    plain,
)
from tests.sentences import mentions


def test_classes_are_sorted_and_keep_their_type():
    classes, numbers = encode_classes(["b", "a", "b"], 3)

    assert classes.tolist() == ["a", "b"]
    assert numbers.tolist() == [1, 0, 1]
    assert encode_classes(np.array([True, False]), 2)[0].dtype == bool


def test_numbers_are_a_column_for_each_target():
    np.testing.assert_array_equal(encode_numbers([1, np.nan], 2), [[1], [np.nan]])
    np.testing.assert_array_equal(encode_numbers([[1, 2], [3, 4]], 2), [[1, 2], [3, 4]])


def test_labels_are_zeros_and_ones():
    y = np.array([[True, False], [False, True]])

    assert has_several_columns(y)
    assert not has_several_columns(y[:, :1])
    np.testing.assert_array_equal(encode_labels(y, 2), [[1, 0], [0, 1]])


@pytest.mark.parametrize(
    ("y", "facts"),
    [
        ([np.nan, np.nan], ["column 0 is NaN"]),
        ([1, np.inf], ["finite numbers", "row 1 is infinite"]),
        (["a", "b"], ["y must hold numbers", "could not convert"]),
        (np.zeros((2, 0)), ["shape is (2, 0)"]),
        ([1, 2, 3], ["X has 2 rows", "y has 3"]),
        (5, ["X has 2 rows", "a single value"]),
    ],
)
def test_targets_that_are_no_numbers_are_errors(y: object, facts: list[str]):
    with mentions(*facts):
        encode_numbers(y, 2)


def test_columns_have_the_names_of_a_table_or_numbers():
    class Table:
        columns = ("logS", "pKa")

    assert column_names(Table(), 2) == ["logS", "pKa"]
    assert column_names(np.zeros((3, 2)), 2) == ["y0", "y1"]


def test_parameters_are_written_as_json():
    given = {
        "network": Architecture("C(4)-GAP-FC(2)"),
        "epochs": np.int64(3),
        "device": torch.device("cpu"),
        "random_state": np.random.RandomState(0),
        "settings": {"hidden": (4, np.float64(0.5))},
    }

    assert plain(given) == {
        "network": "C(4)-GAP-FC(2)",
        "epochs": 3,
        "device": "cpu",
        "random_state": None,
        "settings": {"hidden": [4, 0.5]},
    }
