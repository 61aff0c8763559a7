"""Labelled graphs packed side by side in flat arrays, from which a fold or a batch is gathered (Section 4.3)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Int
from numpy import ndarray as Array
from torch import Tensor

from edgecond.errors import DataError
from edgecond.graph import Graph, Labels


@dataclass(frozen=True, eq=False)
class Single:
    """One graph of a dataset: views into the arrays of its `Graphs`, where all of them are explained."""

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
    """Graphs with the classes to predict, packed side by side in flat arrays that cannot be written to.

    Vertices of graph $g$ are the rows `vertex_pointer[g]` to `vertex_pointer[g + 1]`, its edges the rows
    `edge_pointer[g]` to `edge_pointer[g + 1]`. What is absent is empty, never none: without labels the `values` are
    empty and every label is 0, and attributes that are not there have no columns.

    The constructor trusts its arguments; `read` and `load` check files.

    Attributes:
        name: The dataset.
        ys: Class of each graph, numbered from 0.
        classes: What the file calls each class, ascending.
        vertex_pointer: Where the vertices of each graph begin.
        edge_pointer: Where the edges of each graph begin.
        source: Vertex $j$ of each edge, counted from 0 *within its graph*: rows move between stores as they are.
        target: Vertex $i$ of each edge, likewise; the edges of a graph are sorted by target, then by source.
        vertex_labels: Label of each vertex, numbered from 0.
        vertex_values: What the file calls each vertex label, ascending.
        edge_labels: Label of each edge, numbered from 0.
        edge_values: What the file calls each edge label, ascending.
        vertex_attributes: Real numbers per vertex.
        edge_attributes: Real numbers per edge.
        attributes: Real numbers per graph.
        digest: Sum of the whole dataset's contents, for the records: equal digests, equal data.
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
        """The column of the dataset in Table 3, where $|E|$ counts an edge and its reverse once."""
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
        """Vertices of all graphs."""
        return len(self.vertex_labels)

    @property
    def num_edges(self) -> int:
        """Directed edges of all graphs: two for each undirected edge."""
        return len(self.source)

    @property
    def sizes(self) -> Int[Array, " graphs"]:
        """Vertices of each graph."""
        return np.diff(self.vertex_pointer)

    @property
    def s(self) -> int:
        """Width of the edge labels of `graph`: one element per label, and one for self-connections."""
        return max(len(self.edge_values), 1) + 1

    def take(self, indices: Sequence[int] | Int[Array, " b"]) -> Graphs:
        """Some of the graphs, in the given order: a fold or a batch, gathered by a few array operations."""
        chosen = np.arange(len(self))[_whole(indices)]
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

    def in_terms_of(self, learned: Graphs) -> tuple[Graphs, Int[Array, " kept"], list[tuple[int, str]]]:
        """The graphs with their labels numbered as in another dataset, whose attributes they must have too.

        Returns:
            The graphs all of whose labels occur there; their numbers among these; and the numbers of the others, each
            with a sentence.
        """
        unknown: dict[int, str] = {}
        changes: dict[str, Any] = {}
        for what, pointer in (("vertex", self.vertex_pointer), ("edge", self.edge_pointer)):
            own, values, known, width, most = (
                getattr(self, f"{what}_labels"),
                getattr(self, f"{what}_values"),
                getattr(learned, f"{what}_values"),
                getattr(self, f"{what}_attributes").shape[1],
                getattr(learned, f"{what}_attributes").shape[1],
            )
            if bool(len(values)) != bool(len(known)):
                must, found = ("", "none") if len(known) else ("no ", "some")
                raise DataError(f"{self.name} must have {must}{what} labels, as what was learned: it has {found}.")
            if most and width != most:
                raise DataError(f"{self.name} must have {most} {what} attributes, as what was learned: it has {width}.")
            place = {value: number for number, value in enumerate(known.tolist())}
            numbers = np.array([place.get(value, -1) for value in values.tolist()] or [0], np.int64)[own]
            changes |= {f"{what}_labels": numbers, f"{what}_values": known}
            for row in np.flatnonzero(numbers < 0)[::-1]:
                graph = int(np.searchsorted(pointer, row, "right")) - 1
                unknown[graph] = f"it has the {what} label {values[own[row]]}, which was not among those learned."
        kept = np.array([number for number in range(len(self)) if number not in unknown], np.int64)
        return replace(self, **changes).take(kept), kept, sorted(unknown.items())

    def signal(self, *, attributes: bool = False) -> Float[Tensor, "n d0"]:
        """$X^0$ of all graphs: one-hot vertex labels, as in the paper ($d_0 = 37$ for NCI1).

        The paper names no other input: its Table 3 counts the 3 vertex labels of ENZYMES and calls them categorical,
        and neither Section 4.3 nor Appendix B mentions the 18 continuous attributes that ENZYMES also has. So the
        paper's ENZYMES has $d_0 = 3$. Without vertex labels the signal is one everywhere.

        Args:
            attributes: Append the vertex attributes as the file has them; scaling them is a matter of training data.
        """
        labels = torch.zeros(self.num_vertices, max(len(self.vertex_values), 1))
        labels[torch.arange(self.num_vertices), torch.tensor(self.vertex_labels)] = 1
        if not attributes:
            return labels
        return torch.cat([labels, torch.tensor(self.vertex_attributes, dtype=labels.dtype)], 1)

    def graph(self) -> Graph:
        """$G^{(0)}$ of all graphs side by side, with self-connections, which have the last label ($s = 4$ for NCI1).

        Labels are one-hot; edges without labels share one, which differs from that of self-connections: where the
        paper is silent (ENZYMES, D&D), $s = 2$. The self-connection is the last edge into a vertex.
        """
        n, m = self.num_vertices, self.num_edges
        first = np.repeat(self.vertex_pointer[:-1], np.diff(self.edge_pointer))  # vertex of the edge's graph
        vertices, target = np.arange(n), self.target + first
        pointer, place = self_connected(target, n)
        source, labels = np.empty(n + m, np.int64), np.empty(n + m, np.int64)
        source[place], labels[place] = self.source + first, self.edge_labels
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
    """Some graphs of a dataset with what to predict of them: the training or the test part of a fold.

    The counterpart of `Examples`. All parts share the arrays of the one dataset, so a part costs its numbers alone.

    Attributes:
        graphs: The whole dataset.
        numbers: Of the graphs that belong to the part, from 0.
        targets: What to predict of each graph of the dataset instead of its class: numbers, NaN where unknown.
        outcomes: Names of the classes, or of the targets, instead of the numbers that the file has for classes.
        smiles: Of each graph of the dataset, where they are molecules.
        vertex_ys: What to predict instead: a class of each vertex of the dataset, of those in `outcomes`; -1 where it
            is unknown, or is not to be learned in this part.
    """

    graphs: Graphs
    numbers: Int[Array, " examples"]
    targets: Float[Array, "graphs t"] | None = None
    outcomes: tuple[str, ...] = ()
    smiles: tuple[str, ...] = ()
    vertex_ys: Int[Array, " n"] | None = None

    def __post_init__(self) -> None:
        numbers = _whole(self.numbers)
        if numbers.ndim != 1 or numbers.dtype.kind not in "iu":
            raise DataError(
                f"a part of {self.name} is a list of whole numbers, one for each graph: "
                f"got {numbers.dtype} of shape {tuple(numbers.shape)}."
            )
        unknown = numbers[(numbers < 0) | (numbers >= len(self.graphs))]
        if len(unknown):
            raise DataError(
                f"{self.name} has {len(self.graphs)} graphs, numbered from 0: found the unknown graph {unknown[0]}."
            )
        numbers = numbers.astype(np.int64)
        numbers.flags.writeable = False
        object.__setattr__(self, "numbers", numbers)
        if self.vertex_ys is not None:
            self._check_vertices(self.vertex_ys)

    def _check_vertices(self, ys: Int[Array, " n"]) -> None:
        if ys.shape != (self.graphs.num_vertices,) or ys.dtype.kind not in "iu":
            raise DataError(
                f"{self.name} needs a class, a whole number, for each of its {self.graphs.num_vertices} vertices: "
                f"got {ys.dtype} of shape {tuple(ys.shape)}."
            )
        unknown = ys[(ys < -1) | (ys >= len(self.outcomes))]
        if len(unknown):
            raise DataError(
                f"the classes of vertices number the {len(self.outcomes)} outcomes from 0, and -1 is unknown: "
                f"found {unknown[0]}."
            )

    def __len__(self) -> int:
        return len(self.numbers)

    def __repr__(self) -> str:
        return f"{len(self)} of {self.graphs!r}"

    @property
    def name(self) -> str:
        """The dataset."""
        return self.graphs.name

    @property
    def classes(self) -> tuple[str, ...]:
        """What each class is called, or each target."""
        return self.outcomes or tuple(map(str, self.graphs.classes.tolist()))

    @property
    def ys(self) -> Tensor:
        """Class of each graph of the part, or its targets, or the class of each vertex."""
        if self.vertex_ys is not None:
            return torch.from_numpy(self.vertex_ys[gathered(self.graphs.vertex_pointer, self.numbers)[1]]).long()
        return torch.from_numpy((self.graphs.ys if self.targets is None else self.targets)[self.numbers])

    @property
    def digest(self) -> str:
        """Sum of the whole dataset's contents, for the records: equal digests, equal data."""
        return self.graphs.digest

    def take(self, indices: Sequence[int] | Int[Array, " b"]) -> GraphExamples:
        """Some of the part's graphs, in the given order."""
        return replace(self, numbers=self.numbers[_whole(indices)])


def _whole(numbers: Sequence[int] | Int[Array, " k"]) -> Int[Array, " k"]:
    """As an array; an empty list is one of whole numbers too."""
    return np.asarray(numbers) if len(numbers) else np.zeros(0, np.int64)


def gathered(pointer: Int[Array, " r+1"], chosen: Int[Array, " b"]) -> tuple[Int[Array, " b+1"], Int[Array, " rows"]]:
    """The pointer of the chosen runs one after the other, and the rows that are in them."""
    begin, counts = pointer[chosen], pointer[chosen + 1] - pointer[chosen]
    ends = np.append(0, np.cumsum(counts))
    return ends, np.repeat(begin - ends[:-1], counts) + np.arange(ends[-1])


def self_connected(target: Int[Array, " m"], n: int) -> tuple[Int[Array, " n+1"], Int[Array, " m"]]:
    """Where the edges into each vertex begin if a self-connection ends them, and the place of each of the others.

    Args:
        target: Vertex $i$ of each edge, ascending.
        n: Number of vertices.
    """
    pointer = np.append(0, np.cumsum(np.bincount(target, minlength=n) + 1))
    return pointer, np.arange(len(target)) + target  # before edge e into vertex i stand i self-connections
