"""The verb that explains predictions."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from edgecond.cli._app import verb
from edgecond.cli.console import counting, echo, users_errors
from edgecond.cli.streaming import (
    check_output,
    ModelPath,
    runs_over_the_terminal,
    Smiles,
    unread_reported,
    written_to,
)
from edgecond.files import csv_line


@verb
def explain(
    model: ModelPath,
    files: Annotated[list[Path], typer.Argument(help="The examples, in files as `edgecond predict` takes them.")],
    target: Annotated[
        str | None,
        typer.Option(help="The class or target to explain; by default the predicted class, or the first target."),
    ] = None,
    vertex: Annotated[
        int | None,
        typer.Option(min=0, help="Where points or vertices have predictions: the one to explain, numbered from 0."),
    ] = None,
    views: Annotated[
        int | None,
        typer.Option(min=1, max=1000, help="Number of views, as for `predict`. One view is the fastest."),
    ] = None,
    smiles: Smiles = None,
    occlusion: Annotated[
        bool, typer.Option("--occlusion", help="Hide each atom, point or vertex in turn, too, as a check.")
    ] = False,
    edges: Annotated[
        bool, typer.Option("--edges/--no-edges", help="Write rows for edges, of which clouds have many.")
    ] = True,
    page: Annotated[
        Path | None,
        typer.Option(help="HTML file with drawings of the first 24 examples, which needs nothing but a browser."),
    ] = None,
    out: Annotated[Path | None, typer.Option(help="The file to write instead of stdout, whole or not at all.")] = None,
    raw: Annotated[
        bool,
        typer.Option("--raw", help="Write text as it is into CSV, even what a spreadsheet would run as a formula."),
    ] = False,
) -> None:
    """Explain predictions: how much each atom, bond, point, edge and feature adds to the output, as CSV.

    Attributions are integrated gradients on vertex signals, edge labels and features. With the baseline and the rest,
    they add up to the output: log-odds of a class, or a number.

    Example: edgecond explain runs/train/solubility new.csv --page explained.html
    Example: edgecond explain runs/demo runs/demo/examples/*.npy --target 3 --no-edges
    """
    from edgecond.runs.explanation import columns, Explanation, explanations, Wanted
    from edgecond.runs.model import Model

    worst = 0.0
    with unread_reported() as report, users_errors():
        loaded, wanted = Model.load(model), Wanted(target, vertex, views, occlusion)
        drawn: list[Explanation] = []
        if page is not None:
            check_output(page, [model, *files], "--page")
            from edgecond.report.explanations import SHOWN, write
            from edgecond.report.page import plotly_script

            plotly_script()  # before anything that takes long
        seen = not runs_over_the_terminal(out)
        with written_to(out, [model, *files]) as stream, counting(loaded.recipe.name, seen=seen) as progress:
            names = columns(loaded, wanted)
            stream.write(csv_line(names, raw))
            count = 0
            for explanation in explanations(loaded, files, wanted, smiles=smiles, report=report, progress=progress):
                for row in explanation.rows(loaded.kind.unit, loaded.kind.link):
                    if edges or row["element"] != loaded.kind.link:
                        stream.write(csv_line([row.get(name, "") for name in names], raw))
                worst, count = max(worst, explanation.error), count + 1
                if page is not None and len(drawn) < SHOWN:
                    drawn.append(explanation)
        if count:
            echo(
                f"{count} explained; attributions add up to the difference of outputs within {100 * worst:.2g} %.",
                err=True,
            )
        if page is not None and drawn:
            write(page, loaded, drawn)
            echo(f"The page is {page}.", err=True)
