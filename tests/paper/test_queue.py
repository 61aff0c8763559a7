"""Folds of many rows run in the order of their cost, those with a record are left out, and the rest is estimated."""

import hashlib
import json
from pathlib import Path

import pytest

from edgecond.paper.queue import Estimate, Task, tasks, without_record
from edgecond.runs.recipe import find, Recipe, recipes, with_epochs


def rows(*names: str) -> list[tuple[str, Recipe]]:
    return [(name, find(name)) for name in names]


def record(results: Path, row: str, fold: int, settings: dict, epochs: int = 250) -> None:
    """Write a record, and its settings under their digest."""
    text = json.dumps(settings, sort_keys=True)
    digest = hashlib.sha256(text.encode()).hexdigest()[:16]
    content = {"fold": fold, "seed": 0, "epochs": epochs, "metrics": {"f1": 0.7}, "recipe": digest}
    for path, written in ((f"{row}/fold{fold}-seed0.json", json.dumps(content)), (f"settings/{digest}.json", text)):
        (results / path).parent.mkdir(parents=True, exist_ok=True)
        (results / path).write_text(written)


def test_the_row_that_takes_the_shortest_time_comes_first_with_all_its_folds():
    """Ten folds of MUTAG take minutes, four of Sydney half an hour, and one of ModelNet10 four hours."""
    found = tasks(rows("modelnet10/z", "sydney/z", "mutag/z"))

    assert [(task.row, task.fold) for task in found] == [
        *(("mutag/z", fold) for fold in range(10)),
        *(("sydney/z", fold) for fold in range(4)),
        ("modelnet10/z", 0),
    ]


def test_folds_and_seeds_may_be_chosen():
    found = tasks(rows("sydney/z"), folds=[2, 1], seeds=[0, 5])

    assert [(task.fold, task.seed) for task in found] == [(2, 0), (1, 0), (2, 5), (1, 5)]


def test_a_fold_is_left_out_if_its_record_has_all_epochs_and_the_settings_of_the_row(tmp_path):
    row, other = find("sydney/z").settings(), find("sydney/ecc").settings()
    record(tmp_path, "sydney/z", 0, row)
    record(tmp_path, "sydney/z", 1, with_epochs(find("sydney/z"), 5).settings(), epochs=5)
    record(tmp_path, "sydney/z", 2, other)  # without the degree factor

    left = without_record(tasks(rows("sydney/z")), tmp_path)

    assert [task.fold for task in left] == [1, 2, 3]


def test_settings_of_a_record_are_compared_by_their_meaning(tmp_path):
    """Before 17 November the batch size was `batch`, the learning rate `rate`, and there was no choice of optimizer."""
    former = find("sydney/ecc").settings() | {
        "train": {"epochs": 250, "batch": 32, "rate": 0.1, "drops": [200, 245], "momentum": 0.9, "weight_decay": 5e-4}
    }
    former.pop("ensemble")
    record(tmp_path, "sydney/ecc", 0, former)
    record(tmp_path, "sydney/ecc", 1, former | {"train": former["train"] | {"rate": 0.2}})

    assert [task.fold for task in without_record(tasks(rows("sydney/ecc")), tmp_path)] == [1, 2, 3]


def test_the_estimate_follows_the_pace_of_what_has_ended():
    """Twelve folds of 10 minutes on two jobs take an hour; three of them in 20 minutes each make it twice as long."""
    estimate, left = Estimate(jobs=2), tasks(rows("sydney/z", "sydney/identity", "sydney/irz"))
    assert [task.recipe.minutes for task in left] == [10] * 12
    assert estimate.minutes(left) == pytest.approx(60)

    for task in left[:3]:
        estimate.ended(task, 20 * 60)

    assert estimate.minutes(left[3:]) == pytest.approx(90)


def test_the_estimate_is_at_least_the_longest_fold():
    found = [Task("sydney/z", find("sydney/z"), 0, 0), Task("modelnet10/z", find("modelnet10/z"), 0, 0)]

    assert Estimate(jobs=8).minutes(found) == 240
    assert Estimate().minutes([]) == 0


def test_fewer_epochs_take_less_time():
    assert with_epochs(find("sydney/z"), 25).minutes == pytest.approx(1)


def test_the_order_of_the_papers_rows_is_that_of_their_cost():
    """Small molecules first, ModelNet40 and the degrees of D&D last."""
    order = list(dict.fromkeys(task.row for task in tasks(recipes().items()) if task.recipe.paper))

    assert order[0].startswith("mutag/")
    assert order[-1] == "modelnet40/ecc"
    assert (
        order.index("sydney/z") < order.index("sydney/wider") < order.index("nci1/degrees") < order.index("dd/degrees")
    )
