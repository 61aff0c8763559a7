"""A batch gathered from packed pyramids is the batch of single pyramids, and networks accept it."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from edgecond.data.formats import batch
from edgecond.data.graphs import GraphExamples
from edgecond.data.labels import GRAPH_LABELLINGS, kron_labels
from edgecond.data.pyramid.kron import multiresolution
from edgecond.data.samples import Batches, generator
from edgecond.data.samples.graphs import GraphSource, Pyramids
from edgecond.data.samples.store import pyramids
from edgecond.graph import collate, Graph, Labels, Pyramid, Sample
from edgecond.nn.network import Network
from tests.pyramids import random_graphs, same

SIZES = [12, 1, 30, 2, 7, 25]


@pytest.fixture
def packed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Pyramids:
    monkeypatch.setenv("EDGECOND_CACHE", str(tmp_path))
    return pyramids(random_graphs(SIZES), levels=3, copies=4, seed=7)


def alone(packed: Pyramids, number: int, copy: int) -> Sample:
    """Build the pyramid of one graph, with each coarse graph from its list of edges."""
    graphs, graph = packed.graphs, packed.graphs[number]
    pyramid = multiresolution(graph.source, graph.target, graph.n, 3, generator(7, number, copy))
    levels = [graphs.take([number]).graph()]
    for level in pyramid.levels[1:]:
        loops = np.arange(level.n)
        source = torch.from_numpy(np.concatenate([level.source, loops]))
        target = torch.from_numpy(np.concatenate([level.target, loops]))
        weights = torch.cat([torch.from_numpy(level.weights).float(), -torch.ones(level.n)])
        levels.append(Graph.from_edges(source, target, Labels(weights[:, None]), num_vertices=level.n))
    x, maps = graphs.take([number]).signal(), tuple(map(torch.from_numpy, pyramid.pool_maps))
    return Sample(x, Pyramid(tuple(levels), maps), torch.tensor([graph.y]))


def test_a_gathered_batch_is_the_batch_of_its_pyramids(packed: Pyramids):
    """Graphs in any order, some repeated, in different copies."""
    graphs, copies = np.array([4, 0, 2, 2, 1, 5]), np.array([3, 0, 1, 2, 0, 3])

    together = packed.sample(graphs, copies)

    assert same(together, collate([alone(packed, g, c) for g, c in zip(graphs, copies, strict=True)]))


def test_gathered_graphs_pass_the_checks_of_from_edges(packed: Pyramids):
    sample = packed.sample(np.arange(6), np.arange(6) % 4)

    for graph in sample.pyramid.graphs:
        checked = Graph.from_edges(
            graph.source, graph.target, graph.labels, num_vertices=graph.num_vertices, sizes=graph.sizes
        )
        assert same(graph, checked)


def test_copies_share_the_input_graph_and_differ_in_the_sparsified_graphs(packed: Pyramids):
    one, other = (packed.sample(np.array([2]), np.array([copy])) for copy in (0, 1))

    assert same(one.pyramid.graphs[0], other.pyramid.graphs[0])
    assert one.pyramid.pool_maps[0].equal(other.pyramid.pool_maps[0])
    assert not same(one.pyramid.graphs[1], other.pyramid.graphs[1])


@pytest.mark.parametrize("labelling", GRAPH_LABELLINGS)
def test_a_network_accepts_every_labelling(packed: Pyramids, labelling: str):
    """Section 4.3: one-hot labels with one for self-connections, then scalars; Appendix F appends two degrees."""
    sample = packed.sample(np.arange(6), np.zeros(6, int), labelling)
    wider = 2 * ("deg" in labelling)
    s = [1, 1, 1] if labelling == "uniform" else [4 + wider, 1 + wider, 1 + wider]

    scores = Network("C(4)-MP-C(5)-MP-C(6)-GAP-FC(2)", d0=4, s=s, hidden=(8,))(sample.x, sample.pyramid)

    assert scores.shape == (6, 2)
    assert sample.y.tolist() == [0, 1, 0, 1, 0, 1]


def test_an_epoch_visits_every_copy_of_every_example_once(packed: Pyramids):
    """Section 4.3: the dataset is expanded five times by randomised sparsification; here twice."""
    examples = GraphExamples(packed.graphs, np.array([5, 0, 2]))
    source = GraphSource(packed, examples, range(1, 3))

    epoch = list(Batches(source, size=3, shuffle=False).epoch(0))

    assert len(source) == 6
    for part, copy in zip(epoch, (1, 2), strict=True):
        assert same(part, packed.sample(np.array([5, 0, 2]), np.full(3, copy)))


def test_small_graphs_are_predicted_by_the_hundred():
    """A network works on 8192 vertices at a time: on 512 graphs whose mean size is 16."""
    graphs = random_graphs([8, 16, 24])
    source = GraphSource(pyramids(graphs, 1), GraphExamples(graphs, np.arange(3)), range(1))

    assert source.together == 512


def test_a_self_connection_of_a_coarse_graph_has_the_label_minus_1():
    labels = kron_labels(torch.tensor([0.5, 0.0, 2.0]), torch.tensor([0, 1, 1]), torch.tensor([1, 1, 0]))

    assert labels.values.tolist() == [[0.5], [-1.0], [2.0]]


def test_edge_attributes_are_appended_to_labels_and_are_zero_for_self_connections(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """By hand on a path of three vertices: one-hot vectors of one label and of self-connections, then the attribute."""
    monkeypatch.setenv("EDGECOND_CACHE", str(tmp_path))
    data = SimpleNamespace(
        edge_index=np.array([[0, 1, 1, 2], [1, 0, 2, 1]]), num_nodes=3, edge_attr=np.array([[0.1], [1.0], [1.2], [2.1]])
    )
    graphs = batch.packed([data]).graphs

    sample = pyramids(graphs, 2, 1).sample(np.array([0]), np.array([0]), attributes=True)

    graph = sample.pyramid.graphs[0]
    labels = {
        (j, i): label
        for j, i, label in zip(graph.source.tolist(), graph.target.tolist(), graph.labels.values.tolist(), strict=True)
    }
    expected = {(0, 1): 0.1, (1, 0): 1.0, (1, 2): 1.2, (2, 1): 2.1}
    assert labels == {
        **{ends: pytest.approx([1, 0, value]) for ends, value in expected.items()},
        **{(i, i): pytest.approx([0, 1, 0]) for i in range(3)},
    }


def test_the_classes_of_vertices_are_those_of_the_graphs_of_the_batch(packed: Pyramids):
    """The class of each vertex is its number in the dataset."""
    graphs = packed.graphs
    names = tuple(map(str, range(graphs.num_vertices)))
    part = GraphExamples(graphs, np.array([5, 0, 3]), outcomes=names, vertex_ys=np.arange(graphs.num_vertices))
    source = GraphSource(packed, part, range(2))

    sample = source.sample([2, 4], 0)  # graph 3 in the first copy, and graph 0 in the second

    begin = np.append(0, np.cumsum(SIZES))
    assert sample.y.tolist() == [*range(begin[3], begin[4]), *range(begin[0], begin[1])]
    assert len(sample.x) == len(sample.y)
