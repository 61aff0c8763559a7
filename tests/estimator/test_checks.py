"""scikit-learn's own checks of estimators, all of them.

They use tables of numbers, which are not clouds, graphs or molecules. The tags declare that, and then nothing is
checked. An adapter that converts each row of a table to a graph makes all checks run.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks
from sklearn.utils.validation import check_is_fitted, validate_data

from edgecond import EdgeCondClassifier, EdgeCondRegressor
from edgecond.runs.recipe import Recipe, with_settings

FAILURES = {
    "check_methods_sample_order_invariance": "its tolerance is 1e-7, and networks compute in single precision",
    "check_methods_subset_invariance": "the same",
}
"""The checks that may fail, and why; docs/estimator.md lists them too."""


def path_of(row: np.ndarray) -> SimpleNamespace:
    """Return a path with a vertex for each number of a row; the signal of vertex i has the number in column i."""
    n = len(row)
    ends = np.array([np.arange(n - 1), np.arange(1, n)])
    signal = np.column_stack([np.diag(row), np.full(n, 0.5)])
    return SimpleNamespace(edge_index=np.concatenate([ends, ends[::-1]], 1), num_nodes=n, x=signal)


class Tables:
    """Converts tables to graphs, with a network small enough for a hundred checks."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = True
        tags.input_tags.one_d_array = tags.input_tags.three_d_array = tags.input_tags.string = False
        return tags

    def fit(self, X: Any, y: Any, features: Any = None) -> Any:
        return super().fit(list(map(path_of, validate_data(self, X))), y)

    def _examples(self, X: Any, features: Any) -> Any:
        check_is_fitted(self, "model_")
        return super()._examples(list(map(path_of, validate_data(self, X, reset=False))), features)

    def _with_parameters(self, recipe: Recipe, *args: Any) -> Recipe:
        network = f"C(16)-GAP-FC({recipe.network.classes})"
        small = with_settings(recipe, {"network": network, "hidden": [], "sparsifications": 1})
        return super()._with_parameters(small, *args)


class TableClassifier(Tables, EdgeCondClassifier):
    pass


class TableRegressor(Tables, EdgeCondRegressor):
    pass


@pytest.mark.slow
@parametrize_with_checks(
    [
        TableClassifier(epochs=5, batch_size=16, learning_rate=0.05),
        TableRegressor(epochs=5, batch_size=16, learning_rate=0.05),
    ],
    expected_failed_checks=lambda estimator: FAILURES,
    xfail_strict=False,
)
def test_the_checks_of_scikit_learn_pass(estimator: Any, check: Any):
    check(estimator)
