"""The verb that prints the paper's tables beside what was rerun."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from edgecond.cli._app import app
from edgecond.cli.console import print_table
from edgecond.cli.running import Results


@app.command()
def table(
    number: Annotated[str, typer.Argument(help="The table's number in the paper, gains, fair, or experiments.")],
    results: Results = Path("results"),
) -> None:
    """Print a table of the paper beside what has been rerun so far.

    Example: edgecond table 1
    """
    from edgecond.paper.tables import entries, tables

    if named := {"gains": _gains, "fair": _fair_protocol, "experiments": _experiments}.get(number):
        named(results)
        return
    found = entries(int(number), results) if number.isdecimal() else []
    if not found:
        known = f"{', '.join(map(str, tables()))}, gains, fair and experiments"
        typer.echo(f"the tables that are rerun are {known}: got {number}.", err=True)
        raise typer.Exit(2)
    rows = []
    for entry in found:
        rerun, spread = ("" if x is None else entry.written(x) for x in (entry.rerun, entry.spread))
        rerun = rerun or ("-" if not entry.folds else "partly")
        epochs = "" if entry.epochs is None else "-".join(map(str, dict.fromkeys(entry.epochs)))
        folds = f"{len(entry.folds)}/{entry.recipe.folds}"
        cells = [_figure(entry.metric), entry.written(entry.paper), rerun, spread, folds, str(entry.seeds), epochs]
        rows.append([entry.recipe.name, *cells, entry.row])
    print_table(["row", "figure", "paper", "rerun", "±", "folds", "seeds", "epochs", "in the paper"], rows)
    typer.echo("±: standard deviation over folds; the figure of a fold is the mean over its seeds.")


def _figure(metric: str) -> str:
    """A figure of the records as the tables call it; how many views it is of stands in the name of the row."""
    return metric.removesuffix("_votes").removesuffix("_scores").replace("accuracy", "acc").replace("_", " ")


def _gains(results: Path) -> None:
    from edgecond.paper.tables import gains

    rows = [
        [each.change, _figure(each.metric), each.in_the_paper, *each.told[::-1], str(len(each.folds))]
        for each in gains(results)
    ]
    print_table(["row", "figure", "paper's gain", "gain here", "row's", "plain ECC's", "folds"], rows)
    typer.echo("Beside the plain ECC, on the folds and seeds that both have; ±: standard error of the gain over folds.")


def _fair_protocol(results: Path) -> None:
    from edgecond.paper.fair import assessments, MODELS

    rows = [[found.dataset, *map(found.quoted, MODELS), found.rerun, found.choices] for found in assessments(results)]
    quoted = [f"{model}, quoted" for model in MODELS]
    print_table(["dataset", *quoted, "ECC, rerun", "selected"], rows)
    typer.echo("±: standard deviation over the ten outer folds. Quoted: Errica et al., ICLR 2020.")


def _experiments(results: Path) -> None:
    from edgecond.paper.tables import experiments

    found = experiments(results)
    if not found:
        typer.echo(f"an experiment is what `edgecond reproduce ROW --set NAME=VALUE` records: {results} has none.")
        return
    rows = [[each.recipe.name, each.change, each.metric, *each.told, str(len(each.folds))] for each in found]
    print_table(["row", "change", "figure", "row's", "changed", "difference", "folds"], rows)
    typer.echo("On the folds and seeds that both have; ±: standard error of the difference over folds.")
