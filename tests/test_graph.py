"""Graphs sort their edges, check them with a sentence each, and stand side by side in a batch."""

from __future__ import annotations

import re
from typing import Any

import pytest
import torch
import torch.utils._pytree as pytree
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from edgecond.graph import Cloud, collate, Graph, Labels, Pyramid, Sample


def vector(*numbers: int) -> Tensor:
    return torch.tensor(numbers, dtype=torch.long)


def graph_of(*edges: tuple[int, int], n: int, **options: Any) -> Graph:
    """Edges (j, i), labelled 0, 1, 2, ... in the given order."""
    pairs = torch.tensor(edges, dtype=torch.long).reshape(-1, 2)
    return Graph.from_edges(
        pairs[:, 0], pairs[:, 1], torch.arange(float(len(pairs)))[:, None], num_vertices=n, **options
    )


def exactly(sentence: str) -> str:
    return f"^{re.escape(sentence)}$"


# Making a graph


def test_edges_are_sorted_by_target_and_keep_their_order_within_it():
    """By hand: a stable sort, so that every sum over a neighbourhood keeps its order from run to run."""
    graph = graph_of((0, 2), (1, 0), (2, 2), (2, 0), (1, 2), n=4)

    assert graph.source.tolist() == [1, 2, 0, 2, 1]
    assert graph.target.tolist() == [0, 0, 2, 2, 2]
    assert graph.labels.values.flatten().tolist() == [1, 3, 0, 2, 4]
    assert graph.pointer.tolist() == [0, 2, 2, 5, 5]
    assert graph.degree.tolist() == [2, 0, 3, 0]
    assert (graph.num_vertices, graph.num_sources, graph.num_edges) == (4, 4, 5)


@settings(deadline=None)
@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), max_size=20))
def test_a_graph_holds_the_edges_in_the_order_of_a_stable_sort(edges: list[tuple[int, int]]):
    """Another method: Python's own sort, which is stable."""
    graph = graph_of(*edges, n=6)

    expected = sorted(range(len(edges)), key=lambda e: edges[e][1])
    assert list(zip(graph.source.tolist(), graph.target.tolist(), strict=True)) == [edges[e] for e in expected]
    assert graph.labels.values.flatten().tolist() == expected


def test_the_index_of_labels_is_sorted_with_the_edges():
    """Distinct labels stay where they are; only the index of each edge moves."""
    table = torch.tensor([[1.0], [2.0]])

    graph = Graph.from_edges(vector(0, 1, 0), vector(1, 1, 0), Labels(table, vector(1, 1, 0)), num_vertices=2)

    assert graph.labels.values is table
    assert graph.labels.index is not None
    assert graph.labels.index.tolist() == [0, 1, 1]


def test_sorted_columns_of_a_table_of_edges_become_vectors_of_their_own():
    """A column of a table is a view with gaps; the kernels read vectors without."""
    pairs = torch.tensor([[1, 0], [0, 1], [2, 1]])

    graph = Graph.from_edges(pairs[:, 0], pairs[:, 1], torch.zeros(3, 1), num_vertices=3)

    assert graph.source.is_contiguous()
    assert graph.target.is_contiguous()
    assert graph.source.tolist() == [1, 0, 2]


def test_sources_may_be_other_vertices_than_targets():
    """Section 4.4: a strided convolution takes its sources from the finer level."""
    graph = graph_of((6, 0), (3, 1), n=2, num_sources=7)

    assert (graph.num_vertices, graph.num_sources) == (2, 7)
    assert graph.source_membership is not None
    assert graph.source_membership.tolist() == [0] * 7


def test_a_batch_knows_the_graph_of_every_vertex():
    """By hand: sizes 2, 0, 3 and sources 1, 2, 0."""
    graph = graph_of((0, 1), n=5, sizes=vector(2, 0, 3), num_sources=vector(1, 2, 0))

    assert graph.membership.tolist() == [0, 0, 2, 2, 2]
    assert graph.source_membership is not None
    assert graph.source_membership.tolist() == [0, 1, 1]
    assert graph.num_sources == 3


@pytest.mark.parametrize("n", [0, 3])
def test_a_graph_may_have_no_edge_and_no_vertex(n: int):
    graph = graph_of(n=n)

    assert (graph.num_vertices, graph.num_sources, graph.num_edges) == (n, n, 0)
    assert graph.degree.tolist() == [0] * n
    assert graph.by_source.pointer.tolist() == [0] * (n + 1)


# What a graph does not take


LABELS = torch.zeros(2, 1)
REJECTED: dict[str, tuple[dict[str, Any], str]] = {
    "a source beyond the last vertex": (
        {"source": vector(0, 3)},
        "source must number vertices from 0 to 2: found 3. "
        "Count the vertices that have no edge, too, or set num_sources for a bipartite graph.",
    ),
    "a negative source": (
        {"source": vector(0, -1)},
        "source must number vertices from 0 to 2: found -1. "
        "Count the vertices that have no edge, too, or set num_sources for a bipartite graph.",
    ),
    "a target beyond the last vertex": (
        {"target": vector(5, 1)},
        "target must number vertices from 0 to 2: found 5. "
        "Count the vertices that have no edge, too, or set num_sources for a bipartite graph.",
    ),
    "a negative target": (
        {"target": vector(1, -2)},
        "target must number vertices from 0 to 2: found -2. "
        "Count the vertices that have no edge, too, or set num_sources for a bipartite graph.",
    ),
    "a source beyond the other side": (
        {"source": vector(0, 2), "num_sources": 2},
        "source must number vertices from 0 to 1: found 2. "
        "Count the vertices that have no edge, too, or set num_sources for a bipartite graph.",
    ),
    "vertex numbers of 32 bits": (
        {"source": vector(0, 1).int()},
        "source must be a vector of int64 vertex numbers: got shape (2,) of torch.int32.",
    ),
    "vertex numbers that are no integers": (
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
        "A spherical angle of a zero offset is the usual cause; set it to 0.",
    ),
    "an infinite label": (
        {"labels": torch.tensor([[torch.inf], [1.0]])},
        "labels must be finite: found [inf] in row 0. "
        "A spherical angle of a zero offset is the usual cause; set it to 0.",
    ),
    "sizes that do not add up": (
        {"sizes": vector(1, 1)},
        "sizes must add up to the 3 vertices: got 2.",
    ),
}


@pytest.mark.parametrize("what", REJECTED)
def test_a_graph_answers_a_mistake_by_a_sentence(what: str):
    """Bar 8: wrong shapes, wrong dtypes, indices out of range and NaN labels each have a sentence."""
    mistake, sentence = REJECTED[what]
    arguments = {"source": vector(0, 1), "target": vector(1, 2), "labels": LABELS, "num_vertices": 3} | mistake

    with pytest.raises(ValueError, match=exactly(sentence)):
        Graph.from_edges(**arguments)


# Labels


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

    with pytest.raises(ValueError, match=exactly(sentence)):
        Labels(values)


@pytest.mark.parametrize(
    ("index", "found"),
    [(vector(0).int(), "(1,) of torch.int32"), (vector(0)[None], "(1, 1) of torch.int64")],
    ids=["32 bits", "a matrix"],
)
def test_the_index_of_labels_is_a_vector_of_integers(index: Tensor, found: str):
    with pytest.raises(
        ValueError, match=exactly(f"the index of labels is one int64 number per edge: got shape {found}.")
    ):
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
    with pytest.raises(ValueError, match=exactly(sentence)):
        graph_of((0, 1), (1, 0), n=2).with_labels(labels)


# Reading a graph in another order


def test_by_target_the_edges_are_in_the_order_they_are_in():
    graph = graph_of((0, 2), (1, 0), (2, 2), n=3)

    assert graph.by_target.pointer is graph.pointer
    assert graph.by_target.column is graph.source
    assert graph.by_target.edge is None


def test_by_source_every_edge_is_listed_under_its_source():
    """By hand: sorted edges are (1,0), (0,2), (2,2), (0,2); 0 sends the second and fourth, 1 and 2 one each."""
    graph = graph_of((0, 2), (1, 0), (2, 2), (0, 2), n=3)

    rows = graph.by_source

    assert rows.pointer.tolist() == [0, 2, 3, 4]
    assert rows.column.tolist() == [2, 2, 0, 2]
    assert rows.edge is not None
    assert rows.edge.tolist() == [1, 3, 0, 2]
    assert graph.by_source is rows  # computed once


def test_by_source_of_a_bipartite_graph_has_a_row_per_source():
    graph = graph_of((4, 0), (4, 1), (0, 1), n=2, num_sources=6)

    assert graph.by_source.pointer.tolist() == [0, 1, 1, 1, 1, 3, 3]
    assert graph.by_source.column.tolist() == [1, 0, 1]


def test_by_label_the_edges_of_each_label_stand_together():
    """By hand: labels 2, 0, 2, 0 of four possible: edges 1 and 3, then none, then 0 and 2, then none."""
    graph = Graph.from_edges(
        vector(0, 2, 1, 3), vector(0, 0, 1, 1), Labels.one_hot(vector(2, 0, 2, 0), 4), num_vertices=4
    )

    pointer, source, target = graph.by_label

    assert pointer.tolist() == [0, 2, 2, 4, 4]
    assert source.tolist() == [2, 3, 0, 1]
    assert target.tolist() == [0, 1, 0, 1]


def test_by_label_needs_an_index():
    sentence = "edges can be grouped by label if labels have an index: these are one per edge."

    with pytest.raises(ValueError, match=exactly(sentence)):
        _ = graph_of((0, 0), n=1).by_label


def test_per_edge_gives_every_edge_a_target_of_its_own():
    """A sum over one edge is its message. The batch keeps its graphs: 3 edges into the first, 1 into the second."""
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


def test_per_edge_does_not_inherit_rows_that_were_computed_before():
    """By hand: by source, the targets are the edges themselves."""
    graph = graph_of((1, 0), (0, 0), (1, 0), n=2)
    _ = graph.by_source

    assert graph.per_edge.by_source.column.tolist() == [1, 0, 2]


# Clouds and pyramids


@pytest.mark.parametrize(
    ("positions", "signal", "sentence"),
    [
        (
            torch.zeros(4, 2),
            torch.zeros(4, 1),
            "a cloud needs positions of shape (n, 3) and a signal of shape (n, d): got (4, 2) and (4, 1).",
        ),
        (
            torch.zeros(4, 3),
            torch.zeros(4),
            "a cloud needs positions of shape (n, 3) and a signal of shape (n, d): got (4, 3) and (4,).",
        ),
        (torch.zeros(4, 3), torch.zeros(5, 1), "a cloud needs one signal per point: got 5 for 4 points."),
    ],
    ids=["flat positions", "no channels", "a signal too many"],
)
def test_a_cloud_answers_a_mistake_by_a_sentence(positions: Tensor, signal: Tensor, sentence: str):
    with pytest.raises(ValueError, match=exactly(sentence)):
        Cloud(positions, signal)


def test_a_cloud_is_as_long_as_it_has_points():
    assert len(Cloud(torch.zeros(4, 3), torch.zeros(4, 0))) == 4


def test_a_cloud_has_a_class_for_each_point_or_for_none():
    with pytest.raises(ValueError, match=r"^a cloud needs one class per point: got 2 for 4 points\.$"):
        Cloud(torch.zeros(4, 3), torch.zeros(4, 1), torch.zeros(2, dtype=torch.long))


def test_the_points_of_a_batch_are_in_vertices_that_are_counted_on():
    """By hand: the first sample has two vertices, so vertex 0 of the second is number 2."""

    def sample(n: int, voxel: list[int]) -> Sample:
        loops = torch.arange(n)
        graph = Graph.from_edges(loops, loops, torch.zeros(n, 1), num_vertices=n)
        return Sample(torch.zeros(n, 1), Pyramid((graph,)), torch.zeros(n, dtype=torch.long), torch.tensor(voxel))

    batch = collate([sample(2, [1, 0, 1]), sample(1, [0, 0])])

    assert batch.voxel.tolist() == [1, 0, 1, 2, 2]
    assert len(batch.y) == 3


def test_a_pyramid_has_a_map_between_each_two_graphs():
    """Section 3.3: M(h) leads from G(h-1) to G(h)."""
    graph = graph_of(n=1)

    assert len(Pyramid((graph, graph), (vector(0),))) == 2
    sentence = "a pyramid needs one pool map between each two graphs: got 0 maps for 2 graphs."
    with pytest.raises(ValueError, match=exactly(sentence)):
        Pyramid((graph, graph))


# Batches


def sample(n: int, *, strided: bool = False) -> Sample:
    """A path of n vertices, pooled in pairs; the last convolution may go to a single vertex."""
    coarse = (n + 1) // 2
    fine = graph_of(*[(i, i + 1) for i in range(n - 1)], n=n)
    top = (
        graph_of(*[(j, 0) for j in range(coarse)], n=1, num_sources=coarse)
        if strided
        else graph_of(*[(i, i) for i in range(coarse)], n=coarse)
    )
    return Sample(torch.full((n, 1), float(n)), Pyramid((fine, top), (torch.arange(n) // 2,)), vector(n))


def test_a_batch_is_the_samples_side_by_side():
    """By hand: paths 0-1-2 and 3-4, pooled to vertices 0, 1 and 2."""
    batch = collate([sample(3), sample(2)])

    fine, coarse = batch.pyramid.graphs
    assert batch.x.flatten().tolist() == [3, 3, 3, 2, 2]
    assert batch.y.tolist() == [3, 2]
    assert fine.source.tolist() == [0, 1, 3]
    assert fine.target.tolist() == [1, 2, 4]
    assert fine.pointer.tolist() == [0, 0, 1, 2, 2, 3]
    assert fine.sizes.tolist() == [3, 2]
    assert fine.membership.tolist() == [0, 0, 0, 1, 1]
    assert fine.labels.values.flatten().tolist() == [0, 1, 0]
    assert fine.source_membership is None
    assert batch.pyramid.pool_maps[0].tolist() == [0, 0, 1, 2, 2]
    assert coarse.source.tolist() == coarse.target.tolist() == [0, 1, 2]
    assert coarse.sizes.tolist() == [2, 1]


def test_a_batch_with_a_strided_last_level_keeps_its_two_sides_apart():
    """Section 4.4, by hand: 2 coarse vertices into target 0 and 1 into target 1."""
    batch = collate([sample(3, strided=True), sample(2, strided=True)])

    top = batch.pyramid.graphs[1]
    assert (top.num_sources, top.num_vertices) == (3, 2)
    assert top.source.tolist() == [0, 1, 2]
    assert top.target.tolist() == [0, 0, 1]
    assert top.source_membership is not None
    assert top.source_membership.tolist() == [0, 0, 1]
    assert batch.pyramid.pool_maps[0].tolist() == [0, 0, 1, 2, 2]


def test_one_side_may_be_left_out_where_it_is_the_same():
    """A graph without a side of its own next to a bipartite one: its sources are its vertices."""
    plain, bipartite = graph_of((0, 1), n=2), graph_of((2, 0), n=1, num_sources=3)
    samples = [Sample(torch.zeros(g.num_sources, 1), Pyramid((g,)), vector(0)) for g in (plain, bipartite)]

    graph = collate(samples).pyramid.graphs[0]

    assert graph.source.tolist() == [0, 4]
    assert graph.target.tolist() == [1, 2]
    assert graph.source_membership is not None
    assert graph.source_membership.tolist() == [0, 0, 1, 1, 1]


def test_a_batch_of_batches_counts_all_graphs():
    pair = collate([sample(3), sample(2)])

    batch = collate([pair, sample(1), pair])

    assert batch.pyramid.graphs[0].sizes.tolist() == [3, 2, 1, 3, 2]
    assert batch.y.tolist() == [3, 2, 1, 3, 2]


@settings(deadline=None, max_examples=30)
@given(st.lists(st.tuples(st.integers(1, 5), st.booleans()), min_size=1, max_size=4))
def test_a_batch_is_the_graph_that_from_edges_makes_of_all_edges(parts: list[tuple[int, bool]]):
    """Another method: shift and check all edges at once."""
    strided = parts[0][1]
    samples = [sample(n, strided=strided) for n, _ in parts]

    top = collate(samples).pyramid.graphs[1]

    tops = [part.pyramid.graphs[1] for part in samples]
    source = torch.cat([g.source + sum(h.num_sources for h in tops[:p]) for p, g in enumerate(tops)])
    target = torch.cat([g.target + sum(h.num_vertices for h in tops[:p]) for p, g in enumerate(tops)])
    expected = Graph.from_edges(
        source,
        target,
        torch.cat([g.labels.values for g in tops]),
        num_vertices=sum(g.num_vertices for g in tops),
        sizes=torch.tensor([g.num_vertices for g in tops]),
        num_sources=torch.tensor([g.num_sources for g in tops]) if strided else None,
    )
    for ours, theirs in zip(pytree.tree_leaves(top), pytree.tree_leaves(expected), strict=True):
        assert (ours is None and theirs is None) or ours.equal(theirs)


def labelled(labels: Labels) -> Sample:
    m = len(labels)
    graph = Graph.from_edges(torch.zeros(m, dtype=torch.long), torch.arange(m), labels, num_vertices=m)
    return Sample(torch.zeros(m, 1), Pyramid((graph,)), vector(0))


def test_samples_that_share_a_table_of_labels_keep_it():
    """Footnote 1 pays off if the number of distinct labels does not grow with the batch."""
    table, equal = torch.eye(3), torch.eye(3)
    parts = [Labels(table, vector(2, 1)), Labels(table, vector(0)), Labels(equal, vector(2))]

    labels = collate([labelled(part) for part in parts]).pyramid.graphs[0].labels

    assert labels.values is table
    assert labels.index is not None
    assert labels.index.tolist() == [2, 1, 0, 2]


def test_different_tables_of_labels_are_put_one_after_the_other():
    """By hand: the second table begins at row 2, and its index counts on from there."""
    parts = [Labels(torch.tensor([[1.0], [2.0]]), vector(1)), Labels(torch.tensor([[3.0], [4.0]]), vector(1, 0))]

    labels = collate([labelled(part) for part in parts]).pyramid.graphs[0].labels

    assert labels.values.flatten().tolist() == [1, 2, 3, 4]
    assert labels.per_edge(labels.values).flatten().tolist() == [2, 4, 3]


def test_labels_with_and_without_an_index_may_be_mixed():
    """By hand: labels of one edge each become rows of the table that only that edge points to."""
    parts = [Labels(torch.tensor([[1.0], [2.0]])), Labels(torch.tensor([[7.0], [8.0]]), vector(1, 1))]

    labels = collate([labelled(part) for part in parts]).pyramid.graphs[0].labels

    assert labels.per_edge(labels.values).flatten().tolist() == [1, 2, 8, 8]


def test_a_batch_of_nothing_is_answered_by_a_sentence():
    with pytest.raises(ValueError, match=exactly("a batch needs at least one sample: got none.")):
        collate([])


def test_pyramids_of_different_height_are_answered_by_a_sentence():
    flat = Sample(torch.zeros(1, 1), Pyramid((graph_of(n=1),)), vector(0))

    sentence = "samples of a batch need pyramids of one height: got [1, 2] levels."
    with pytest.raises(ValueError, match=exactly(sentence)):
        collate([sample(2), flat])


# Moving


def test_another_precision_is_for_real_numbers_only():
    """Vertex numbers stay integers."""
    moved = sample(3).to(torch.float64)

    assert moved.x.dtype == moved.pyramid.graphs[0].labels.values.dtype == torch.float64
    assert moved.pyramid.graphs[0].source.dtype == moved.y.dtype == torch.int64
    assert moved.pyramid.pool_maps[0].dtype == torch.int64


def test_another_device_is_for_all_tensors():
    """torch's meta device: shapes without numbers, on every machine."""
    before = sample(3, strided=True)

    moved = before.to("meta", torch.float16)

    leaves = [leaf for leaf in pytree.tree_leaves(moved) if leaf is not None]
    assert {leaf.device.type for leaf in leaves} == {"meta"}
    assert moved.x.dtype == torch.float16
    assert moved.pyramid.graphs[1].num_sources == 2
    assert before.x.device.type == "cpu"


def test_a_graph_that_moves_computes_its_rows_anew():
    """What was computed once belongs to the tensors it was computed from."""
    graph = graph_of((0, 1), n=2)
    _ = graph.by_source

    assert graph.to("meta").by_source.column.device.type == "meta"


@pytest.mark.parametrize(
    "value",
    [
        Cloud(torch.zeros(2, 3), torch.zeros(2, 1)),
        Labels(torch.zeros(2, 3)),
        Labels(torch.zeros(2, 3), vector(0)),
        graph_of((1, 0), n=2),
        graph_of((1, 0), n=2, num_sources=2),
        Pyramid((graph_of(n=1), graph_of(n=1)), (vector(0),)),
        sample(3),
    ],
    ids=["cloud", "labels", "indexed labels", "graph", "bipartite graph", "pyramid", "sample"],
)
def test_a_value_is_what_its_leaves_make_of_it(value: object):
    """torch.export and torch.compile take values apart and put them together again."""
    leaves, structure = pytree.tree_flatten(value)
    named, _ = pytree.tree_flatten_with_path(value)

    again = pytree.tree_unflatten(leaves, structure)

    assert type(again) is type(value)
    assert all(a is b for a, b in zip(pytree.tree_leaves(again), leaves, strict=True))
    assert all(a is b for (_, a), b in zip(named, leaves, strict=True))
    assert structure == pytree.treespec_loads(pytree.treespec_dumps(structure))


def test_a_batch_of_bipartite_graphs_needs_the_sources_of_each():
    source, target, labels = torch.tensor([0, 2]), torch.tensor([0, 1]), torch.zeros(2, 1)
    both = {"num_vertices": 2, "sizes": torch.tensor([1, 1])}

    graph = Graph.from_edges(source, target, labels, **both, num_sources=torch.tensor([2, 1]))

    assert graph.source_membership.tolist() == [0, 0, 1]
    with pytest.raises(ValueError, match="2 bipartite graphs needs the number of sources of each: got 3 in all"):
        Graph.from_edges(source, target, labels, **both, num_sources=3)


def test_graphs_of_a_batch_need_labels_of_one_width():
    samples = [
        Sample(
            torch.zeros(1, 1),
            Pyramid((Graph.from_edges(torch.tensor([0]), torch.tensor([0]), torch.zeros(1, s), num_vertices=1),)),
            torch.tensor([0]),
        )
        for s in (1, 2)
    ]

    with pytest.raises(ValueError, match=r"labels of one width at each level: got \[1, 2\]"):
        collate(samples)
