"""The classes of test data are numbered as those of the training data, whatever occurs in either."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from edgecond.data.formats import tu
from edgecond.data.kinds.joining import extended, joined_graphs, renumbered
from edgecond.errors import DataError
from tests.data.datasets import tiny
from tests.model_readers import GRAPHS
from tests.sentences import mentions

NAN = np.nan


@pytest.mark.parametrize(
    ("values", "found", "known", "expected"),
    [
        ([0.0, 1.0, NAN], ("b", "c"), ("a", "b", "c"), [1, 2, NAN]),  # classes
        ([0.0, 1.0, NAN], ("3", "7"), (), [3, 7, NAN]),  # few whole numbers, where the training data have others
        ([3.0, 1.0, NAN], (), ("1", "2", "3"), [2, 0, NAN]),
        ([0.5, NAN, 1.5], (), (), [0.5, NAN, 1.5]),
    ],
)
def test_targets_get_the_classes_of_the_training_data(values: list, found: tuple, known: tuple, expected: list):
    np.testing.assert_array_equal(renumbered(np.array(values), found, known, "test.csv, y"), expected)


def test_a_class_that_was_never_trained_on_is_an_error():
    with mentions("test.csv, y", "classes of the training data, a, b", "'c'", kind=DataError):
        renumbered(np.array([0.0]), ("c",), ("a", "b"), "test.csv, y")
    with mentions("test.csv, y", "numbers, like the training data", "'c'", kind=DataError):
        renumbered(np.array([0.0]), ("c",), (), "test.csv, y")


def test_graphs_of_two_files_are_those_of_one_after_those_of_the_other():
    """Each graph has the arrays that it had alone."""
    joined = joined_graphs(GRAPHS.take([0, 1]), GRAPHS.take([4, 2]))

    for number, alone in enumerate((0, 1, 4, 2)):
        for name, array in vars(GRAPHS[alone]).items():
            np.testing.assert_array_equal(getattr(joined[number], name), array)
    assert len(joined) == 4
    assert joined.digest != GRAPHS.digest


def test_a_vocabulary_is_extended_and_no_vertex_changes_its_label(tmp_path: Path):
    """The value of each label stays what it was; known labels keep their order among new ones."""
    graphs = tu.read(tiny.write(tmp_path))
    values = graphs.vertex_values[graphs.vertex_labels]
    known = replace(graphs, vertex_values=np.append(graphs.vertex_values[1:], [1000, 2000]), digest="other")

    more = extended(graphs, known)

    assert np.array_equal(more.vertex_values[more.vertex_labels], values)
    assert np.array_equal(more.vertex_values, np.append(graphs.vertex_values, [1000, 2000]))
    assert more.digest != graphs.digest


def test_graphs_with_all_known_labels_are_the_same_object(tmp_path: Path):
    graphs = tu.read(tiny.write(tmp_path))

    assert extended(graphs, graphs) is graphs


def test_graphs_without_labels_do_not_fit_a_model_with_labels(tmp_path: Path):
    graphs = tu.read(tiny.write(tmp_path))
    known = replace(graphs, edge_values=graphs.edge_values[:0])

    with mentions("must have no edge labels, like the data of the model: it has some", kind=DataError):
        extended(graphs, known)
