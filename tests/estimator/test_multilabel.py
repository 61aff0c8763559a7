"""A classifier answers several questions with yes or no, of which some may be unknown."""

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
from tests.sentences import refused

OXYGEN = np.array(["O" in smiles for smiles in SMILES])
LONG = LENGTHS > 6
ANSWERS = np.stack([OXYGEN, LONG], 1)


@dataclass
class Table:
    """What a data frame has that is asked for."""

    columns: list[str]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return ANSWERS.astype(dtype)


def learner(**changes: Any) -> EdgeCondClassifier:
    return small(**{"network": "C(16)-C(16)-GAP-FC(16)-FC(2)", "epochs": 60, "batch_size": 20} | changes)


def test_each_question_is_answered():
    found = learner().fit(SMILES, ANSWERS)

    probabilities, predicted = found.predict_proba(SMILES), found.predict(SMILES)

    assert probabilities.shape == (20, 2)
    assert ((probabilities >= 0) & (probabilities <= 1)).all()
    assert not np.allclose(probabilities.sum(1), 1)  # two questions, not two classes
    np.testing.assert_array_equal(predicted, (probabilities > 0.5).astype(int))
    assert found.classes_.tolist() == [0, 1]
    assert found.recipe_.task == "multilabel"
    assert (predicted == ANSWERS).mean() > 0.9


@pytest.mark.parametrize("data", [arrays, rings_and_paths], ids=["clouds", "graphs"])
def test_clouds_and_graphs_too_have_several_questions(data):
    X, y = data()

    found = small(epochs=1).fit(X, np.stack([y == y[0], y != y[0]], 1))

    assert found.predict(X).shape == (len(X), 2)
    assert found.predict(X).dtype.kind == "i"


def test_the_score_is_that_of_scikit_learn_over_what_is_known():
    """The share of rows whose answers are all right; a row of which nothing is known counts for nothing."""
    found = learner(epochs=5).fit(SMILES, ANSWERS)
    predicted = found.predict(SMILES)

    assert found.score(SMILES, ANSWERS) == accuracy_score(ANSWERS, predicted)

    truth = ANSWERS.astype(float)
    truth[:4] = np.nan
    truth[4:8, 0] = np.nan
    right = [*(predicted[4:8, 1] == LONG[4:8]), *(predicted[8:] == ANSWERS[8:]).all(1)]
    assert found.score(SMILES, truth) == pytest.approx(np.mean(right))
    weights = np.arange(20)
    assert found.score(SMILES, truth, weights) == pytest.approx(np.average(right, weights=weights[4:]))
    truth[:, 0] = np.nan
    assert found.score(SMILES, truth) == pytest.approx(np.mean(predicted[4:, 1] == LONG[4:]))
    with refused("every column of y must be known of some row: all of column 0 is NaN."):
        found.score(SMILES, np.full((20, 2), np.nan))
    with refused("y must have a column for each of 2 that were learned: it has 1."):
        found.score(SMILES, ANSWERS[:, 0])


def test_what_is_unknown_is_not_learned():
    """With the answers to the second question hidden for long chains, all are taken for short."""
    truth = ANSWERS.astype(float)
    truth[LONG, 1] = np.nan

    predicted = learner().fit(SMILES, truth).predict(SMILES)

    assert not predicted[:, 1].any()
    assert (predicted[:, 0] == OXYGEN).mean() > 0.9


def test_questions_keep_the_names_of_a_table(tmp_path: Path):
    table = Table(["oxygen", "long"])
    (tmp_path / "new.csv").write_text("smiles\nCCO\n")

    learner(epochs=1).fit(SMILES, table).save(tmp_path / "model.safetensors")
    told = CliRunner().invoke(app, ["predict", str(tmp_path / "model.safetensors"), str(tmp_path / "new.csv")])

    assert told.stdout.splitlines()[0] == "file,row,smiles,oxygen,long"


def test_a_file_brings_back_the_answers(tmp_path: Path):
    found = learner(epochs=2).fit(SMILES, ANSWERS)
    found.save(tmp_path / "model.safetensors")

    again = EdgeCondClassifier.load(tmp_path / "model.safetensors")

    np.testing.assert_array_equal(again.predict_proba(SMILES), found.predict_proba(SMILES))
    np.testing.assert_array_equal(again.predict(SMILES), found.predict(SMILES))
    assert again.classes_.tolist() == [0, 1]
    assert again.score(SMILES, ANSWERS) == found.score(SMILES, ANSWERS)


def test_a_model_of_the_command_line_answers_too(tmp_path: Path):
    table, run = tmp_path / "molecules.csv", tmp_path / "run"
    rows = zip(SMILES, *ANSWERS.T.astype(int), strict=True)
    table.write_text("smiles,oxygen,long\n" + "".join(f"{s},{o},{n}\n" for s, o, n in rows))
    words = ["--target", "oxygen", "--target", "long", "--epochs", "1", "--set", "network=C(4)-GAP-FC(2)"]
    trained = CliRunner().invoke(app, ["train", str(table), *words, "--out", str(run)])
    assert trained.exit_code == 0, trained.output

    found = EdgeCondClassifier.load(run)

    told = CliRunner().invoke(app, ["predict", str(run), str(table)]).stdout.splitlines()[1:]
    np.testing.assert_allclose(
        found.predict_proba(SMILES), [[float(p) for p in line.split(",")[3:]] for line in told], atol=1e-5
    )


def test_one_fit_forgets_the_kind_of_the_last():
    found = small(epochs=1).fit(SMILES, ANSWERS)

    found.fit(SMILES, OXYGEN)

    assert found.recipe_.task == "classification"
    assert found.predict(SMILES).shape == (20,)
    assert clone(found).get_params() == found.get_params()


def test_one_that_has_learned_nothing_has_no_score():
    with pytest.raises(NotFittedError):
        small().score(SMILES, ANSWERS)


def test_tools_of_scikit_learn_take_it():
    assert get_tags(EdgeCondClassifier()).classifier_tags.multi_label
    assert cross_val_predict(small(epochs=1), SMILES, ANSWERS, cv=2).shape == (20, 2)


@pytest.mark.parametrize(
    ("y", "changes", "sentence"),
    [
        (
            np.where(ANSWERS, 2, 0),
            {},
            "y must hold a class for each row, or a row of zeros and ones, NaN where nothing is known: row 5 has 2.",
        ),
        (
            np.where(np.arange(2), np.nan, ANSWERS),
            {},
            "every column of y must be known of some row: all of column 1 is NaN.",
        ),
        (
            ANSWERS,
            {"class_weight": "balanced"},
            "class_weight must be 'auto' or None where y has several questions: got 'balanced'.",
        ),
    ],
    ids=["two", "unknown", "balanced"],
)
def test_what_cannot_be_learned_is_a_sentence(y: np.ndarray, changes: dict[str, Any], sentence: str):
    with refused(sentence, ValueError):
        small(**changes).fit(SMILES, y)
