"""Datasets of labelled graphs in flat arrays, from which folds and batches are gathered (Section 4.3)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Int
from numpy import ndarray as Array
from torch import Tensor

from edgecond.data.budget import one_hot
from edgecond.data.features import Features
from edgecond.errors import DataError
from edgecond.graph import Graph, Labels

LARGEST = float(np.finfo(np.float32).max)
"""Attributes must be finite in single precision, in which networks compute."""


@dataclass(frozen=True, eq=False)
class Single:
    """One graph of a dataset: views of the arrays of its `Graphs`, which documents them."""

    n: int
    source: Int[Array, " m"]
    target: Int[Array, " m"]
    vertex_labels: Int[Array, " n"]
    edge_labels: Int[Array, " m"]
    vertex_attributes: Float[Array, "n a"]
    edge_attributes: Float[Array, "m b"]
    attributes: Float[Array, " c"]
    y: int


@dataclass(frozen=True, eq=False, repr=False)
class Graphs:
    """Graphs and their classes in flat, read-only arrays.

    The vertices of graph $g$ are the rows from `vertex_pointer[g]` up to `vertex_pointer[g + 1]`, its edges the rows
    from `edge_pointer[g]` up to `edge_pointer[g + 1]`. Missing data are empty arrays, never None: without labels the
    `values` are empty and every label is 0, and missing attributes have no columns.

    The constructor does not check its arguments; `read` and `load` check files.

    Attributes:
        name: Name of the dataset.
        ys: Class of each graph, numbered from 0.
        classes: Value of each class in the file, ascending.
        vertex_pointer: Position of the first vertex of each graph.
        edge_pointer: Position of the first edge of each graph.
        source: Vertex $j$ of each edge, numbered from 0 *within its graph*, so that rows can be gathered unchanged.
        target: Vertex $i$ of each edge, likewise; the edges of a graph are sorted by target, then by source.
        vertex_labels: Label of each vertex, numbered from 0.
        vertex_values: Value of each vertex label in the file, ascending.
        edge_labels: Label of each edge, numbered from 0.
        edge_values: Value of each edge label in the file, ascending.
        vertex_attributes: Real-valued attributes of the vertices.
        edge_attributes: Real-valued attributes of the edges.
        attributes: Real-valued attributes of the graphs.
        digest: Hash of the contents of the whole dataset for the records.
    """

    name: str
    ys: Int[Array, " graphs"]
    classes: Int[Array, " classes"]
    vertex_pointer: Int[Array, " graphs+1"]
    edge_pointer: Int[Array, " graphs+1"]
    source: Int[Array, " m"]
    target: Int[Array, " m"]
    vertex_labels: Int[Array, " n"]
    vertex_values: Int[Array, " u"]
    edge_labels: Int[Array, " m"]
    edge_values: Int[Array, " v"]
    vertex_attributes: Float[Array, "n a"]
    edge_attributes: Float[Array, "m b"]
    attributes: Float[Array, "graphs c"]
    digest: str

    def __post_init__(self) -> None:
        for field in fields(self):
            if isinstance(array := getattr(self, field.name), Array):
                view = array.view()
                view.flags.writeable = False
                object.__setattr__(self, field.name, view)

    def __len__(self) -> int:
        return len(self.ys)

    def __repr__(self) -> str:
        """Column of the dataset in Table 3, where $|E|$ counts an edge and its reverse once."""
        count = max(len(self), 1)
        classes = f"{len(self.classes)} classes, " if len(self.classes) else ""
        return (
            f"{self.name}: {len(self)} graphs, mean |V| {self.num_vertices / count:.2f}, "
            f"mean |E| {self.num_edges / 2 / count:.2f}, {classes}"
            f"{len(self.vertex_values)} vertex labels, {len(self.edge_values)} edge labels"
        )

    def __getitem__(self, index: int) -> Single:
        number = range(len(self))[index]
        vertices = slice(*self.vertex_pointer[number : number + 2].tolist())
        edges = slice(*self.edge_pointer[number : number + 2].tolist())
        return Single(
            vertices.stop - vertices.start,
            self.source[edges],
            self.target[edges],
            self.vertex_labels[vertices],
            self.edge_labels[edges],
            self.vertex_attributes[vertices],
            self.edge_attributes[edges],
            self.attributes[number],
            int(self.ys[number]),
        )

    @property
    def num_vertices(self) -> int:
        """Number of vertices of all graphs."""
        return len(self.vertex_labels)

    @property
    def num_edges(self) -> int:
        """Number of directed edges of all graphs, two for each undirected edge."""
        return len(self.source)

    @property
    def sizes(self) -> Int[Array, " graphs"]:
        """Number of vertices of each graph."""
        return np.diff(self.vertex_pointer)

    @property
    def edges(self) -> tuple[Int[Array, " m"], Int[Array, " m"]]:
        """Source and target of each edge, numbered from 0 over the vertices of all graphs."""
        first = np.repeat(self.vertex_pointer[:-1], np.diff(self.edge_pointer))  # first vertex of each edge's graph
        return self.source + first, self.target + first

    @property
    def membership(self) -> Int[Array, " n"]:
        """Graph of each vertex."""
        return np.repeat(np.arange(len(self)), self.sizes)

    @property
    def s(self) -> int:
        """Width of the edge labels of `graph()`: one element per label, and one for self-connections."""
        return max(len(self.edge_values), 1) + 1

    def take(self, indices: Sequence[int] | Int[Array, " b"]) -> Graphs:
        """Select some of the graphs, such as a fold or a batch, in the given order, by a few array operations."""
        chosen = np.arange(len(self))[_integers(indices)]
        vertex_pointer, vertices = gathered(self.vertex_pointer, chosen)
        edge_pointer, edges = gathered(self.edge_pointer, chosen)
        return Graphs(
            self.name,
            self.ys[chosen],
            self.classes,
            vertex_pointer,
            edge_pointer,
            self.source[edges],
            self.target[edges],
            self.vertex_labels[vertices],
            self.vertex_values,
            self.edge_labels[edges],
            self.edge_values,
            self.vertex_attributes[vertices],
            self.edge_attributes[edges],
            self.attributes[chosen],
            self.digest,
        )

    def relabelled(self, training: Graphs) -> tuple[Graphs, Int[Array, " kept"], list[tuple[int, str]]]:
        """Number the labels as in the training data, which must have the same attributes.

        Returns:
            The graphs whose labels all occur in the training data; their indices; and the indices of the other graphs,
            each with the reason.
        """
        reasons: dict[int, str] = {}
        changes: dict[str, Any] = {}
        for part, pointer in (("vertex", self.vertex_pointer), ("edge", self.edge_pointer)):
            labels, values, known, width, expected = (
                getattr(self, f"{part}_labels"),
                getattr(self, f"{part}_values"),
                getattr(training, f"{part}_values"),
                getattr(self, f"{part}_attributes").shape[1],
                getattr(training, f"{part}_attributes").shape[1],
            )
            if bool(len(values)) != bool(len(known)):
                no, actual = ("", "none") if len(known) else ("no ", "some")
                raise DataError(f"{self.name} must have {no}{part} labels, like the training data: it has {actual}.")
            if expected and width != expected:
                raise DataError(
                    f"{self.name} must have {expected} {part} attributes, like the training data: it has {width}."
                )
            number_of = {value: number for number, value in enumerate(known.tolist())}
            numbers = np.array([number_of.get(value, -1) for value in values.tolist()] or [0], np.int64)[labels]
            changes |= {f"{part}_labels": numbers, f"{part}_values": known}
            for row in np.flatnonzero(numbers < 0)[::-1]:
                graph = int(np.searchsorted(pointer, row, "right")) - 1
                reasons[graph] = f"it has the {part} label {values[labels[row]]}, which is not in the training data."
        kept = np.array([number for number in range(len(self)) if number not in reasons], np.int64)
        return replace(self, **changes).take(kept), kept, sorted(reasons.items())

    def signal(self, *, attributes: bool = False) -> Float[Tensor, "n d0"]:
        """Return the signal $X^0$ of all graphs: one-hot vertex labels, as in the paper ($d_0 = 37$ for NCI1).

        The paper names no other input: its Table 3 counts the 3 vertex labels of ENZYMES and calls them categorical,
        and neither Section 4.3 nor Appendix B mentions the 18 continuous attributes that ENZYMES also has. So the
        paper's ENZYMES has $d_0 = 3$. Without vertex labels the signal is one everywhere.

        Args:
            attributes: Append the vertex attributes of the file, without scaling, which depends on the training set.
        """
        labels = torch.zeros(self.num_vertices, max(len(self.vertex_values), 1))
        labels[torch.arange(self.num_vertices), torch.tensor(self.vertex_labels)] = 1
        if not attributes:
            return labels
        return torch.cat([labels, torch.tensor(self.vertex_attributes, dtype=labels.dtype)], 1)

    def counts(self) -> dict[str, Float[Array, " graphs"]]:
        r"""Return $\log(1 + c)$ of the counts of each graph, by name: vertices, edges, and vertices with each label."""
        found = {"vertices": self.sizes, "edges": np.diff(self.edge_pointer)}
        if width := len(self.vertex_values):
            cells = np.bincount(self.membership * width + self.vertex_labels, minlength=len(self) * width)
            names = (f"vertex label {value}" for value in self.vertex_values.tolist())
            found |= dict(zip(names, cells.reshape(len(self), width).T, strict=True))
        return {name: np.log1p(count) for name, count in found.items()}

    def graph(self) -> Graph:
        """Build $G^{(0)}$ of all graphs, with self-connections, which have the last label ($s = 4$ for NCI1).

        Labels are one-hot. Without edge labels (ENZYMES, D&D), for which the paper does not give $s$, all edges share
        one label, which differs from that of self-connections, so $s = 2$. The self-connection is the last edge into a
        vertex.
        """
        n, m = self.num_vertices, self.num_edges
        sources, target = self.edges
        vertices = np.arange(n)
        pointer, place = self_connected(target, n)
        source, labels = np.empty(n + m, np.int64), np.empty(n + m, np.int64)
        source[place], labels[place] = sources, self.edge_labels
        loops = pointer[1:] - 1
        source[loops], labels[loops] = vertices, self.s - 1
        return Graph(
            torch.from_numpy(source),
            torch.from_numpy(np.repeat(vertices, np.diff(pointer))),
            torch.from_numpy(pointer),
            Labels.one_hot(torch.from_numpy(labels), self.s),
            torch.from_numpy(self.sizes),
        )


@dataclass(frozen=True, eq=False)
class GraphExamples:
    """Some graphs of a dataset with their targets: the training or the test set.

    The counterpart of `Examples`. All sets share the arrays of the dataset and store indices only.

    Attributes:
        graphs: The whole dataset.
        numbers: Indices of the graphs of this set, from 0.
        targets: Regression or multilabel targets of each graph of the dataset, NaN where unknown, instead of its class.
        outcomes: Names of the classes or targets, instead of the values of classes in the file.
        smiles: SMILES of each graph of the dataset, if they are molecules.
        vertex_ys: Targets of each vertex of the dataset: an index of `outcomes`, -1 where it is unknown or belongs to
            the other set; or a row of numbers, NaN where one is.
        features: Columns beside the graphs of the dataset.
        weights: Weight of each graph of this set in the loss; none for equal weights.
    """

    graphs: Graphs
    numbers: Int[Array, " examples"]
    targets: Float[Array, "graphs t"] | None = None
    outcomes: tuple[str, ...] = ()
    smiles: tuple[str, ...] = ()
    vertex_ys: Int[Array, " n"] | Float[Array, "n t"] | None = None
    features: Features | None = None
    weights: Float[Tensor, " examples"] | None = None

    def __post_init__(self) -> None:
        numbers = _integers(self.numbers)
        if numbers.ndim != 1 or numbers.dtype.kind not in "iu":
            raise DataError(
                f"a set of graphs of {self.name} must be a list of integer indices: "
                f"got {numbers.dtype} of shape {tuple(numbers.shape)}."
            )
        unknown = numbers[(numbers < 0) | (numbers >= len(self.graphs))]
        if len(unknown):
            raise DataError(
                f"the graphs of {self.name} are numbered from 0 to {len(self.graphs) - 1}: got {unknown[0]}."
            )
        numbers = numbers.astype(np.int64)
        numbers.flags.writeable = False
        object.__setattr__(self, "numbers", numbers)
        if self.vertex_ys is not None:
            self._check_vertices(self.vertex_ys)

    def _check_vertices(self, ys: Int[Array, " n"] | Float[Array, "n t"]) -> None:
        if ys.dtype.kind == "f" and ys.shape == (self.graphs.num_vertices, len(self.outcomes)):
            return
        if ys.shape != (self.graphs.num_vertices,) or ys.dtype.kind not in "iu":
            raise DataError(
                f"{self.name} needs an integer class for each of its {self.graphs.num_vertices} vertices: "
                f"got {ys.dtype} of shape {tuple(ys.shape)}."
            )
        unknown = ys[(ys < -1) | (ys >= len(self.outcomes))]
        if len(unknown):
            raise DataError(
                f"the classes of vertices must be from 0 to {len(self.outcomes) - 1}, or -1 if unknown: "
                f"found {unknown[0]}."
            )

    def __len__(self) -> int:
        return len(self.numbers)

    def __repr__(self) -> str:
        return f"{len(self)} of {self.graphs!r}"

    @property
    def name(self) -> str:
        """Name of the dataset."""
        return self.graphs.name

    @property
    def classes(self) -> tuple[str, ...]:
        """Names of the classes or targets."""
        return self.outcomes or tuple(map(str, self.graphs.classes.tolist()))

    @property
    def subset(self) -> Graphs:
        """The graphs of this set alone, in its order."""
        return self.graphs.take(self.numbers)

    @property
    def ys(self) -> Tensor:
        """Class or targets of each graph of this set, or of each vertex."""
        if self.vertex_ys is not None:
            ys = torch.from_numpy(self.vertex_ys[gathered(self.graphs.vertex_pointer, self.numbers)[1]])
            return ys if ys.is_floating_point() else ys.long()
        return torch.from_numpy((self.graphs.ys if self.targets is None else self.targets)[self.numbers])

    @property
    def digest(self) -> str:
        """Hash of the contents of the whole dataset for the records."""
        return self.graphs.digest

    def take(self, indices: Sequence[int] | Int[Array, " b"]) -> GraphExamples:
        """Select some of the graphs of this set, in the given order."""
        chosen = _integers(indices)
        weights = None if self.weights is None else self.weights[torch.from_numpy(chosen)]
        return replace(self, numbers=self.numbers[chosen], weights=weights)


def check_one_hot(where: object, n: int, labels: int, size: int) -> None:
    """Raise a `DataError` if the one-hot labels of n vertices take more memory than a file of this size justifies."""
    if n * labels > (most := one_hot(size)):
        raise DataError(
            f"{where} must have fewer labels or vertices: {labels:,} one-hot labels of {n:,} vertices are "
            f"{n * labels:,} numbers, and a file of its size may have {most:,}."
        )


def _integers(numbers: Sequence[int] | Int[Array, " k"]) -> Int[Array, " k"]:
    """Convert to an array, which is one of integers even if it is empty."""
    return np.asarray(numbers) if len(numbers) else np.zeros(0, np.int64)


def gathered(pointer: Int[Array, " r+1"], chosen: Int[Array, " b"]) -> tuple[Int[Array, " b+1"], Int[Array, " rows"]]:
    """Return the pointer of the chosen runs of rows, concatenated, and the indices of their rows."""
    begin, counts = pointer[chosen], pointer[chosen + 1] - pointer[chosen]
    ends = np.append(0, np.cumsum(counts))
    return ends, np.repeat(begin - ends[:-1], counts) + np.arange(ends[-1])


def self_connected(target: Int[Array, " m"], n: int) -> tuple[Int[Array, " n+1"], Int[Array, " m"]]:
    """Make room for a self-connection after the other edges into each vertex.

    Args:
        target: Vertex $i$ of each edge, ascending.
        n: Number of vertices.

    Returns:
        Position of the first edge into each vertex, and new position of each edge.
    """
    pointer = np.append(0, np.cumsum(np.bincount(target, minlength=n) + 1))
    return pointer, np.arange(len(target)) + target  # i self-connections come before an edge into vertex i
