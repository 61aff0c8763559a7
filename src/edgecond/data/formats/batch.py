"""Graphs of PyTorch Geometric: a list of `Data`, or the tensors of a `Batch` in a file.

A file is written without pickle and without this package:

    batch = Batch.from_data_list(list(dataset)).to_dict()
    safetensors.torch.save_file({name: t.contiguous() for name, t in batch.items() if isinstance(t, Tensor)}, path)

| tensor | holds |
|---|---|
| `edge_index` | source and target of each edge, numbered over all graphs; each edge in both directions |
| `batch` or `ptr` | the graph of each vertex, or the first vertex of each graph |
| `x` | the signal: one-hot rows are vertex labels, other numbers attributes; optional |
| `edge_attr` | edge labels: whole numbers and one-hot rows are categories, other numbers attributes; optional |
| `y` | the targets of each graph: whole numbers are classes, 0 and 1 binary labels, other numbers real targets |

For segmentation, a tensor of any name has the class of each vertex, negative where it is unknown.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Int
from numpy import ndarray as Array
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor

from edgecond.data.budget import MOST_LABELS, numbered
from edgecond.data.graphs import check_one_hot, Graphs, LARGEST
from edgecond.errors import DataError, listed
from edgecond.files import digest, reading, sha256


@dataclass(frozen=True, eq=False)
class Batched:
    """Graphs with their targets; see `smiles.Molecules`.

    Attributes:
        graphs: The graphs. Their `ys` are all 0: see `targets`.
        targets: A column for each target, NaN where unknown: a real number, or the number of a class.
        target_names: Name of each target.
        classes: Names of the classes of each target; none for regression.
        vertex_ys: Targets of each vertex, if there are any: a class, -1 where unknown, or numbers, NaN where unknown.
        vertex_names: Names of the classes, or of the numbers.
        vertices_have_classes: Whether the targets of vertices are classes.
    """

    graphs: Graphs
    targets: Float[Array, "n t"]
    target_names: tuple[str, ...]
    classes: tuple[tuple[str, ...], ...]
    vertex_ys: Int[Array, " n"] | Float[Array, "n t"] | None = None
    vertex_names: tuple[str, ...] = ()
    vertices_have_classes: bool = True

    def without_class(self, index: int) -> str:
        """Return the error message for a graph without a class."""
        return (
            f"y must have a class for every graph: that of graph {index}, counted from 0, is NaN. "
            "Remove such graphs from the batch."
        )


def read(path: Path, like: Graphs | None = None, vertices: str | None = None) -> Batched:
    """Read the graphs of a file of tensors, as described in the docstring of this module; see `unpacked`."""
    try:
        with reading(path):
            tensors = load_file(path)
    except SafetensorError as error:
        raise DataError(f"{path} must be a safetensors file: {error}. Pickles are not read.") from error
    with reading(path):  # tensors may have more dimensions than arrays
        arrays = {name: _numpy(tensor) for name, tensor in tensors.items()}
    return unpacked(arrays, path, like, vertices)


def _numpy(tensor: Any) -> Array:
    """Return a tensor as an array, in single precision where NumPy lacks its type, such as bfloat16."""
    if not isinstance(tensor, Tensor):
        return np.asarray(tensor)
    tensor = tensor.detach()
    known = not tensor.is_floating_point() or tensor.dtype in (torch.float16, torch.float32, torch.float64)
    return (tensor if known else tensor.float()).numpy()


def packed(graphs: Sequence[Any], ys: Any = None, like: Graphs | None = None) -> Batched:
    """Return the graphs of a list of PyG `Data`, or of objects with `edge_index`, `num_nodes`, `x`, `edge_attr`, `y`.

    Args:
        graphs: At least one graph.
        ys: Targets, instead of the `y` of each graph.
        like: See `unpacked`.
    """
    if not graphs:
        raise DataError("a list of graphs must hold at least one graph: it is empty.")
    wanted = ("x", "edge_attr", "y") if ys is None else ("x", "edge_attr")
    names = [name for name in wanted if getattr(graphs[0], name, None) is not None]
    arrays: dict[str, list[Array]] = {name: [] for name in ("edge_index", *names)}
    for number, graph in enumerate(graphs):
        for name, parts in arrays.items():
            if (value := getattr(graph, name, None)) is None:
                raise DataError(f"all graphs must have the same attributes: graph {number} has no {name}.")
            parts.append(np.atleast_1d(_numpy(value)))
        _check_alone(number, int(graph.num_nodes), {name: parts[-1] for name, parts in arrays.items()})
    first = np.append(0, np.cumsum([int(graph.num_nodes) for graph in graphs]))
    arrays["edge_index"] = [edges + at for edges, at in zip(arrays["edge_index"], first[:-1], strict=True)]
    try:
        joined = {name: np.concatenate(parts, axis=int(name == "edge_index")) for name, parts in arrays.items()}
    except ValueError as error:
        raise DataError(f"all graphs must have attributes of the same widths: {error}.") from error
    return unpacked(joined | {"ptr": first} | ({} if ys is None else {"y": np.asarray(ys)}), "the list of graphs", like)


def _check_alone(number: int, n: int, arrays: Mapping[str, Array]) -> None:
    """Refuse a graph whose edges or rows would be those of its neighbours in a batch."""
    edges = arrays["edge_index"]
    if edges.ndim == 2 and edges.size and not 0 <= edges.min() <= edges.max() < n:
        found = edges.min() if edges.min() < 0 else edges.max()
        raise DataError(f"graph {number} must have edges between its vertices, 0 to {n - 1}: found vertex {found}.")
    for name, count, what in (("x", n, "vertices"), ("edge_attr", edges.shape[-1], "edges")):
        if name in arrays and len(arrays[name]) != count:
            raise DataError(
                f"graph {number} must have a row of {name} for each of its {count} {what}: it has {len(arrays[name])}."
            )


def unpacked(
    arrays: Mapping[str, Array], where: object, like: Graphs | None = None, vertices: str | None = None
) -> Batched:
    """Build graphs from the tensors of a batch.

    Args:
        arrays: Arrays by the names that the docstring of this module lists.
        where: Origin of the arrays, for messages.
        like: Graphs whose labels and attributes these must have, such as the training set; targets are then ignored.
        vertices: Name of the array with the class of each vertex, for segmentation.
    """
    n, vertex_pointer = _vertices(arrays, where)
    source, target, edge_pointer, order = _edges(arrays, where, vertex_pointer)
    m = arrays["edge_index"].shape[1]
    if like is None:
        signal, edges = _features(arrays, "x", n, where), _features(arrays, "edge_attr", m, where)
    else:
        signal = _like(arrays, "x", n, where, like.vertex_values, like.vertex_attributes.shape[1])
        edges = _like(arrays, "edge_attr", m, where, like.edge_values, like.edge_attributes.shape[1])
    size = sum(array.nbytes for array in arrays.values())
    check_one_hot(where, n, len(signal.values), size)
    count = len(vertex_pointer) - 1
    vertex_targets = (None, (), True) if vertices is None else _vertex_targets(arrays, vertices, n, where)
    targets, classes = _targets(arrays.get("y") if like is None and vertices is None else None, count, n, where)
    names = ("y",) if targets.shape[1] == 1 else tuple(f"y{t}" for t in range(targets.shape[1]))
    parts = {name: sha256(np.ascontiguousarray(array).tobytes()) for name, array in sorted(arrays.items())}
    graphs = Graphs(
        Path(str(where)).stem if isinstance(where, Path) else "graphs",
        ys=np.zeros(count, np.int64),
        classes=np.zeros(0, np.int64),
        vertex_pointer=vertex_pointer,
        edge_pointer=edge_pointer,
        source=source,
        target=target,
        vertex_labels=signal.labels,
        vertex_values=signal.values,
        edge_labels=edges.labels[order],
        edge_values=edges.values,
        vertex_attributes=signal.attributes,
        edge_attributes=edges.attributes[order],
        attributes=np.zeros((count, 0)),
        digest=digest(parts),
    )
    return Batched(graphs, targets, names, classes, *vertex_targets)


def _vertices(arrays: Mapping[str, Array], where: object) -> tuple[int, Int[Array, " graphs+1"]]:
    """Return the number of vertices, and the first vertex of each graph."""
    if "edge_index" not in arrays or not {"ptr", "batch"} & arrays.keys():
        raise DataError(
            f"{where} must hold edge_index, and batch or ptr, as a PyG Batch has them: "
            f"found {listed(sorted(arrays), most=5) or 'nothing'}."
        )
    if "ptr" in arrays:
        pointer = _whole(arrays["ptr"], f"{where}, ptr", 1)
    else:
        batch = _whole(arrays["batch"], f"{where}, batch", 1)
        if len(batch) and (batch[0] < 0 or (np.diff(batch) < 0).any() or batch[-1] >= len(batch)):
            raise DataError(f"{where}, batch must number the graphs from 0 in ascending order, each with a vertex.")
        pointer = np.append(0, np.cumsum(np.bincount(batch)))
    if len(pointer) < 2 or pointer[0] != 0 or (np.diff(pointer) < 1).any():
        raise DataError(f"{where} must hold at least one graph, and each at least one vertex.")
    n = int(pointer[-1])
    if n > (most := numbered(sum(array.nbytes for array in arrays.values()))):
        raise DataError(f"{where} must have at most {most:,} vertices, by the size of its tensors: ptr ends at {n:,}.")
    if "x" in arrays and (rows := len(np.atleast_1d(arrays["x"]))) != n:
        raise DataError(f"{where}, x must have a row for each of the {n} vertices: it has {rows}.")
    return n, pointer


def _edges(
    arrays: Mapping[str, Array], where: object, pointer: Int[Array, " graphs+1"]
) -> tuple[Int[Array, " m"], Int[Array, " m"], Int[Array, " graphs+1"], Int[Array, " m"]]:
    """Return source and target within their graph, sorted and without self-loops, the first edge of each graph, and
    the original index of each edge."""
    index = _whole(arrays["edge_index"], f"{where}, edge_index", 2)
    if len(index) != 2 or (index.size and not 0 <= index.min() <= index.max() < pointer[-1]):
        raise DataError(f"{where}, edge_index must have two rows of vertices, numbered from 0 to {pointer[-1] - 1}.")
    graph = np.searchsorted(pointer, index, side="right") - 1
    if (apart := graph[0] != graph[1]).any():
        raise DataError(
            f"{where} must have no edge between two graphs: edge {apart.argmax()} joins two. "
            "Vertices are numbered over all graphs, as in a PyG Batch."
        )
    order = np.lexsort(index)  # by target, then by source
    order = order[index[0][order] != index[1][order]]
    source, target = index[:, order]
    key, reverse = target * pointer[-1] + source, source * pointer[-1] + target
    if len(key) and (twice := np.diff(key) == 0).any():
        at = int(twice.argmax())
        raise DataError(f"{where} must have each edge once: that from {source[at]} to {target[at]} occurs twice.")
    if (single := ~np.isin(reverse, key)).any():
        at = int(single.argmax())
        raise DataError(
            f"{where} must have each edge in both directions: that from {source[at]} to {target[at]} has no reverse. "
            "Apply torch_geometric.transforms.ToUndirected()."
        )
    of = graph[0][order]
    begins = np.append(0, np.cumsum(np.bincount(of, minlength=len(pointer) - 1)))
    return source - pointer[of], target - pointer[of], begins, order


@dataclass(frozen=True)
class _Features:
    """Labels, their values, and attributes."""

    labels: Int[Array, " rows"]
    values: Int[Array, " u"]
    attributes: Float[Array, "rows a"]


def _features(arrays: Mapping[str, Array], name: str, rows: int, where: object, categories: bool = True) -> _Features:
    """Return whole numbers and one-hot rows as categories, if `categories` allows it, and others as attributes."""
    given = arrays.get(name, np.zeros((rows, 0)))
    table = given[:, None] if given.ndim == 1 else given
    if table.ndim != 2 or len(table) != rows or table.dtype.kind not in "biuf":
        raise DataError(f"{where}, {name} must be {rows} rows of numbers: found {table.dtype} of shape {given.shape}.")
    if not (finite := np.abs(table.astype(np.float64)) <= LARGEST).all():
        raise DataError(
            f"{where}, {name} must hold finite numbers in single precision: row {(~finite.all(1)).argmax()} does not."
        )
    if categories and table.shape[1] > 1 and _one_hot(table):
        return _Features(table.argmax(1), np.arange(table.shape[1]), np.zeros((rows, 0)))
    if categories and table.shape[1] == 1 and table.dtype.kind in "biu":
        values, labels = np.unique(table[:, 0], return_inverse=True)
        if len(values) > MOST_LABELS:
            raise DataError(f"{where}, {name} must have at most {MOST_LABELS} categories: found {len(values)}.")
        return _Features(labels, values.astype(np.int64), np.zeros((rows, 0)))
    return _Features(np.zeros(rows, np.int64), np.zeros(0, np.int64), table.astype(np.float64))


def _like(
    arrays: Mapping[str, Array], name: str, rows: int, where: object, values: Int[Array, " u"], attributes: int
) -> _Features:
    """Return features with labels numbered as in the training set, which has these values and attributes."""
    if not rows:  # without edges, nothing shows what their labels would be
        return _Features(np.zeros(0, np.int64), values, np.zeros((0, attributes)))
    features = _features(arrays, name, rows, where, len(values) > 0)
    wide = name in arrays and arrays[name].ndim == 2 and arrays[name].shape[1] > 1
    if wide and len(values) and len(features.values) not in (0, len(values)):
        raise DataError(
            f"{where}, {name} must have one-hot rows of width {len(values)}, as in the training set: found width "
            f"{len(features.values)}."
        )
    if features.attributes.shape[1] != attributes or (len(values) > 0) != (len(features.values) > 0):
        raise DataError(
            f"{where}, {name} must have {len(values)} categories and {attributes} attributes, as in the training set: "
            f"found {len(features.values)} and {features.attributes.shape[1]}."
        )
    if (unknown := ~np.isin(features.values, values)).any():
        raise DataError(
            f"{where}, {name} must have the labels of the training set: found {features.values[unknown.argmax()]}."
        )
    if not len(values):
        return features
    return _Features(np.searchsorted(values, features.values)[features.labels], values, features.attributes)


def _one_hot(table: Array) -> bool:
    return bool(((table == 0) | (table == 1)).all() and (table.sum(1) == 1).all())


def _vertex_targets(
    arrays: Mapping[str, Array], name: str, n: int, where: object
) -> tuple[Int[Array, " n"] | Float[Array, "n t"], tuple[str, ...], bool]:
    """Return the targets of each vertex, the names of the classes or of the numbers, and whether they are classes.

    Floating-point tensors hold numbers to predict, NaN where one is unknown; integers are classes, below 0 where one is
    unknown.
    """
    if name not in arrays:
        raise DataError(f"{where} must hold {name}, the target of each vertex: found {listed(sorted(arrays))}.")
    if arrays[name].ndim == 0 or len(arrays[name]) != n:
        found = len(np.atleast_1d(arrays[name]))
        raise DataError(f"{where}, {name} must have a target for each of the {n} vertices: it has {found}.")
    given = arrays[name]
    if given.dtype.kind == "f":
        numbers = given.reshape(n, -1).astype(np.float64)
        if np.isinf(numbers).any():
            raise DataError(f"{where}, {name} must have finite numbers: found an infinite one.")
        names = (name,) if numbers.shape[1] == 1 else tuple(f"{name}{t}" for t in range(numbers.shape[1]))
        return numbers, names, False
    given = _whole(given, f"{where}, {name}", 1)
    values = np.unique(given[given >= 0])
    if not 2 <= len(values) <= MOST_LABELS:
        raise DataError(f"{where}, {name} must have 2 to {MOST_LABELS:,} classes: found {len(values):,}.")
    return np.where(given < 0, -1, np.searchsorted(values, given)), tuple(map(str, values.tolist())), True


def _targets(
    y: Array | None, count: int, n: int, where: object
) -> tuple[Float[Array, "n t"], tuple[tuple[str, ...], ...]]:
    """Return the targets, a column for each, and the names of their classes."""
    if y is None:
        return np.zeros((count, 0)), ()
    of_vertices = n != count and y.shape in ((n,), (n, 1))
    if y.size == 0 or y.size % count or y.dtype.kind not in "biuf" or of_vertices:
        advice = (
            " To predict the class of each vertex, pass --vertices y; several targets of a graph are a row of a table."
        )
        raise DataError(
            f"{where}, y must be a number or a row of numbers for each of {count} graphs: it has {y.shape}."
            + advice * of_vertices
        )
    table = y.reshape(count, -1).astype(np.float64)
    if np.isinf(table).any():
        raise DataError(f"{where}, y must hold finite numbers, or NaN where a target is unknown.")
    classes: list[tuple[str, ...]] = []
    for column in table.T:
        known = np.unique(column[~np.isnan(column)])
        binary = bool(np.isin(known, (0, 1)).all())
        if binary or y.dtype.kind in "biu":
            values = np.array([0.0, 1.0]) if binary else known
            column[~np.isnan(column)] = np.searchsorted(values, column[~np.isnan(column)])
            classes.append(tuple(f"{value:.0f}" for value in values))
        else:
            classes.append(())
    return table, tuple(classes)


def _whole(array: Array, where: str, dimensions: int) -> Int[Array, "..."]:
    if array.ndim != dimensions or array.dtype.kind not in "iu":
        raise DataError(
            f"{where} must be whole numbers in {'two dimensions' if dimensions == 2 else 'one dimension'}: "
            f"it is {array.dtype} of {array.shape}."
        )
    return array.astype(np.int64)
