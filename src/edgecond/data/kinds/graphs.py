"""General graphs: TU files, tensors of PyG batches, and `Data` objects in memory (Section 4.3)."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from edgecond.data.archives import ARCHIVES, is_archive
from edgecond.data.features import Features, features_of
from edgecond.data.formats import batch, tu
from edgecond.data.graphs import GraphExamples, Graphs
from edgecond.data.kinds.base import (
    Batch,
    Kind,
    Learned,
    NONE,
    ReadOptions,
    Report,
    RowReader,
    Rows,
    Total,
    UserData,
)
from edgecond.data.kinds.elements import NamedElements
from edgecond.data.kinds.inputs import Inputs, numbered
from edgecond.data.kinds.joining import extended, joined_batches, joined_graphs, renumbered
from edgecond.data.kinds.leakage import weisfeiler_lehman
from edgecond.data.kinds.networks import adapted
from edgecond.data.kinds.pictures import CommonLabels, Description, FilterLabels, GraphPicture, LevelsPicture
from edgecond.data.kinds.reading import Targets
from edgecond.data.kinds.searching import choices, network_sizes, Range, Space
from edgecond.data.kinds.splitting import given_parts
from edgecond.data.kinds.wording import class_counts, data_name, number_range, skipped
from edgecond.data.preparation import GraphPreparation, no_progress, Progress, SampleSettings
from edgecond.errors import DataError
from edgecond.notation import Architecture

MOST_GRAPHS = 1024
"""Number of graphs in memory while predicting, at most; a file is read as a whole."""
WITH_PYRAMID = "C(48)-C(48)-C(48)-MP-C(48)-C(64)-MP-C(64)-GAP-FC(64)-D(0.1)-FC(1)"
"""Network of the paper for NCI1, whose pyramid lets a vertex see more than its neighbours do."""
SEEN, MATRICES = 64, 6
"""Examples whose labels are counted, and labels whose filters are shown, at most."""
TENSORS = ".safetensors"


class GeneralGraphs(Kind):
    """Graphs in files or in memory."""

    name: ClassVar[str] = "graphs"
    unit: ClassVar[str] = "vertex"
    element_columns: ClassVar[tuple[str, ...]] = ("name",)
    provides: ClassVar[frozenset[str]] = frozenset({"graph"})
    baseline: ClassVar[str] = "wl"
    base: ClassVar[str] = "plus/nci1"
    options: ClassVar[frozenset[str]] = frozenset({"vertices"})
    place: ClassVar[tuple[str, ...]] = ("file", "graph")
    suffixes: ClassVar[tuple[str, ...]] = (*ARCHIVES, TENSORS)
    listed_by: ClassVar[str] = "graph"
    precomputes: ClassVar[bool] = True
    averages_views: ClassVar[bool] = False

    # User data

    def holds(self, path: Path, options: ReadOptions) -> bool:
        if path.is_dir():
            return any(path.glob("*_graph_indicator.txt"))
        return path.name.lower().endswith(TENSORS) or is_archive(path)

    def read(self, path: Path, options: ReadOptions, others: Mapping[str, Path] = NONE) -> UserData:
        if path.name.lower().endswith(TENSORS):
            return self._read_tensors(path, options.vertices, others)
        if options.vertices is not None:
            raise DataError(
                f"{path} must hold targets of vertices for --vertices: TU files have labels of vertices, which are "
                "known, and no targets. Save the graphs as tensors of a PyG batch."
            )
        first, unread = tu.read(path), list[str]()
        numbers = [np.arange(len(first))]
        more = []
        for other in others.values():
            graphs, kept, unknown = tu.read(other).relabelled(first)
            classes = tuple(map(str, first.classes.tolist()))
            ys = renumbered(
                graphs.ys.astype(float), tuple(map(str, graphs.classes.tolist())), classes, f"{other}, classes"
            )
            more.append(replace(graphs, ys=ys.astype(np.int64)))
            numbers.append(kept)
            unread += [f"{other}, graph {number + 1}: {sentence}" for number, sentence in unknown]
        graphs = joined_graphs(first, *more) if more else first
        examples = GraphExamples(graphs, np.arange(len(graphs)))
        notes = (repr(graphs), *skipped(unread))
        given = given_parts([""] * len(first), dict(zip(others, more, strict=True)))
        return UserData(
            data_name(path),
            examples,
            (examples.classes,),
            False,
            "tu",
            notes=notes,
            **_places([path, *others.values()], numbers),
            parts=given,
        )

    def _read_tensors(self, path: Path, vertices: str | None, others: Mapping[str, Path]) -> UserData:
        contents, sizes = joined_batches([path, *others.values()], vertices)
        if contents.vertex_ys is not None:
            every, names = np.arange(len(contents.graphs)), contents.vertex_names
            examples = GraphExamples(contents.graphs, every, outcomes=names, vertex_ys=contents.vertex_ys)
            targets: Targets = (names,) if contents.vertices_have_classes else ((),) * len(names)
            summary = class_counts(examples) if contents.vertices_have_classes else number_range(examples)
            predicted = f"{vertices} of {len(examples.ys):,} vertices: {summary}"
        elif contents.target_names:
            targets, examples = contents.classes, examples_of(contents, str(path))
            predicted = ", ".join(contents.target_names)
        else:
            raise DataError(f"{path} must hold y, the target of each graph: it holds none.")
        notes = (repr(contents.graphs), f"target: {predicted}")
        return UserData(
            data_name(path),
            examples,
            targets,
            contents.vertex_ys is not None,
            "batch",
            notes=notes,
            parts=given_parts([""] * sizes[0], dict(zip(others, map(range, sizes[1:]), strict=True))),
            **_places([path, *others.values()], list(map(np.arange, sizes))),
        )

    equality: ClassVar[str] = "equal Weisfeiler-Lehman hash"

    def keys(self, examples: GraphExamples) -> Sequence[Hashable]:
        return weisfeiler_lehman(examples.graphs)

    def settings(
        self, examples: GraphExamples, base: Mapping[str, Any], dataset: str, per_vertex: bool
    ) -> dict[str, Any]:
        graphs = examples.graphs
        network = adapted(WITH_PYRAMID if per_vertex else base["network"], len(examples.classes), per_vertex=per_vertex)
        return {
            "network": str(network),
            "attributes": graphs.vertex_attributes.shape[1] + graphs.edge_attributes.shape[1] > 0,
            "standardised": self.standardises,
            "counts": base["counts"] and not per_vertex,
        }

    standardises: ClassVar[bool] = True

    def search_space(self, settings: Mapping[str, Any]) -> Space:
        degrees = choices("given", "given+sqrt(deg)", default=settings["labels"])
        return {
            "network": network_sizes(settings["network"], deeper=True),
            "hidden": choices([32], [64], [32, 64], default=settings["hidden"]),
            "identity": (False, True),
            "labels": degrees,
            "dropout": Range(0.0, 0.3),
            **({} if Architecture(settings["network"]).per_vertex else {"counts": (False, True)}),
            **super().search_space(settings),
        }

    # Samples

    def prepare(
        self,
        settings: SampleSettings,
        examples: Any,
        *,
        progress: Progress = no_progress,
        transient: bool = False,
        start: Any = None,
    ) -> GraphPreparation:
        return GraphPreparation.fit(settings, examples, progress=progress, transient=transient, start=start)

    def inputs(self, learned: Learned, widths: Sequence[int]) -> Inputs:
        assert isinstance(learned.preparation, GraphPreparation)
        known = learned.preparation.empty()
        vertices = [f"vertex label {value}" for value in known.vertex_values.tolist()] or ["vertices"]
        edges = [f"edge label {value}" for value in known.edge_values.tolist()] or ["edges"]
        degrees = ["degree of source", "degree of target"] if "+" in learned.settings.labels else []
        finest = numbered([*edges, "self-connection"], widths[0] - len(degrees), "edge attribute")
        levels = [[*finest, *degrees], *([["weight", *degrees]] * (len(widths) - 1))]
        if learned.settings.labels == "uniform":
            levels = [["all edges"]] * len(widths)
        return Inputs(numbered(vertices, learned.d0, "vertex attribute"), levels, learned.preparation.encoder.names)

    def extended(self, examples: GraphExamples, learned: Learned) -> GraphExamples:
        assert isinstance(learned.preparation, GraphPreparation)
        if not learned.preparation.has_vocabulary:  # as in the first model files
            return examples
        return replace(examples, graphs=extended(examples.graphs, learned.preparation.empty()))

    def restore(
        self, settings: SampleSettings, tensors: Mapping[str, Tensor], d0: int, encoding: Mapping[str, Any]
    ) -> GraphPreparation:
        return GraphPreparation.restore(settings, tensors, d0, encoding)

    def views(self, settings: SampleSettings) -> int:
        return settings.sparsifications

    def most_views(self, settings: SampleSettings) -> int:
        return settings.sparsifications

    # Predictions

    def shards(
        self,
        learned: Learned,
        files: Sequence[Path],
        options: ReadOptions,
        report: Report,
        total: Total,
    ) -> Iterator[Any]:
        yield from files

    def read_shard(self, learned: Learned, shard: Any, report: Report) -> Iterator[Batch]:
        assert isinstance(learned.preparation, GraphPreparation)
        expected = learned.preparation.empty()
        try:
            graphs, numbers = _read_alike(shard, expected, report)
        except DataError as error:
            report(str(error))
            return
        for start in range(0, len(graphs), MOST_GRAPHS):
            some = numbers[start : start + MOST_GRAPHS].tolist()
            places = [{"file": shard, "graph": number + 1} for number in some]
            yield batch_of(places, graphs.take(range(start, start + len(some))))

    # Rows in memory

    def accepts(self, row: Any) -> bool:
        return hasattr(row, "edge_index")

    rows_dataset: ClassVar[str] = "batch"

    def reader(self, rows: Rows) -> RowReader:
        return GraphReader(_packed(rows).take([]))

    def restore_reader(self, learned: Learned, about: Mapping[str, Any] | None) -> RowReader:
        assert isinstance(learned.preparation, GraphPreparation)
        expected = learned.preparation.empty()
        if about is None:
            return GraphReader(expected)
        widths: dict[str, Any] = {name: np.zeros((0, width)) for name, width in about.items()}
        return GraphReader(replace(expected, **widths))

    def with_features(self, examples: GraphExamples, columns: Any, learned: Learned | None) -> GraphExamples:
        if columns is None:
            return examples
        encoder = None
        if learned is not None:
            assert isinstance(learned.preparation, GraphPreparation)
            encoder = learned.preparation.encoder
        before = examples.features or Features()
        return replace(examples, features=replace(before, columns=features_of(columns, encoder, len(examples))))

    # Descriptions

    def elements(
        self, examples: GraphExamples, number: int, preparation: GraphPreparation, view: int, views: int
    ) -> NamedElements:
        graphs = examples.graphs
        graph = graphs[int(examples.numbers[number])]
        values = [self.vertex_name(value) for value in graphs.vertex_values.tolist()] or [""]
        names = [values[label] for label in graph.vertex_labels.tolist()]
        kinds = graphs.edge_values.tolist() or [None]
        edges = zip(graph.source.tolist(), graph.target.tolist(), graph.edge_labels.tolist(), strict=True)
        edge_names = {(i, j): self.edge_name(names[i], names[j], kinds[label]) for i, j, label in edges if i < j}
        every = np.arange(graph.n)
        return NamedElements(graph.n, every, every, names, edge_names)

    def vertex_name(self, value: int) -> str:
        """Return what people call a vertex label."""
        return str(value)

    def edge_name(self, one: str, other: str, value: int | None) -> str:
        """Return what people call an edge between two vertices, from their names and its label."""
        return "" if value is None else str(value)

    def describe(self, examples: GraphExamples, number: int) -> Description:
        graph = int(examples.numbers[number])
        return Description(f"graph {graph}", GraphPicture(examples.graphs, graph))

    def levels(
        self, examples: GraphExamples, preparation: GraphPreparation, most: int
    ) -> tuple[int, LevelsPicture] | None:
        sizes = examples.graphs.sizes[examples.numbers]
        lower = np.argsort(sizes, kind="stable")[: len(sizes) // 2 + 1]  # up to the median
        small = lower[sizes[lower] <= most]
        if not len(small):
            return None
        number = int(small[-1])
        pyramid = preparation.view(examples, 0, 1).sample([number], 0).pyramid
        how = "Levels come from Kron reduction; thick lines have more than the median weight of their level."
        return number, LevelsPicture(pyramid, how)

    def edge_label_name(self, value: int) -> str:
        """Return what people call edges with a label."""
        return f"Edge label {value}"

    def filter_labels(self, examples: GraphExamples, preparation: GraphPreparation) -> FilterLabels:
        few = examples.take(range(min(len(examples), SEEN)))
        labels = preparation.view(few, 0, 1).sample(range(len(few)), 0).pyramid.graphs[0].labels
        rows, counts = torch.unique(labels.per_edge(labels.values), dim=0, return_counts=True)
        order = torch.argsort(counts, descending=True, stable=True)[:MATRICES]
        names = tuple(label_name(row, examples.graphs, self.edge_label_name) for row in rows[order].tolist())
        return CommonLabels(rows[order], names, counts[order] / len(labels))


@dataclass(frozen=True)
class GraphReader:
    """Reads PyG `Data`, or whatever has the same parts, with the labels and attributes of the training set."""

    expected: Graphs
    width: ClassVar[None] = None

    @property
    def about(self) -> dict[str, Any]:
        return {name: getattr(self.expected, name).shape[1] for name in ("vertex_attributes", "edge_attributes")}

    def examples(self, rows: Rows, ys: NDArray[Any], names: Sequence[str]) -> GraphExamples:
        return labelled(_packed(rows, self.expected), ys, names)

    def unlabelled(self, rows: Rows) -> GraphExamples:
        return GraphExamples(_packed(rows, self.expected), np.arange(len(rows)))


def labelled(graphs: Graphs, ys: NDArray[Any], names: Sequence[str]) -> GraphExamples:
    """Return graphs with the class of each, or with a row of targets."""
    every = np.arange(len(graphs))
    if ys.ndim == 2:
        return GraphExamples(graphs, every, ys, tuple(names))
    return GraphExamples(replace(graphs, ys=ys, classes=np.arange(len(names))), every, None, tuple(names))


def batch_of(places: list[dict[str, Any]], graphs: Graphs) -> Batch:
    """Return graphs without targets as a batch to predict."""
    return Batch(places, GraphExamples(graphs, np.arange(len(graphs))), graphs.sizes.tolist())


def examples_of(contents: Any, where: str) -> GraphExamples:
    """Return all graphs of a table or a batch with their targets: a class of each, or a row of numbers.

    Args:
        contents: Graphs with `targets`, `target_names` and the `classes` of each target.
        where: Where they are from, for messages.
    """
    if len(contents.classes) != 1 or not contents.classes[0]:
        return GraphExamples(contents.graphs, np.arange(len(contents.graphs)), contents.targets, contents.target_names)
    ys = contents.targets[:, 0]
    if np.isnan(ys).any():
        raise DataError(f"{where}, {contents.without_class(int(np.isnan(ys).argmax()))}")
    return labelled(contents.graphs, ys.astype(np.int64), contents.classes[0])


def _places(paths: Sequence[Path], numbers: Sequence[NDArray[np.int64]]) -> dict[str, Any]:
    """Where the graphs of some files are from, and their names: numbers from 1."""
    places = [
        {"file": path, "graph": number + 1}
        for path, some in zip(paths, numbers, strict=True)
        for number in some.tolist()
    ]
    return {"places": places, "names": [str(place["graph"]) for place in places]}


def label_name(row: Sequence[float], graphs: Graphs, name: Callable[[int], str]) -> str:
    """Return what people call an edge label: the category of its one-hot part, and the degrees that may follow.

    Args:
        row: The label.
        graphs: The graphs that have it.
        name: Names the edges of a category.
    """
    if len(row) < graphs.s:
        return "All edges"
    values = graphs.edge_values.tolist()
    names = [*([name(value) for value in values] or ["Edges"]), "Self-connection"]
    degrees = [f"{number:.3g}" for number in row[graphs.s :]]
    return names[int(np.argmax(row[: graphs.s]))] + (f" with L_deg {' and '.join(degrees)}" if degrees else "")


def _packed(rows: Rows, expected: Graphs | None = None) -> Graphs:
    return batch.packed(rows, np.zeros(len(rows)), expected).graphs


def _read_alike(path: Path, expected: Graphs, report: Report) -> tuple[Graphs, NDArray[np.int64]]:
    """Read the graphs of a file whose labels are known, and their numbers in it."""
    if path.suffix.lower() == TENSORS:
        graphs = batch.read(path, like=expected).graphs
        return graphs, np.arange(len(graphs))
    graphs, numbers, unknown = tu.read(path, classes=False).relabelled(expected)
    for number, sentence in unknown:
        report(f"{path}, graph {number + 1}: {sentence}")
    return graphs, numbers
