"""The kinds of data: one module each, listed here, and how the kind of a path, of rows or of a recipe is found."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from edgecond.data.kinds.base import Kind, ReadOptions, UserData
from edgecond.data.kinds.clouds import Clouds
from edgecond.data.kinds.examples import Batch, LabelledExamples, Learned, RowReader, Rows
from edgecond.data.kinds.graphs import GeneralGraphs
from edgecond.data.kinds.inputs import Inputs
from edgecond.data.kinds.meshes import Meshes
from edgecond.data.kinds.molecules import Molecules
from edgecond.data.kinds.searching import Range, Space
from edgecond.data.kinds.splitting import METHODS, Split
from edgecond.errors import DataError
from edgecond.graph import Cloud

__all__ = [
    "KINDS",
    "METHODS",
    "Batch",
    "Inputs",
    "Kind",
    "LabelledExamples",
    "Learned",
    "Range",
    "ReadOptions",
    "RowReader",
    "Rows",
    "Space",
    "Split",
    "UserData",
    "check_options",
    "check_rows",
    "kind_of",
    "kind_of_path",
    "kind_of_rows",
    "listed",
]

KINDS: dict[str, Kind] = {
    kind.name: kind
    for kind in (
        GeneralGraphs(),
        Molecules(),
        Meshes(),
        Clouds(),
    )
}


def kind_of(dataset: str, edges: str | None) -> Kind:
    """Return the kind of data that a recipe is for.

    Args:
        dataset: Name of the data set, or of the form of user data.
        edges: What connects points in the input graph, "radius" or "mesh"; none for graphs that are given.
    """
    if edges is None:
        return KINDS["molecules" if dataset == "smiles" else "graphs"]
    return KINDS["meshes" if edges == "mesh" else "clouds"]


def kind_of_path(path: Path, options: ReadOptions) -> Kind:
    """Return the kind of data that a path holds."""
    if not path.exists():
        raise DataError(f"{path} must be a folder, or a .csv, .zip or .safetensors file: it does not exist.")
    kind = next((kind for kind in KINDS.values() if kind.holds(path, options)), None)
    if kind is None:
        raise DataError(
            f"{path} must be a folder, or a .csv, .zip or .safetensors file: it is none of them. Save a table as CSV, "
            "and put clouds or meshes into a folder with a sub-folder per class."
        )
    return kind


def check_options(kind: Kind, path: Path, options: ReadOptions) -> None:
    """Raise a `DataError` if options are given that a kind of data does not take."""
    for name in options.given():
        if name not in kind.options:
            others = " and ".join(other.name for other in KINDS.values() if name in other.options)
            option = name.replace("_", "-")
            raise DataError(f"--{option} is an option for {others}: {path} holds {kind.name}. Leave it out.")


def listed(X: Any) -> Rows:
    """Return the rows of X as a list, at least one."""
    if hasattr(X, "columns"):
        raise ValueError(
            f"X must be a sequence of clouds, graphs or SMILES: got a {type(X).__name__}. "
            "Pass one of its columns, as X['smiles']."
        )
    if hasattr(X, "to_data_list"):
        X = X.to_data_list()  # a Batch of PyG
    single = isinstance(X, str | bytes | Mapping | Cloud) or hasattr(X, "edge_index")
    if single or not (hasattr(X, "__iter__") or hasattr(X, "__getitem__")):
        raise ValueError(
            f"X must be a sequence of clouds, graphs or SMILES: got a {type(X).__name__}. Put a single one into a list."
        )
    if isinstance(X, np.ndarray) and X.ndim == 2 and X.shape[1] == 1 and X.dtype.kind in "OU":
        X = X[:, 0]  # a column, as steps of a pipeline return it
    rows = list(X)
    if not rows:
        raise ValueError("X must hold at least one cloud, graph or SMILES: it is empty.")
    return rows


def kind_of_rows(rows: Rows) -> Kind:
    """Return the kind of some rows in memory, which must be all of one kind."""
    first = _kind_of_row(rows[0], 0)
    check_rows(rows, first, "row 0 is one of the")
    return first


def check_rows(rows: Rows, kind: Kind, because: str = "the model was trained on") -> None:
    """Raise a `ValueError` if some row is not of a kind."""
    for number, row in enumerate(rows):
        if not kind.accepts(row) and (found := _kind_of_row(row, number)) != kind:
            raise ValueError(
                f"all rows of X must be {kind.name}, as {because} {kind.name}: row {number} is one of the {found.name}."
            )


def _kind_of_row(row: Any, number: int) -> Kind:
    kind = next((kind for kind in KINDS.values() if kind.accepts(row)), None)
    if kind is None:
        found = f"an array of shape {np.shape(row)}" if isinstance(row, np.ndarray) else f"a {type(row).__name__}"
        if type(row).__module__.startswith("networkx"):
            found += " of NetworkX, which edgecond.interop converts"
        raise ValueError(
            "each row of X must be a cloud (an array of points, of shape (n, 3) or (n, 3 + d), a Cloud, or the Path of "
            f"a file), a graph (a PyG Data) or a SMILES: row {number} is {found}."
        )
    return kind
