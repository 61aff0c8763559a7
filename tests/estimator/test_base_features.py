"""Estimators see columns beside SMILES and graphs."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from edgecond.errors import DataError
from edgecond.estimator import EdgeCondClassifier, EdgeCondRegressor
from tests.sentences import mentions

pytest.importorskip("rdkit")
SMILES = ["CCO", "CCN", "CCC", "CCCl"] * 4
COLUMNS = {"t": [280.0, 290.0, 300.0, 310.0] * 4, "solvent": ["water", "ethanol"] * 8}
SMALL = {"epochs": 1, "settings": {"sparsifications": 1}, "random_state": 0}


def test_a_saved_regressor_gives_the_same_numbers_for_the_same_columns(tmp_path: Path):
    """And other numbers at another temperature, by which alone the rows differ."""
    regressor = EdgeCondRegressor(network="C(4)-GAP-FC(4)-FC(1)", **SMALL)
    regressor.fit(SMILES, np.arange(16.0), features=COLUMNS)
    regressor.save(tmp_path / "model.safetensors")
    again = EdgeCondRegressor.load(tmp_path / "model.safetensors")

    cold, warm = ({"t": [t, t], "solvent": ["water", "water"]} for t in (280.0, 310.0))

    np.testing.assert_array_equal(again.predict(SMILES[:2], cold), regressor.predict(SMILES[:2], cold))
    assert (regressor.predict(SMILES[:2], cold) != regressor.predict(SMILES[:2], warm)).all()
    with mentions("column 't' is missing", kind=DataError):
        regressor.predict(SMILES[:2])


def test_the_score_of_a_classifier_is_the_share_of_its_predictions_that_are_right():
    classifier = EdgeCondClassifier(network="C(4)-GAP-FC(4)-FC(2)", **SMALL)
    y = np.array(["a", "b"] * 8)
    classifier.fit(SMILES, y, features=COLUMNS)

    score = classifier.score(SMILES, y, features=COLUMNS)

    assert score == (classifier.predict(SMILES, features=COLUMNS) == y).mean()


def test_clouds_have_no_features():
    with mentions("features are for graphs and molecules: X holds clouds", kind=DataError):
        EdgeCondRegressor(epochs=1).fit([np.zeros((5, 3))] * 4, np.arange(4.0), features={"t": [1, 2, 3, 4]})
