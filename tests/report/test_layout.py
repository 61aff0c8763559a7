"""Distances in a drawing are nearly those in the graph."""

import networkx as nx
import numpy as np
import pytest

from edgecond.report.layout import nearby, spread, undirected


def ends(graph):
    """Source and target of each edge, in both directions."""
    pairs = np.array([*graph.edges, *[(j, i) for i, j in graph.edges]], int).reshape(-1, 2)
    return pairs[:, 0], pairs[:, 1]


def distances(places):
    return np.linalg.norm(places[:, None] - places[None], axis=2)


def stress(places, lengths):
    """Return the energy of the springs, at the scale of the drawing that minimises it."""
    pairs = np.triu(np.ones(lengths.shape, bool), 1)
    apart, wanted = distances(places)[pairs], lengths[pairs]
    scale = (apart / wanted).sum() / (apart**2 / wanted**2).sum()
    return (((scale * apart - wanted) / wanted) ** 2).sum()


def test_a_path_is_drawn_straight():
    """All distances |i - j| can be kept."""
    places = spread(6, *ends(nx.path_graph(6)), rounds=1000)

    expected = np.abs(np.arange(6)[:, None] - np.arange(6)[None])
    np.testing.assert_allclose(distances(places), expected, atol=1e-3)


def test_a_triangle_has_equal_sides():
    places = spread(3, *ends(nx.complete_graph(3)))

    np.testing.assert_allclose(distances(places), 1 - np.eye(3), atol=1e-3)


@pytest.mark.parametrize("seed", range(5))
def test_the_energy_of_the_springs_is_near_that_of_networkx(seed):
    """Kamada and Kawai minimise the same energy by another method; both may end in a local minimum."""
    graph = nx.random_labeled_tree(14, seed=seed)
    graph.add_edges_from([(0, 7), (3, 11)])
    lengths = np.array([[nx.shortest_path_length(graph, i, j) for j in range(14)] for i in range(14)], float)
    theirs = np.array([place for _, place in sorted(nx.kamada_kawai_layout(graph).items())])

    ours = spread(14, *ends(graph))

    assert stress(ours, lengths) < 1.25 * stress(theirs, lengths)


def test_parts_that_no_path_connects_are_drawn_apart():
    graph = nx.disjoint_union(nx.path_graph(3), nx.path_graph(3))

    apart = distances(spread(6, *ends(graph)))

    assert apart[:3, 3:].min() > apart[0, 1]


@pytest.mark.parametrize("n", [0, 1])
def test_a_lone_vertex_is_in_the_middle(n):
    np.testing.assert_array_equal(spread(n, *np.zeros((2, 0), int)), np.zeros((n, 2)))


def test_an_edge_and_its_reverse_are_drawn_once_and_a_loop_is_not():
    source, target = np.array([0, 1, 1, 2, 2]), np.array([1, 0, 1, 0, 1])

    assert sorted(map(tuple, np.sort(np.stack([source, target], 1)[undirected(source, target)]))) == [
        (0, 1),
        (0, 2),
        (1, 2),
    ]


def test_of_many_vertices_those_around_the_highest_degree_are_drawn():
    """A star of five leaves about vertex 10, at the end of a path of ten."""
    graph = nx.path_graph(11)
    graph.add_edges_from((10, leaf) for leaf in range(11, 16))

    np.testing.assert_array_equal(nearby(16, *ends(graph), 7), [9, 10, 11, 12, 13, 14, 15])
    np.testing.assert_array_equal(nearby(16, *ends(graph), 16), np.arange(16))
