"""A recipe chooses its optimizer by name; settings of another one are refused."""

import pytest

from edgecond.errors import RecipeError
from edgecond.nn.optimizers import AdamW, SGD
from edgecond.runs.recipe import changed, find, spelled, Train

ROW = find("nci1/ecc")  # 50 epochs, learning rate 0.1, drops after 25, 35 and 45


def test_rows_of_the_paper_are_trained_with_the_sgd_of_the_authors_code():
    """Momentum 0.9 and weight decay 0.0005, at the learning rate of the row."""
    assert ROW.train.make_optimizer() == SGD(momentum=0.9, weight_decay=5e-4)
    assert ROW.train.learning_rate == 0.1


def test_another_optimizer_comes_with_its_own_defaults_unless_they_are_given():
    plain = changed(ROW, {"train.optimizer": "adamw"}).train
    given = changed(ROW, {"train.weight_decay": 0.2, "train.optimizer": "adamw", "train.learning_rate": 0.003}).train

    assert (plain.make_optimizer(), plain.learning_rate) == (AdamW(), 0.001)
    assert (given.make_optimizer(), given.learning_rate) == (AdamW(weight_decay=0.2), 0.003)


def test_the_same_optimizer_keeps_its_settings():
    slow = changed(ROW, {"train.momentum": 0.5})

    assert changed(slow, {"train.optimizer": "sgd"}) == slow


def test_only_the_settings_in_force_are_shown():
    shown = spelled(changed(ROW, {"train.optimizer": "adamw"}))

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
        ({"train.optimizer": "adam"}, "the optimizer must be sgd or adamw: got 'adam'"),
        ({"train.optimizer": ["sgd"]}, "the optimizer must be sgd or adamw: got"),
        ({"train.optimizer": "adamw", "train.betas": [0.9, 1.0]}, "train.betas.1: Input should be less than 1"),
    ],
)
def test_settings_that_do_not_fit_the_choice_are_refused(changes, facts):
    with pytest.raises(RecipeError, match=facts):
        changed(ROW, changes)


def test_every_setting_of_an_optimizer_is_one_of_recipes():
    for member in (SGD, AdamW):
        assert member.defaults().keys() <= Train.model_fields.keys()
