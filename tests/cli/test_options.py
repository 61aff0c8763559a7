"""The options of user data become how they are read and split, in the same way for every verb."""

from __future__ import annotations

import inspect
from pathlib import Path

import pytest

from edgecond.cli import options
from edgecond.cli.train import train
from edgecond.cli.tune import tune
from edgecond.errors import RecipeError
from tests.sentences import mentions

GIVEN = {name: parameter.default for name, parameter in inspect.signature(train).parameters.items()}


def test_options_that_are_not_given_are_the_defaults():
    source = options.source_of(GIVEN | {"data": "table.csv"})

    assert source.path == Path("table.csv")
    assert source.options.given() == []
    assert (source.split.folds, source.split.fold, source.split.seed, source.split.method) == (None, 0, 0, None)


def test_texts_become_names_and_columns():
    given = GIVEN | {"data": "t.csv", "features": "temperature,solvent", "columns": "x=a,y=b,z=c", "target": ["logS"]}

    read = options.read_options(given)

    assert read.features == ("temperature", "solvent")
    assert read.columns == {"x": "a", "y": "b", "z": "c"}
    assert read.target == ("logS",)


def test_scaffold_is_short_for_a_split_by_scaffold():
    given = GIVEN | {"data": "t.csv", "scaffold": True}

    assert options.source_of(given).split.method == "scaffold"
    with mentions("--scaffold", "--split time", "Leave one out", kind=RecipeError):
        options.source_of(given | {"split": "time"})


@pytest.mark.parametrize("verb", [train, tune])
def test_every_verb_has_all_options(verb):
    names = inspect.signature(verb).parameters

    assert {"smiles", "target", "vertices", "split_column", "fold", "seed", "data"} <= set(names)
