"""Predictions for new files, from a model file alone and a batch at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from edgecond.data.formats import ply as ply_format
from edgecond.data.formats import read_points
from edgecond.data.kinds import Batch, ReadOptions
from edgecond.errors import DataError
from edgecond.files import path_text, write_atomic
from edgecond.nn.tasks import Outputs
from edgecond.runs.model import Model, sample_settings

Row = dict[str, Any]
Report = Callable[[str], None]
Progress = Callable[[int, int | None], None]


def columns(model: Model, probabilities: bool = False, ply: Path | None = None) -> list[str]:
    """Return the names of the columns of `predictions`, in order."""
    if ply is not None:
        if not model.kind.writes_points or not model.task.per_vertex:
            raise DataError(f"--ply is for models that predict for points: {model.recipe.name} does not. Leave it out.")
        return ["file", "written"]
    unit = [model.kind.unit] if model.task.per_vertex else []
    return [*model.kind.place, *unit, *model.task.columns(model.classes, probabilities)]


def predictions(
    model: Model,
    files: Sequence[Path],
    *,
    views: int | None = None,
    smiles: str | None = None,
    probabilities: bool = False,
    ply: Path | None = None,
    report: Report,
    progress: Progress = lambda done, total: None,
) -> Iterator[Row]:
    """Yield a prediction for each example in some files, in their order.

    Memory is that of a batch, and for graphs that of the largest file. What cannot be read is reported and left out.

    Args:
        model: A trained model.
        files: Clouds, meshes or directories of them; tables of molecules; folders or zip files of graphs.
        views: Number of views whose outputs are averaged: orientations of a cloud, 1 by default, or sparsifications of
            a graph, all by default.
        smiles: Column of the SMILES in a table.
        probabilities: Whether the probability of every class is wanted.
        ply: Where there are predictions for points: directory for a file of each cloud with them.
        report: Called with a sentence about what cannot be read.
        progress: Called with the number of examples done and, where it is known, of all.
    """
    model, settings = model.transient(), sample_settings(model.recipe)
    count = model.kind.views_to_predict(settings) if views is None else views
    model.check_views(count)
    total: list[int] = []
    done, unreadable = 0, 0

    def report_file(sentence: str) -> None:
        nonlocal unreadable
        unreadable += 1
        report(sentence)

    written: dict[Path, Path] = {}
    options = ReadOptions(smiles=smiles)
    for batch in _batches(model, files, options, report_file, total):
        for place, output in _outputs(model, batch, count, report_file):
            path = place["file"]
            shown = place | {"file": path_text(path)}
            if not np.isfinite(output).all():
                report(f"{' '.join(map(str, shown.values()))} gives no finite outputs: its numbers are too large.")
            elif ply is not None:
                yield from _written(model, path, output, ply, written, report)
            elif model.task.per_vertex:
                unit = model.kind.unit
                for number, row in enumerate(output):
                    yield shown | {unit: number} | model.task.row(model.classes, row, probabilities)
            else:
                yield shown | model.task.row(model.classes, output, probabilities)
        done += len(batch)
        progress(done + unreadable, total[0] if total else None)


def _batches(
    model: Model, files: Sequence[Path], options: ReadOptions, report: Report, total: list[int]
) -> Iterator[Batch]:
    learned = model.learned
    for shard in model.kind.shards(learned, files, options, report, total.append):
        yield from model.kind.read_shard(learned, shard, report)


def _outputs(model: Model, batch: Batch, views: int, report: Report) -> Iterator[tuple[Row, Outputs]]:
    """Yield the outputs of each example; if no graph can be made of one, each is predicted alone."""
    if not len(batch):
        return
    try:
        outputs = model.outputs(batch.examples, views)
    except ValueError as error:
        if len(batch) > 1:
            for single in batch.singles():
                yield from _outputs(model, single, views, report)
        else:
            report(f"{path_text(batch.places[0]['file'])} cannot be converted to a graph: {error}")
        return
    rows = np.split(outputs, np.cumsum(batch.sizes)[:-1]) if model.task.per_vertex else outputs
    yield from zip(batch.places, rows, strict=True)


def _written(
    model: Model, path: Path, output: Outputs, to: Path, written: dict[Path, Path], report: Report
) -> Iterator[Row]:
    """Write the points of a cloud with the predictions for them, and yield the row of that file."""
    target = to / f"{path.name}.ply"
    if target in written:
        report(f"{path} must have a name of its own among the files: {written[target]} has it too.")
        return
    _write_ply(model, path, output, target)
    written[target] = path
    yield {"file": path_text(path), "written": path_text(target)}


def _write_ply(model: Model, path: Path, outputs: Outputs, to: Path) -> None:
    """Write the points of a file with the predictions for them."""
    names = model.recipe.options.get("column_names")  # positions stay as in the file, whatever axis points up
    positions = dict(zip("xyz", read_points(path, count=None, columns=names).positions.T, strict=True))
    columns, comments = model.task.point_columns(model.classes, outputs)
    write_atomic(to, ply_format.write(positions | columns, comments))
