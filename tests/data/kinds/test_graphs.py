"""Graphs in memory have the labels of the training set, and labels have names that people know."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from edgecond.data.formats import batch
from edgecond.data.kinds import KINDS
from edgecond.data.kinds.graphs import examples_of, label_name
from edgecond.errors import DataError

GRAPHS = KINDS["graphs"]
EDGES = np.array([[0, 1], [1, 0]])


def pair(labels, **parts):
    return SimpleNamespace(edge_index=EDGES, num_nodes=2, x=np.array(labels), **parts)


def test_graphs_must_have_the_labels_of_the_training_set():
    reader = GRAPHS.reader([pair([3, 8]), pair([8, 8])])

    assert reader.unlabelled([pair([8, 3])]).graphs.vertex_labels.tolist() == [1, 0]
    with pytest.raises(DataError, match="9"):
        reader.unlabelled([pair([9, 3])])


def test_a_single_target_of_classes_must_be_known_for_every_graph():
    known = batch.packed([pair([1, 2]), pair([2, 2])], ys=np.array([0.0, 1.0]))
    blank = batch.packed([pair([1, 2])] * 3, ys=np.array([0.0, 1.0, np.nan]))

    assert examples_of(known, "here").ys.tolist() == [0, 1]
    with pytest.raises(DataError, match=r"here, .* graph 2"):
        examples_of(blank, "here")


def test_several_targets_are_rows_of_numbers():
    contents = batch.packed([pair([1, 2]), pair([2, 2])], ys=np.array([[0.5, 1.0], [1.5, np.nan]]))

    examples = examples_of(contents, "here")

    np.testing.assert_array_equal(examples.ys.numpy(), [[0.5, 1.0], [1.5, np.nan]])
    assert examples.classes == ("y0", "y1")


def test_a_label_is_named_by_its_category_and_its_degrees():
    graphs = batch.packed([pair([1, 2], edge_attr=np.array([4, 7]))]).graphs

    assert label_name([0, 1, 0], graphs, "Edge label {}".format) == "Edge label 7"
    assert label_name([0, 0, 1], graphs, "Edge label {}".format) == "Self-connection"
    assert label_name([1, 0, 0, 0.5, 2.0], graphs, "Edge label {}".format) == "Edge label 4 with L_deg 0.5 and 2"
    assert label_name([1], graphs, "Edge label {}".format) == "All edges"
