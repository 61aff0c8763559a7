"""Trials are read as they were written, and the best is one that was trained to its end."""

from __future__ import annotations

import sys

import pytest

from edgecond.data.kinds import Range
from edgecond.errors import RecipeError
from edgecond.nn.tasks import find
from edgecond.runs.trials import best, decoded, encoded, import_optuna, Outcome
from tests.sentences import mentions

SPACE = {"hidden": ([16], [16, 32]), "train.learning_rate": Range(0.001, 0.1, log=True), "sparsifications": Range(1, 5)}
SETTINGS = {"hidden": [16, 32], "train.learning_rate": 0.0123456, "sparsifications": 2}


def outcomes(*values: float | None) -> list[Outcome]:
    return [Outcome(number, {}, value, {}) for number, value in enumerate(values)]


def test_settings_are_read_as_they_were_written():
    assert decoded(SPACE, encoded(SPACE, SETTINGS), exact=True) == SETTINGS


def test_numbers_that_were_drawn_have_four_digits():
    assert decoded(SPACE, encoded(SPACE, SETTINGS), exact=False) == {**SETTINGS, "train.learning_rate": 0.01235}


def test_the_best_trial_has_the_lowest_error_or_the_highest_accuracy_and_is_the_first_of_equals():
    trials = outcomes(0.5, None, 0.2, 0.9, 0.2, 0.9)

    assert best(trials, find("regression")).number == 2
    assert best(trials, find("classification")).number == 3


def test_without_a_trial_that_was_trained_to_its_end_there_is_no_best():
    with mentions("trained to its end", kind=RecipeError):
        best(outcomes(None), find("regression"))


def test_the_absence_of_optuna_is_a_sentence_that_names_the_extra(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "optuna", None)

    with mentions("Optuna", "edgecond[tune]", kind=RecipeError):
        import_optuna()
