"""Colours of vertices are equal where the labelled subtrees around them are."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from edgecond.data.colours import colours
from edgecond.data.graphs import Graphs
from tests.pyramids import random_graphs
from tests.runs.baselines.examples import examples_of, path, star


def relabelled(graphs: Graphs, rounds: int) -> list[list[int]]:
    """Return the colours by the algorithm as it is published: sorted lists of neighbours in a dictionary."""
    source, target = graphs.edges
    found = [graphs.vertex_labels.tolist()]
    for _ in range(rounds):
        around = [sorted(found[-1][j] for j in source[target == i]) for i in range(graphs.num_vertices)]
        words = [(own, *others) for own, others in zip(found[-1], around, strict=True)]
        numbers = {word: number for number, word in enumerate(sorted(set(words)))}
        found.append([numbers[word] for word in words])
    return found


def test_colours_divide_vertices_as_the_published_relabelling_does():
    """Shervashidze et al. 2011, Algorithm 1."""
    graphs = random_graphs([9, 12, 1, 20, 7, 15])

    for ours, expected in zip(colours(graphs, 3), relabelled(graphs, 3), strict=True):
        pairs = set(zip(ours.tolist(), expected, strict=True))
        assert len(pairs) == len(set(ours.tolist())) == len(set(expected))


def test_a_path_of_four_vertices_has_ends_and_middles():
    """By hand: all vertices are alike before the first round, and two are ends after it."""
    before, after = colours(examples_of([path(4)], [0]).graphs, 1)

    assert len(set(before.tolist())) == 1
    assert after[0] == after[3] != after[1] == after[2]


def test_edge_labels_count_only_where_they_are_asked_for():
    """Two stars that differ in the label of their edges."""
    graphs = examples_of([star(4), star(4)], [0, 1], labels=[0, 1]).graphs

    *_, plain = colours(graphs, 1)
    *_, seen = colours(graphs, 1, edges=True)

    assert np.array_equal(plain[:4], plain[4:])
    assert not set(seen[:4].tolist()) & set(seen[4:].tolist())


def test_attributes_count_only_where_they_are_asked_for():
    graphs = examples_of([star(3)], [0]).graphs
    graphs = replace(graphs, vertex_attributes=np.arange(3.0)[:, None])

    (plain,), (seen,) = colours(graphs, 0), colours(graphs, 0, attributes=True)

    assert (len(set(plain.tolist())), len(set(seen.tolist()))) == (1, 3)
