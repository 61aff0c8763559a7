"""Training and test sets are lists of labelled clouds."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
import torch

from edgecond.data.examples import checked_cloud, Examples, PointExamples
from edgecond.errors import DataError
from edgecond.graph import Cloud
from tests.sentences import refused


def examples(classes: list[int], **changes: Any) -> Examples:
    clouds = [Cloud(torch.full((1, 3), float(i)), torch.ones(1, 1)) for i in range(len(classes))]
    names = [f"cloud{i}" for i in range(len(classes))]
    values = {"clouds": clouds, "ys": torch.tensor(classes), "names": names} | changes
    return Examples("toy", ("tree", "car"), digest="0", **values)


def test_examples_are_pairs_of_a_cloud_and_its_class():
    part = examples([0, 1, 1])

    assert len(part) == len(list(part)) == 3
    assert [y for _, y in part] == [0, 1, 1]
    assert part[2][0].positions.tolist() == [[2, 2, 2]]


def test_examples_can_be_selected_in_any_order():
    some = examples([0, 1, 1, 0]).take([3, -3, 0])

    assert [cloud.positions[0, 0].item() for cloud, _ in some] == [3, 1, 0]
    assert some.ys.tolist() == [0, 1, 0]
    assert some.names == ["cloud3", "cloud1", "cloud0"]
    assert some.take([1]).names == ["cloud1"]
    with pytest.raises(IndexError):
        some.take([3])


def test_selected_examples_can_be_pickled():
    """Worker processes receive them by pickle where processes cannot be forked."""
    some = pickle.loads(pickle.dumps(examples([0, 1, 1]).take([2, 0])))

    assert [(cloud.positions[0, 0].item(), y) for cloud, y in some] == [(2, 1), (0, 0)]


def test_an_unknown_class_is_an_error():
    with pytest.raises(DataError, match=r"toy has 2 classes, .*found the unknown class 2"):
        examples([0, 2])


def test_every_cloud_needs_a_class():
    with pytest.raises(DataError, match="toy needs one class per cloud: got 1 classes for 2 clouds"):
        examples([0, 1], ys=torch.tensor([0]))


def test_a_cloud_needs_at_least_one_point():
    with refused("a.bin holds an empty cloud: at least one point is needed.", DataError):
        checked_cloud(np.zeros((0, 3)), np.zeros((0, 1)), "a.bin")

    assert len(checked_cloud(np.zeros((1, 3)), np.zeros((1, 1)), "a.bin")) == 1


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, 1e300])
def test_numbers_must_be_finite_in_single_precision(value: float):
    rows = np.zeros((3, 3))
    rows[1, 2] = value
    shown = {1e300: "inf"}.get(value, str(value))

    with refused(f"a.bin must hold finite numbers: the position of point 1 is [0.0, 0.0, {shown}].", DataError):
        checked_cloud(rows, np.zeros((3, 1)), "a.bin")
    with pytest.raises(DataError, match="the signal of point 1 is"):
        checked_cloud(np.zeros((3, 3)), rows, "a.bin")


def points(*classes: list[int] | None) -> PointExamples:
    clouds = [
        Cloud(torch.zeros(len(y or [0]), 3), torch.ones(len(y or [0]), 1), None if y is None else torch.tensor(y))
        for y in classes
    ]
    return PointExamples("toy", ("tree", "car"), clouds, "0", [f"cloud{i}" for i in range(len(clouds))])


def test_the_classes_of_points_are_concatenated_cloud_by_cloud():
    part = points([0, 1, -1], [1], [0, 0])

    assert (len(part), part.ys.tolist()) == (3, [0, 1, -1, 1, 0, 0])
    assert part.take([2, 0]).ys.tolist() == [0, 0, 0, 1, -1]
    assert part.take([-1]).names == ["cloud2"]
    assert pickle.loads(pickle.dumps(part)).ys.equal(part.ys)


def test_points_without_a_class_or_of_an_unknown_class_are_an_error():
    with pytest.raises(DataError, match="toy needs a target for every point: cloud 1"):
        _ = points([0], None).ys
    for wrong in (2, -2):
        with pytest.raises(DataError, match=f"toy has 2 classes.*class {wrong} in cloud 0"):
            points([0, wrong])[0]
