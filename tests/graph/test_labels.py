"""Labels have one row per edge, or distinct rows and an index."""

from __future__ import annotations

import re

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
    """Footnote 1: F is evaluated once per distinct label, and its output is looked up per edge."""
    labels = Labels(torch.tensor([[1.0], [2.0]]), vector(1, 0, 1))

    assert len(labels) == 3
    assert labels.width == 1
    assert labels.per_edge(vector(7, 8)).tolist() == [8, 7, 8]
    part = labels.at(slice(1, 3))
    assert part.values is labels.values
    assert part.index is not None
    assert part.index.tolist() == [0, 1]


def test_one_hot_labels_are_rows_of_the_identity_matrix():
    """Section 4.3: categorical labels are one-hot vectors."""
    labels = Labels.one_hot(vector(2, 0, 2), 3)

    assert labels.per_edge(labels.values).tolist() == [[0, 0, 1], [1, 0, 0], [0, 0, 1]]


@pytest.mark.parametrize(
    ("values", "actual"),
    [
        (torch.zeros(4), "(4,) of torch.float32"),
        (torch.zeros(4, 1, dtype=torch.cfloat), "(4, 1) of torch.complex64"),
        (torch.zeros(4, 1, 1), "(4, 1, 1) of torch.float32"),
    ],
    ids=["a vector", "complex numbers", "matrices"],
)
def test_labels_must_be_rows_of_real_numbers(values: Tensor, actual: str):
    message = (
        f"labels must be a tensor of real numbers of shape (edges, s): got {actual}. "
        "A scalar per edge needs values[:, None]."
    )

    with refused(message):
        Labels(values)


@pytest.mark.parametrize(
    ("index", "actual"),
    [(vector(0).int(), "(1,) of torch.int32"), (vector(0)[None], "(1, 1) of torch.int64")],
    ids=["32 bits", "a matrix"],
)
def test_the_index_of_labels_must_be_a_vector_of_integers(index: Tensor, actual: str):
    with pytest.raises(ValueError, match=f"one int64 number per edge: got shape {re.escape(actual)}"):
        Labels(torch.zeros(2, 1), index)


def test_the_labels_of_a_graph_can_be_replaced():
    graph = graph_of((0, 1), (1, 0), n=2)

    other = graph.with_labels(torch.tensor([[5.0], [6.0]]))

    assert other.labels.values.tolist() == [[5.0], [6.0]]
    assert other.source is graph.source
    assert graph.labels.values.tolist() == [[1.0], [0.0]]


@pytest.mark.parametrize(
    ("labels", "facts"),
    [
        (torch.zeros(3, 1), r"one label per edge: got 3 labels for 2 edges\. Self-loops"),
        (torch.tensor([[1.0], [torch.nan]]), r"must be finite: found \[nan\] in row 1"),
        (Labels(torch.zeros(1, 1), vector(0, 1)), "distinct labels from 0 to 0: found 1"),
    ],
    ids=["too many", "not a number", "index out of range"],
)
def test_replaced_labels_are_checked_like_the_first(labels: Tensor | Labels, facts: str):
    """Kernels read labels without checking them."""
    with pytest.raises(ValueError, match=facts):
        graph_of((0, 1), (1, 0), n=2).with_labels(labels)
