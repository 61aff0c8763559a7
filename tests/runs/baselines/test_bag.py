"""A bag of labels counts them and is blind to edges."""

from __future__ import annotations

import numpy as np

from edgecond.data.kinds import KINDS
from edgecond.nn.tasks import TASKS
from edgecond.runs.baselines.bag import Bag, sums
from tests.runs.baselines.examples import examples_of, path, SETTINGS, stars_and_paths


def measure(train, test):
    return Bag().measure(train, test, KINDS["graphs"], TASKS["classification"], 0, settings=SETTINGS)


def test_labels_are_counted():
    """By hand."""
    examples = examples_of([([0, 1, 1], [(0, 1), (1, 2)]), ([2], [])], [0, 1])

    assert sums(examples, attributes=False).tolist() == [[1, 2, 0], [0, 0, 1]]


def test_stars_and_paths_are_the_same_to_it():
    """They have the same labels, so that no more than half are right."""
    assert measure(stars_and_paths(24), stars_and_paths(8))["accuracy"] == 0.5


def test_classes_with_other_labels_are_told_apart():
    rng = np.random.default_rng(0)
    graphs = [(rng.integers(0, 2, 9) + (k % 2), path(9)[1]) for k in range(24)]

    assert (
        measure(examples_of(graphs, [k % 2 for k in range(24)]), examples_of(graphs[:8], [0, 1] * 4))["accuracy"] == 1
    )
