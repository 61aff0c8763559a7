"""A recipe chooses its optimizer and its schedule by name; settings of another one are refused."""

import pytest

from edgecond.errors import RecipeError
from edgecond.nn.optimizers import AdamW, SGD
from edgecond.nn.schedules import Cosine, Steps
from edgecond.runs.recipe import find, format_settings, with_epochs, with_settings
from edgecond.runs.train import Train

ROW = find("nci1/ecc")  # 50 epochs, learning rate 0.1, drops after 25, 35 and 45


def test_rows_of_the_paper_are_trained_with_the_sgd_of_the_authors_code():
    """Momentum 0.9 and weight decay 0.0005, at the learning rate of the row."""
    assert ROW.train.make_optimizer() == SGD(momentum=0.9, weight_decay=5e-4)
    assert ROW.train.learning_rate == 0.1


def test_another_optimizer_comes_with_its_own_defaults_unless_they_are_given():
    plain = with_settings(ROW, {"train.optimizer": "adamw"}).train
    given = with_settings(
        ROW, {"train.weight_decay": 0.2, "train.optimizer": "adamw", "train.learning_rate": 0.003}
    ).train

    assert (plain.make_optimizer(), plain.learning_rate) == (AdamW(), 0.001)
    assert (given.make_optimizer(), given.learning_rate) == (AdamW(weight_decay=0.2), 0.003)


def test_the_same_optimizer_keeps_its_settings():
    slow = with_settings(ROW, {"train.momentum": 0.5})

    assert with_settings(slow, {"train.optimizer": "sgd"}) == slow


def test_rows_of_the_paper_have_the_step_schedule():
    assert ROW.train.make_schedule() == Steps(50, 0.1, (25, 35, 45))


def test_a_row_with_drops_is_switched_to_a_cosine_by_one_setting():
    """Drops belong to the step schedule, and are left behind with it."""
    plain = with_settings(ROW, {"train.schedule": "cosine"}).train
    given = with_settings(ROW, {"train.warmup": 0.1, "train.final": 0.01, "train.schedule": "cosine"}).train

    assert plain.make_schedule() == Cosine(50, 0.1)
    assert given.make_schedule() == Cosine(50, 0.1, warmup=0.1, final=0.01)


@pytest.mark.parametrize("epochs", [10, 10.0, "10"])
def test_drops_follow_the_epochs_unless_they_are_given(epochs):
    assert with_settings(ROW, {"train.epochs": epochs}).train.drops == (5, 7, 9)
    assert with_settings(ROW, {"train.drops": [3], "train.epochs": epochs}).train.drops == (3,)
    assert with_epochs(ROW, 10) == with_settings(ROW, {"train.epochs": 10})
    assert with_epochs(ROW, None) == ROW


def test_how_a_row_of_the_paper_is_trained_is_described_in_one_line():
    assert with_epochs(ROW, 10).train.description == (
        "10 epochs, batch size 64, SGD, learning rate 0.1, divided by 10 after epochs 5, 7 and 9"
    )
    assert with_epochs(ROW, 1).train.description == "1 epoch, batch size 64, SGD, learning rate 0.1"


def test_what_the_paper_does_not_have_is_described_in_a_second_line():
    """The settings are those of src/edgecond/paper/recipes/plus.toml; 5 per cent of 100 epochs are warm-up."""
    assert find("plus/nci1").train.description == (
        "100 epochs, batch size 64, AdamW, learning rate 0.003, cosine decay to 0 after 5 epochs of warm-up\n"
        "averaged weights (decay 0.99), label smoothing 0.1, gradients clipped to norm 1"
    )


def test_only_the_settings_in_force_are_shown():
    shown = format_settings(with_settings(ROW, {"train.optimizer": "adamw"}))

    assert shown["train.betas"] == "[0.9, 0.999]"
    assert "train.momentum" not in shown
    assert "betas" not in str(ROW.train)


@pytest.mark.parametrize(
    ("changes", "facts"),
    [
        (
            {"train.optimizer": "adamw", "train.momentum": 0.9},
            "momentum is a setting of the optimizer sgd: got 0.9 for adamw.",
        ),
        ({"train.betas": [0.9, 0.99]}, "betas is a setting of the optimizer adamw: got .* for sgd."),
        (
            {"train.schedule": "cosine", "train.drops": [10]},
            r"drops is a setting of the schedule steps: got \[10\] for cosine. .* choose train.schedule=steps",
        ),
        ({"train.warmup": 0.1}, "warmup is a setting of the schedule cosine: got 0.1 for steps."),
        ({"train.schedule": "linear"}, "the schedule must be steps or cosine: got 'linear'"),
        ({"train.optimizer": "adam"}, "the optimizer must be sgd or adamw: got 'adam'"),
        ({"train.optimizer": ["sgd"]}, "the optimizer must be sgd or adamw: got"),
        ({"train.optimizer": "adamw", "train.betas": [0.9, 1.0]}, "train.betas.1: Input should be less than 1"),
    ],
)
def test_settings_that_do_not_fit_the_choice_are_refused(changes, facts):
    with pytest.raises(RecipeError, match=facts):
        with_settings(ROW, changes)


def test_every_setting_of_an_optimizer_or_schedule_is_one_of_recipes():
    for member in (SGD, AdamW, Steps, Cosine):
        assert member.defaults().keys() <= Train.model_fields.keys()
