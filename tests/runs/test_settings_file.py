"""Settings are read from TOML as they were written: recipes, and the space of a search."""

from __future__ import annotations

import pytest

from edgecond.data.kinds import Range
from edgecond.errors import DataError, RecipeError
from edgecond.runs.recipe import parse_settings
from edgecond.runs.settings_file import read_settings, read_space, settings_text, space_text
from tests.sentences import mentions

SETTINGS = {"network": "C(4)-GAP-FC(2)", "hidden": [16, 32], "identity": True, "train.learning_rate": 1e-05}


def test_settings_are_read_as_they_were_written(tmp_path):
    (tmp_path / "recipe.toml").write_text(settings_text(SETTINGS))

    assert read_settings(tmp_path / "recipe.toml") == SETTINGS


def test_a_line_of_a_recipe_file_is_what_set_takes():
    assert parse_settings(settings_text(SETTINGS).splitlines()) == SETTINGS


def test_tables_and_dots_are_the_same(tmp_path):
    path = tmp_path / "recipe.toml"
    path.write_text("dropout = 0.1\n[train]\nepochs = 3\nbetas = [0.9, 0.99]\n[augment]\nrotate = true\n")

    assert read_settings(path) == {
        "dropout": 0.1,
        "train.epochs": 3,
        "train.betas": [0.9, 0.99],
        "augment.rotate": True,
    }


def test_a_space_is_read_as_it_was_written(tmp_path):
    space = {
        "hidden": ([16], [16, 32]),
        "network": tuple(f"C({width})-C({width})-GAP-FC(64)-D(0.1)-FC(1)" for width in (32, 64, 128)),
        "train.learning_rate": Range(1e-4, 1e-2, log=True),
        "sparsifications": Range(1, 5),
    }
    (tmp_path / "space.toml").write_text(space_text(space))

    assert read_space(tmp_path / "space.toml") == space


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("train.epochs = ", ["TOML", "train.epochs = 50"]),
        ("dropout = 0.1", ["dropout", "a list of values, or a range", "0.1"]),
        ("dropout = []", ["dropout", "a list of values"]),
        ("dropout = { low = 0.3, high = 0.1 }", ["dropout", "range"]),
        ("dropout = { low = 0.1, high = 'a' }", ["dropout", "range"]),
        ("dropout = { low = 0.1, high = 0.2, step = 2 }", ["dropout", "range", "step"]),
        ("dropout = { low = 0.0, high = 0.2, log = true }", ["dropout", "above 0", "Leave log out"]),
        ("", ["at least one setting"]),
    ],
)
def test_what_is_no_space_is_refused(tmp_path, text, words):
    (tmp_path / "space.toml").write_text(text)

    with mentions("space.toml", *words, kind=RecipeError):
        read_space(tmp_path / "space.toml")


def test_a_file_that_is_not_there_is_named(tmp_path):
    with mentions("recipe.toml", kind=DataError):
        read_settings(tmp_path / "recipe.toml")


def test_a_file_that_is_no_text_is_refused(tmp_path):
    (tmp_path / "recipe.toml").write_bytes(b"\xff\xfe\x00")

    with mentions("recipe.toml", "TOML", kind=RecipeError):
        read_settings(tmp_path / "recipe.toml")
