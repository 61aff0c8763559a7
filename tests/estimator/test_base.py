"""X is clouds, graphs or molecules in many forms; wrong rows, targets and parameters are errors."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import networkx as nx
import numpy as np
import pytest
import torch
from sklearn.exceptions import NotFittedError
from torch_geometric.data import Batch

from edgecond import EdgeCondClassifier, EdgeCondRegressor
from edgecond.errors import DataError, RecipeError
from tests.estimator.data import arrays, graph, KINDS, LENGTHS, rings_and_paths, small, SMILES
from tests.sentences import mentions


def test_clouds_may_be_arrays_tensors_lists_or_files(tmp_path: Path):
    X, y = arrays()
    estimator = small().fit(X, y)
    expected = estimator.predict_proba(X)
    files = [tmp_path / f"{number}.npy" for number in range(len(X))]
    for file, array in zip(files, X, strict=True):
        np.save(file, array)

    for same in (np.stack(X), tuple(map(torch.from_numpy, X)), [array.tolist() for array in X], files):
        np.testing.assert_allclose(estimator.predict_proba(same), expected, rtol=1e-5)
    np.testing.assert_allclose(small().fit(files, y).predict_proba(files), expected, rtol=1e-5)


def test_a_pyg_batch_is_read_as_the_list_of_its_graphs():
    X, y = rings_and_paths()

    found = small().fit(Batch.from_data_list(X), y)

    np.testing.assert_array_equal(found.predict_proba(X), small().fit(X, y).predict_proba(X))


def test_an_estimator_must_be_fitted_before_it_predicts_or_saves():
    with pytest.raises(NotFittedError):
        EdgeCondClassifier().predict(SMILES)
    with pytest.raises(NotFittedError):
        EdgeCondRegressor().save("model.safetensors")


TABLE = np.zeros((20, 3))
WRONG: dict[str, tuple[Any, Any, str]] = {
    "nothing": ([], [], "X must hold at least one cloud, graph or SMILES: it is empty."),
    "a single text": ("CCO", ["a"], "X must be a sequence of clouds, graphs or SMILES: got a str. "),
    "a table": (TABLE, KINDS, "row 0 is an array of shape (3,)."),
    "NetworkX": ([nx.path_graph(3)] * 20, KINDS, "row 0 is a Graph of NetworkX, which edgecond.interop converts"),
    "a data frame": (SimpleNamespace(columns=["smiles"]), KINDS, "Pass one of its columns, as X['smiles']."),
    "a mixture": ([*SMILES[:19], graph(4, True)], KINDS, "row 0 is one of the molecules: row 19 is one of the graphs."),
    "other lengths": (SMILES, KINDS[:7], "X has 20 rows, and y has 7."),
    "one class": (SMILES, ["a"] * 20, "y must hold two classes or more: there is only one class, np.str_('a')."),
    "NaN": (SMILES, [np.nan, *LENGTHS[1:]], "that of row 0 is nan. Remove such rows."),
    "no class": (SMILES, [*KINDS[:19], None], "that of row 19 is None. Remove such rows."),
    "NaN beside texts": (SMILES, [*KINDS[:19].tolist(), np.nan], "that of row 19 is nan. Remove such rows."),
    "a single graph": (graph(4, True), [0], "got a Data. Put a single one into a list."),
    "numbers": (SMILES, LENGTHS + 0.5, "Use EdgeCondRegressor for numbers."),
    "a table of classes": (
        SMILES,
        np.stack([KINDS, KINDS], 1),
        "y must hold numbers, NaN where one is unknown: could not convert string to float: np.str_('alkane').",
    ),
    "no targets": (SMILES, None, "requires y to be passed, but the target y is None."),
    "no molecule": (["C1CC", *SMILES[1:]], KINDS, "every row of X must be a molecule: row 0 is not. 'C1CC' is not a"),
    "other columns": ([np.ones((5, 3)), np.ones((5, 4))] * 10, KINDS, "row 0 of X has 3, and row 1 has 4."),
    "too few columns": ([np.ones((5, 2))] * 20, KINDS, "row 0 of X must be an array of numbers with a row for each"),
    "an infinite position": ([np.full((5, 3), np.inf)] * 20, KINDS, "row 0 of X must hold finite numbers"),
}


@pytest.mark.parametrize("case", WRONG)
def test_wrong_rows_and_targets_are_errors(case: str):
    X, y, sentence = WRONG[case]

    with pytest.raises(ValueError, match=r"\.$") as error:
        small().fit(X, y)

    assert sentence in str(error.value)


PARAMETERS: dict[str, tuple[dict[str, Any], str]] = {
    "epochs": ({"epochs": 0}, "train.epochs: Input should be greater than 0: got 0."),
    "learning_rate": ({"learning_rate": -1.0}, "train.learning_rate: Input should be greater than 0: got -1.0."),
    "outputs": ({"network": "C(4)-GAP-FC(3)"}, "C(4)-GAP-FC(3) has 3. End it with FC(2)."),
    "setting": (
        {"settings": {"train.learning_rat": 1}},
        "got 'train.learning_rat'. Did you mean train.learning_rate",
    ),
    "views": ({"views": 6}, "views must be a whole number from 1 to 1: got 6."),
    "settings": ({"settings": ["rate"]}, "settings must be a dict, as {'train.learning_rate': 0.05}: got ['rate']."),
    "task": ({"settings": {"task": "regression"}}, "settings must leave out what follows from X and y: got task."),
    "batch": ({"network": None, "batch_size": 1}, "have less. Choose a larger batch size."),
    "class_weight": (
        {"class_weight": "equal"},
        "class_weight must be 'auto', 'balanced', a dict or None: got 'equal'.",
    ),
}


@pytest.mark.parametrize("case", PARAMETERS)
def test_parameters_are_checked_when_fitting(case: str):
    parameters, sentence = PARAMETERS[case]
    wrong = small(**parameters)

    with pytest.raises((ValueError, RecipeError)) as error:
        wrong.fit(SMILES, KINDS)

    assert sentence in str(error.value)


def test_new_rows_must_be_like_those_of_the_training_set():
    X, y = arrays()
    clouds, others = small().fit(X, y), small(epochs=1).fit(*rings_and_paths())

    with mentions("clouds", "trained on", "row 0 is one of the molecules"):
        clouds.predict(["CCO"])
    with mentions("row 0 of X must have 3 columns", "it has 4", kind=DataError):
        clouds.predict([np.ones((5, 4))])
    with mentions("edge_attr", "7", kind=DataError):
        others.predict([graph(4, True).update({"edge_attr": torch.full((8,), 7)})])


def test_a_verbose_estimator_prints_a_line_for_each_epoch(capsys: pytest.CaptureFixture):
    small(verbose=True).fit(SMILES, KINDS)

    assert [line.split(":")[0] for line in capsys.readouterr().out.splitlines()] == ["epoch 1 of 2", "epoch 2 of 2"]


def test_weights_belong_to_classes_that_are_equal():
    """As in scikit-learn: 1, 1.0 and True are the same key of a dict."""
    fitted = small(epochs=1, class_weight={0: 1.0, 1: 3.0}).fit(SMILES, np.repeat([0.0, 1.0], 10))

    assert max(fitted.model_.task.weights) == 3 * min(fitted.model_.task.weights)
