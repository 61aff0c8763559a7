"""Single graphs, batches, and training and test sets are gathered from flat arrays."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from edgecond.data.formats import tu
from edgecond.data.graphs import GraphExamples
from edgecond.errors import DataError
from edgecond.graph import collate, Graph, Labels, Pyramid, Sample
from tests.data.datasets.tiny import plain, TINY, write
from tests.sentences import refused


def test_a_single_graph_has_its_own_rows(tmp_path: Path):
    """By hand: edges are sorted by target, then by source; labels are numbered in the order of their values."""
    graphs = tu.read(write(tmp_path))

    assert (graphs.classes.tolist(), graphs.ys.tolist()) == ([-1, 1], [1, 0])
    assert (graphs.vertex_values.tolist(), graphs.edge_values.tolist()) == ([5, 7, 9], [10, 20, 30])
    assert (graphs.vertex_pointer.tolist(), graphs.edge_pointer.tolist()) == ([0, 4, 6], [0, 6, 8])
    triangle, pair = graphs[0], graphs[-1]
    assert (triangle.n, triangle.y, pair.n, pair.y) == (4, 1, 2, 0)
    assert list(zip(triangle.source, triangle.target, strict=True)) == [(1, 0), (2, 0), (0, 1), (2, 1), (0, 2), (1, 2)]
    assert triangle.edge_labels.tolist() == [2, 0, 2, 1, 0, 1]
    assert triangle.edge_attributes[:, 0].tolist() == [21, 31, 12, 32, 13, 23]
    assert triangle.vertex_labels.tolist() == [1, 0, 1, 2]
    assert (pair.source.tolist(), pair.target.tolist()) == ([1, 0], [0, 1])
    assert pair.vertex_attributes.tolist() == [[4.5, 5], [5.5, -0.6]]
    assert pair.attributes.tolist() == [-8]
    with pytest.raises(IndexError):
        graphs[2]


def test_missing_labels_and_attributes_are_empty_arrays(tmp_path: Path):
    absent = {part: None for part in TINY if part not in ("A", "graph_indicator", "graph_labels")}
    graphs = tu.read(write(tmp_path, **absent))

    assert (graphs.vertex_values.size, graphs.edge_values.size) == (0, 0)
    assert (graphs.vertex_attributes.shape, graphs.edge_attributes.shape, graphs.attributes.shape) == (
        (6, 0),
        (8, 0),
        (2, 0),
    )
    assert graphs.signal().tolist() == [[1.0]] * 6
    assert graphs.s == 2


def test_counts_are_logarithms_by_name(tmp_path: Path):
    """By hand, of the graphs above: 4 vertices, 6 edges and the labels 7, 5, 7, 9; 2 vertices and 2 edges."""
    graphs = tu.read(write(tmp_path))

    counts = {name: np.expm1(values).round().tolist() for name, values in graphs.counts().items()}

    expected = [
        [np.count_nonzero(graph.vertex_labels == label) for graph in (graphs[0], graphs[1])] for label in range(3)
    ]
    assert counts == {"vertices": [4, 2], "edges": [6, 2]} | {
        f"vertex label {value}": numbers for value, numbers in zip((5, 7, 9), expected, strict=True)
    }
    assert [counts[f"vertex label {value}"][0] for value in (5, 7, 9)] == [1, 2, 1]


def test_arrays_are_read_only(tmp_path: Path):
    graphs = tu.read(write(tmp_path))

    for array in (graphs.source, graphs.take([1]).vertex_labels, graphs[0].edge_labels):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1


def test_selecting_graphs_equals_selecting_them_one_by_one(whole: Any):
    graphs = whole("enzymes")
    indices = np.random.default_rng(0).integers(0, 600, 50)

    taken = graphs.take(indices)

    everything = plain(graphs)
    assert plain(taken) == [everything[index] for index in indices]
    assert plain(graphs.take([-1])) == [everything[-1]]
    assert len(graphs.take([])) == 0
    assert graphs.take([]).graph().num_vertices == 0
    with pytest.raises(IndexError):
        graphs.take([600])


def test_self_connections_have_the_last_label(tmp_path: Path):
    """By hand: the edge 5-6 with the first of three labels, and a self-connection after the edges into each vertex."""
    graph = tu.read(write(tmp_path)).take([1]).graph()

    assert (graph.source.tolist(), graph.target.tolist()) == ([1, 0, 0, 1], [0, 0, 1, 1])
    assert (graph.pointer.tolist(), graph.sizes.tolist()) == ([0, 2, 4], [2])
    assert graph.labels.per_edge(graph.labels.values).tolist() == [
        [1, 0, 0, 0],
        [0, 0, 0, 1],
        [1, 0, 0, 0],
        [0, 0, 0, 1],
    ]


def test_a_gathered_batch_equals_a_collated_one(whole: Any):
    """Another method: build each graph with its self-connections, then collate."""
    graphs = whole("nci1")
    indices = np.random.default_rng(1).permutation(4110)[:64]
    samples = []
    for g in (graphs[index] for index in indices):
        loops = np.arange(g.n)
        source, target = np.append(g.source, loops), np.append(g.target, loops)
        labels = Labels.one_hot(torch.tensor(np.append(g.edge_labels, np.full(g.n, 3))), 4)
        single = Graph.from_edges(torch.tensor(source), torch.tensor(target), labels, num_vertices=g.n)
        x = torch.nn.functional.one_hot(torch.tensor(g.vertex_labels), 37).float()
        samples.append(Sample(x, Pyramid((single,)), torch.tensor([g.y])))
    expected = collate(samples)

    batch = graphs.take(indices)

    ours, theirs = batch.graph(), expected.pyramid.graphs[0]
    assert torch.equal(batch.signal(), expected.x)
    assert batch.ys.tolist() == expected.y.tolist()
    for field in ("source", "target", "pointer", "sizes"):
        assert torch.equal(getattr(ours, field), getattr(theirs, field))
    assert torch.equal(ours.labels.index, theirs.labels.index)


# Training and test sets


def test_a_set_has_the_classes_of_its_graphs(tmp_path: Path):
    """By hand: the classes 1 and -1 of the file become 1 and 0, in ascending order."""
    graphs = tu.read(write(tmp_path))

    part = GraphExamples(graphs, np.array([1, 0, 1]))

    assert (part.name, part.classes, part.digest) == ("TINY", ("-1", "1"), graphs.digest)
    assert (len(part), part.ys.tolist(), part.ys.dtype) == (3, [0, 1, 0], torch.int64)
    assert repr(part).startswith("3 of TINY: 2 graphs")


def test_graphs_of_a_set_can_be_selected_in_any_order(tmp_path: Path):
    part = GraphExamples(tu.read(write(tmp_path)), np.array([1, 0, 0]))

    some = part.take([2, -3])

    assert (some.numbers.tolist(), some.ys.tolist()) == ([0, 1], [1, 0])
    assert some.graphs is part.graphs
    assert (len(part.take([])), part.take([]).ys.dtype) == (0, torch.int64)
    with pytest.raises(IndexError):
        part.take([3])


def test_the_indices_of_a_set_are_a_read_only_copy(tmp_path: Path):
    """They can also be pickled for worker processes."""
    numbers = np.array([0, 1])
    part = GraphExamples(tu.read(write(tmp_path)), numbers)
    numbers[0] = 1

    assert part.numbers.tolist() == [0, 1]
    with pytest.raises(ValueError, match="read-only"):
        part.numbers[0] = 1
    assert pickle.loads(pickle.dumps(part)).take([1]).ys.tolist() == [0]


def test_invalid_indices_of_graphs_are_an_error(tmp_path: Path):
    graphs = tu.read(write(tmp_path))
    for wrong in (2, -1):
        with refused(f"the graphs of TINY are numbered from 0 to 1: got {wrong}.", DataError):
            GraphExamples(graphs, np.array([0, wrong]))
    for mask in (np.array([True, False]), np.array([0.0]), np.zeros((1, 2), int)):
        with refused(
            f"a set of graphs of TINY must be a list of integer indices: got {mask.dtype} of shape {mask.shape}.",
            DataError,
        ):
            GraphExamples(graphs, mask)


def test_the_classes_of_vertices_are_those_of_the_graphs_of_a_set(tmp_path: Path):
    """By hand: TINY has a graph of four vertices and one of two."""
    graphs = tu.read(write(tmp_path))

    part = GraphExamples(graphs, np.array([1, 0]), outcomes=("a", "b"), vertex_ys=np.array([0, 1, -1, 0, 1, 1]))

    assert (part.classes, part.ys.tolist()) == (("a", "b"), [1, 1, 0, 1, -1, 0])
    assert part.take([1]).ys.tolist() == [0, 1, -1, 0]


def test_invalid_classes_of_vertices_are_an_error(tmp_path: Path):
    graphs = tu.read(write(tmp_path))
    with refused("TINY needs an integer class for each of its 6 vertices: got float64 of shape (6,).", DataError):
        GraphExamples(graphs, np.array([0]), outcomes=("a",), vertex_ys=np.zeros(6))
    with refused("TINY needs an integer class for each of its 6 vertices: got int64 of shape (5,).", DataError):
        GraphExamples(graphs, np.array([0]), outcomes=("a",), vertex_ys=np.zeros(5, int))
    with refused("the classes of vertices must be from 0 to 0, or -1 if unknown: found 1.", DataError):
        GraphExamples(graphs, np.array([0]), outcomes=("a",), vertex_ys=np.ones(6, int))
