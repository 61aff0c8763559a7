"""A batch has its samples side by side at every level, with their labels."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
import torch.utils._pytree as pytree
from hypothesis import given, settings
from hypothesis import strategies as st

from edgecond.graph import collate, Graph, Labels, Pyramid, Sample
from tests.graph.paths import graph_of, sample, vector
from tests.sentences import refused


def test_a_batch_has_its_samples_side_by_side():
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


def test_a_batch_with_a_strided_last_level_numbers_sources_and_targets_separately():
    """Section 4.4, by hand: 2 coarse vertices lead to target 0 and 1 to target 1."""
    batch = collate([sample(3, strided=True), sample(2, strided=True)])

    top = batch.pyramid.graphs[1]
    assert (top.num_sources, top.num_vertices) == (3, 2)
    assert top.source.tolist() == [0, 1, 2]
    assert top.target.tolist() == [0, 0, 1]
    assert top.source_membership is not None
    assert top.source_membership.tolist() == [0, 0, 1]
    assert batch.pyramid.pool_maps[0].tolist() == [0, 0, 1, 2, 2]


def test_a_batch_may_mix_bipartite_and_ordinary_graphs():
    """By hand: the sources of the ordinary graph are its vertices."""
    plain, bipartite = graph_of((0, 1), n=2), graph_of((2, 0), n=1, num_sources=3)
    samples = [Sample(torch.zeros(g.num_sources, 1), Pyramid((g,)), vector(0)) for g in (plain, bipartite)]

    graph = collate(samples).pyramid.graphs[0]

    assert graph.source.tolist() == [0, 4]
    assert graph.target.tolist() == [1, 2]
    assert graph.source_membership is not None
    assert graph.source_membership.tolist() == [0, 0, 1, 1, 1]


def test_a_batch_of_batches_has_all_their_graphs():
    pair = collate([sample(3), sample(2)])

    batch = collate([pair, sample(1), pair])

    assert batch.pyramid.graphs[0].sizes.tolist() == [3, 2, 1, 3, 2]
    assert batch.y.tolist() == [3, 2, 1, 3, 2]


@settings(deadline=None, max_examples=30)
@given(st.lists(st.tuples(st.integers(1, 5), st.booleans()), min_size=1, max_size=4))
def test_a_batch_equals_the_graph_that_from_edges_builds_from_all_edges(parts: list[tuple[int, bool]]):
    """Another method: offset all edges, then sort and check them at once."""
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


def test_samples_with_the_same_distinct_labels_share_them_in_a_batch():
    """Footnote 1 saves work only if the number of distinct labels does not grow with the batch."""
    table, equal = torch.eye(3), torch.eye(3)
    parts = [Labels(table, vector(2, 1)), Labels(table, vector(0)), Labels(equal, vector(2))]

    labels = collate([labelled(part) for part in parts]).pyramid.graphs[0].labels

    assert labels.values is table
    assert labels.index is not None
    assert labels.index.tolist() == [2, 1, 0, 2]


def test_different_tables_of_labels_are_concatenated():
    """By hand: the second table begins at row 2, so its index is offset by 2."""
    parts = [Labels(torch.tensor([[1.0], [2.0]]), vector(1)), Labels(torch.tensor([[3.0], [4.0]]), vector(1, 0))]

    labels = collate([labelled(part) for part in parts]).pyramid.graphs[0].labels

    assert labels.values.flatten().tolist() == [1, 2, 3, 4]
    assert labels.per_edge(labels.values).flatten().tolist() == [2, 4, 3]


def test_labels_with_and_without_an_index_may_be_mixed():
    """By hand: a label without an index becomes a row that only its edge refers to."""
    parts = [Labels(torch.tensor([[1.0], [2.0]])), Labels(torch.tensor([[7.0], [8.0]]), vector(1, 1))]

    labels = collate([labelled(part) for part in parts]).pyramid.graphs[0].labels

    assert labels.per_edge(labels.values).flatten().tolist() == [1, 2, 8, 8]


def test_a_batch_of_no_samples_is_an_error():
    with refused("a batch needs at least one sample: got none."):
        collate([])


def test_the_pyramids_of_a_batch_must_have_the_same_number_of_levels():
    flat = Sample(torch.zeros(1, 1), Pyramid((graph_of(n=1),)), vector(0))

    with pytest.raises(ValueError, match=r"pyramids of a batch .*: got \[1, 2\] levels\.$"):
        collate([sample(2), flat])


def test_the_graphs_of_a_batch_must_have_labels_of_the_same_width():
    samples = [
        Sample(
            torch.zeros(1, 1),
            Pyramid((Graph.from_edges(torch.tensor([0]), torch.tensor([0]), torch.zeros(1, s), num_vertices=1),)),
            torch.tensor([0]),
        )
        for s in (1, 2)
    ]

    with pytest.raises(ValueError, match=r"same width at each level: got widths \[1, 2\]"):
        collate(samples)


def test_the_voxels_of_a_batch_are_renumbered():
    """By hand: the first sample has two vertices, so vertex 0 of the second is number 2."""

    def sample(n: int, voxel: list[int]) -> Sample:
        loops = torch.arange(n)
        graph = Graph.from_edges(loops, loops, torch.zeros(n, 1), num_vertices=n)
        return Sample(torch.zeros(n, 1), Pyramid((graph,)), torch.zeros(n, dtype=torch.long), torch.tensor(voxel))

    batch = collate([sample(2, [1, 0, 1]), sample(1, [0, 0])])

    assert batch.voxel.tolist() == [1, 0, 1, 2, 2]
    assert len(batch.y) == 3


def test_the_features_of_a_batch_are_those_of_its_samples_in_their_order_and_precision():
    """By hand: one row for each sample, which change precision together with the signal."""
    samples = [replace(sample(n), features=torch.tensor([[float(n), 0.5]])) for n in (3, 2)]

    batch = collate(samples)

    assert batch.features.tolist() == [[3, 0.5], [2, 0.5]]
    assert batch.to(torch.float64).features.dtype == torch.float64
    assert len(batch.inputs) == 3
    assert len(sample(3).inputs) == 2


def test_samples_with_and_without_features_are_no_batch():
    samples = [replace(sample(3), features=torch.zeros(1, 2)), sample(2)]

    with refused("the samples of a batch need features of the same width: got widths [0, 2]."):
        collate(samples)
