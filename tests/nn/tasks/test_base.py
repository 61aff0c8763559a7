"""What holds for every task: shares of a batch add up, files bring a task back, and its network fits it."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from edgecond.data.kinds import KINDS
from edgecond.errors import RecipeError
from edgecond.nn import tasks
from edgecond.nn.tasks import Classification
from edgecond.nn.tasks.base import prediction_columns, RESERVED
from edgecond.nn.tasks.multilabel import Multilabel
from edgecond.nn.tasks.regression import Regression
from edgecond.notation import Architecture

NAN = float("nan")
TASKS = [
    Multilabel(),
    Regression((0.0,), (1.0,)),
    Classification(),
    Classification.fit(torch.tensor([0, 1]), 2, balanced=True),
]


@pytest.mark.parametrize("task", TASKS)
def test_shares_of_a_batch_add_up_to_it_even_if_one_has_no_targets(task):
    """Several processes have a share each (torchrun)."""
    classes = isinstance(task, Classification)
    scores = torch.randn(6, 2 if classes else 1, generator=torch.Generator().manual_seed(0))
    y = torch.tensor([-1, -1, -1, 0, 1, 1]) if classes else torch.tensor([NAN, NAN, NAN, 0, 1, 1])[:, None]

    whole, parts = task.loss(scores, y), [task.loss(scores[r], y[r]) for r in ([0, 1, 2], [3, 4, 5])]

    assert [float(number) for number in parts[0]] == [0, 0, 0, 0]
    for total, *of_shares in zip(whole, *parts, strict=True):
        assert float(sum(of_shares)) == pytest.approx(float(total))


@pytest.mark.parametrize("task", TASKS)
def test_an_example_of_weight_2_counts_as_two_of_weight_1(task):
    classes = isinstance(task, Classification)
    scores = torch.randn(4, 2 if classes else 1, generator=torch.Generator().manual_seed(0))
    y = torch.tensor([-1, 0, 1, 1]) if classes else torch.tensor([NAN, 0, 1, 1])[:, None]
    twice = [0, 1, 1, 2]  # the last has the weight 0

    weighted = task.loss(scores, y, weights=torch.tensor([1.0, 2.0, 1.0, 0.0]))

    expected = task.loss(scores[twice], y[twice])
    torch.testing.assert_close(weighted.total / weighted.weight, expected.total / expected.weight)
    assert int(weighted.known) == 3  # the metric to watch counts every known target once


@pytest.mark.parametrize("task", TASKS)
def test_a_file_brings_a_task_back(task):
    outputs = len(next(iter(task.parameters.values()), ())) or 2

    assert type(task).restore(task.parameters, outputs) == task


@pytest.mark.parametrize(
    ("task", "parameters", "message"),
    [
        ("classification", {"mean": (1.0,)}, "the parameters of classification are weights, temperature: found mean"),
        ("classification", {"weights": (1.0,)}, "weights must have a number for each of 2 outputs"),
        ("classification", {"temperature": (1.0, 1.0)}, "temperature must have a number for each of 1 outputs"),
        ("classification", {"temperature": (0.0,)}, "temperature must be positive: found 0"),
        ("multilabel", {"temperature": (1.0, -2.0)}, "temperature must be positive: found -2"),
        ("regression", {"mean": (1.0, 2.0)}, "the parameters of regression are mean, scale, spread: found mean"),
        ("regression", {"mean": (1.0,), "scale": (1.0,)}, "mean must have a number for each of 2 outputs"),
    ],
)
def test_parameters_that_do_not_fit_are_refused(task, parameters, message):
    with pytest.raises(ValueError, match=message):
        tasks.find(task).restore(parameters, 2)


@pytest.mark.parametrize("name", tasks.TASKS)
def test_a_network_must_predict_for_what_the_task_is_about(name):
    task = tasks.find(name)
    graph, vertex = Architecture("C(4)-GAP-FC(2)"), Architecture("C(4)-V-FC(2)")
    right, wrong = (vertex, graph) if task.per_vertex else (graph, vertex)

    task.check_network(right)
    with pytest.raises(RecipeError, match=f"a network for {name} must predict for each"):
        task.check_network(wrong)


def test_certainty_is_coverage_calibration_error_and_gain_by_spread():
    """By hand: one of two known labels is wrong, with the larger spread, and keeps no limit."""
    y, outputs = torch.tensor([[1.0], [1.0], [NAN]]).numpy(), torch.tensor([[0.75], [0.25], [0.5]]).double().numpy()
    spread = torch.tensor([[0.1], [0.2], [0.3]]).double().numpy()

    found = Multilabel().certainty(y, outputs, spread, [0.5])

    assert found["coverage"] == 0.5
    assert found["calibration_error"] == pytest.approx((0.25 + 0.75) / 2)
    assert found["retention_gain"] == pytest.approx(1 - (0.0 + 0.5) / 2 / 0.5)


def test_columns_that_say_where_an_example_is_from_are_reserved():
    for kind in KINDS.values():
        assert {*kind.place, kind.unit, "fold"} <= RESERVED


@pytest.mark.parametrize("task", [Multilabel(), Regression((0.0, 0.0), (1.0, 1.0), (1.0, 1.0))], ids=lambda t: t.name)
def test_a_target_with_the_name_of_another_column_is_predicted_in_a_column_of_its_own(task):
    """With one target, spread and bounds are `spread`, `lower`, `upper` and `set`; with two, they have its name."""
    names, two = ["distance", "logS"], np.zeros(2)

    assert task.columns(names) == list(task.row(names, two)) == ["prediction(distance)", "logS"]
    assert set(task.probability_columns(names).values()) <= set(task.columns(names))
    for name in ("spread", "lower", "upper", "set"):
        one = type(task)() if task.name == "multilabel" else Regression((0.0,), (1.0,), (1.0,))
        beside = one.spread_row([name], two[:1], two[:1]) | one.bounds_row([name], two[:1], two[:1], [0.0])
        assert not beside.keys() & set(one.columns([name]))
    assert prediction_columns(["y", "row"]) == ["y", "prediction(row)"]
