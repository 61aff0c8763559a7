"""Small graphs with known classes, for baselines."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from edgecond.data.graphs import GraphExamples, Graphs
from edgecond.data.preparation import SampleSettings
from edgecond.notation import Architecture

SETTINGS = SampleSettings("row", Architecture("C(4)-GAP-FC(2)"))
Edges = Sequence[tuple[int, int]]


def examples_of(
    graphs: Sequence[tuple[Sequence[int], Edges]], ys: Sequence[int], labels: Sequence[int] | None = None
) -> GraphExamples:
    """Return graphs, each of vertex labels and undirected edges, with their classes.

    Args:
        graphs: Labels of the vertices, and pairs of vertices.
        ys: Class of each graph.
        labels: Label of all edges of each graph.
    """
    sizes = [len(vertices) for vertices, _ in graphs]
    directed = [sorted({(b, a) for a, b in edges} | set(edges), key=lambda e: (e[1], e[0])) for _, edges in graphs]
    vertex_labels = np.concatenate([vertices for vertices, _ in graphs]).astype(np.int64)
    edge_labels = np.repeat(np.zeros(len(graphs), int) if labels is None else labels, [len(e) for e in directed])
    ends = np.array([edge for edges in directed for edge in edges], np.int64).reshape(-1, 2)
    held = Graphs(
        "small",
        np.array(ys),
        np.unique(ys),
        np.append(0, np.cumsum(sizes)),
        np.append(0, np.cumsum([len(edges) for edges in directed])),
        ends[:, 0],
        ends[:, 1],
        vertex_labels,
        np.arange(vertex_labels.max() + 1),
        edge_labels,
        np.arange(0 if labels is None else max(labels) + 1),
        np.zeros((sum(sizes), 0)),
        np.zeros((len(ends), 0)),
        np.zeros((len(graphs), 0)),
        "digest",
    )
    return GraphExamples(held, np.arange(len(graphs)))


def star(n: int) -> tuple[list[int], Edges]:
    """A star with equal labels."""
    return [0] * n, [(0, leaf) for leaf in range(1, n)]


def path(n: int) -> tuple[list[int], Edges]:
    """A path with as many vertices and edges."""
    return [0] * n, [(a, a + 1) for a in range(n - 1)]


def stars_and_paths(count: int = 12) -> GraphExamples:
    """Stars (class 0) and paths (class 1) of 5 to 8 vertices: their bags of labels are the same."""
    return examples_of([(star, path)[k % 2](5 + k // 2 % 4) for k in range(count)], [k % 2 for k in range(count)])
