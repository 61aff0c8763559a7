"""The verb that uses a model, on one file or thousands, a batch at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any, TYPE_CHECKING

import typer

from edgecond.cli._app import app
from edgecond.console import counted, users_errors

if TYPE_CHECKING:
    from edgecond.graph import Cloud
    from edgecond.model import Model

Row = dict[str, Any]


@app.command()
def predict(
    model: Annotated[Path, typer.Argument(help="A model file, or the directory of a run.")],
    files: Annotated[
        list[Path], typer.Argument(help="Clouds or meshes, or directories of them; for molecules, CSV files.")
    ],
    looks: Annotated[int, typer.Option(min=1, help="Orientations of a cloud, whose outputs are averaged.")] = 1,
    smiles: Annotated[str | None, typer.Option(help="Column of the SMILES in a CSV.")] = None,
    every: Annotated[bool, typer.Option("--every", help="Give the probability of every class.")] = False,
    lines: Annotated[bool, typer.Option("--json", help="Write JSON lines instead of CSV.")] = False,
) -> None:
    """Name the class of each cloud or molecule, or its quantities, as CSV. Of thousands, only a batch is in memory.

    What cannot be read is reported and left out, and the exit status is then 1.

    Example: edgecond predict runs/demo runs/demo/examples/*.npy
    """
    import csv
    import json
    import sys

    from edgecond.model import Model

    unread: list[str] = []
    with users_errors():
        found = Model.load(model)
        rows = _molecules if found.recipe.dataset == "smiles" else _clouds
        writer: Any = None
        for row in rows(found, files, looks, smiles, every, unread):
            if lines:
                typer.echo(json.dumps(row, ensure_ascii=False))
                continue
            if writer is None:
                writer = csv.DictWriter(sys.stdout, list(row), lineterminator="\n")
                writer.writeheader()
            writer.writerow(row)
    if unread:
        raise typer.Exit(1)


def _clouds(
    model: Model, files: Sequence[Path], looks: int, smiles: str | None, every: bool, unread: list[str]
) -> Iterator[Row]:
    from edgecond.datasets import DataError
    from edgecond.datasets.formats import ENDINGS

    if model.recipe.input is None:
        raise DataError(f"predict takes clouds and molecules: {model.recipe.name} is a model of other graphs.")
    paths = [
        path
        for given in files
        for path in (sorted(f for f in given.rglob("*") if f.suffix.lower() in ENDINGS) if given.is_dir() else [given])
    ]
    waiting: list[tuple[Path, Cloud]] = []
    for number, path in enumerate(counted(paths, model.recipe.name), 1):
        try:
            waiting.append((path, _cloud(model, path)))
        except DataError as error:
            _report(str(error), unread)
        if waiting and (len(waiting) == model.recipe.train.batch or number == len(paths)):
            outputs = _mean(model, [(cloud, 0) for _, cloud in waiting], looks)
            for (of, _), output in zip(waiting, outputs, strict=True):
                yield {"file": str(of), **_told(model, output, every)}
            waiting.clear()


def _cloud(model: Model, path: Path) -> Cloud:
    from edgecond.datasets.formats import read_points, read_surface
    from edgecond.datasets.points import read_cloud, to_cloud, to_mesh

    if model.recipe.input and model.recipe.input.edges == "mesh":
        return to_mesh(read_surface(path), model.recipe.options["columns"], path)
    if model.recipe.dataset == "folder":
        return to_cloud(read_points(path), model.recipe.options["columns"], path)
    return read_cloud(path, model.widths[0])


def _molecules(
    model: Model, files: Sequence[Path], looks: int, smiles: str | None, every: bool, unread: list[str]
) -> Iterator[Row]:
    import numpy as np

    from edgecond.datasets import smiles as tables
    from edgecond.datasets.graphs import GraphExamples

    for path in files:
        found = tables.read(path, smiles=smiles, target=())
        for row, sentence in found.skipped:
            _report(f"{path}, row {row}: {sentence}", unread)
        outputs = _mean(model, GraphExamples(found.graphs, np.arange(len(found))), model.recipe.looks)
        for row, text, output in zip(found.rows.tolist(), found.smiles, outputs, strict=True):
            yield {"file": str(path), "row": row, "smiles": text, **_told(model, output, every)}


def _mean(model: Model, examples: Any, looks: int) -> Any:
    import numpy as np

    return np.mean(model.scores(examples, looks), axis=0)


def _told(model: Model, output: Any, every: bool) -> Row:
    """What is said of one example: the class and its probability, or a number for each question or quantity."""
    if model.recipe.task != "classes":
        return {name: round(float(value), 6) for name, value in zip(model.classes, output, strict=True)}
    likely = {"class": model.classes[output.argmax()], "probability": f"{output.max():.4f}"}
    return likely | ({f"p({name})": f"{p:.4f}" for name, p in zip(model.classes, output, strict=True)} if every else {})


def _report(sentence: str, unread: list[str]) -> None:
    unread.append(sentence)
    typer.echo(sentence, err=True)
