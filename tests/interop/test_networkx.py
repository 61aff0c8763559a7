"""Graphs are converted to NetworkX and back without loss."""

from __future__ import annotations

import pytest
import torch

from edgecond import Graph
from edgecond.interop import graph_from_networkx, graph_to_networkx, signal_from_networkx
from tests.interop.graphs import BIPARTITE, edges_of, random_graph
from tests.sentences import refused

nx = pytest.importorskip("networkx")


@pytest.mark.parametrize("s", [1, 3])
def test_a_graph_is_the_same_after_a_round_trip(s: int):
    """Including duplicate edges and an isolated vertex: 14 random edges on 6 of 7 vertices."""
    graph = random_graph(s=s, seed=3)
    x = torch.randn(7, 2)

    converted = graph_to_networkx(graph, x)

    assert isinstance(converted, nx.MultiDiGraph)
    back = graph_from_networkx(converted)
    assert edges_of(back) == edges_of(graph)
    assert back.num_vertices == 7
    assert torch.equal(signal_from_networkx(converted), x)


def test_only_duplicate_edges_need_a_multigraph():
    source, target, labels = torch.tensor([0, 0, 1]), torch.tensor([0, 1, 1]), torch.zeros(3, 1)

    single = graph_to_networkx(Graph.from_edges(source, target, labels, num_vertices=2))
    double = graph_to_networkx(Graph.from_edges(source * 0, target, labels, num_vertices=2))

    assert (single.is_multigraph(), double.is_multigraph()) == (False, True)
    assert (single.number_of_edges(), double.number_of_edges()) == (3, 3)


def test_directed_edges_keep_their_direction():
    theirs = nx.DiGraph()
    theirs.add_edge("b", "a", label=[1.0, 2.0])
    theirs.add_node("alone")
    theirs.add_edge("a", "c", label=torch.tensor([3.0, 4.0]))

    graph = graph_from_networkx(theirs)  # b, a, alone, c are 0, 1, 2, 3

    assert edges_of(graph) == {(0, 1, (1.0, 2.0)), (1, 3, (3.0, 4.0))}
    assert graph.num_vertices == 4


def test_undirected_edges_become_two_edges_and_self_loops_one():
    theirs = nx.Graph()
    theirs.add_edge(0, 1, label=5)
    theirs.add_edge(1, 1, label=7)

    assert edges_of(graph_from_networkx(theirs)) == {(0, 1, (5.0,)), (1, 0, (5.0,)), (1, 1, (7.0,))}


def test_parallel_edges_are_kept():
    theirs = nx.MultiGraph()
    theirs.add_edge(0, 1, label=5)
    theirs.add_edge(0, 1, label=6)

    graph = graph_from_networkx(theirs)

    assert graph.num_edges == 4
    assert edges_of(graph) == {(0, 1, (5.0,)), (1, 0, (5.0,)), (0, 1, (6.0,)), (1, 0, (6.0,))}


def test_categories_are_sorted_and_compact():
    theirs = nx.path_graph(4)
    nx.set_edge_attributes(theirs, {(0, 1): "single", (1, 2): "aromatic", (2, 3): "double"}, "label")

    labels = graph_from_networkx(theirs).labels

    assert torch.equal(labels.values, torch.eye(3))
    assert labels.index.tolist() == [2, 2, 0, 0, 1, 1]  # edges (1,0), (0,1), (2,1), (1,2), (3,2), (2,3)


def test_self_loops_get_an_additional_category():
    """Section 4.3: "s = 4 due to an extra label for self-connections"; even if no self-loop is added."""
    theirs = nx.path_graph(3)
    nx.set_edge_attributes(theirs, {(0, 1): "single", (1, 2): "double"}, "label")
    categories = ["single", "double", "triple"]

    graph = graph_from_networkx(theirs, categories=categories, self_loops=True)

    assert graph.labels.width == 4
    loops = graph.source == graph.target
    assert graph.labels.index[loops].tolist() == [3, 3, 3]
    theirs.add_edges_from([(i, i, {"label": "triple"}) for i in range(3)])
    assert graph_from_networkx(theirs, categories=categories, self_loops=True).labels.width == 4


def test_missing_self_loops_get_the_label_zero_or_the_given_one():
    theirs = nx.DiGraph()
    theirs.add_edge(0, 0, label=9)
    theirs.add_edge(0, 1, label=5)

    zero = graph_from_networkx(theirs, self_loops=True)
    one = graph_from_networkx(theirs, self_loops=True, loop_label=1)

    assert edges_of(zero) == {(0, 0, (9.0,)), (0, 1, (5.0,)), (1, 1, (0.0,))}
    assert edges_of(one) == {(0, 0, (9.0,)), (0, 1, (5.0,)), (1, 1, (1.0,))}


def test_self_loops_may_have_one_of_the_categories():
    theirs = nx.path_graph(2)
    nx.set_edge_attributes(theirs, "single", "label")

    graph = graph_from_networkx(theirs, categories=["loop", "single"], self_loops=True, loop_label="loop")

    assert graph.labels.index.tolist() == [1, 0, 1, 0]  # (1,0), (0,0), (0,1), (1,1)


def test_several_attributes_are_concatenated():
    theirs = nx.DiGraph()
    theirs.add_edge(0, 1, length=2.0, direction=[0.0, 1.0])

    assert edges_of(graph_from_networkx(theirs, ["length", "direction"])) == {(0, 1, (2.0, 0.0, 1.0))}


def test_a_label_may_depend_on_the_direction():
    """In point clouds, the offset changes its sign with the direction."""
    theirs = nx.path_graph(3)

    graph = graph_from_networkx(theirs, lambda source, target, attributes: source - target)

    assert edges_of(graph) == {(0, 1, (-1.0,)), (1, 0, (1.0,)), (1, 2, (-1.0,)), (2, 1, (1.0,))}


def test_numbers_may_be_categories():
    theirs = nx.path_graph(3)
    nx.set_edge_attributes(theirs, {(0, 1): 1, (1, 2): 3}, "order")

    assert graph_from_networkx(theirs, "order", categories=[1, 2, 3]).labels.index.tolist() == [0, 0, 2, 2]


def test_a_graph_without_edges_has_the_width_of_its_categories():
    graph = graph_from_networkx(nx.empty_graph(2), categories="abc")
    looped = graph_from_networkx(nx.empty_graph(2), self_loops=True, loop_label=[1, 2])

    assert (graph.num_vertices, graph.num_edges, graph.labels.width) == (2, 0, 3)
    assert edges_of(looped) == {(0, 0, (1.0, 2.0)), (1, 1, (1.0, 2.0))}


def test_the_signal_is_read_from_numbers_and_from_categories():
    theirs = nx.Graph()
    theirs.add_node("x", mass=12, atom="C")
    theirs.add_node("y", mass=1, atom="H")

    assert signal_from_networkx(theirs, "mass").tolist() == [[12.0], [1.0]]
    assert signal_from_networkx(theirs, "atom", categories="HCN").tolist() == [[0.0, 1.0, 0.0], [1.0, 0.0, 0.0]]


def test_the_predecessors_in_networkx_are_the_neighbourhoods():
    """Section 3.1: N(i) are the predecessors of i."""
    graph = random_graph()

    converted = graph_to_networkx(graph)

    for i in range(graph.num_vertices):
        assert set(converted.predecessors(i)) == set(graph.source[graph.target == i].tolist())


@pytest.mark.parametrize(
    ("label", "options", "facts"),
    [
        ("kind", {}, r"every edge needs the attribute 'kind': the edge from 0 to 1 has \['label'\]"),
        (lambda j, i, _: [0.0] * (1 + j), {}, r"the same width: found widths \[1, 2\]"),
        (lambda *_: "d", {"categories": "abc"}, r"one of the categories \['a', 'b', 'c'\]: found 'd'"),
        (lambda *_: float("nan"), {}, r"labels must be finite: found \[nan\] in row 0"),
    ],
)
def test_invalid_labels_are_an_error(label, options: dict, facts: str):
    theirs = nx.path_graph(2)
    nx.set_edge_attributes(theirs, 1, "label")

    with pytest.raises(ValueError, match=facts):
        graph_from_networkx(theirs, label, **options)


def test_a_graph_without_edges_needs_categories_or_a_loop_label():
    with refused("the width of the labels is unknown without edges: pass categories or a loop_label."):
        graph_from_networkx(nx.empty_graph(3))


def test_unhashable_categories_are_an_error():
    theirs = nx.path_graph(2)
    nx.set_edge_attributes(theirs, ["a", "b"], "label")

    with pytest.raises(ValueError, match=r"categories such as strings: found \['a', 'b'\]"):
        graph_from_networkx(theirs)


def test_a_vertex_without_signal_is_named():
    with pytest.raises(ValueError, match="the attribute 'signal': vertex 0 does not have it"):
        signal_from_networkx(nx.path_graph(2))


def test_a_vertex_whose_signal_is_none_is_named():
    graph = nx.path_graph(2)
    nx.set_node_attributes(graph, {0: 1.0, 1: None}, "signal")

    with pytest.raises(ValueError, match="the attribute 'signal': vertex 1 does not have it"):
        signal_from_networkx(graph)


@pytest.mark.parametrize("shape", [(6, 1), (8, 1), (7,)])
def test_a_signal_of_another_number_of_rows_is_refused(shape: tuple[int, ...]):
    """Of seven vertices."""
    with pytest.raises(ValueError, match="x must have a row for each of the 7 vertices"):
        graph_to_networkx(random_graph(), torch.zeros(shape))


def test_a_bipartite_graph_is_an_error():
    with pytest.raises(ValueError, match=r"a NetworkX graph needs .* bipartite, with 3 sources and 2 targets"):
        graph_to_networkx(BIPARTITE)
