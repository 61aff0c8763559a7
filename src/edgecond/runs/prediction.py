"""What a model says of new files, from its own file alone: clouds, tables of molecules, graphs; a batch at a time."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from edgecond.data.datasets.modelnet import scale_to_box
from edgecond.data.formats import batch, ENDINGS, read_points, read_surface, smiles, tu
from edgecond.data.formats import ply as formats_ply
from edgecond.data.graphs import GraphExamples, Graphs
from edgecond.data.points import read_cloud, to_cloud, to_mesh
from edgecond.errors import DataError
from edgecond.files import write_atomic
from edgecond.graph import Cloud
from edgecond.nn.evaluation import Scores
from edgecond.runs.model import Model
from edgecond.runs.preparation import GraphPreparation

MOST_CLOUDS = 256  # in memory, whatever the recipe calls a batch
MOST_GRAPHS = 1024
Row = dict[str, Any]
Report = Callable[[str], None]
Progress = Callable[[int, int | None], None]


def columns(model: Model, every: bool = False, ply: Path | None = None) -> list[str]:
    """The names of what is said of each example, in order."""
    if ply is not None:
        if _parts(model) != ["point"]:
            raise DataError(f"a PLY is for models that classify points: {model.recipe.name} is none. Leave --ply out.")
        return ["file", "written"]
    of_graph = ["row", "smiles"] if _of_molecules(model) else ["graph"]
    place = ["file", *([] if model.recipe.input else of_graph), *_parts(model)]
    if model.recipe.task in ("answers", "quantities"):
        return [*place, *model.classes]
    return [*place, "class", "probability", *([f"p({name})" for name in model.classes] if every else [])]


def predictions(
    model: Model,
    files: Sequence[Path],
    *,
    looks: int | None = None,
    column: str | None = None,
    every: bool = False,
    ply: Path | None = None,
    report: Report,
    progress: Progress = lambda done, total: None,
) -> Iterator[Row]:
    """What the model says of each example in some files, in their order.

    Memory is that of a batch, and for graphs that of the largest file. What cannot be read is reported and left out.

    Args:
        model: Trained.
        files: Clouds, meshes or directories of them; tables of molecules; folders or zip files of graphs.
        looks: At each example, of which the outputs are averaged: orientations of a cloud, 1 by default, or
            sparsifications of a graph, all by default.
        column: Of the SMILES in a table.
        every: Tell the probability of every class.
        ply: Where points are classified: the directory for a file of each cloud with them, and a row that tells of it.
        report: Called with a sentence about what cannot be read.
        progress: Called with the number of examples that are done and, where it is known, of all.
    """
    if model.recipe.input is not None:
        found = _clouds(model, files, looks or 1, report, progress)
    elif _of_molecules(model):
        found = _molecules(model.passing(), files, looks, column, report, progress)
    else:
        found = _graphs(model.passing(), files, looks, report, progress)
    written: dict[Path, Path] = {}
    for place, output in found:
        path = place["file"]
        placed = place | {"file": _text(path)}
        if not np.isfinite(output).all():
            report(f"{' '.join(map(str, placed.values()))} gives no finite numbers: those in it are too large.")
        elif ply is not None:
            yield from _written(model, path, output, ply, written, report)
        elif part := _parts(model):
            yield from (placed | {part[0]: n} | _told(model, one, every) for n, one in enumerate(output))
        else:
            yield placed | _told(model, output, every)


def _parts(model: Model) -> list[str]:
    """What is classified in an example instead of the whole."""
    if model.recipe.task != "vertices":
        return []
    return ["point"] if model.recipe.input else ["vertex"]


def _told(model: Model, output: Scores, every: bool) -> Row:
    """The class and its probability, or a number for each question or quantity."""
    numbers = [round(float(value), 6) for value in output]
    if model.recipe.task in ("answers", "quantities"):
        return dict(zip(model.classes, numbers, strict=True))
    likely = {"class": model.classes[output.argmax()], "probability": max(numbers)}
    return likely | ({f"p({name})": p for name, p in zip(model.classes, numbers, strict=True)} if every else {})


Placed = Iterator[tuple[Row, Scores]]  # where an example stands, beginning with its file, and what the model says of it


# Clouds


def _written(
    model: Model, path: Path, output: Scores, to: Path, written: dict[Path, Path], report: Report
) -> Iterator[Row]:
    """The file where it is said of the points of a cloud, which is added to those that are written."""
    target = to / f"{path.name}.ply"
    if target in written:
        report(f"{path} must have a name of its own among the files: {written[target]} has it too.")
        return
    _write_ply(model, path, output, target)
    written[target] = path
    yield {"file": _text(path), "written": _text(target)}


def _write_ply(model: Model, path: Path, outputs: Scores, to: Path) -> None:
    """Write the points of a file with their classes, which are the numbers that the data had for them if they had."""
    numbered = all(name.isdecimal() for name in model.classes)
    numbers = [int(name) if numbered else place for place, name in enumerate(model.classes)]
    columns = dict(zip("xyz", read_points(path, count=None).positions.T, strict=True))
    columns |= {"class": np.array(numbers)[outputs.argmax(1)], "probability": outputs.max(1)}
    named = [f"class {number} is {name}" for number, name in zip(numbers, model.classes, strict=True)]
    write_atomic(to, formats_ply.write(columns, () if numbered else named))


def _clouds(model: Model, files: Sequence[Path], looks: int, report: Report, progress: Progress) -> Placed:
    """What is said of each cloud in the files, or of all of its points."""
    paths = [path for given in files for path in _listed(given, report)]
    size = min(model.recipe.train.batch, MOST_CLOUDS)
    for start in range(0, len(paths), size):
        read: list[tuple[Path, Cloud]] = []
        for path in paths[start : start + size]:
            try:
                read.append((path, _cloud(model, path)))
            except DataError as error:
                report(str(error))
        for path, output in _scored(model, read, looks, report):
            yield {"file": path}, output
        progress(min(start + size, len(paths)), len(paths))


def _listed(given: Path, report: Report) -> list[Path]:
    if not given.is_dir():
        return [given]
    found = sorted(f for f in given.rglob("*") if f.suffix.lower() in ENDINGS and not f.name.startswith("."))
    if not found:
        report(f"{given} must hold clouds or meshes, files of the kinds {', '.join(ENDINGS)}: it holds none.")
    return found


def _cloud(model: Model, path: Path) -> Cloud:
    if model.recipe.input and model.recipe.input.edges == "mesh":
        return to_mesh(read_surface(path), model.recipe.options.get("columns", ()), path)
    how: dict[str, Any] = {"count": None} if model.recipe.task == "vertices" else {}  # all points, not a sample
    if model.recipe.dataset == "folder":
        return to_cloud(read_points(path, **how), model.recipe.options.get("columns", ()), path)
    cloud = read_cloud(path, model.widths[0], **how)
    # Section 4.2: shapes of any unit are scaled to one size.
    return scale_to_box(cloud, model.recipe.options.get("side", 1.0)) if _of_shapes(model) else cloud


def _of_shapes(model: Model) -> bool:
    return model.recipe.dataset in ("modelnet10", "modelnet40")


def _scored(
    model: Model, read: Sequence[tuple[Path, Cloud]], looks: int, report: Report
) -> Iterator[tuple[Path, Scores]]:
    """What is said of each cloud; if the batch has one of which no graph can be made, each is looked at alone."""
    try:
        outputs = np.mean(model.scores([(cloud, 0) for _, cloud in read], looks), axis=0) if read else ()
    except ValueError as error:
        if len(read) > 1:
            for one in read:
                yield from _scored(model, [one], looks, report)
        else:
            report(f"{_text(read[0][0])} cannot be taken as a graph: {error}")
        return
    if model.recipe.task == "vertices":
        outputs = np.split(outputs, np.cumsum([len(cloud) for _, cloud in read])[:-1]) if read else ()
    yield from zip((path for path, _ in read), outputs, strict=True)


# Graphs


def _of_molecules(model: Model) -> bool:
    return model.recipe.dataset == "smiles"


def _molecules(
    model: Model, files: Sequence[Path], looks: int | None, column: str | None, report: Report, progress: Progress
) -> Placed:
    done = 0
    for path in files:
        try:
            for found in smiles.iterate(path, smiles=column, size=MOST_GRAPHS):
                for row, sentence in found.skipped:
                    report(f"{path}, row {row}: {sentence}")
                outputs = _outputs(model, found.graphs, looks)
                for row, text, output in zip(found.rows.tolist(), found.smiles, outputs, strict=True):
                    yield {"file": path, "row": row, "smiles": text}, output
                done += len(found) + len(found.skipped)
                progress(done, None)
        except DataError as error:
            report(str(error))


def _graphs(model: Model, files: Sequence[Path], looks: int | None, report: Report, progress: Progress) -> Placed:
    assert isinstance(model.preparation, GraphPreparation)
    if (known := model.preparation.expected()) is None:
        raise DataError(
            f"{model.recipe.name} must know what its data call the labels of vertices and edges: its file is of an "
            "older edgecond, which did not say. Train it again."
        )
    done = 0
    for path in files:
        try:
            for number, output in _of_file(model, path, known, looks, report):
                yield {"file": path, "graph": number}, output
                done += 1
                progress(done, None)
        except DataError as error:
            report(str(error))


def _of_file(
    model: Model, path: Path, known: Graphs, looks: int | None, report: Report
) -> Iterator[tuple[int, Scores]]:
    """Number of each graph, from 1, and what is said of it."""
    if path.suffix.lower() == ".safetensors":
        graphs = batch.read(path, like=known).graphs
        numbers = np.arange(len(graphs))
    else:
        graphs, numbers, unknown = tu.read(path, classes=False).in_terms_of(known)
        for number, sentence in unknown:
            report(f"{path}, graph {number + 1}: {sentence}")
    for start in range(0, len(graphs), MOST_GRAPHS):
        some = numbers[start : start + MOST_GRAPHS]
        outputs = _outputs(model, graphs.take(range(start, start + len(some))), looks)
        yield from zip((some + 1).tolist(), outputs, strict=True)


def _outputs(model: Model, graphs: Graphs, looks: int | None) -> Sequence[Scores]:
    """What is said of each graph, or of all of its vertices."""
    if not len(graphs):
        return ()
    outputs = np.mean(model.scores(GraphExamples(graphs, np.arange(len(graphs))), looks), axis=0)
    return np.split(outputs, graphs.vertex_pointer[1:-1]) if model.recipe.task == "vertices" else outputs


def _text(path: Path) -> str:
    """The path; a letter of an encoding other than UTF-8 is written as its number."""
    return os.fsencode(path).decode("utf-8", "backslashreplace")
