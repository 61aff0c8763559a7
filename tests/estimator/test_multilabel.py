"""A classifier predicts several labels, some of which may be unknown."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.metrics import accuracy_score
from sklearn.model_selection import cross_val_predict
from sklearn.utils import get_tags
from typer.testing import CliRunner

from edgecond import EdgeCondClassifier
from edgecond.cli import app
from tests.estimator.data import arrays, LENGTHS, rings_and_paths, small, SMILES
from tests.sentences import mentions

OXYGEN = np.array(["O" in smiles for smiles in SMILES])
LONG = LENGTHS > 6
LABELS = np.stack([OXYGEN, LONG], 1)


@dataclass
class Table:
    """The parts of a data frame that are used."""

    columns: list[str]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return LABELS.astype(dtype)


def learner(**changes: Any) -> EdgeCondClassifier:
    settings = {"network": "C(16)-C(16)-GAP-FC(16)-FC(2)", "epochs": 60, "batch_size": 20, "learning_rate": 0.01}
    return small(**settings | changes)


def test_each_label_is_predicted():
    found = learner().fit(SMILES, LABELS)

    probabilities, predicted = found.predict_proba(SMILES), found.predict(SMILES)

    assert probabilities.shape == (20, 2)
    assert ((probabilities >= 0) & (probabilities <= 1)).all()
    assert not np.allclose(probabilities.sum(1), 1)  # two labels, not two classes
    np.testing.assert_array_equal(predicted, (probabilities > 0.5).astype(int))
    assert found.classes_.tolist() == [0, 1]
    assert found.recipe_.task == "multilabel"
    assert (predicted == LABELS).mean() > 0.9


@pytest.mark.parametrize("data", [arrays, rings_and_paths], ids=["clouds", "graphs"])
def test_clouds_and_graphs_have_several_labels_too(data):
    X, y = data()

    found = small(epochs=1).fit(X, np.stack([y == y[0], y != y[0]], 1))

    assert found.predict(X).shape == (len(X), 2)
    assert found.predict(X).dtype.kind == "i"


def test_the_score_is_that_of_scikit_learn_over_known_labels():
    """The share of rows whose labels are all right; a row without a known label does not count."""
    found = learner(epochs=5).fit(SMILES, LABELS)
    predicted = found.predict(SMILES)

    assert found.score(SMILES, LABELS) == accuracy_score(LABELS, predicted)

    truth = LABELS.astype(float)
    truth[:4] = np.nan
    truth[4:8, 0] = np.nan
    right = [*(predicted[4:8, 1] == LONG[4:8]), *(predicted[8:] == LABELS[8:]).all(1)]
    assert found.score(SMILES, truth) == pytest.approx(np.mean(right))
    weights = np.arange(20)
    assert found.score(SMILES, truth, weights) == pytest.approx(np.average(right, weights=weights[4:]))
    truth[:, 0] = np.nan
    assert found.score(SMILES, truth) == pytest.approx(np.mean(predicted[4:, 1] == LONG[4:]))
    with mentions("column 0 is NaN"):
        found.score(SMILES, np.full((20, 2), np.nan))
    with mentions("y must have 2 columns", "it has 1"):
        found.score(SMILES, LABELS[:, 0])


def test_unknown_labels_are_not_trained_on():
    """With the second label unknown for all long chains, all are predicted as short."""
    truth = LABELS.astype(float)
    truth[LONG, 1] = np.nan

    predicted = learner().fit(SMILES, truth).predict(SMILES)

    assert not predicted[:, 1].any()
    assert (predicted[:, 0] == OXYGEN).mean() > 0.9


def test_labels_have_the_names_of_the_columns(tmp_path: Path):
    table = Table(["oxygen", "long"])
    (tmp_path / "new.csv").write_text("smiles\nCCO\n")

    learner(epochs=1).fit(SMILES, table).save(tmp_path / "model.safetensors")
    predicted = CliRunner().invoke(app, ["predict", str(tmp_path / "model.safetensors"), str(tmp_path / "new.csv")])

    assert predicted.stdout.splitlines()[0] == "file,row,smiles,oxygen,long"


def test_loading_restores_the_predictions(tmp_path: Path):
    found = learner(epochs=2).fit(SMILES, LABELS)
    found.save(tmp_path / "model.safetensors")

    again = EdgeCondClassifier.load(tmp_path / "model.safetensors")

    np.testing.assert_array_equal(again.predict_proba(SMILES), found.predict_proba(SMILES))
    np.testing.assert_array_equal(again.predict(SMILES), found.predict(SMILES))
    assert again.classes_.tolist() == [0, 1]
    assert again.score(SMILES, LABELS) == found.score(SMILES, LABELS)


def test_a_model_of_the_command_line_predicts_labels_too(tmp_path: Path):
    table, run = tmp_path / "molecules.csv", tmp_path / "run"
    rows = zip(SMILES, *LABELS.T.astype(int), strict=True)
    table.write_text("smiles,oxygen,long\n" + "".join(f"{s},{o},{n}\n" for s, o, n in rows))
    words = ["--target", "oxygen", "--target", "long", "--epochs", "1", "--set", "network=C(4)-GAP-FC(2)"]
    trained = CliRunner().invoke(app, ["train", str(table), *words, "--out", str(run)])
    assert trained.exit_code == 0, trained.output

    found = EdgeCondClassifier.load(run)

    lines = CliRunner().invoke(app, ["predict", str(run), str(table)]).stdout.splitlines()[1:]
    np.testing.assert_allclose(
        found.predict_proba(SMILES), [[float(p) for p in line.split(",")[3:]] for line in lines], atol=1e-5
    )


def test_fitting_again_replaces_the_task():
    found = small(epochs=1).fit(SMILES, LABELS)

    found.fit(SMILES, OXYGEN)

    assert found.recipe_.task == "classification"
    assert found.predict(SMILES).shape == (20,)
    assert clone(found).get_params() == found.get_params()


def test_an_estimator_must_be_fitted_before_it_scores():
    with pytest.raises(NotFittedError):
        small().score(SMILES, LABELS)


def test_scikit_learn_cross_validates_several_labels():
    assert get_tags(EdgeCondClassifier()).classifier_tags.multi_label
    assert cross_val_predict(small(epochs=1), SMILES, LABELS, cv=2).shape == (20, 2)


@pytest.mark.parametrize(
    ("y", "changes", "facts"),
    [
        (np.where(LABELS, 2, 0), {}, ["zeros and ones", "row 5 has 2"]),
        (np.where(np.arange(2), np.nan, LABELS), {}, ["column 1 is NaN"]),
        (LABELS, {"class_weight": "balanced"}, ["class_weight must be 'auto' or None", "got 'balanced'"]),
    ],
    ids=["two", "unknown", "balanced"],
)
def test_wrong_labels_are_errors(y: np.ndarray, changes: dict[str, Any], facts: list[str]):
    with mentions(*facts):
        small(**changes).fit(SMILES, y)
