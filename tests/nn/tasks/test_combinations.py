"""The name of a metric says how the views of an example were combined, and is taken apart in one place."""

from __future__ import annotations

import numpy as np
import pytest

from edgecond.nn.tasks import Classification
from edgecond.nn.tasks.combinations import by_combination, COMBINATIONS, combined_name, split_name


@pytest.mark.parametrize("combination", [*COMBINATIONS, ""])
@pytest.mark.parametrize("metric", Classification.metrics)
def test_a_combined_name_splits_into_its_parts(metric: str, combination: str):
    """`f1_legacy` has an underscore of its own."""
    assert split_name(combined_name(metric, combination)) == (metric, combination)


def test_metrics_of_several_views_have_the_same_names_in_each_combination():
    """Tables 2 and 4 of the paper: accuracies of one view, of votes and of scores, side by side."""
    metrics = Classification().evaluate(np.array([0, 1]), [np.eye(2), np.eye(2)])

    parts = by_combination(metrics)

    assert all(parts[combination].keys() == Classification.metrics.keys() for combination in (*COMBINATIONS, ""))
