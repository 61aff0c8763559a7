"""User data are split by given parts or by a method, and a share of the training set is chosen in the same way."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from edgecond.data.kinds.splitting import listed_parts, METHODS, part_of, Split, split_by, times_of
from edgecond.errors import DataError
from tests.sentences import mentions, refused

GROUPS = [f"g{number // 3}" for number in range(30)]  # ten groups of three
TIMES = [2000 + number // 3 for number in range(30)]  # ten years, three of each


def values(name: str) -> list:
    classes = [number % 2 for number in range(30)]
    return {"random": classes, "time": TIMES}.get(name, GROUPS)


def sizes(split: Split, parts: list[str] | None = None) -> tuple[int, int, int]:
    chosen = split_by(split, parts or [""] * 30, values, ("a", "b"))
    assert sorted(np.concatenate(chosen).tolist()) == list(range(30))
    return tuple(map(len, chosen))


@pytest.mark.parametrize(
    ("method", "expected"),
    [
        ("random", (18, 6, 6)),  # a fifth of 30, and a quarter of 24
        ("group", (18, 6, 6)),  # two of ten groups, and two of eight
        ("scaffold", (18, 9, 3)),  # one of ten groups; 6.75 of 27 are two groups and a quarter, which three hold
        ("scaffold-balanced", (18, 9, 3)),
        ("time", (18, 6, 6)),
    ],
)
def test_the_validation_set_is_chosen_as_the_test_set_is(method: str, expected: tuple[int, int, int]):
    """Arithmetic: a quarter of the training set is validated on; groups and years stay together."""
    assert sizes(Split(method=method, share=0.25)) == expected
    chosen = split_by(Split(method=method, share=0.25), [""] * 30, values, ())
    if method != "random":
        by = [{values(method)[index] for index in part} for part in chosen]
        assert sum(map(len, by)) == 10


def test_the_latest_years_are_tested_and_the_ones_before_them_validated():
    """By hand: of ten years, the last two, and the two before them."""
    train, validation, test = split_by(Split(method="time", share=0.25), [""] * 30, values, ())

    assert [{TIMES[index] for index in part} for part in (test, validation)] == [{2008, 2009}, {2006, 2007}]
    assert max(TIMES[index] for index in train) == 2005


def test_rows_of_the_same_time_stay_together():
    """By hand: a fifth of ten is two, and the eight last rows have one time."""
    chosen = split_by(Split(method="time"), [""] * 10, lambda _: [1, 2, *[3] * 8], ())

    assert chosen.test.tolist() == list(range(2, 10))


def test_all_folds_together_test_every_example_once():
    for method in ("random", "group", "scaffold"):
        tests = [split_by(Split(10, fold, method=method), [""] * 30, values, ()).test for fold in range(10)]

        assert sorted(np.concatenate(tests).tolist()) == list(range(30))


def test_given_parts_are_kept_and_the_other_examples_are_split():
    """By hand: ten are validated on, and of the other twenty a fifth is tested."""
    assert sizes(Split(), ["validation"] * 10 + [""] * 20) == (16, 10, 4)
    assert sizes(Split(), ["train"] * 20 + ["test"] * 10) == (20, 0, 10)
    assert sizes(Split(share=0.1), ["train"] * 20 + ["test"] * 10) == (18, 2, 10)


@pytest.mark.parametrize(
    ("split", "sentence"),
    [
        (
            Split(folds=3),
            "folds need data that are not split yet: the test set is given. Leave --folds and --fold out.",
        ),
        (Split(method="group"), "the test set is given: a split by group has nothing to choose. Leave one out."),
        (
            Split(share=0.5),
            "a validation set is given or a share of the training set: the data have one of 5 examples. "
            "Leave --validation out.",
        ),
    ],
)
def test_what_is_given_cannot_be_chosen_again(split: Split, sentence: str):
    with refused(sentence, DataError):
        split_by(split, ["train"] * 15 + ["validation"] * 5 + ["test"] * 10, values, ())


@pytest.mark.parametrize(
    ("split", "facts"),
    [
        (Split(folds=3, method="time"), "a time split has one test set ... Leave --folds and --fold out."),
        (Split(folds=3, method="scaffold-balanced"), "scaffold-balanced split has one ... or split by scaffold."),
        (Split(fold=1, method="scaffold"), "a scaffold split has one test set ... fold 1 ... or ask for --folds."),
    ],
)
def test_a_method_with_a_single_test_set_has_no_folds(split: Split, facts: str):
    with mentions(facts, kind=DataError):
        split_by(split, [""] * 30, values, ())


@pytest.mark.parametrize(
    ("fields", "facts"),
    [
        ({"folds": 1}, "folds must be at least 2: got 1."),
        ({"folds": 3, "fold": 3}, "from 0 to 2: got 3."),
        ({"method": "scafold"}, "one of random, scaffold, ... got 'scafold'. Did you mean scaffold"),
        ({"share": 1.0}, "between 0 and 1, as 0.1: got 1.0."),
        ({"share": 0.1, "validation": Path("v.csv")}, "a file or a share of the training set: got both"),
        ({"file": Path("p.csv"), "test": Path("t.csv")}, "p.csv lists the parts of all examples ... Leave one out."),
        ({"file": Path("p.csv"), "method": "random"}, "p.csv lists the parts of all examples ... Leave one out."),
    ],
)
def test_a_split_that_cannot_be_is_an_error(fields: dict, facts: str):
    with mentions(facts, kind=DataError):
        Split(**fields)


def test_a_table_of_parts_names_every_example_once(tmp_path: Path):
    file = tmp_path / "parts.csv"
    file.write_text("file,part\nb.npy,Train\na.npy,val\nc.npy,test\nd.npy,test\n")

    assert listed_parts(file, "file", ["a.npy", "b.npy", "c.npy"]) == (["validation", "train", "test"], ["d.npy"])
    with mentions(file, "must list every file", "1 are not in it, as e.npy", kind=DataError):
        listed_parts(file, "file", ["a.npy", "e.npy"])
    with mentions(file, "no column 'row'", kind=DataError):
        listed_parts(file, "row", ["2"])
    file.write_text("row,part\n2,train\n2,test\n")
    with mentions(file, "each row once: 2 is in row 3 again", kind=DataError):
        listed_parts(file, "row", ["2"])
    file.write_text("row,part\n2,learn\n")
    with refused(f"{file}, row 2: part must be train, validation (val, valid) or test: got 'learn'.", DataError):
        listed_parts(file, "row", ["2"])
    file.write_text("row,part\n2\n")
    with mentions(file, "row 2", "2 fields", kind=DataError):
        listed_parts(file, "row", ["2"])


def test_a_word_stands_for_a_part_in_any_case():
    assert [part_of(word, "") for word in ("train", "VAL", "valid", " Validation", "Test")] == [
        "train",
        "validation",
        "validation",
        "validation",
        "test",
    ]


def test_times_are_numbers_or_dates():
    """By hand: 1970-01-02 is 86,400 seconds after the beginning of 1970, in Greenwich."""
    assert times_of(["2001", "1999.5"], [2, 3], "c").tolist() == [2001, 1999.5]
    assert times_of(["1970-01-02", "1970-01-01T01:00:00+01:00"], [2, 3], "c").tolist() == [86400, 0]
    with refused("c must hold numbers, such as years, or dates as 2024-05-31: found '5/31/24' in row 3.", DataError):
        times_of(["2024-05-31", "5/31/24"], [2, 3], "c")
    with mentions("found '' in row 2", kind=DataError):
        times_of(["", "2001"], [2, 3], "c")


@pytest.mark.parametrize(
    ("texts", "odd"),
    [
        (["1990", "1991", "", "1993"], "'' in row 4"),
        (["1990", "2024-05-31", "1991"], "'2024-05-31' in row 3"),
        (["2024-05-30", "2024-05-31", "1990"], "'1990' in row 4"),
        (["2024-05-30", "NA", "2024-05-31"], "'NA' in row 3"),
    ],
)
def test_the_row_that_is_unlike_most_others_is_named(texts: list[str], odd: str):
    with mentions(f"found {odd}.", kind=DataError):
        times_of(texts, range(2, 2 + len(texts)), "c")


def test_methods_are_listed_by_their_names():
    assert list(METHODS) == ["random", "scaffold", "scaffold-balanced", "group", "time"]
