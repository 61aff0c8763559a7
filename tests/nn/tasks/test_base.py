"""Losses are those of their definitions, blanks count for nothing, and outputs are in the units of the data."""

from __future__ import annotations

import math

import pytest
import torch

from edgecond.nn.objective import balanced, ONE_CLASS, OneClass, Quantities, standardised, YesOrNo

NAN = float("nan")


def loss(measured) -> float:
    return float(measured.losses.detach() / measured.weight)


def test_one_class_is_cross_entropy_and_counts_what_is_right():
    """By hand: odds of 3 to 1 for class 0, which is true of the first example and not of the second."""
    scores = torch.tensor([[math.log(3), 0.0], [math.log(3), 0.0]])

    found = ONE_CLASS.measure(scores, torch.tensor([0, 1]))

    assert loss(found) == pytest.approx((math.log(4 / 3) + math.log(4)) / 2)
    assert (int(found.figure), int(found.known)) == (1, 2)
    torch.testing.assert_close(ONE_CLASS.outputs(scores), torch.tensor([[0.75, 0.25]] * 2))


def test_balanced_classes_count_equally_however_rare():
    """Another method: torch's own mean of weighted cross-entropy; by hand, 3 and 1 of 4 examples weigh 2/3 and 2."""
    y, scores = torch.tensor([0, 0, 1, 0]), torch.randn(4, 2, generator=torch.Generator().manual_seed(0))

    objective = balanced(y, 2)

    assert objective.weights == pytest.approx((2 / 3, 2))
    expected = torch.nn.functional.cross_entropy(scores, y, torch.tensor([2 / 3, 2.0]))
    assert loss(objective.measure(scores, y)) == pytest.approx(float(expected))


def test_vertices_of_unknown_class_count_for_nothing():
    """By hand: scores of 0 have the loss log 2; the second vertex is unknown, and has no gradient."""
    scores = torch.tensor([[0.0, 0.0], [5.0, -5.0], [0.0, 0.0]], requires_grad=True)
    y = torch.tensor([0, -1, 1])

    for objective in (ONE_CLASS, balanced(y, 2)):
        scores.grad = None
        found = objective.measure(scores, y)
        found.losses.backward()
        assert loss(found) == pytest.approx(math.log(2))
        assert int(found.known) == 2
        assert scores.grad[1].tolist() == [0, 0]
    assert balanced(torch.tensor([0, 0, 0, 1, -1, -1]), 2).weights == pytest.approx((2 / 3, 2))


def test_a_class_that_never_occurs_has_a_finite_weight():
    assert balanced(torch.tensor([0, 0]), 2).weights == pytest.approx((0.5, 1))


def test_questions_without_an_answer_count_for_nothing():
    """By hand: scores of 0 have the loss log 2 each; the third question of the first example is blank."""
    scores = torch.tensor([[0.0, 0.0, 9.0], [0.0, 2.0, -2.0]], requires_grad=True)
    y = torch.tensor([[1.0, 0.0, NAN], [NAN, 1.0, 1.0]], dtype=torch.double)

    found = YesOrNo().measure(scores, y)
    found.losses.backward()

    two = math.log(1 + math.exp(-2)), math.log(1 + math.exp(2))
    assert loss(found) == pytest.approx((2 * math.log(2) + sum(two)) / 4)
    assert (int(found.figure), int(found.known)) == (2, 4)  # a score of 0 says no
    assert scores.grad[0, 2] == scores.grad[1, 0] == 0
    assert YesOrNo().outputs(torch.zeros(1, 1)).item() == 0.5


def test_quantities_are_learned_in_deviations_and_told_in_their_units():
    """By hand: mean 20, deviation 10; a score of 0.5 says 25, where 15 is true: an error of one deviation."""
    objective = Quantities((20.0,), (10.0,))
    scores = torch.tensor([[0.5], [3.0]])

    found = objective.measure(scores, torch.tensor([[15.0], [NAN]]))

    assert objective.outputs(scores).flatten().tolist() == [25, 50]
    assert loss(found) == pytest.approx(1)
    assert (float(found.figure), int(found.known)) == (100, 1)


def test_standardised_quantities_take_mean_and_deviation_of_what_is_known():
    """By hand; a quantity that never varies, or is never known, has the scale 1."""
    ys = torch.tensor([[1.0, 5.0, NAN], [3.0, 5.0, NAN], [NAN, 5.0, NAN]])

    objective = standardised(ys)

    assert objective.mean == (2, 5, 0)
    assert objective.scale == (1, 1, 1)


OBJECTIVES = [YesOrNo(), Quantities((0.0,), (1.0,)), ONE_CLASS, balanced(torch.tensor([0, 1]), 2)]


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_shares_of_a_batch_add_up_to_it_even_if_one_has_no_answer(objective):
    """Several processes have a share each (torchrun)."""
    classes = isinstance(objective, OneClass)
    scores = torch.randn(6, 2 if classes else 1, generator=torch.Generator().manual_seed(0))
    y = torch.tensor([-1, -1, -1, 0, 1, 1]) if classes else torch.tensor([NAN, NAN, NAN, 0, 1, 1])[:, None]

    whole, parts = objective.measure(scores, y), [objective.measure(scores[r], y[r]) for r in ([0, 1, 2], [3, 4, 5])]

    assert [float(number) for number in parts[0]] == [0, 0, 0, 0]
    for total, *of_shares in zip(whole, *parts, strict=True):
        assert float(sum(of_shares)) == pytest.approx(float(total))
