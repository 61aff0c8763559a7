"""Samples of general graphs, gathered by array operations from pyramids in flat arrays (Section 3.5)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import torch
from jaxtyping import Float, Int
from numpy import ndarray as Array

from edgecond.data.graphs import gathered, GraphExamples, Graphs
from edgecond.data.labels import kron_labels, label_graph
from edgecond.data.samples import Indices
from edgecond.graph import Graph, Labels, Pyramid, Sample

TOGETHER = 8192
"""Number of vertices that a network predicts at once: molecules by the hundred take a third of the time of 32."""


@dataclass(frozen=True, eq=False)
class PackedLevel:
    """The level $G^{(h)}$ of many pyramids in flat arrays; every vertex has a self-connection.

    Attributes:
        sizes: Number of vertices of each graph.
        degree: Degree $|N(i)|$ of each vertex.
        source: Vertex $j$ of each edge, numbered from 0 within its graph; edges are sorted by target.
        values: Category or weight of each edge.
        pool_map: Map $M^{(h+1)}$ to the vertices of the next level, numbered from 0 within each graph; empty for the
            last level.
    """

    sizes: Int[Array, " graphs"]
    degree: Int[Array, " n"]
    source: Int[Array, " m"]
    values: Array
    pool_map: Int[Array, " n"]

    @cached_property
    def vertex_pointer(self) -> Int[Array, " graphs+1"]:
        """Position of the first vertex of each graph."""
        return _pointer(self.sizes)

    @cached_property
    def edge_pointer(self) -> Int[Array, " graphs+1"]:
        """Position of the first edge of each graph."""
        return _pointer(self.degree)[self.vertex_pointer]


@dataclass(frozen=True, eq=False)
class Pyramids:
    r"""The pyramids of all graphs of a dataset, several of each graph.

    Attributes:
        graphs: Graphs of the dataset.
        copies: Number of pyramids of each graph, which differ in their sparsification.
        levels: $G^{(0)}$, which all copies share and whose values are categories, then $G^{(1)}, \dots$, whose values
            are weights, with copy $c$ of graph $g$ at `g * copies + c`.
        digest: Hash of the contents for the records.
    """

    graphs: Graphs
    copies: int
    levels: tuple[PackedLevel, ...]
    digest: str

    def sample(
        self,
        graphs: Int[Array, " b"],
        copies: Int[Array, " b"],
        labelling: str = "given",
        *,
        attributes: bool = False,
    ) -> Sample:
        """Build one sample from some pyramids.

        Args:
            graphs: Indices of the graphs in the dataset.
            copies: Copy of each of these graphs.
            labelling: Name of the edge labels, one of `GRAPH_LABELLINGS`.
            attributes: Append the vertex attributes to the vertex labels in the signal, and the edge attributes to the
                edge labels of level 0, with zeros for self-connections.
        """
        chosen = [graphs * self.copies + copies if h else graphs for h in range(len(self.levels))]
        parts = [gathered(level.vertex_pointer, rows) for level, rows in zip(self.levels, chosen, strict=True)]
        levels = [label_graph(labelling, self._graph(h, rows, *parts[h], attributes)) for h, rows in enumerate(chosen)]
        pool_maps = [
            torch.from_numpy(level.pool_map[vertices] + np.repeat(coarser[:-1], np.diff(begin)))
            for level, (begin, vertices), (coarser, _) in zip(self.levels, parts, parts[1:], strict=False)
        ]
        vertices = parts[0][1]
        x = self._one_hot[torch.from_numpy(self.graphs.vertex_labels[vertices])]
        if attributes:
            x = torch.cat([x, torch.from_numpy(self.graphs.vertex_attributes[vertices]).to(x.dtype)], dim=1)
        return Sample(x, Pyramid(tuple(levels), tuple(pool_maps)), torch.from_numpy(self.graphs.ys[graphs]))

    def _graph(self, h: int, chosen: Array, begin: Array, vertices: Array, attributes: bool) -> Graph:
        """Gather $G^{(h)}$ of some pyramids with the labels of the dataset; vertices are renumbered for the batch."""
        level = self.levels[h]
        pointer = _pointer(level.degree[vertices])
        ends, edges = gathered(level.edge_pointer, chosen)
        source = torch.from_numpy(level.source[edges] + np.repeat(begin[:-1], np.diff(ends)))
        target = torch.from_numpy(np.repeat(np.arange(len(vertices)), np.diff(pointer)))
        values = torch.from_numpy(level.values[edges])
        labels = kron_labels(values, source, target) if h else Labels(self._categories, values)
        if not h and attributes and self.graphs.edge_attributes.shape[1]:
            labels = Labels(torch.cat([self._categories[values], self._edge_attributes[torch.from_numpy(edges)]], 1))
        return Graph(source, target, torch.from_numpy(pointer), labels, torch.from_numpy(np.diff(begin)))

    @cached_property
    def _one_hot(self) -> torch.Tensor:
        return torch.eye(max(len(self.graphs.vertex_values), 1))

    @cached_property
    def _edge_attributes(self) -> torch.Tensor:
        """Attributes of the edges of level 0, where the self-connection is the last edge into a vertex."""
        level, attributes = self.levels[0], self.graphs.edge_attributes
        rows = torch.zeros(len(level.source), attributes.shape[1])
        others = np.ones(len(rows), bool)
        others[np.cumsum(level.degree) - 1] = False
        rows[torch.from_numpy(others)] = torch.tensor(attributes, dtype=rows.dtype)
        return rows

    @cached_property
    def _categories(self) -> torch.Tensor:
        return torch.eye(self.graphs.s)


@dataclass(frozen=True, eq=False)
class GraphSource:
    """Samples of some graphs of a dataset in several copies: the first copy of each graph, then the second, and so on.

    Args:
        pyramids: Pyramids of the dataset.
        examples: Graphs of the dataset to use.
        copies: Copies to use.
        labelling: Name of the edge labels, one of `GRAPH_LABELLINGS`.
        attributes: Append vertex and edge attributes; see `Pyramids.sample`.
        features: Features of each graph of the dataset.
    """

    pyramids: Pyramids
    examples: GraphExamples
    copies: range
    labelling: str = "given"
    attributes: bool = False
    features: Float[torch.Tensor, "graphs f"] | None = None

    def __len__(self) -> int:
        return len(self.examples) * len(self.copies)

    @property
    def together(self) -> int:
        """Number of examples, at least, that a network should predict at once."""
        return int(TOGETHER / max(self.pyramids.graphs.sizes.mean(), 1.0))

    def sample(self, indices: Indices, epoch: int) -> Sample:
        """Build one sample from some examples, which are the same in every epoch."""
        copy, example = np.divmod(np.asarray(indices), len(self.examples))
        graphs, copies = self.examples.numbers[example], np.asarray(self.copies)[copy]
        sample = self.pyramids.sample(graphs, copies, self.labelling, attributes=self.attributes)
        features = None if self.features is None else self.features[torch.from_numpy(graphs)]
        return replace(sample, y=self.examples.take(example).ys, features=features)


def _pointer(counts: Int[Array, " rows"]) -> Int[Array, " rows+1"]:
    pointer = np.zeros(len(counts) + 1, np.int64)
    np.cumsum(counts, out=pointer[1:])
    return pointer
