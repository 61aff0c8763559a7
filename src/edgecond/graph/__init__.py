"""The nouns that both wings share: clouds, labelled graphs, pyramids of graphs, and samples (Section 3)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property

import torch
from jaxtyping import Float, Int
from torch import Tensor

from edgecond.graph.segment import segment_sum
from edgecond.graph.value import Movable, value


@value
class Cloud(Movable):
    """A point cloud $P$ with the features $X_P$ of its points (Section 3.4).

    Where points have classes to predict, `y` tells them, -1 where one is unknown.
    """

    positions: Float[Tensor, "n 3"]
    signal: Float[Tensor, "n d0"]
    y: Int[Tensor, " n"] | None = None

    def __post_init__(self) -> None:
        if self.positions.dim() != 2 or self.positions.shape[1] != 3 or self.signal.dim() != 2:
            raise ValueError(
                "a cloud needs positions of shape (n, 3) and a signal of shape (n, d): "
                f"got {tuple(self.positions.shape)} and {tuple(self.signal.shape)}."
            )
        for what, rows in (("signal", self.signal), ("class", self.y)):
            if rows is not None and len(rows) != len(self):
                raise ValueError(f"a cloud needs one {what} per point: got {len(rows)} for {len(self)} points.")

    def __len__(self) -> int:
        return len(self.positions)


@value
class Labels(Movable):
    """The edge labels $L(j,i)$: one row of `values` per edge, or distinct rows and the `index` of each edge's own.

    Categorical data stay compact this way, and $F$ is evaluated once per distinct label (footnote 1).
    """

    values: Float[Tensor, "u s"]
    index: Int[Tensor, " m"] | None = None

    def __post_init__(self) -> None:
        if self.values.dim() != 2 or not self.values.is_floating_point():
            raise ValueError(
                "labels are rows of real numbers, a tensor of shape (edges, s): "
                f"got {tuple(self.values.shape)} of {self.values.dtype}. A scalar per edge needs values[:, None]."
            )
        if self.index is not None and (self.index.dim() != 1 or self.index.dtype != torch.long):
            raise ValueError(
                "the index of labels is one int64 number per edge: "
                f"got shape {tuple(self.index.shape)} of {self.index.dtype}."
            )

    def __len__(self) -> int:
        return len(self.values if self.index is None else self.index)

    @property
    def width(self) -> int:
        """$s$, the number of elements of a label."""
        return self.values.shape[1]

    def per_edge(self, rows: Tensor) -> Tensor:
        """Rows computed per label, one per edge."""
        # index_select, as rows[index] sums its gradient in an order that varies with the threads.
        return rows if self.index is None else rows.index_select(0, self.index)

    def at(self, edges: Int[Tensor, " e"] | slice) -> Labels:
        """The labels of some of the edges."""
        if self.index is None:
            return Labels(self.values[edges])
        return Labels(self.values, self.index[edges])

    @staticmethod
    def one_hot(index: Int[Tensor, " m"], count: int) -> Labels:
        """Categorical labels as rows of the unit matrix (Section 4.3)."""
        return Labels(torch.eye(count, device=index.device), index)


@value
class Rows(Movable):
    """Edges grouped by the vertex at one end: a compressed sparse row matrix.

    Row $r$ holds the edges `pointer[r]` to `pointer[r+1]`; `column` is the vertex at the other end, and `edge` the
    number of the edge in the graph, or none where that is the position itself.
    """

    pointer: Int[Tensor, " r+1"]
    column: Int[Tensor, " m"]
    edge: Int[Tensor, " m"] | None = None

    @property
    def row(self) -> Int[Tensor, " m"]:
        """The row that each edge is in."""
        positions = torch.arange(self.column.shape[0], device=self.column.device)
        return torch.searchsorted(self.pointer, positions, right=True) - 1


@value
class Graph(Movable):
    r"""Directed edges $(j,i)$ with labels, sorted by target. A batch of graphs is a larger graph.

    Make one with `Graph.from_edges`, which sorts and checks; the bare constructor trusts its arguments. Self-loops
    are edges like others: the neighbourhood $N(i)$ of Section 3.1 contains $i$ only if $(i,i)$ is an edge.

    Attributes:
        source: Vertex $j$ of each edge. It may index another, finer set of vertices: a strided convolution.
        target: Vertex $i$ of each edge, ascending.
        pointer: Where the edges of each target begin.
        labels: $L(j,i)$.
        sizes: Number of vertices (targets) of each graph of the batch.
        source_membership: Graph of the batch that each source belongs to, where sources are another set of vertices.
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
    ) -> Graph:
        """A graph from edges in any order.

        Args:
            source: Vertex $j$ of each edge.
            target: Vertex $i$ of each edge.
            labels: $L(j,i)$ in the same order.
            num_vertices: $n$, isolated vertices included.
            sizes: Vertices per graph if this is a batch; one graph otherwise.
            num_sources: Source vertices (of each graph) if they are not the targets: a bipartite graph.
        """
        labels = labels if isinstance(labels, Labels) else Labels(labels)
        sizes = torch.tensor([num_vertices], device=source.device) if sizes is None else sizes
        if isinstance(num_sources, int) and sizes.shape[0] > 1:
            raise ValueError(
                f"a batch of {sizes.shape[0]} bipartite graphs needs the number of sources of each: "
                f"got {num_sources} in all."
            )
        membership = None if num_sources is None else _membership(torch.as_tensor(num_sources, device=source.device))
        _check_edges(source, target, labels)
        look = _may_look(source)
        if look:
            if int(sizes.sum()) != num_vertices:
                raise ValueError(f"sizes must add up to the {num_vertices} vertices: got {int(sizes.sum())}.")
            _check_range(source, num_vertices if membership is None else len(membership), "source")
            _check_range(target, num_vertices, "target")
            _check_labels(labels)
        # A stable sort keeps the order of the edges into a vertex, and with it every sum, the same from run to run.
        if not look or bool((target.diff() < 0).any()):
            target, order = torch.sort(target, stable=True)
            source, labels = source[order], labels.at(order)
        source, target = source.contiguous(), target.contiguous()  # columns of a table of pairs are not
        return Graph(source, target, _pointer(target, num_vertices), labels, sizes, membership)

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
        """$m$."""
        return self.source.shape[0]

    @property
    def num_graphs(self) -> int:
        """$b$, the number of graphs side by side."""
        return self.sizes.shape[0]  # len() of it would be a constant in an exported network

    @property
    def degree(self) -> Int[Tensor, " n"]:
        r"""$|N(i)|$, the number of edges into each vertex."""
        return self.pointer.diff()

    @property
    def membership(self) -> Int[Tensor, " n"]:
        """The graph of the batch that each vertex belongs to."""
        return _membership(self.sizes, self.num_vertices)

    @property
    def by_target(self) -> Rows:
        """The edges grouped by target: the order they are in."""
        return Rows(self.pointer, self.source)

    @property
    def by_source(self) -> Rows:
        """The edges grouped by source; computed once."""
        # The cached_property of Python 3.11 takes a lock, which cannot be traced.
        return self._sort_by_source() if torch.compiler.is_compiling() else self._by_source

    @cached_property
    def _by_source(self) -> Rows:
        return self._sort_by_source()

    def _sort_by_source(self) -> Rows:
        source, order = torch.sort(self.source, stable=True)
        return Rows(_pointer(source, self.num_sources), self.target[order], order)

    @cached_property
    def by_label(self) -> tuple[Int[Tensor, " u+1"], Int[Tensor, " m"], Int[Tensor, " m"]]:
        """The edges in the order of their distinct labels: the first of each label, sources and targets; kept."""
        if self.labels.index is None:
            raise ValueError("edges can be grouped by label if labels have an index: these are one per edge.")
        index, order = torch.sort(self.labels.index, stable=True)
        return _pointer(index, self.labels.values.shape[0]), self.source[order], self.target[order]

    @property
    def per_edge(self) -> Graph:
        """The graph in which every edge has a target of its own: a sum over it gives the messages themselves."""
        edges = torch.arange(self.num_edges + 1, device=self.source.device)
        sizes = segment_sum(self.degree, self.membership, self.num_graphs)
        return replace(self, target=edges[:-1], pointer=edges, sizes=sizes, source_membership=_source_membership(self))

    def with_labels(self, labels: Labels | Float[Tensor, "m s"]) -> Graph:
        """The same edges with other labels, one per edge, in the order of `source` and `target`."""
        labels = labels if isinstance(labels, Labels) else Labels(labels)
        _check_edges(self.source, self.target, labels)
        if _may_look(self.source):
            _check_labels(labels)
        return replace(self, labels=labels)


@value
class Pyramid(Movable):
    r"""Graphs $G^{(0)}, \dots, G^{(h_{max})}$ and the maps $M^{(h)}$ between their vertices (Section 3.3).

    A last graph whose sources are the vertices of its own level and whose targets are fewer makes the convolution
    on it a strided one (Section 4.4).
    """

    graphs: tuple[Graph, ...]
    pool_maps: tuple[Int[Tensor, " n"], ...] = ()

    def __post_init__(self) -> None:
        if len(self.graphs) != len(self.pool_maps) + 1:
            raise ValueError(
                "a pyramid needs one pool map between each two graphs: "
                f"got {len(self.pool_maps)} maps for {len(self.graphs)} graphs."
            )

    def __len__(self) -> int:
        return len(self.graphs)


@value
class Sample(Movable):
    """The signal $X^0$, the pyramid under it and the class to predict: one example or one batch.

    Where vertices are classified, `y` has a class for each of level 0, -1 where it is unknown, and of points that were
    joined to vertices `voxel` tells the vertex of each.
    """

    x: Float[Tensor, "n d0"]
    pyramid: Pyramid
    y: Tensor
    voxel: Int[Tensor, " p"] | None = None


def collate(samples: Sequence[Sample]) -> Sample:
    """One batch of many samples: graphs side by side, their vertices renumbered."""
    if not samples:
        raise ValueError("a batch needs at least one sample: got none.")
    heights = {len(sample.pyramid) for sample in samples}
    if len(heights) > 1:
        raise ValueError(f"samples of a batch need pyramids of one height: got {sorted(heights)} levels.")
    graphs = tuple(_join(level) for level in zip(*[sample.pyramid.graphs for sample in samples], strict=True))
    maps = zip(*[sample.pyramid.pool_maps for sample in samples], strict=True)
    pool_maps = tuple(
        _shift(level, [sample.pyramid.graphs[h].num_sources for sample in samples]) for h, level in enumerate(maps, 1)
    )
    x, y = torch.cat([sample.x for sample in samples]), torch.cat([sample.y for sample in samples])
    voxels = [sample.voxel for sample in samples if sample.voxel is not None]
    voxel = _shift(voxels, [len(sample.x) for sample in samples]) if voxels else None
    return Sample(x, Pyramid(graphs, pool_maps), y, voxel)


def _join(graphs: Sequence[Graph]) -> Graph:
    """Graphs side by side; each stays sorted, and so does the whole."""
    vertices, sources = [g.num_vertices for g in graphs], [g.num_sources for g in graphs]
    edges = _shift([g.pointer[1:] for g in graphs], [g.num_edges for g in graphs])
    return Graph(
        _shift([g.source for g in graphs], sources),
        _shift([g.target for g in graphs], vertices),
        torch.cat([edges.new_zeros(1), edges]),
        _join_labels([g.labels for g in graphs]),
        torch.cat([g.sizes for g in graphs]),
        None
        if all(g.source_membership is None for g in graphs)
        else _shift([_source_membership(g) for g in graphs], [g.num_graphs for g in graphs]),
    )


def _source_membership(graph: Graph) -> Int[Tensor, " n_src"]:
    return graph.membership if graph.source_membership is None else graph.source_membership


def _membership(sizes: Int[Tensor, " b"], count: int | None = None) -> Int[Tensor, " n"]:
    """0 as often as the first size says, then 1, and so on."""
    sizes = sizes.reshape(-1)
    return torch.arange(sizes.shape[0], device=sizes.device).repeat_interleave(sizes, output_size=count)


def _join_labels(parts: Sequence[Labels]) -> Labels:
    """Labels in a row. Parts that share one table of distinct labels keep it."""
    widths = {part.width for part in parts}
    if len(widths) > 1:
        raise ValueError(f"graphs of a batch need labels of one width at each level: got {sorted(widths)}.")
    if all(part.index is None for part in parts):
        return Labels(torch.cat([part.values for part in parts]))
    first = parts[0].values
    if all(part.index is not None and (part.values is first or part.values.equal(first)) for part in parts):
        return Labels(first, torch.cat([part.index for part in parts if part.index is not None]))
    indices = [torch.arange(len(p), device=first.device) if p.index is None else p.index for p in parts]
    return Labels(torch.cat([part.values for part in parts]), _shift(indices, [len(part.values) for part in parts]))


def _shift(parts: Sequence[Tensor], sizes: Sequence[int]) -> Tensor:
    """Indices in a row, each part counted on from the end of the one before."""
    offsets = [0]
    for size in sizes[:-1]:
        offsets.append(offsets[-1] + size)
    return torch.cat([part + offset for part, offset in zip(parts, offsets, strict=True)])


def _pointer(rows: Int[Tensor, " m"], count: int) -> Int[Tensor, " r+1"]:
    """Where each row begins among sorted row numbers."""
    return torch.searchsorted(rows, torch.arange(count + 1, device=rows.device))


def _check_edges(source: Tensor, target: Tensor, labels: Labels) -> None:
    for name, index in (("source", source), ("target", target)):
        if index.dim() != 1 or index.dtype != torch.long:
            raise ValueError(
                f"{name} must be a vector of int64 vertex numbers: got shape {tuple(index.shape)} of {index.dtype}."
            )
    # Not len(): that would be a constant in an exported layer.
    m, ends = source.shape[0], target.shape[0]
    rows = (labels.values if labels.index is None else labels.index).shape[0]
    if ends != m:
        raise ValueError(f"every edge needs a source and a target: got {m} sources and {ends} targets.")
    if rows != m:
        raise ValueError(
            f"a graph needs one label per edge: got {rows} labels for {m} edges. "
            "Self-loops are edges too; add them before labelling."
        )


def _may_look(index: Tensor) -> bool:
    """Looking at values makes a GPU wait and cannot be traced; there, indices and labels are the caller's word."""
    return index.device.type == "cpu" and not torch.compiler.is_compiling()


def _check_range(index: Tensor, count: int, name: str) -> None:
    if len(index) and not (int(index.min()) >= 0 and int(index.max()) < count):
        bad = index[(index < 0) | (index >= count)][0]
        raise ValueError(
            f"{name} must number vertices from 0 to {count - 1}: found {int(bad)}. "
            "Count the vertices that have no edge, too, or set num_sources for a bipartite graph."
        )


def _check_labels(labels: Labels) -> None:
    if not bool(labels.values.isfinite().all()):
        row = int((~labels.values.isfinite().all(1)).nonzero()[0])
        raise ValueError(
            f"labels must be finite: found {labels.values[row].tolist()} in row {row}. "
            "A spherical angle of a zero offset is the usual cause; set it to 0."
        )
    if labels.index is not None:
        bad = labels.index[(labels.index < 0) | (labels.index >= len(labels.values))]
        if len(bad):
            raise ValueError(
                f"the index of labels must number distinct labels from 0 to {len(labels.values) - 1}: "
                f"found {int(bad[0])}."
            )
