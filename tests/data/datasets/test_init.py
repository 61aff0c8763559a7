"""Datasets are found by name, and their parts are lists of labelled clouds or graphs."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
import torch

from edgecond.data import datasets
from edgecond.data.examples import checked_cloud, Examples, PointExamples
from edgecond.errors import DataError
from edgecond.graph import Cloud
from tests.sentences import mentions, refused


def examples(classes: list[int], **changes: Any) -> Examples:
    clouds = [Cloud(torch.full((1, 3), float(i)), torch.ones(1, 1)) for i in range(len(classes))]
    names = [f"cloud{i}" for i in range(len(classes))]
    values = {"clouds": clouds, "ys": torch.tensor(classes), "names": names} | changes
    return Examples("toy", ("tree", "car"), digest="0", **values)


def test_the_datasets_of_the_paper_have_names():
    """Sections 4.1 to 4.4, and the three that need no download; MUTAG once with each set of its edge labels."""
    clouds = ["sydney", "modelnet10", "modelnet40", "mnist", "digits", "synthetic", "scenes"]
    graphs = ["nci1", "nci109", "mutag", "mutag11", "enzymes", "dd"]

    assert datasets.names() == clouds + graphs
    assert [datasets.folds(name) for name in clouds] == [4, 1, 1, 1, 5, 1, 1]
    assert [datasets.folds(name) for name in graphs] == [10] * 6


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("sydny", "Did you mean sydney?"),
        ("modelnet", "Did you mean modelnet40 or modelnet10?"),
        ("NCI-1", "Did you mean nci1 or nci109?"),
        ("cora", f"Known names: {', '.join(datasets.names())}."),
    ],
)
def test_an_unknown_name_gets_a_hint(name: str, hint: str):
    for ask in (datasets.load, datasets.fetch, datasets.folds):
        with refused(f"there is no dataset {name!r}. {hint}", DataError):
            ask(name)


def test_an_unknown_fold_or_option_is_a_sentence():
    with refused("the folds of sydney are numbered from 0 to 3: got 4.", DataError):
        datasets.load("sydney", 4)
    with refused("the folds of digits are numbered from 0 to 4: got -1.", DataError):
        datasets.load("digits", fold=-1)
    with refused("mnist has no option 'sprase': it has sparse.", DataError):
        datasets.load("mnist", sprase=True)
    with refused("sydney has no option 'points': it has none.", DataError):
        datasets.load("sydney", points=3)
    with refused("modelnet10 has no option 'classes': it has points, side.", DataError):
        datasets.load("modelnet10", classes=40)
    with refused("the folds of nci1 are numbered from 0 to 9: got 10.", DataError):
        datasets.load("nci1", 10)
    with refused("nci1 has no option 'dataset': it has split.", DataError):
        datasets.load("nci1", dataset="dd")


@pytest.mark.parametrize("name", ["sydney", "modelnet10", "mnist"])
def test_a_dataset_that_is_not_there_says_how_to_get_it(folder: Any, name: str):
    with pytest.raises(DataError, match=rf"^{name} needs {folder}/.*.*Run `edgecond fetch {name}`"):
        datasets.load(name)


def test_nothing_is_fetched_for_sets_that_need_no_download(folder: Any):
    assert datasets.fetch("digits") == "digits comes with scikit-learn: nothing to download."
    assert datasets.fetch("synthetic") == "synthetic is made from a seed: nothing to download."
    assert not list(folder.iterdir())


def test_examples_are_pairs_of_a_cloud_and_its_class():
    part = examples([0, 1, 1])

    assert len(part) == len(list(part)) == 3
    assert [y for _, y in part] == [0, 1, 1]
    assert part[2][0].positions.tolist() == [[2, 2, 2]]


def test_some_examples_can_be_taken_in_any_order():
    some = examples([0, 1, 1, 0]).take([3, -3, 0])

    assert [cloud.positions[0, 0].item() for cloud, _ in some] == [3, 1, 0]
    assert some.ys.tolist() == [0, 1, 0]
    assert some.names == ["cloud3", "cloud1", "cloud0"]
    assert some.take([1]).names == ["cloud1"]
    with pytest.raises(IndexError):
        some.take([3])


def test_examples_travel_to_worker_processes():
    """Workers receive them by pickle where processes cannot be forked."""
    some = pickle.loads(pickle.dumps(examples([0, 1, 1]).take([2, 0])))

    assert [(cloud.positions[0, 0].item(), y) for cloud, y in some] == [(2, 1), (0, 0)]


def test_an_unknown_class_is_a_sentence():
    with refused("toy has 2 classes, numbered from 0: found the unknown class 2.", DataError):
        examples([0, 2])


def test_every_cloud_needs_a_class():
    with refused("toy needs one class per cloud: got 1 classes for 2 clouds.", DataError):
        examples([0, 1], ys=torch.tensor([0]))


def test_an_empty_cloud_is_refused_and_one_point_is_enough():
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


def test_the_classes_of_points_follow_each_other_cloud_by_cloud():
    found = points([0, 1, -1], [1], [0, 0])

    assert (len(found), found.ys.tolist()) == (3, [0, 1, -1, 1, 0, 0])
    assert found.take([2, 0]).ys.tolist() == [0, 0, 0, 1, -1]
    assert found.take([-1]).names == ["cloud2"]
    assert pickle.loads(pickle.dumps(found)).ys.equal(found.ys)


def test_points_without_a_class_are_a_sentence():
    with mentions("toy needs a class for every point, or -1: cloud 1", kind=DataError):
        _ = points([0], None).ys
    for wrong in (2, -2):
        with mentions(f"toy has 2 classes, numbered from 0 ... found the class {wrong} in cloud 0", kind=DataError):
            points([0, wrong])[0]
