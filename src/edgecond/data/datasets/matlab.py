"""Conversion of graphs from the MATLAB format of Shervashidze et al. to that of TU, where NCI1 lacks edge labels."""

from __future__ import annotations

import zipfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Int
from numpy import ndarray as Array

from edgecond.errors import DataError
from edgecond.files import data_file, reading


def rewrite(source: Path, target: Path, *, check: Callable[[Path], None], renumber: bool = False) -> None:
    """Convert a MATLAB file to a zip file in the TU format.

    The MATLAB file has one structure per graph, with the vertex labels `nl`, the list `al` of the neighbours of each
    vertex and the edge labels `el`; and a vector of classes.

    Args:
        source: Path of the MATLAB file.
        target: Path of the zip file; its stem is the name of the dataset.
        check: Function that raises `DataError` unless the file is the known one: scipy's reader of MATLAB files crashes
            (segmentation fault) on some damaged files.
        renumber: Number the edge labels 0, 1, 2 and so on, instead of keeping those of the file.
    """
    check(source)
    with reading(source):
        try:
            texts = _texts(source, renumber)
        except (OSError, DataError):
            raise
        except Exception as error:  # scipy's reader raises exceptions of many types
            raise ValueError(f"{type(error).__name__}: {error}") from error
    name = target.stem
    with data_file(target) as file, zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for part, rows in texts.items():
            archive.writestr(f"{name}/{name}_{part}.txt", "".join(f"{row}\n" for row in rows))


def _texts(source: Path, renumber: bool) -> dict[str, list[str]]:
    """Return the lines of each file in the TU format."""
    from scipy.io import loadmat

    tables = [value for value in loadmat(source).values() if isinstance(value, Array)]
    (graphs,) = [table.ravel() for table in tables if table.dtype.names]
    (ys,) = [table.ravel() for table in tables if not table.dtype.names]
    labels = [graph["nl"]["values"][0, 0].ravel() for graph in graphs]
    edges = [_edges(graph) for graph in graphs]
    sizes = [len(rows) for rows in labels]
    first = np.cumsum([0, *sizes])
    pairs = np.concatenate([rows[:, :2] + begin for rows, begin in zip(edges, first[:-1], strict=True)])
    codes = np.concatenate([rows[:, 2] for rows in edges])
    if renumber:
        codes = np.unique(codes, return_inverse=True)[1]
    texts: dict[str, Iterable[object]] = {
        "A": [f"{j}, {i}" for j, i in pairs],
        "graph_indicator": np.repeat(np.arange(len(graphs)) + 1, sizes),
        "graph_labels": ys,
        "node_labels": np.concatenate(labels),
        "edge_labels": codes,
    }
    return {part: list(map(str, rows)) for part, rows in texts.items()}


def _edges(graph: Any) -> Int[Array, "m 3"]:
    """Return source, target and label of each edge, with vertices numbered from 1.

    NCI1 lists the labels parallel to the neighbours of each vertex; MUTAG has such rows, in one direction or both.
    """
    values = graph["el"]["values"][0, 0]
    if values.dtype != object:
        rows = values.astype(np.int64)
        return np.unique(np.concatenate([rows, rows[:, [1, 0, 2]]]), axis=0)
    neighbours = [cell.ravel() for cell in graph["al"].ravel()]
    vertices = np.repeat(np.arange(len(neighbours)) + 1, [len(row) for row in neighbours])
    codes = [cell.ravel() for cell in values.ravel()]
    return np.column_stack([vertices, np.concatenate(neighbours), np.concatenate(codes)]).astype(np.int64)
