"""The learning rate of a step follows from its position, and each has its share of any number of epochs."""

from math import sqrt

import pytest

from edgecond.nn.schedules import Cosine, SCHEDULES, Steps


def test_schedules_are_listed_by_their_names():
    assert list(SCHEDULES.values()) == [Steps, Cosine]
    assert list(SCHEDULES) == ["steps", "cosine"]


def test_the_learning_rate_drops_after_the_epochs_that_the_paper_names():
    """Section 4.1: learning rate 0.1, decreasing after 200 and 245 of 250 epochs."""
    schedule = Steps(250, 0.1, (200, 245))

    rates = [schedule.learning_rate_at(epoch, 3, 7) for epoch in (0, 199, 200, 244, 245, 249)]

    assert rates == pytest.approx([0.1, 0.1, 0.01, 0.01, 0.001, 0.001])


def test_a_cosine_rises_over_the_warm_up_and_falls_over_the_rest():
    """By hand: 2 of 10 steps of warm-up, then cos(0), cos(pi / 8), ..., cos(7 pi / 8)."""
    schedule = Cosine(5, 2.0, warmup=0.2)

    rates = [schedule.learning_rate_at(epoch, batch, 2) for epoch in range(5) for batch in range(2)]

    assert rates[:3] == pytest.approx([1.0, 2.0, 2.0])
    assert rates[4] == pytest.approx(1 + sqrt(0.5))  # a quarter of the fall
    assert rates[6] == pytest.approx(1.0)
    assert rates[2:] == sorted(rates[2:], reverse=True)
    assert 0 < rates[-1] < 0.1


def test_a_cosine_ends_near_its_final_fraction():
    schedule = Cosine(1, 1.0, warmup=0.0, final=0.25)

    assert schedule.learning_rate_at(0, 0, 1000) == 1
    assert schedule.learning_rate_at(0, 500, 1000) == pytest.approx(0.625)  # halfway from 1 to 0.25
    assert schedule.learning_rate_at(0, 999, 1000) == pytest.approx(0.25, abs=1e-5)


def test_a_single_step_has_the_full_learning_rate():
    assert Cosine(1, 0.3).learning_rate_at(0, 0, 1) == 0.3


@pytest.mark.parametrize(
    ("schedule", "description"),
    [
        (Steps(250, 0.1, (200, 245)), "learning rate 0.1, divided by 10 after epochs 200 and 245"),
        (Steps(50, 0.1, (25, 35, 45)), "learning rate 0.1, divided by 10 after epochs 25, 35 and 45"),
        (Steps(20, 0.05, (15,)), "learning rate 0.05, divided by 10 after epoch 15"),
        (Steps(2, 0.05, (1, 2)), "learning rate 0.05, divided by 10 after epoch 1"),
        (Steps(9, 0.05, (1, 1, 4)), "learning rate 0.05, divided by 100 after epoch 1, by 10 after epoch 4"),
        (Steps(2, 0.05, (2,)), "learning rate 0.05"),
        (Cosine(100, 0.003), "learning rate 0.003, cosine decay to 0 after 5 epochs of warm-up"),
        (Cosine(20, 0.003, final=0.1), "learning rate 0.003, cosine decay to 0.0003 after 1 epoch of warm-up"),
        (Cosine(30, 0.003, warmup=0), "learning rate 0.003, cosine decay to 0"),
    ],
)
def test_a_schedule_is_described_as_it_is(schedule, description):
    """Drops that the run does not reach are left out."""
    assert schedule.description == description


@pytest.mark.parametrize(
    ("epochs", "drops"),
    [(250, (200, 245)), (50, (40, 49)), (500, (400, 490)), (10, (8, 10)), (2, (2, 2)), (1, (1, 1))],
)
def test_drops_keep_their_share_of_the_epochs(epochs, drops):
    """Section 4.1: 80 and 98 per cent of 250 epochs, in whole epochs; a drop at the end is none."""
    assert Steps(250, 0.1, (200, 245)).with_epochs(epochs) == Steps(epochs, 0.1, drops)


def test_half_an_epoch_is_rounded_up():
    """Halves are rounded the same way, so that drops stay apart."""
    assert Steps(50, 0.1, (25, 35, 45)).with_epochs(5) == Steps(5, 0.1, (3, 4, 5))


@pytest.mark.parametrize("epochs", range(1, 60))
@pytest.mark.parametrize("drops", [(1,), (1, 2, 3), (25, 35, 45), (49,)])
def test_the_first_epoch_always_has_the_initial_learning_rate(drops, epochs):
    shorter = Steps(50, 0.1, drops).with_epochs(epochs)

    assert shorter.learning_rate_at(0, 0, 1) == 0.1
    assert list(shorter.drops) == sorted(shorter.drops)


def test_a_drop_before_the_first_epoch_stays_there():
    assert Steps(50, 0.1, (0, 25)).with_epochs(10) == Steps(10, 0.1, (0, 5))


def test_a_cosine_stretches_with_the_epochs():
    longer = Cosine(10, 0.1, warmup=0.2).with_epochs(40)

    assert longer.learning_rate_at(20, 0, 8) == Cosine(10, 0.1, warmup=0.2).learning_rate_at(5, 0, 8)


def test_schedules_agree_up_to_the_first_step_in_which_they_differ():
    one, other = Steps(6, 0.1, (4,)), Steps(12, 0.1, (8,))

    assert one.agrees_with(other, 4, 0, 3)
    assert not one.agrees_with(other, 4, 1, 3)
    assert Steps(6, 0.1).agrees_with(Cosine(6, 0.1), 0, 0, 3)
