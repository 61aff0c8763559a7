"""GIN sees edge labels, GCN does not, and neither depends on the order of vertices."""

from __future__ import annotations

import numpy as np
import pytest

from edgecond.data.kinds import KINDS
from edgecond.nn.tasks import TASKS
from tests.runs.baselines.examples import examples_of, SETTINGS, star

pytest.importorskip("torch_geometric")

from edgecond.runs.baselines.message_passing import GCN, GIN


def accuracy(baseline, examples):
    baseline.epochs = 80  # steps: the averages of batch normalisation need some
    task = TASKS["classification"]
    return baseline.measure(examples, examples, KINDS["graphs"], task, 0, settings=SETTINGS)["accuracy"]


def test_edge_labels_are_seen_by_gin_alone():
    """All graphs are stars, and the class is the label of their edges."""
    numbers = [k % 2 for k in range(24)]
    examples = examples_of([star(4 + k // 2 % 3) for k in range(24)], numbers, labels=numbers)

    assert accuracy(GIN(), examples) == 1.0
    assert accuracy(GCN(), examples) == 0.5


def test_vertex_labels_are_seen_by_gcn():
    examples = examples_of([([k % 2] * 4, star(4)[1]) for k in range(24)], [k % 2 for k in range(24)])

    assert accuracy(GCN(), examples) == 1.0


def test_renumbered_vertices_have_the_same_prediction():
    """The sum over vertices, and that over neighbours, do not depend on their order."""
    examples = examples_of([([0, 1, 1, 1], star(4)[1]), ([1, 1, 1, 0], [(3, 0), (3, 1), (3, 2)])], [0, 1])
    baseline = GIN()
    baseline.epochs = 1
    task = TASKS["classification"].fit(examples.ys, 2)

    outputs = baseline.fit(examples, task, 0, settings=SETTINGS)(examples)

    np.testing.assert_allclose(outputs[0], outputs[1], rtol=1e-5)
