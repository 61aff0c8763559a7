"""Several files of graphs as one data set: the training data, and test and validation data in other files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float
from numpy import ndarray as Array

from edgecond.data.features import Features
from edgecond.data.formats import batch
from edgecond.data.graphs import Graphs
from edgecond.errors import DataError
from edgecond.files import digest, sha256

_POINTERS, _OWN = ("vertex_pointer", "edge_pointer"), ("name", "classes", "vertex_values", "edge_values", "digest")


def joined_graphs(first: Graphs, *others: Graphs) -> Graphs:
    """Return the graphs of several files whose labels, attributes and classes have the same numbers."""
    every = (first, *others)
    changes: dict[str, Any] = {"digest": digest({str(number): graphs.digest for number, graphs in enumerate(every)})}
    for name in vars(first):
        if name in _POINTERS:
            changes[name] = np.append(
                0, np.cumsum(np.concatenate([np.diff(getattr(graphs, name)) for graphs in every]))
            )
        elif name not in _OWN:
            arrays = [getattr(graphs, name) for graphs in every]
            width = arrays[0].shape[1:]
            if any(array.shape[1:] < width for array in arrays):
                raise DataError(f"{others[0].name} must have the attributes of the training data: it has fewer.")
            changes[name] = np.concatenate([array[:, : width[0]] if width else array for array in arrays])
    return replace(first, **changes)


def extended(graphs: Graphs, known: Graphs) -> Graphs:
    """Return graphs whose labels are numbered as those of others, followed or interleaved by labels that are new.

    Args:
        graphs: The graphs.
        known: Graphs with the vocabulary of a model; none of its labels is lost.
    """
    changes: dict[str, Any] = {}
    for part in ("vertex", "edge"):
        values, before = getattr(graphs, f"{part}_values"), getattr(known, f"{part}_values")
        if bool(len(values)) != bool(len(before)):
            no, actual = ("", "none") if len(before) else ("no ", "some")
            raise DataError(f"{graphs.name} must have {no}{part} labels, like the data of the model: it has {actual}.")
        union = np.union1d(before, values)
        if len(union) > len(values):
            labels = np.searchsorted(union, values)[getattr(graphs, f"{part}_labels")]
            changes |= {f"{part}_values": union, f"{part}_labels": labels}
    if changes:  # pyramids, which hold the numbers of labels, are computed again
        texts = {name: sha256(values.astype("<i8").tobytes()) for name, values in changes.items() if "values" in name}
        changes["digest"] = digest({"graphs": graphs.digest, **texts})
    return replace(graphs, **changes) if changes else graphs


def joined_batches(paths: Sequence[Path], vertices: str | None) -> tuple[batch.Batched, list[int]]:
    """Read the tensors of several files as one batch, with labels and classes as in the first, and their sizes.

    Args:
        paths: The files.
        vertices: Name of the tensor with the target of each vertex, if those are predicted.
    """
    joined = first = batch.read(paths[0], vertices=vertices)
    sizes, graphs = [len(first.graphs)], [first.graphs]
    for path in paths[1:]:
        other = batch.read(path, vertices=vertices)
        graphs.append(batch.read(path, like=first.graphs).graphs)
        sizes.append(len(other.graphs))
        joined = replace(joined, targets=joined_targets(joined, other, path))
        if joined.vertex_ys is not None and other.vertex_ys is not None:
            joined = replace(joined, vertex_ys=np.concatenate([joined.vertex_ys, _vertex_ys(first, other, path)]))
    return (replace(joined, graphs=joined_graphs(*graphs)) if len(paths) > 1 else first), sizes


def _vertex_ys(first: batch.Batched, other: batch.Batched, path: Path) -> Array:
    """The targets of the vertices of another file, with the classes of the first."""
    known, found = first.vertex_names, other.vertex_names
    assert other.vertex_ys is not None
    if first.vertices_have_classes != other.vertices_have_classes or (
        not first.vertices_have_classes and len(known) != len(found)
    ):
        sort = "classes" if first.vertices_have_classes else f"{len(known)} numbers"
        raise DataError(f"{path} must have {sort} of vertices, like the training data: it has others.")
    if not first.vertices_have_classes:
        return other.vertex_ys
    ys = renumbered(
        np.where(other.vertex_ys < 0, np.nan, other.vertex_ys), found, known, f"{path}, classes of vertices"
    )
    return np.where(np.isnan(ys), -1, ys).astype(np.int64)


def joined_features(first: Features | None, other: Features | None, path: Path) -> Features | None:
    """Return the columns beside the molecules of a table, followed by those of another file, which is named."""
    if first is None or other is None:
        return first
    for name, column in first.columns.items():
        if column.dtype != (found := other.columns[name]).dtype and not _unknown(found):
            sort = "texts" if column.dtype == object else "numbers"
            raise DataError(f"{path}, column {name!r} must hold {sort}, like the training data: it holds others.")
    columns = {
        name: np.append(column, found if found.dtype == column.dtype else _blank(column, len(found)))
        for name, column in first.columns.items()
        for found in [other.columns[name]]
    }
    descriptors = {name: np.append(column, other.descriptors[name]) for name, column in first.descriptors.items()}
    return Features(columns, descriptors)


def _unknown(column: Array) -> bool:
    """Whether nothing is known in a column."""
    return bool((column == "").all() if column.dtype == object else np.isnan(column).all())


def _blank(like: Array, count: int) -> Array:
    return np.full(count, "" if like.dtype == object else np.nan, like.dtype)


def joined_targets(first: Any, other: Any, path: Path) -> Float[Array, "n t"]:
    """Return the targets of a table or batch, followed by those of another with the classes of the first.

    Args:
        first: The training data, with `targets`, `target_names` and `classes`.
        other: The test or validation data; `--numbers` may differ, as few whole numbers are classes.
        path: File of the other data, for messages.
    """
    if (width := first.targets.shape[1]) != (found := other.targets.shape[1]):
        raise DataError(f"{path} must have {width} targets, like the training data: it has {found}.")
    columns = [
        renumbered(column, names, known, f"{path}, {name}")
        for column, names, known, name in zip(
            other.targets.T, other.classes, first.classes, first.target_names, strict=True
        )
    ]
    return np.concatenate([first.targets, np.stack(columns, axis=1)])


def renumbered(
    values: Float[Array, " n"], found: Sequence[str], known: Sequence[str], where: str
) -> Float[Array, " n"]:
    """Return a target with the classes of the training data, or as numbers if those are numbers.

    Args:
        values: Numbers, or numbers of the classes that were found; NaN where blank.
        found: Names of these classes; none for numbers.
        known: Names of the classes of the training data; none for numbers.
        where: The file and the column, for messages.
    """
    blank = np.isnan(values)
    present = np.unique(values[~blank])
    if not known:
        if not found:
            return values
        try:
            table = np.array([float(name) for name in found])
        except ValueError:
            raise DataError(f"{where} must hold numbers, like the training data: found {found[0][:60]!r}.") from None
    else:
        names = found or [f"{value:g}" for value in present.tolist()]
        wanted = present.astype(np.int64).tolist() if found else range(len(present))
        if unknown := [names[index] for index in wanted if names[index] not in known]:
            raise DataError(
                f"{where} must hold classes of the training data, {', '.join(known[:10])}: found {unknown[0][:60]!r}."
            )
        table = np.array([float(known.index(name)) if name in known else np.nan for name in names])
        values = values if found else np.where(blank, np.nan, np.searchsorted(present, np.where(blank, 0, values)))
    renumbered = np.full(len(values), np.nan)
    renumbered[~blank] = table[values[~blank].astype(np.int64)]
    return renumbered
