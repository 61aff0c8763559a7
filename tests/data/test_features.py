"""Columns beside graphs: numbers in units of the training set, texts one-hot, and what is unknown said once."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pytest

from edgecond.data.features import Encoder, Features, features_of, LIMIT
from edgecond.errors import DataError, DataWarning
from tests.sentences import mentions, refused

TRAINING = np.arange(4)


def texts(*values: str) -> np.ndarray:
    return np.array(values, object)


def numbers(*values: float) -> np.ndarray:
    return np.array(values, np.float64)


def encoder_of(**columns: np.ndarray) -> Encoder:
    return Encoder.fit(Features(columns), TRAINING)


def test_numbers_are_in_standard_deviations_of_the_training_set_and_blanks_are_its_mean():
    """Of 1, 1, 3 and 3 the mean is 2 and the deviation 1; rows behind the first four are not in the training set."""
    columns = {"t": numbers(1, 1, 3, 3, 12, math.nan)}
    encoder = Encoder.fit(Features(columns), TRAINING)

    with pytest.warns(DataWarning, match="'t' has blanks: the mean of the training set, 2, takes their place"):
        rows = encoder.encode(Features(columns))

    assert rows.tolist() == [[-1], [-1], [1], [1], [10], [0]]


def test_texts_are_one_hot_in_alphabetical_order_and_unknown_ones_are_zeros():
    columns = {"solvent": texts("water", "", "ethanol", "water", "acetone")}
    encoder = Encoder.fit(Features(columns), TRAINING)

    with pytest.warns(DataWarning) as caught:
        rows = encoder.encode(Features(columns))

    assert rows.tolist() == [[0, 1], [0, 0], [1, 0], [0, 1], [0, 0]]
    assert sorted(str(each.message) for each in caught) == [
        "column 'solvent' has blanks: they count as none of ethanol, water.",
        "column 'solvent' has texts that are not in the training set, such as 'acetone': they count as none of "
        "ethanol, water.",
    ]


def test_what_is_unknown_is_remarked_on_once():
    """A table of a million rows is read in pieces, and each of them may have blanks."""
    encoder = encoder_of(t=numbers(1, 2, 3, 4))
    with pytest.warns(DataWarning):
        encoder.encode(Features({"t": numbers(math.nan)}))

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        encoder.encode(Features({"t": numbers(math.nan)}))


def test_columns_are_side_by_side_in_their_order():
    encoder = encoder_of(b=texts("x", "y", "x", "y"), a=numbers(-1, 1, -1, 1))

    rows = encoder.encode(Features({"a": numbers(1), "b": texts("y")}))

    assert encoder.width == 3
    assert encoder.numeric == {"b": False, "a": True}
    assert rows.tolist() == [[0, 1, 1]]


def test_descriptors_are_clipped_constant_ones_dropped_and_unknown_ones_the_mean():
    """Of 0, 0, 2 and 2 the mean is 1 and the deviation 1; infinity is as unknown as NaN."""
    training = {"MolWt": numbers(0, 0, 2, 2), "Ipc": numbers(1e200, 3e200, 2e200, math.inf), "n": numbers(7, 7, 7, 7)}
    encoder = Encoder.fit(Features(descriptors=training), TRAINING)

    rows = encoder.encode(
        Features(
            descriptors={"MolWt": numbers(3, 1e300, math.nan, -math.inf), "Ipc": numbers(1, 1, 1, 1), "n": TRAINING}
        )
    )

    assert [column.name for column in encoder.descriptors][:1] == ["MolWt"]
    assert "n" not in [column.name for column in encoder.descriptors]
    assert rows[:, 0].tolist() == [2, LIMIT, 0, 0]
    assert rows.isfinite().all()


def test_equal_numbers_are_constant_whatever_rounding_does_to_their_mean():
    """The mean of three times 0.1 is not 0.1 in floating point."""
    with mentions("column 't' must have different values", "Leave it out", kind=DataError):
        Encoder.fit(Features({"t": numbers(0.1, 0.1, 0.1)}), np.arange(3))


@pytest.mark.parametrize("column", [numbers(7, 7, 7, 7, 8), numbers(*[math.nan] * 4, 1), texts("a", "a", "", "a", "b")])
def test_a_column_without_two_values_in_the_training_set_is_refused(column: np.ndarray):
    with refused(
        "column 't' must have different values in the training set to be a feature: all 4 rows are the same or blank. "
        "Leave it out of the features.",
        DataError,
    ):
        Encoder.fit(Features({"t": column}), TRAINING)


def test_an_encoder_returns_from_json_and_encodes_to_the_same_bits():
    given = Features({"t": numbers(0.1, 0.7, 1e9, -3.3), "s": texts("ü", "b", "b", "")}, {"d": numbers(1, 2, 3, 5)})
    encoder = Encoder.fit(given, TRAINING)

    again = Encoder.model_validate_json(encoder.model_dump_json())

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert again.encode(given).equal(encoder.encode(given))
    assert Encoder().encode(None) is None


def test_a_column_that_is_missing_is_named():
    with refused("examples must have the features of the training set: column 't' is missing.", DataError):
        encoder_of(t=numbers(1, 2, 3, 4)).encode(None)


@pytest.mark.parametrize(
    "content",
    [
        {"columns": [{"name": "t", "mean": 0.0, "scale": 0.0}]},
        {"columns": [{"name": "t", "mean": 0.0, "scale": -1.0}]},
        {"columns": [{"name": "t", "mean": math.nan, "scale": 1.0}]},
        {"columns": [{"name": "t"}]},
        {"columns": [{"name": "t", "values": ["one"]}]},
        {"descriptors": [{"name": "t", "values": ["a", "b"]}]},
        {"other": []},
    ],
)
def test_a_file_that_was_changed_is_refused(content: dict):
    with pytest.raises(ValueError, match="validation error"):
        Encoder.model_validate(content)


class TestInMemory:
    def test_columns_hold_numbers_unless_some_value_is_a_text(self):
        found = features_of({"t": [1, None, 2.5], "s": ["a", None, "b"]}, None, 3)

        assert found["t"].tolist() == pytest.approx([1, math.nan, 2.5], nan_ok=True)
        assert found["s"].tolist() == ["a", "", "b"]

    def test_the_training_set_decides_what_is_a_number(self):
        """A column of texts that happen to be numbers stays one of texts."""
        encoder = encoder_of(s=texts("1", "2", "x", "1"))

        assert features_of({"s": [1, "x"], "other": [1]}, encoder, 2)["s"].tolist() == ["1", "x"]

    def test_wrong_ones_are_one_sentence(self):
        encoder = encoder_of(t=numbers(1, 2, 3, 4))

        with mentions("'t' has 2 for 3 rows", kind=DataError):
            features_of({"t": [1, 2]}, encoder, 3)
        with mentions("a value for each row: 't' is a single value, 298.", kind=DataError):
            features_of({"t": 298}, encoder, 1)
        with mentions("'s' is a single value, water.", kind=DataError):
            features_of({"s": "water"}, None, 5)
        with mentions("'t' is missing", kind=DataError):
            features_of({"u": [1, 2, 3]}, encoder, 3)
        with mentions("'t' of the features must hold numbers", kind=DataError):
            features_of({"t": [1, "warm", 3]}, encoder, 3)
        with mentions("columns by name ... got a list", kind=DataError):
            features_of([[1], [2], [3]], encoder, 3)
        with mentions("left out: the model was trained without any", kind=DataError):
            features_of({"t": [1, 2, 3]}, Encoder(), 3)


def test_columns_of_a_model_to_start_from_keep_their_units_and_texts():
    """Its weights are in these units; texts that are new come after the known ones."""
    every = np.arange(3)
    texts = np.array(["water", "ethanol", "water"], object)
    before = Encoder.fit(Features({"t": np.array([0.0, 1.0, 2.0]), "solvent": texts}), every)
    others = np.array(["benzene", "water", ""], object)
    features = Features({"t": np.full(3, 7.0), "solvent": others, "p": np.array([1.0, 2.0, 3.0])})

    encoder = Encoder.fit(features, every, before)

    assert encoder.columns[0] == before.columns[0]  # though it is constant now
    assert encoder.columns[1].values == ("ethanol", "water", "benzene")
    assert encoder.names == ["t", "solvent=ethanol", "solvent=water", "solvent=benzene", "p"]
    assert len(encoder.names) == encoder.width


def test_descriptors_of_a_model_to_start_from_keep_their_units():
    every = np.arange(3)
    before = Encoder.fit(Features({}, {"MolWt": np.array([10.0, 20.0, 30.0]), "TPSA": np.zeros(3)}), every)

    encoder = Encoder.fit(Features({}, {"MolWt": np.full(3, 5.0), "TPSA": np.array([1.0, 2.0, 9.0])}), every, before)

    assert encoder.descriptors[0] == before.descriptors[0]
    assert encoder.names == ["MolWt", "TPSA"]
