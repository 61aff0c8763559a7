"""Graphs to convert, and what two graphs must have in common."""

from __future__ import annotations

import torch

from edgecond import Graph

BIPARTITE = Graph.from_edges(
    torch.tensor([0, 1, 2]), torch.tensor([0, 0, 1]), torch.zeros(3, 1), num_vertices=2, num_sources=3
)


def random_graph(*, sizes: tuple[int, ...] = (7,), s: int = 3, seed: int = 0) -> Graph:
    """Draw graphs with random edges side by side; the last vertex of each is isolated."""
    generator = torch.Generator().manual_seed(seed)
    ends, offset = [], 0
    for n in sizes:
        ends.append(offset + torch.randint(max(1, n - 1), (2, 2 * n), generator=generator)[:, : 2 * n if n > 1 else 0])
        offset += n
    source, target = torch.cat(ends, 1)
    labels = torch.randn(len(source), s, generator=generator)
    return Graph.from_edges(source, target, labels, num_vertices=offset, sizes=torch.tensor(sizes))


def assert_same(ours: Graph, theirs: Graph, *, sizes: bool = True) -> None:
    for name in ("source", "target", "pointer", *(["sizes"] if sizes else [])):
        assert torch.equal(getattr(ours, name), getattr(theirs, name)), name
    torch.testing.assert_close(
        ours.labels.per_edge(ours.labels.values), theirs.labels.per_edge(theirs.labels.values), rtol=0, atol=0
    )


def edges_of(graph: Graph) -> set[tuple[int, int, tuple[float, ...]]]:
    labels = graph.labels.per_edge(graph.labels.values)
    return {
        (j, i, tuple(label))
        for j, i, label in zip(*map(torch.Tensor.tolist, (graph.source, graph.target, labels)), strict=True)
    }
