"""Datasets are found by name, and their training and test sets are lists of labelled clouds or graphs."""

from __future__ import annotations

import re
from typing import Any

import pytest

from edgecond.data import datasets
from edgecond.errors import DataError
from tests.sentences import refused


def test_the_datasets_of_the_paper_have_names():
    """Sections 4.1 to 4.4, and three that need no download; MUTAG exists with 4 and with 11 edge labels."""
    clouds = ["sydney", "modelnet10", "modelnet40", "mnist", "digits", "synthetic", "scenes"]
    graphs = ["nci1", "nci109", "mutag", "mutag11", "enzymes", "dd"]

    assert datasets.names() == clouds + graphs
    assert [datasets.folds(name) for name in clouds] == [4, 1, 1, 1, 5, 1, 1]
    assert [datasets.folds(name) for name in graphs] == [10] * 6


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("sydny", "did you mean sydney?"),
        ("modelnet", "did you mean modelnet40 or modelnet10?"),
        ("NCI-1", "did you mean nci1 or nci109?"),
        ("cora", ", ".join(datasets.names())),
    ],
)
def test_an_unknown_name_is_an_error_with_a_suggestion(name: str, hint: str):
    for function in (datasets.load, datasets.fetch, datasets.folds):
        with pytest.raises(DataError, match=f"(?i)no dataset {name!r}.*{re.escape(hint)}"):
            function(name)


def test_an_unknown_fold_or_option_is_an_error_that_lists_the_known_ones():
    with refused("the folds of sydney are numbered from 0 to 3: got 4.", DataError):
        datasets.load("sydney", 4)
    with refused("the folds of digits are numbered from 0 to 4: got -1.", DataError):
        datasets.load("digits", -1)
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
def test_a_missing_dataset_is_an_error_with_the_command_that_fetches_it(folder: Any, name: str):
    with pytest.raises(DataError, match=rf"^{name} needs {folder}/.*Run `edgecond fetch {name}`"):
        datasets.load(name)


def test_nothing_is_fetched_for_datasets_that_need_no_download(folder: Any):
    for name in ("digits", "synthetic", "scenes"):
        assert datasets.fetch(name).endswith(": nothing to download.")
    assert not list(folder.iterdir())
