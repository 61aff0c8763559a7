"""Labels are one for each edge, or a table of the distinct ones with an index."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from edgecond.graph import Labels
from tests.graph.paths import graph_of, vector
from tests.sentences import refused


def test_labels_without_an_index_are_one_per_edge():
    labels = Labels(torch.tensor([[1.0, 2.0], [3.0, 4.0]]))

    assert len(labels) == 2
    assert labels.width == 2
    assert labels.per_edge(vector(7, 8)).tolist() == [7, 8]
    assert labels.at(vector(1)).values.tolist() == [[3.0, 4.0]]
    assert labels.at(slice(0, 1)).values.tolist() == [[1.0, 2.0]]


def test_labels_with_an_index_keep_one_row_per_distinct_label():
    """Footnote 1: F is evaluated once per distinct label, and what it gives is looked up per edge."""
    labels = Labels(torch.tensor([[1.0], [2.0]]), vector(1, 0, 1))

    assert len(labels) == 3
    assert labels.width == 1
    assert labels.per_edge(vector(7, 8)).tolist() == [8, 7, 8]
    part = labels.at(slice(1, 3))
    assert part.values is labels.values
    assert part.index is not None
    assert part.index.tolist() == [0, 1]


def test_categorical_labels_are_rows_of_the_unit_matrix():
    """Section 4.3: one-hot labels."""
    labels = Labels.one_hot(vector(2, 0, 2), 3)

    assert labels.per_edge(labels.values).tolist() == [[0, 0, 1], [1, 0, 0], [0, 0, 1]]


@pytest.mark.parametrize(
    ("values", "found"),
    [
        (torch.zeros(4), "(4,) of torch.float32"),
        (torch.zeros(4, 1, dtype=torch.long), "(4, 1) of torch.int64"),
        (torch.zeros(4, 1, 1), "(4, 1, 1) of torch.float32"),
    ],
    ids=["a vector", "integers", "matrices"],
)
def test_labels_are_rows_of_real_numbers(values: Tensor, found: str):
    sentence = (
        f"labels are rows of real numbers, a tensor of shape (edges, s): got {found}. "
        "A scalar per edge needs values[:, None]."
    )

    with refused(sentence):
        Labels(values)


@pytest.mark.parametrize(
    ("index", "found"),
    [(vector(0).int(), "(1,) of torch.int32"), (vector(0)[None], "(1, 1) of torch.int64")],
    ids=["32 bits", "a matrix"],
)
def test_the_index_of_labels_is_a_vector_of_integers(index: Tensor, found: str):
    with refused(f"the index of labels is one int64 number per edge: got shape {found}."):
        Labels(torch.zeros(2, 1), index)


def test_other_labels_may_take_the_place_of_a_graph_s_own():
    graph = graph_of((0, 1), (1, 0), n=2)

    other = graph.with_labels(torch.tensor([[5.0], [6.0]]))

    assert other.labels.values.tolist() == [[5.0], [6.0]]
    assert other.source is graph.source
    assert graph.labels.values.tolist() == [[1.0], [0.0]]


@pytest.mark.parametrize(
    ("labels", "sentence"),
    [
        (
            torch.zeros(3, 1),
            "a graph needs one label per edge: got 3 labels for 2 edges. "
            "Self-loops are edges too; add them before labelling.",
        ),
        (
            torch.tensor([[1.0], [torch.nan]]),
            "labels must be finite: found [nan] in row 1. "
            "A spherical angle of a zero offset is the usual cause; set it to 0.",
        ),
        (
            Labels(torch.zeros(1, 1), vector(0, 1)),
            "the index of labels must number distinct labels from 0 to 0: found 1.",
        ),
    ],
    ids=["too many", "not a number", "index out of range"],
)
def test_other_labels_are_checked_like_the_first(labels: Tensor | Labels, sentence: str):
    """Bar 8, for labels that come later: a kernel reads them without looking."""
    with refused(sentence):
        graph_of((0, 1), (1, 0), n=2).with_labels(labels)
