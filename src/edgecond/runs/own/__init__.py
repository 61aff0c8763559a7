"""People's own data: what a path holds, how it is divided, and a recipe whose settings are derived from it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from edgecond.data import folder, segmented
from edgecond.data.archives import is_archive
from edgecond.data.datasets.splits import stratified_folds
from edgecond.data.examples import PointExamples
from edgecond.data.formats import batch, smiles, tu
from edgecond.data.formats.columns import Task
from edgecond.data.graphs import GraphExamples, Graphs
from edgecond.data.splits import group_folds, scaffold_split
from edgecond.errors import DataError
from edgecond.runs.model import Learnable
from edgecond.runs.own.settings import for_clouds, for_graphs
from edgecond.runs.recipe import changed, Recipe, with_epochs

SHOWN = 10  # rows or files that were skipped, before the rest is counted


@dataclass(frozen=True, eq=False)
class Own:
    """Data of one's own, ready to train on.

    Attributes:
        recipe: With settings that fit the data.
        parts: Training and test examples.
        said: What was found and what was chosen, in sentences.
    """

    recipe: Recipe
    parts: tuple[Learnable, Learnable]
    said: tuple[str, ...]


@dataclass(frozen=True)
class Division:
    """How examples are divided into those to learn from and those to test.

    Attributes:
        folds: Parts into which they are divided; of classes each has its share.
        fold: The part to test.
        seed: Of that division.
        group: Column of a table; what is equal there stays in one part.
        scaffold: Test molecules with scaffolds that are rare, a tenth of all, instead of a fold.
    """

    folds: int = 5
    fold: int = 0
    seed: int = 0
    group: str | None = None
    scaffold: bool = False

    def __post_init__(self) -> None:
        if not 0 <= self.fold < self.folds:
            raise DataError(f"the folds are numbered from 0 to {self.folds - 1}: got {self.fold}.")
        if self.scaffold and self.group:
            raise DataError("molecules are divided by scaffold or by group: got both. Leave one out.")

    def of(self, ys: np.ndarray, classes: Sequence[str] = ()) -> tuple[np.ndarray, np.ndarray]:
        """Numbers of the examples to learn from, and of those to test; classes, if there are some, are spread."""
        if self.scaffold or self.group:
            raise DataError("a scaffold or a group is that of molecules in a table: these data have neither.")
        chosen = stratified_folds(ys, self.folds, self.seed, classes)[self.fold]
        return chosen.train, chosen.test

    def of_molecules(
        self, found: smiles.Molecules, ys: np.ndarray, classes: Sequence[str]
    ) -> tuple[np.ndarray, np.ndarray]:
        """The same by group or scaffold, if that is asked for."""
        if self.scaffold:
            train, _, test = scaffold_split(found.smiles, (0.9, 0.0, 0.1))
        elif self.group:
            test = group_folds(found.groups, self.folds)[self.fold]
            train = np.setdiff1d(np.arange(len(found)), test)
        else:
            return self.of(ys, classes)
        return train, test


def read(
    path: str | Path,
    *,
    smiles: str | None = None,
    target: Sequence[str] | None = None,
    meshes: bool = False,
    vertices: str | None = None,
    epochs: int | None = None,
    settings: Mapping[str, Any] | None = None,
    **division: Any,
) -> Own:
    """What a path holds: a folder with a sub-folder of clouds or meshes per class, a table of SMILES, TU files, or the
    tensors of a PyG batch.

    Args:
        path: The folder, or the .csv, .zip or .safetensors file.
        smiles: Column of the SMILES.
        target: Columns to predict.
        meshes: Take meshes as graphs along their edges, instead of sampling points from them.
        vertices: Column that tells the class of each point, if points are to be classified: the folder may then hold
            its clouds in any way. Of a batch, the tensor that tells the class of each vertex.
        epochs: Instead of those that fit the data.
        settings: Of `Recipe`, by their dotted names, instead of those that fit the data.
        division: Of `Division`.
    """
    path, divided = Path(path), Division(**division)
    if not path.exists():
        raise DataError(f"{path} must be a folder, or a .csv, .zip or .safetensors file: there is none.")
    if meshes and vertices is not None:
        raise DataError("points are classified in clouds, and meshes as wholes: got both. Leave one out.")
    if meshes and path.is_file():
        raise DataError(f"meshes are files in a folder with a sub-folder per class: got the file {path}.")
    name = path.name.lower() if path.is_file() else ""
    if name.endswith(".safetensors"):
        found = _batch(path, vertices, divided)
    elif vertices is not None:
        found = _points(path, vertices, divided)
    elif name and is_archive(path):
        found = _graphs(path, divided)
    elif name.endswith((".csv", ".tsv", ".gz")):
        found = _molecules(path, smiles, target, divided)
    elif name:
        raise DataError(
            f"{path} must be a folder, or a .csv, .zip or .safetensors file: it is none of them. Save a table as CSV, "
            "and put clouds or meshes into a folder with a sub-folder per class."
        )
    elif _is_tu(path):
        found = _graphs(path, divided)
    else:
        found = _clouds(path, meshes, divided)
    train, test = _learnable(path, found)
    recipe = changed(with_epochs(found.recipe, epochs), settings or {})
    said = [*found.said, f"{len(train)} to learn from, {len(test)} to test", f"network: {recipe.network}"]
    if recipe.balanced:
        said.append("rare classes count as much as frequent ones")
    return Own(recipe, found.parts, tuple(said))


def _learnable(path: Path, found: Own) -> tuple[Learnable, Learnable]:
    """The parts, if there is something to learn and something to test."""
    train, test = found.parts
    if not len(train) or not len(test):
        raise DataError(
            f"{path} must be divided into examples to learn from and examples to test: got {len(train)} and "
            f"{len(test)}. Divide it in another way."
        )
    occurring = {*train.ys.tolist(), *test.ys.tolist()} if found.recipe.task == "classification" else ()
    if len(occurring) == 1:
        raise DataError(
            f"{path} must have two or more classes to tell apart: all examples are of the class "
            f"{train.classes[occurring.pop()]}."
        )
    return train, test


def _clouds(path: Path, meshes: bool, division: Division) -> Own:
    found = folder.read(path, meshes=meshes)
    examples = found.examples
    spacing = (folder.surface_spacing if meshes else folder.point_spacing)(examples.clouds)
    recipe = for_clouds(_name(path), examples, spacing, dataset="folder", options={"columns": list(found.columns)})
    if meshes:
        recipe = changed(recipe, {"input.edges": "mesh", "augment.drop": 0.0})
    train, test = division.of(examples.ys.numpy(), examples.classes)
    said = (
        f"{len(examples)} {'meshes' if meshes else 'clouds'} in {len(examples.classes)} classes: "
        f"{', '.join(examples.classes)}",
        *_of_clouds(found.columns, spacing, found.skipped, meshes),
    )
    return Own(recipe, (examples.take(train.tolist()), examples.take(test.tolist())), said)


def _is_tu(folder: Path) -> bool:
    return any(folder.glob("*_graph_indicator.txt"))


def _points(path: Path, column: str, division: Division) -> Own:
    if _is_tu(path):
        raise DataError(
            f"{path} must be a folder of clouds or the tensors of a PyG batch to tell the classes of vertices: it is a "
            "folder of TU files, which have labels that are known and no classes to learn."
        )
    found = segmented.read(path, column)
    examples = found.examples
    if len(examples) < division.folds:
        raise DataError(
            f"{path} must hold at least {division.folds} clouds that can be read, one for each fold: it holds "
            f"{len(examples)}. Ask for fewer folds, or cut the clouds."
        )
    spacing = folder.point_spacing(examples.clouds)
    recipe = for_clouds(_name(path), examples, spacing, dataset="folder", options={"columns": list(found.columns)})
    train, test = division.of(np.zeros(len(examples), np.int64))
    number, points = len(examples.classes), len(examples.ys)
    said = (
        f"{len(examples)} clouds of {points:,} points in {number} classes: {_counted(examples)}",
        *_of_clouds(found.columns, spacing, found.skipped),
    )
    return Own(recipe, (examples.take(train.tolist()), examples.take(test.tolist())), said)


def _counted(examples: PointExamples | GraphExamples) -> str:
    """How many points or vertices are of each class."""
    counts = np.bincount(examples.ys[examples.ys >= 0].numpy(), minlength=len(examples.classes))
    return ", ".join(f"{name} ({count:,})" for name, count in zip(examples.classes, counts.tolist(), strict=True))


def _of_clouds(
    columns: Sequence[str], spacing: float, skipped: Sequence[tuple[Path, str]], meshes: bool = False
) -> list[str]:
    return [
        f"signal: {', '.join(columns) or 'none, so 1 everywhere'}{'; normals' if meshes else ''}",
        f"points{', 1,024 on a mesh,' if meshes else ''} are {spacing:.3g} apart: "
        "resolutions and radii are multiples of it",
        *_skipped([sentence for _, sentence in skipped]),
    ]


def _graphs(path: Path, division: Division) -> Own:
    graphs = tu.read(path)
    whole = GraphExamples(graphs, np.arange(len(graphs)))
    recipe = for_graphs(_name(path), whole, dataset="tu")
    train, test = division.of(graphs.ys, whole.classes)
    return Own(recipe, (whole.take(train), whole.take(test)), (repr(graphs),))


def _batch(path: Path, vertices: str | None, division: Division) -> Own:
    found = batch.read(path, vertices=vertices)
    if found.vertex_ys is not None:
        every = np.arange(len(found.graphs))
        whole = GraphExamples(found.graphs, every, outcomes=found.vertex_classes, vertex_ys=found.vertex_ys)
        predicted, task = f"{vertices} of {len(whole.ys):,} vertices: {_counted(whole)}", "segmentation"
    elif found.target_names:
        whole, task = examples_of(found, str(path))
        predicted = f"{', '.join(found.target_names)} ({task})"
    else:
        raise DataError(f"{path} must hold y, what to predict of each graph: it holds none.")
    recipe = for_graphs(_name(path), whole, task, dataset="batch")
    train, test = division.of(*_strata(whole, task))
    return Own(recipe, (whole.take(train), whole.take(test)), (repr(whole.graphs), f"predicts {predicted}"))


def _molecules(path: Path, column: str | None, target: Sequence[str] | None, division: Division) -> Own:
    found = smiles.read(path, smiles=column, target=target or None, group=division.group)
    whole, task = examples_of(found, str(path))
    whole = replace(whole, smiles=found.smiles)
    recipe = for_graphs(_name(path), whole, task, dataset="smiles")
    train, test = division.of_molecules(found, *_strata(whole, task))
    said = (
        f"{len(found)} molecules; {len(found.skipped)} rows skipped",
        *_skipped([f"row {row}: {sentence}" for row, sentence in found.skipped]),
        f"predicts {', '.join(found.target_names)} ({task})",
    )
    return Own(recipe, (whole.take(train), whole.take(test)), said)


class Targeted(Protocol):
    """Graphs with columns of targets, as tables of molecules and batches have them; see `smiles.Molecules`."""

    @property
    def graphs(self) -> Graphs: ...

    @property
    def targets(self) -> np.ndarray: ...

    @property
    def target_names(self) -> tuple[str, ...]: ...

    @property
    def classes(self) -> tuple[tuple[str, ...], ...]: ...

    @property
    def tasks(self) -> tuple[Task, ...]: ...

    def without_class(self, index: int) -> str: ...


def examples_of(found: Targeted, where: str) -> tuple[GraphExamples, str]:
    """All the graphs as examples, and the task: one class of several, answers of yes or no, or quantities."""
    kinds, every = set(found.tasks), np.arange(len(found.graphs))
    if len(kinds) > 1 or (len(found.classes) > 1 and any(len(names) > 2 for names in found.classes)):
        told = zip(found.target_names, found.tasks, strict=True)
        raise DataError(
            f"{where} must have targets of one kind, quantities or answers of yes or no, or a single one of classes: "
            f"got {', '.join(f'{name} ({task})' for name, task in told)}. Train a network for each kind."
        )
    if kinds == {"regression"}:
        return GraphExamples(found.graphs, every, found.targets, found.target_names), "regression"
    if len(found.target_names) > 1:
        return GraphExamples(found.graphs, every, found.targets, found.target_names), "multilabel"
    ys, names = found.targets[:, 0], found.classes[0]
    if np.isnan(ys).any():
        raise DataError(f"{where}, {found.without_class(int(np.isnan(ys).argmax()))}")
    graphs = replace(found.graphs, ys=ys.astype(np.int64), classes=np.arange(len(names)))
    return GraphExamples(graphs, every, None, names), "classification"


def _strata(examples: GraphExamples, task: str) -> tuple[np.ndarray, Sequence[str]]:
    """The classes to spread evenly, and their names; all alike where there are none."""
    return (
        (examples.ys.numpy(), examples.classes) if task == "classification" else (np.zeros(len(examples), np.int64), ())
    )


def _name(path: Path) -> str:
    return path.resolve().stem


def _skipped(sentences: Sequence[str]) -> list[str]:
    more = [f"skipped: {len(sentences) - SHOWN} more"] if len(sentences) > SHOWN else []
    return [f"skipped: {sentence}" for sentence in sentences[:SHOWN]] + more
