"""The task of a data set follows from its targets."""

from __future__ import annotations

import pytest

from edgecond.errors import RecipeError
from edgecond.nn import tasks


@pytest.mark.parametrize(
    ("targets", "per_vertex", "task"),
    [
        ([("a", "b", "c")], False, "classification"),
        ([("0", "1"), ("0", "1")], False, "multilabel"),
        ([()], False, "regression"),
        ([(), ()], False, "regression"),
        ([("2", "6")], True, "segmentation"),
    ],
)
def test_the_task_follows_from_the_targets(targets, per_vertex, task):
    assert tasks.for_targets(targets, per_vertex) is tasks.TASKS[task]


@pytest.mark.parametrize(
    "targets",
    [[], [("a", "b"), ()], [("a", "b", "c"), ("0", "1")]],
    ids=["none", "classes and numbers", "three classes"],
)
def test_there_is_no_task_for_targets_of_several_sorts(targets):
    assert tasks.for_targets(targets) is None


def test_an_unknown_task_is_refused_with_the_nearest_name():
    with pytest.raises(RecipeError, match=r"task must be one of classification, .* Did you mean regression"):
        tasks.find("regresion")
