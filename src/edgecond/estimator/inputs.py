"""What X of an estimator holds, clouds, graphs or molecules, and how it becomes examples."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from os import PathLike
from pathlib import Path
from typing import Any, ClassVar, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from edgecond.data.folder import point_spacing
from edgecond.data.formats import batch, Points, read_points, smiles
from edgecond.data.graphs import GraphExamples, Graphs
from edgecond.data.points import Columns, labelled, points_of, to_cloud
from edgecond.errors import CheckpointError, DataError
from edgecond.graph import Cloud
from edgecond.runs.model import Learnable, Model
from edgecond.runs.own.settings import for_clouds, for_graphs
from edgecond.runs.preparation import GraphPreparation
from edgecond.runs.recipe import Recipe

Rows = list[Any]
Truth = NDArray[Any]  # numbers of classes, or quantities (n, t)


class Form(Protocol):
    """What the rows of X are, and all that must be known to read others alike."""

    @property
    def width(self) -> int | None:
        """Columns of a point, if arrays of points were learned."""

    def examples(self, rows: Rows, ys: Truth, names: Sequence[str]) -> Learnable:
        """Examples to learn from, with what is true of them, and the names of the classes or of the quantities."""

    def unknown(self, rows: Rows) -> Any:
        """Examples of which nothing is known yet, as `Model.scores` takes them."""

    def recipe(self, examples: Any, task: str) -> Recipe:
        """The settings that fit the examples, as those of `edgecond train`."""

    @property
    def about(self) -> dict[str, Any]:
        """What a file says of it, for `restored`."""


def listed(X: Any) -> Rows:
    """The rows of X, at least one."""
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
            f"X must be a sequence of clouds, graphs or SMILES: got a {type(X).__name__}. A single one needs a list."
        )
    if isinstance(X, np.ndarray) and X.ndim == 2 and X.shape[1] == 1 and X.dtype.kind in "OU":
        X = X[:, 0]  # a column, as steps of a pipeline return it
    rows = list(X)
    if not rows:
        raise ValueError("X must hold at least one cloud, graph or SMILES: it is empty.")
    return rows


def form_of(rows: Rows) -> Form:
    """What they are: all of one kind."""
    kinds = [_kind(row, number) for number, row in enumerate(rows)]
    if len(set(kinds)) > 1:
        other = next(number for number, kind in enumerate(kinds) if kind != kinds[0])
        raise ValueError(
            f"X must hold rows of one kind: row 0 is one of the {kinds[0]} and row {other} one of the {kinds[other]}."
        )
    return _FORMS[kinds[0]].of(rows)


def restored(about: Mapping[str, Any], model: Model) -> Form:
    """What a file says; see `Form.about`."""
    ((kind, said),) = about.items()
    parts: dict[str, Any] = {name: tuple(value) if isinstance(value, list) else value for name, value in said.items()}
    if kind != "graphs":
        return _FORMS[kind](**parts)
    widths: dict[str, Any] = {name: np.zeros((0, width)) for name, width in parts.items()}
    return GraphForm(replace(_expected(model), **widths))


def of_model(model: Model) -> Form:
    """What a model of the command line has learned."""
    recipe = model.recipe
    if recipe.input is not None and recipe.input.edges == "mesh":
        raise CheckpointError(
            f"an estimator takes no meshes: {recipe.name} is a model of them, for `edgecond predict`."
        )
    if recipe.input is not None:
        return CloudForm(tuple(recipe.options.get("columns", [f"column {4 + k}" for k in range(model.widths[0])])))
    if recipe.dataset == "smiles":
        return MoleculeForm()
    return GraphForm(_expected(model))


def _expected(model: Model) -> Graphs:
    """No graphs, with the labels that the model has learned."""
    assert isinstance(model.preparation, GraphPreparation)
    if (found := model.preparation.expected()) is None:
        raise CheckpointError(
            f"a model must say which labels of graphs it has learned: {model.recipe.name} is of an older edgecond, and "
            "does not. Train it again."
        )
    return found


def _kind(row: Any, number: int) -> str:
    if isinstance(row, str):
        return "molecules"
    if hasattr(row, "edge_index"):
        return "graphs"
    if isinstance(row, Cloud | PathLike) or _is_table(row):
        return "clouds"
    found = f"an array of shape {np.shape(row)}" if isinstance(row, np.ndarray) else f"a {type(row).__name__}"
    if type(row).__module__.startswith("networkx"):
        found += " of NetworkX, of which edgecond.interop makes such a graph"
    raise ValueError(
        "each row of X must be a cloud (an array of points, of shape (n, 3) or (n, 3 + d), a Cloud, or the Path of a "
        f"file), a graph (a PyG Data) or a SMILES: row {number} is {found}."
    )


def _is_table(row: Any) -> bool:
    if isinstance(row, Sequence) and not isinstance(row, bytes) and row:
        return np.ndim(row[0]) == 1
    return getattr(row, "ndim", None) == 2 and hasattr(row, "__array__")


def _check_kind(rows: Rows, kind: str) -> None:
    for number, row in enumerate(rows):
        if (found := _kind(row, number)) != kind:
            raise ValueError(f"X must hold {kind}, as was learned: row {number} is one of the {found}.")


@dataclass(frozen=True)
class CloudForm:
    """Clouds, given as arrays, as `Cloud`s or as files.

    Attributes:
        columns: Names of those of the signal; none for a signal of 1 everywhere.
        width: Columns that arrays must have, x, y and z among them; none if files were learned, which may have more.
    """

    columns: tuple[str, ...]
    width: int | None = None

    @staticmethod
    def of(rows: Rows) -> CloudForm:
        columns, widths = Columns(), dict[int, int]()  # first row of each width
        for number, row in enumerate(rows):
            columns.add(points := _points(row, number))
            if not isinstance(row, PathLike):
                widths.setdefault(3 + len(points.names), number)
        if len(widths) > 1:
            (one, first), (other, second) = list(widths.items())[:2]
            raise DataError(
                f"clouds must have the same columns: row {first} of X has {one}, and row {second} has {other}."
            )
        return CloudForm(columns.names, next(iter(widths), None))

    def examples(self, rows: Rows, ys: Truth, names: Sequence[str]) -> Learnable:
        return labelled(self._clouds(rows), torch.from_numpy(ys), names)

    def unknown(self, rows: Rows) -> list[tuple[Cloud, int]]:
        return [(cloud, 0) for cloud in self._clouds(rows)]

    def recipe(self, examples: Any, task: str) -> Recipe:
        spacing, options = point_spacing(examples.clouds), {"columns": list(self.columns)}
        return for_clouds("clouds", examples, spacing, task, dataset="folder", options=options)

    @property
    def about(self) -> dict[str, Any]:
        return {"clouds": asdict(self)}

    def _clouds(self, rows: Rows) -> list[Cloud]:
        _check_kind(rows, "clouds")
        found = []
        for number, row in enumerate(rows):
            points, width = _points(row, number), self.width or 3 + len(self.columns)
            if not isinstance(row, PathLike) and 3 + len(points.names) != width:
                raise DataError(
                    f"row {number} of X must have {width} columns, as was learned: it has {3 + len(points.names)}."
                )
            if not isinstance(row, PathLike):
                points = self._as_learned(points)
            found.append(to_cloud(points, self.columns, _name(row, number)))
        return found

    def _as_learned(self, points: Points) -> Points:
        """The columns of an array have no names: if files were learned, they are those of the files in their order."""
        return points if self.width else replace(points, names=self.columns)


def _points(row: Any, number: int) -> Points:
    if isinstance(row, PathLike):
        return read_points(Path(row))
    if isinstance(row, Cloud):
        row = torch.cat([row.positions, row.signal], dim=1)
    if isinstance(row, Tensor):
        row = row.detach().cpu()
    return points_of(row, _name(row, number))


def _name(row: Any, number: int) -> object:
    return row if isinstance(row, PathLike) else f"row {number} of X"


class _Graphs:
    """What graphs and molecules have in common."""

    dataset: ClassVar[str]
    width: ClassVar[None] = None

    def packed(self, rows: Rows) -> Graphs:
        raise NotImplementedError

    def examples(self, rows: Rows, ys: Truth, names: Sequence[str]) -> Learnable:
        graphs, every = self.packed(rows), np.arange(len(rows))
        if ys.ndim == 2:
            return GraphExamples(graphs, every, ys, tuple(names))
        return GraphExamples(replace(graphs, ys=ys, classes=np.arange(len(names))), every, None, tuple(names))

    def unknown(self, rows: Rows) -> GraphExamples:
        return GraphExamples(self.packed(rows), np.arange(len(rows)))

    def recipe(self, examples: Any, task: str) -> Recipe:
        return for_graphs(examples.name, examples, task, dataset=self.dataset)


@dataclass(frozen=True)
class MoleculeForm(_Graphs):
    """SMILES, whose encoding is fixed."""

    dataset = "smiles"

    @staticmethod
    def of(rows: Rows) -> MoleculeForm:
        return MoleculeForm()

    def packed(self, rows: Rows) -> Graphs:
        _check_kind(rows, "molecules")
        graphs, skipped = smiles.featurise(rows)
        if skipped:
            others = f" So are {len(skipped) - 1} more rows." if len(skipped) > 1 else ""
            raise DataError(f"every row of X must be a molecule: row {skipped[0][0]} is not. {skipped[0][1]}{others}")
        return graphs

    @property
    def about(self) -> dict[str, Any]:
        return {"molecules": {}}


@dataclass(frozen=True)
class GraphForm(_Graphs):
    """PyG `Data`, or whatever has the same parts: new ones must have the labels and attributes that were learned."""

    dataset = "batch"
    like: Graphs

    @staticmethod
    def of(rows: Rows) -> GraphForm:
        return GraphForm(_packed(rows).take([]))

    def packed(self, rows: Rows) -> Graphs:
        _check_kind(rows, "graphs")
        return _packed(rows, self.like)

    @property
    def about(self) -> dict[str, Any]:
        widths = {name: getattr(self.like, name).shape[1] for name in ("vertex_attributes", "edge_attributes")}
        return {"graphs": widths}


def _packed(rows: Rows, like: Graphs | None = None) -> Graphs:
    return batch.packed(rows, np.zeros(len(rows)), like).graphs


_FORMS: dict[str, Any] = {"clouds": CloudForm, "graphs": GraphForm, "molecules": MoleculeForm}
