"""A graph sorts and checks its edges, and groups them by source and by label."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from edgecond.graph import Graph, Labels
from tests.graph.paths import graph_of, vector
from tests.sentences import refused


def test_edges_are_sorted_by_target_and_keep_their_order_within_a_target():
    """By hand: a stable sort, so that every run adds the edges of a neighbourhood in the same order."""
    graph = graph_of((0, 2), (1, 0), (2, 2), (2, 0), (1, 2), n=4)

    assert graph.source.tolist() == [1, 2, 0, 2, 1]
    assert graph.target.tolist() == [0, 0, 2, 2, 2]
    assert graph.labels.values.flatten().tolist() == [1, 3, 0, 2, 4]
    assert graph.pointer.tolist() == [0, 2, 2, 5, 5]
    assert graph.degree.tolist() == [2, 0, 3, 0]
    assert (graph.num_vertices, graph.num_sources, graph.num_edges) == (4, 4, 5)


@settings(deadline=None)
@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), max_size=20))
def test_the_edges_of_a_graph_are_in_the_order_of_a_stable_sort(edges: list[tuple[int, int]]):
    """Another method: Python's own sort, which is stable."""
    graph = graph_of(*edges, n=6)

    expected = sorted(range(len(edges)), key=lambda e: edges[e][1])
    assert list(zip(graph.source.tolist(), graph.target.tolist(), strict=True)) == [edges[e] for e in expected]
    assert graph.labels.values.flatten().tolist() == expected


def test_the_index_of_labels_is_sorted_with_the_edges():
    """Distinct labels keep their place; only the index is permuted."""
    table = torch.tensor([[1.0], [2.0]])

    graph = Graph.from_edges(vector(0, 1, 0), vector(1, 1, 0), Labels(table, vector(1, 1, 0)), num_vertices=2)

    assert graph.labels.values is table
    assert graph.labels.index is not None
    assert graph.labels.index.tolist() == [0, 1, 1]


def test_sorted_columns_of_a_table_of_edges_become_contiguous():
    """A column of a table is a strided view; the kernels read contiguous vectors."""
    pairs = torch.tensor([[1, 0], [0, 1], [2, 1]])

    graph = Graph.from_edges(pairs[:, 0], pairs[:, 1], torch.zeros(3, 1), num_vertices=3)

    assert graph.source.is_contiguous()
    assert graph.target.is_contiguous()
    assert graph.source.tolist() == [1, 0, 2]


def test_sources_and_targets_may_be_different_sets_of_vertices():
    """Section 4.4: the sources of a strided convolution are vertices of the finer level."""
    graph = graph_of((6, 0), (3, 1), n=2, num_sources=7)

    assert (graph.num_vertices, graph.num_sources) == (2, 7)
    assert graph.source_membership is not None
    assert graph.source_membership.tolist() == [0] * 7


def test_membership_is_the_graph_of_each_vertex_of_a_batch():
    """By hand: sizes 2, 0, 3 and sources 1, 2, 0."""
    graph = graph_of((0, 1), n=5, sizes=vector(2, 0, 3), num_sources=vector(1, 2, 0))

    assert graph.membership.tolist() == [0, 0, 2, 2, 2]
    assert graph.source_membership is not None
    assert graph.source_membership.tolist() == graph.membership_of_sources.tolist() == [0, 1, 1]
    assert graph.num_sources == 3


def test_the_sources_of_an_ordinary_graph_are_members_like_its_vertices():
    """By hand: sizes 2 and 1."""
    graph = graph_of((0, 1), n=3, sizes=vector(2, 1))

    assert graph.source_membership is None
    assert graph.membership_of_sources.tolist() == [0, 0, 1]


@pytest.mark.parametrize("n", [0, 3])
def test_a_graph_may_have_no_edges_and_no_vertices(n: int):
    graph = graph_of(n=n)

    assert (graph.num_vertices, graph.num_sources, graph.num_edges) == (n, n, 0)
    assert graph.degree.tolist() == [0] * n
    assert graph.by_source.pointer.tolist() == [0] * (n + 1)


def test_a_batch_of_bipartite_graphs_needs_the_number_of_sources_of_each():
    source, target, labels = torch.tensor([0, 2]), torch.tensor([0, 1]), torch.zeros(2, 1)
    both = {"num_vertices": 2, "sizes": torch.tensor([1, 1])}

    graph = Graph.from_edges(source, target, labels, **both, num_sources=torch.tensor([2, 1]))

    assert graph.source_membership.tolist() == [0, 0, 1]
    with pytest.raises(ValueError, match="2 bipartite graphs needs the number of sources of each graph: got 3"):
        Graph.from_edges(source, target, labels, **both, num_sources=3)


# Invalid arguments


LABELS = torch.zeros(2, 1)
REJECTED: dict[str, tuple[dict[str, Any], str]] = {
    "a source beyond the last vertex": (
        {"source": vector(0, 3)},
        "source must number vertices from 0 to 2: found 3. "
        "Count vertices without edges too, or set num_sources for a bipartite graph.",
    ),
    "a negative source": (
        {"source": vector(0, -1)},
        "source must number vertices from 0 to 2: found -1. "
        "Count vertices without edges too, or set num_sources for a bipartite graph.",
    ),
    "a target beyond the last vertex": (
        {"target": vector(5, 1)},
        "target must number vertices from 0 to 2: found 5. "
        "Count vertices without edges too, or set num_sources for a bipartite graph.",
    ),
    "a negative target": (
        {"target": vector(1, -2)},
        "target must number vertices from 0 to 2: found -2. "
        "Count vertices without edges too, or set num_sources for a bipartite graph.",
    ),
    "a source beyond the other side": (
        {"source": vector(0, 2), "num_sources": 2},
        "source must number vertices from 0 to 1: found 2. "
        "Count vertices without edges too, or set num_sources for a bipartite graph.",
    ),
    "vertex numbers of 32 bits": (
        {"source": vector(0, 1).int()},
        "source must be a vector of int64 vertex numbers: got shape (2,) of torch.int32.",
    ),
    "vertex numbers that are not integers": (
        {"target": torch.zeros(2)},
        "target must be a vector of int64 vertex numbers: got shape (2,) of torch.float32.",
    ),
    "a matrix of vertex numbers": (
        {"target": vector(0, 1)[None]},
        "target must be a vector of int64 vertex numbers: got shape (1, 2) of torch.int64.",
    ),
    "a source without a target": (
        {"target": vector(0)},
        "every edge needs a source and a target: got 2 sources and 1 targets.",
    ),
    "an edge without a label": (
        {"labels": torch.zeros(1, 4)},
        "a graph needs one label per edge: got 1 labels for 2 edges. "
        "Self-loops are edges too; add them before labelling.",
    ),
    "an index that misses an edge": (
        {"labels": Labels(torch.zeros(5, 4), vector(1))},
        "a graph needs one label per edge: got 1 labels for 2 edges. "
        "Self-loops are edges too; add them before labelling.",
    ),
    "an index beyond the distinct labels": (
        {"labels": Labels(LABELS, vector(0, 2))},
        "the index of labels must number distinct labels from 0 to 1: found 2.",
    ),
    "a label that is not a number": (
        {"labels": torch.tensor([[0.0, 1.0], [2.0, torch.nan]])},
        "labels must be finite: found [2.0, nan] in row 1. "
        "The usual cause is the angle of a zero offset in spherical coordinates; set it to 0.",
    ),
    "an infinite label": (
        {"labels": torch.tensor([[torch.inf], [1.0]])},
        "labels must be finite: found [inf] in row 0. "
        "The usual cause is the angle of a zero offset in spherical coordinates; set it to 0.",
    ),
    "sizes that do not add up": (
        {"sizes": vector(1, 1)},
        "sizes must add up to the 3 vertices: got 2.",
    ),
}


@pytest.mark.parametrize("case", REJECTED)
def test_an_invalid_argument_of_a_graph_is_an_error_that_names_it(case: str):
    """Wrong shapes, wrong dtypes, indices out of range and NaN labels each have their own message."""
    mistake, message = REJECTED[case]
    arguments = {"source": vector(0, 1), "target": vector(1, 2), "labels": LABELS, "num_vertices": 3} | mistake

    with refused(message):
        Graph.from_edges(**arguments)


# Edges grouped by target, source and label


def test_grouped_by_target_the_edges_keep_their_order():
    graph = graph_of((0, 2), (1, 0), (2, 2), n=3)

    assert graph.by_target.pointer is graph.pointer
    assert graph.by_target.column is graph.source
    assert graph.by_target.edge is None


def test_grouped_by_source_each_edge_is_in_the_row_of_its_source():
    """By hand: sorted edges are (1,0), (0,2), (2,2), (0,2); 0 is the source of the second and the fourth."""
    graph = graph_of((0, 2), (1, 0), (2, 2), (0, 2), n=3)

    rows = graph.by_source

    assert rows.pointer.tolist() == [0, 2, 3, 4]
    assert rows.column.tolist() == [2, 2, 0, 2]
    assert rows.edge is not None
    assert rows.edge.tolist() == [1, 3, 0, 2]
    assert graph.by_source is rows  # computed once


def test_a_bipartite_graph_grouped_by_source_has_a_row_per_source():
    graph = graph_of((4, 0), (4, 1), (0, 1), n=2, num_sources=6)

    assert graph.by_source.pointer.tolist() == [0, 1, 1, 1, 1, 3, 3]
    assert graph.by_source.column.tolist() == [1, 0, 1]


def test_grouped_by_label_the_edges_of_each_label_are_consecutive():
    """By hand: labels 2, 0, 2, 0 out of four give edges 1 and 3, then none, then 0 and 2, then none."""
    graph = Graph.from_edges(
        vector(0, 2, 1, 3), vector(0, 0, 1, 1), Labels.one_hot(vector(2, 0, 2, 0), 4), num_vertices=4
    )

    pointer, source, target = graph.by_label

    assert pointer.tolist() == [0, 2, 2, 4, 4]
    assert source.tolist() == [2, 3, 0, 1]
    assert target.tolist() == [0, 1, 0, 1]


def test_grouping_by_label_needs_an_index():
    with pytest.raises(ValueError, match="needs labels with an index"):
        _ = graph_of((0, 0), n=1).by_label


def test_per_edge_gives_every_edge_its_own_target():
    """A sum over one edge is its message. By hand: 3 edges of the first graph of the batch, 1 of the second."""
    graph = graph_of((0, 1), (1, 1), (1, 0), (2, 2), n=3, sizes=vector(2, 1))

    messages = graph.per_edge

    assert messages.target.tolist() == [0, 1, 2, 3]
    assert messages.pointer.tolist() == [0, 1, 2, 3, 4]
    assert messages.source.tolist() == graph.source.tolist()
    assert (messages.num_vertices, messages.num_sources) == (4, 3)
    assert messages.sizes.tolist() == [3, 1]
    assert messages.membership.tolist() == [0, 0, 0, 1]
    assert messages.source_membership is not None
    assert messages.source_membership.tolist() == [0, 0, 1]


def test_per_edge_does_not_inherit_cached_rows():
    """By hand: grouped by source, the targets are the edges themselves."""
    graph = graph_of((1, 0), (0, 0), (1, 0), n=2)
    _ = graph.by_source

    assert graph.per_edge.by_source.column.tolist() == [1, 0, 2]


def test_a_graph_on_another_device_computes_its_rows_again():
    """Cached rows belong to the tensors they were computed from."""
    graph = graph_of((0, 1), n=2)
    _ = graph.by_source

    assert graph.to("meta").by_source.column.device.type == "meta"
