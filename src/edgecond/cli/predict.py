"""The verb that predicts, for one file or thousands, a batch at a time."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from edgecond.cli._app import verb
from edgecond.cli.console import counting, users_errors
from edgecond.cli.running import On
from edgecond.cli.streaming import (
    Files,
    ModelPath,
    Processes,
    runs_over_the_terminal,
    Smiles,
    unread_reported,
    written_to,
)
from edgecond.errors import DataError
from edgecond.files import csv_line


@verb
def predict(
    model: ModelPath,
    files: Files,
    views: Annotated[
        int | None,
        typer.Option(
            min=1,
            max=1000,
            help="Number of views whose outputs are averaged: orientations of a cloud or sparsifications of a graph; "
            "those of the recipe by default. One view is the fastest.",
        ),
    ] = None,
    smiles: Smiles = None,
    probabilities: Annotated[
        bool,
        typer.Option(
            "--probabilities",
            help="Write the probability of every class; with --to, that of the predicted class of each point.",
        ),
    ] = False,
    coverage: Annotated[
        float | None,
        typer.Option(
            help="Write an interval, or a set of classes, that holds the truth with this probability, as 0.9; for "
            "models trained with --calibration."
        ),
    ] = None,
    applicability: Annotated[
        bool,
        typer.Option(
            "--applicability",
            help="Write the distance to the nearest training example: 1 is as far as those are from each other.",
        ),
    ] = False,
    lines: Annotated[bool, typer.Option("--json", help="Write JSON lines instead of CSV.")] = False,
    raw: Annotated[
        bool,
        typer.Option("--raw", help="Write text as it is into CSV, even what a spreadsheet would run as a formula."),
    ] = False,
    out: Annotated[
        Path | None,
        typer.Option(help="The file to write instead of stdout, whole or not at all; with --to, the directory."),
    ] = None,
    jobs: Processes = None,
    on: On = None,
    ply: Annotated[
        Path | None,
        typer.Option(help="Where points have predictions: directory for a PLY file of each cloud."),
    ] = None,
    to: Annotated[
        Literal["las", "laz", "ply"] | None,
        typer.Option(
            help="Where points have predictions: write a copy of each file in this format to the directory --out, with "
            "the predicted classes and all else unchanged. Scans of any size are cut into tiles, and processes take "
            "whole files or, if those are few, tiles."
        ),
    ] = None,
    tile: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Number of points in memory of each process with --to, those of the overlap of tiles included; by "
            "default as many as take 1 GB.",
        ),
    ] = None,
) -> None:
    """Predict the class or the numbers of each cloud, molecule or graph, as CSV. Only a batch is in memory.

    Where points or vertices have predictions there is a row for each, or with --to or --ply a file for each cloud.

    Text that a spreadsheet would run as a formula, which begins with = + - or @, has an apostrophe before it in CSV.

    Files that cannot be read are reported and left out, and the exit status is then 1.

    Example: edgecond predict runs/train/solubility new.csv --coverage 0.9 --applicability
    Example: edgecond predict runs/demo runs/demo/examples/*.npy
    Example: edgecond predict runs/train/scans new/*.laz --to laz --out classified
    Example: edgecond predict runs/demo clouds/ --on ray --out classes.csv
    """
    import json

    from edgecond.data.processes import cores
    from edgecond.runs import scans
    from edgecond.runs.model import Model
    from edgecond.runs.prediction import columns, predictions, Wanted

    with unread_reported() as report, users_errors():
        loaded = Model.load(model)
        if to is not None:
            if out is None or ply is not None:
                raise DataError("--to needs the directory of the files to write, and no --ply: name it with --out.")
            if on is not None:
                raise DataError(f"--on {on} is for files that are predicted whole: --to cuts them. Leave one out.")
            folder, out = out, None
        seen = to is not None or not runs_over_the_terminal(out)
        with written_to(out, [model, *files]) as stream, counting(loaded.recipe.name, seen=seen) as progress:
            wanted = Wanted(loaded, probabilities, coverage, applicability)
            shared: dict[str, Any] = {"views": views, "report": report, "progress": progress}
            if to is not None:
                names = scans.columns(loaded)
                shared |= {"probabilities": probabilities, "tile": tile, "jobs": jobs or scans.processes()}
                rows = scans.written(loaded, files, folder, to, **shared)
            else:
                names = columns(loaded, wanted, ply)
                options: dict[str, Any] = {"smiles": smiles, "wanted": wanted, "ply": ply, "on": on}
                options["jobs"] = jobs or (None if on else cores())
                rows = predictions(loaded, files, **options, **shared)
            if not lines:
                stream.write(csv_line(names, raw))
            for row in rows:
                cells = [row[name] for name in names]
                stream.write(json.dumps(row, ensure_ascii=False) + "\n" if lines else csv_line(cells, raw))
