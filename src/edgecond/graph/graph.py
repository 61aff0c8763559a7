"""Directed graphs with labelled edges, sorted for sums over neighbourhoods (Section 3.1)."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property

import torch
from jaxtyping import Float, Int
from torch import Tensor

from edgecond.graph import edges
from edgecond.graph.labels import Labels
from edgecond.graph.segment import segment_sum
from edgecond.graph.transforms import abstract, ordinary_tensors
from edgecond.graph.value import Movable, value


@value
class Rows(Movable):
    """Edges grouped by the vertex at one end: a compressed sparse row matrix.

    Row $r$ holds the edges from `pointer[r]` up to `pointer[r+1]`.

    Attributes:
        pointer: Position of the first edge of each row.
        column: Vertex at the other end of each edge.
        edge: Number of each edge in the graph; None if that is its position.
    """

    pointer: Int[Tensor, " r+1"]
    column: Int[Tensor, " m"]
    edge: Int[Tensor, " m"] | None = None

    @property
    def row(self) -> Int[Tensor, " m"]:
        """Row of each edge."""
        positions = torch.arange(self.column.shape[0], device=self.column.device)
        return torch.searchsorted(self.pointer, positions, right=True) - 1


@value
class Graph(Movable):
    r"""Directed edges $(j,i)$ with labels, sorted by target. A batch of graphs is a larger graph.

    Build it with `Graph.from_edges`, which sorts and checks the edges; the constructor does neither. Self-loops
    are ordinary edges: the neighbourhood $N(i)$ of Section 3.1 contains $i$ only if $(i,i)$ is an edge.

    Attributes:
        source: Vertex $j$ of each edge. It may index another, finer set of vertices, as in a strided convolution.
        target: Vertex $i$ of each edge, ascending.
        pointer: Position of the first edge of each target.
        labels: Labels $L(j,i)$ of the edges.
        sizes: Number of vertices (targets) of each graph of the batch.
        source_membership: Graph of the batch that each source belongs to; None if sources and targets are the same
            vertices.
    """

    source: Int[Tensor, " m"]
    target: Int[Tensor, " m"]
    pointer: Int[Tensor, " n+1"]
    labels: Labels
    sizes: Int[Tensor, " b"]
    source_membership: Int[Tensor, " n_src"] | None = None

    @staticmethod
    def from_edges(
        source: Int[Tensor, " m"],
        target: Int[Tensor, " m"],
        labels: Labels | Float[Tensor, "m s"],
        *,
        num_vertices: int,
        sizes: Int[Tensor, " b"] | None = None,
        num_sources: int | Int[Tensor, " b"] | None = None,
        is_sorted: bool = False,
    ) -> Graph:
        """Build a graph from edges in any order.

        Args:
            source: Vertex $j$ of each edge.
            target: Vertex $i$ of each edge.
            labels: Labels $L(j,i)$ in the same order.
            num_vertices: Number of vertices $n$, including isolated ones.
            sizes: Number of vertices of each graph of a batch; a single graph by default.
            num_sources: Number of sources (of each graph) of a bipartite graph, whose sources are not its targets.
            is_sorted: Whether the edges are in the order of their targets. Where values are read, that is seen anyway.
        """
        labels = labels if isinstance(labels, Labels) else Labels(labels)
        sizes = torch.tensor([num_vertices], device=source.device) if sizes is None else sizes
        if isinstance(num_sources, int) and sizes.shape[0] > 1:
            raise ValueError(
                f"a batch of {sizes.shape[0]} bipartite graphs needs the number of sources of each graph: "
                f"got {num_sources} for all of them. Pass a tensor as num_sources."
            )
        membership = None if num_sources is None else _membership(torch.as_tensor(num_sources, device=source.device))
        _check_edges(source, target, labels)
        readable = _values_are_readable(source)
        if readable:
            if int(sizes.sum()) != num_vertices:
                raise ValueError(f"sizes must add up to the {num_vertices} vertices: got {int(sizes.sum())}.")
            _check_range(source, num_vertices if membership is None else len(membership), "source")
            _check_range(target, num_vertices, "target")
            _check_labels(labels)
        # A stable sort keeps the order of the edges into a vertex, so that every run adds in the same order.
        if bool((target.diff() < 0).any()) if readable else not is_sorted:
            target, source, order, pointer = edges.sort(target, source, num_vertices)
            return Graph(source, target, pointer, labels.at(order), sizes, membership)
        source, target = source.contiguous(), target.contiguous()  # columns of an (m, 2) tensor are not
        return Graph(source, target, edges.pointer(target, num_vertices), labels, sizes, membership)

    @property
    def num_vertices(self) -> int:
        """$n$, the number of targets."""
        return self.pointer.shape[0] - 1

    @property
    def num_sources(self) -> int:
        """Number of vertices that `source` may index: $n$ unless the graph is bipartite."""
        return self.num_vertices if self.source_membership is None else self.source_membership.shape[0]

    @property
    def num_edges(self) -> int:
        """$m$, the number of edges."""
        return self.source.shape[0]

    @property
    def num_graphs(self) -> int:
        """$b$, the number of graphs of the batch."""
        return self.sizes.shape[0]  # len() would become a constant in an exported network

    @property
    def degree(self) -> Int[Tensor, " n"]:
        r"""$|N(i)|$, the number of edges into each vertex."""
        return self.pointer.diff()

    @property
    def membership(self) -> Int[Tensor, " n"]:
        """Graph of the batch that each vertex (target) belongs to."""
        return _membership(self.sizes, self.num_vertices)

    @property
    def membership_of_sources(self) -> Int[Tensor, " n_src"]:
        """Graph of the batch that each source belongs to, whether the graph is bipartite or not."""
        return self.membership if self.source_membership is None else self.source_membership

    @property
    def by_target(self) -> Rows:
        """The edges grouped by target, which is the order of the graph."""
        return Rows(self.pointer, self.source)

    @property
    def by_source(self) -> Rows:
        """The edges grouped by source; computed once."""
        if abstract(self.source):
            return self._sort_by_source()
        if "source" not in self._orders:
            with ordinary_tensors():
                self._orders["source"] = self._sort_by_source()
        return self._orders["source"]

    @cached_property
    def _orders(self) -> dict[str, Rows]:
        """Other orders of the edges, computed once for all graphs that differ in their labels alone."""
        return {}

    def _sort_by_source(self) -> Rows:
        _, target, order, pointer = edges.sort(self.source, self.target, self.num_sources)
        return Rows(pointer, target, order)

    def remember_by_source(self, order: Int[Tensor, " m"]) -> None:
        """Spare the sort of `by_source` where the order of the edges by their sources is known.

        Args:
            order: Numbers of the edges. An order by anything else is not used, where values are read.
        """
        source = self.source[order]
        if not _values_are_readable(source) or not bool((source.diff() < 0).any()):
            self._orders["source"] = Rows(edges.pointer(source, self.num_sources), self.target[order], order)

    @property
    def by_label(self) -> tuple[Int[Tensor, " u+1"], Int[Tensor, " m"], Int[Tensor, " m"]]:
        """Position of the first edge of each distinct label; sources and targets in that order. Computed once."""
        return self._sort_by_label() if abstract(self.source) else self._by_label

    @cached_property
    def _by_label(self) -> tuple[Tensor, Tensor, Tensor]:
        with ordinary_tensors():
            return self._sort_by_label()

    def _sort_by_label(self) -> tuple[Tensor, Tensor, Tensor]:
        if self.labels.index is None:
            raise ValueError("grouping edges by label needs labels with an index: these have one row per edge.")
        _, source, order, pointer = edges.sort(self.labels.index, self.source, self.labels.values.shape[0])
        return pointer, source, self.target[order]

    @property
    def per_edge(self) -> Graph:
        """The graph in which every edge has its own target, so that Equation 1 gives one message per edge."""
        numbers = torch.arange(self.num_edges + 1, device=self.source.device)
        sizes = segment_sum(self.degree, self.membership, self.num_graphs)
        sources = self.membership_of_sources
        return replace(self, target=numbers[:-1], pointer=numbers, sizes=sizes, source_membership=sources)

    def with_labels(self, labels: Labels | Float[Tensor, "m s"], *, check: bool = True) -> Graph:
        """Return the same edges with other labels, one per edge, in the order of `source` and `target`.

        Args:
            labels: The labels.
            check: Whether to check their number and values.
        """
        labels = labels if isinstance(labels, Labels) else Labels(labels)
        if check:
            _check_edges(self.source, self.target, labels)
            if _values_are_readable(self.source):
                _check_labels(labels)
        graph = replace(self, labels=labels)
        graph.__dict__["_orders"] = self._orders
        return graph


def _membership(sizes: Int[Tensor, " b"], count: int | None = None) -> Int[Tensor, " n"]:
    """Return 0 for each vertex of the first graph, 1 for each of the second, and so on."""
    sizes = sizes.reshape(-1)
    return torch.arange(sizes.shape[0], device=sizes.device).repeat_interleave(sizes, output_size=count)


def _check_edges(source: Tensor, target: Tensor, labels: Labels) -> None:
    for name, index in (("source", source), ("target", target)):
        if index.dim() != 1 or index.dtype != torch.long:
            raise ValueError(
                f"{name} must be a vector of int64 vertex numbers: got shape {tuple(index.shape)} of {index.dtype}."
            )
    # Not len(), which would become a constant in an exported layer.
    m, num_targets = source.shape[0], target.shape[0]
    rows = (labels.values if labels.index is None else labels.index).shape[0]
    if num_targets != m:
        raise ValueError(f"every edge needs a source and a target: got {m} sources and {num_targets} targets.")
    if rows != m:
        raise ValueError(
            f"a graph needs one label per edge: got {rows} labels for {m} edges. "
            "Self-loops are edges too; add them before labelling."
        )


def _values_are_readable(index: Tensor) -> bool:
    """Whether values can be checked: reading them makes a GPU wait."""
    return index.device.type == "cpu" and not abstract(index)


def _check_range(index: Tensor, count: int, name: str) -> None:
    if len(index) and not (int(index.min()) >= 0 and int(index.max()) < count):
        invalid = index[(index < 0) | (index >= count)][0]
        raise ValueError(
            f"{name} must number vertices from 0 to {count - 1}: found {int(invalid)}. "
            "Count vertices without edges too, or set num_sources for a bipartite graph."
        )


def _check_labels(labels: Labels) -> None:
    if not edges.finite(labels.values):
        row = int((~labels.values.isfinite().all(1)).nonzero()[0])
        raise ValueError(
            f"labels must be finite: found {labels.values[row].tolist()} in row {row}. "
            "The usual cause is the angle of a zero offset in spherical coordinates; set it to 0."
        )
    if labels.index is not None:
        invalid = labels.index[(labels.index < 0) | (labels.index >= len(labels.values))]
        if len(invalid):
            raise ValueError(
                f"the index of labels must number distinct labels from 0 to {len(labels.values) - 1}: "
                f"found {int(invalid[0])}."
            )
