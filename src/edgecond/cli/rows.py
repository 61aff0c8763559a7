"""Verbs that rerun the paper's rows, and print its tables beside what was rerun."""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from edgecond.cli._app import app
from edgecond.cli.console import print_table, users_errors
from edgecond.cli.running import Changes, folds

Seeds = Annotated[list[int] | None, typer.Option(help="A seed; may be repeated.")]
Jobs = Annotated[int, typer.Option(min=1, help="Folds to run side by side, one thread each.")]
Epochs = Annotated[int | None, typer.Option(min=1, help="Instead of the paper's.")]
Workers = Annotated[int, typer.Option(min=0, help="Processes that build batches ahead.")]
Resume = Annotated[bool, typer.Option("--resume/--restart", help="Go on with a run that was stopped, or begin again.")]
Runs = Annotated[Path, typer.Option(help="Directory of checkpoints.")]
Results = Annotated[Path, typer.Option(help="Directory of records.")]


@app.command()
def reproduce(
    row: Annotated[str, typer.Argument(help="A row of `edgecond list`.")],
    fold: Annotated[
        list[int] | None, typer.Option(help="A test fold, from 0; may be repeated. All by default.")
    ] = None,
    changes: Changes = None,
    seed: Seeds = None,
    jobs: Jobs = 1,
    epochs: Epochs = None,
    workers: Workers = 0,
    resume: Resume = True,
    runs: Runs = Path("runs"),
    results: Results = Path("results"),
) -> None:
    """Rerun a row of the paper and write a record per fold. A run that was stopped is taken up where it stood.

    With --set it is an experiment: its records are kept beside the row's, and `edgecond table experiments` has both.

    Under torchrun several processes train as one: torchrun --nproc-per-node 2 -m edgecond reproduce modelnet10/ecc

    Example: edgecond reproduce sydney/ecc --jobs 2
    """
    from edgecond.runs import run as experiment
    from edgecond.runs.recipe import find, varied, with_epochs, written

    with users_errors():
        plain, settings = find(row), written(changes or [])
        recipe = varied(with_epochs(plain, epochs), settings)
    told = [*[metric for claim in plain.paper for metric in claim.metrics], "accuracy", "train_accuracy"]
    wanted = [(f, s) for s in seed or [0] for f in (range(recipe.folds) if fold is None else fold)]
    options = {"epochs": epochs, "workers": workers, "runs": runs, "results": results}
    work = partial(experiment.reproduce, recipe, about={"changes": settings} if settings else None)
    command = ["reproduce", row, *[f"--set={change}" for change in changes or []]]
    folds(command, recipe, work, wanted, jobs, resume, told, options)


@app.command()
def fair(
    dataset: Annotated[str, typer.Argument(help="nci1, enzymes or dd.")],
    fold: Annotated[list[int] | None, typer.Option(help="An outer fold, from 0; may be repeated.")] = None,
    seed: Seeds = None,
    jobs: Jobs = 1,
    epochs: Epochs = None,
    workers: Workers = 0,
    resume: Resume = True,
    runs: Runs = Path("runs"),
    results: Results = Path("results"),
) -> None:
    """Assess ECC by the protocol of Errica et al.: in each outer fold, select a network by validation, then test it.

    Example: edgecond fair enzymes --jobs 2
    """
    from edgecond.paper import fair as protocol

    if dataset not in protocol.QUOTED:
        typer.echo(f"the protocol has public folds of {', '.join(protocol.QUOTED)}: got {dataset}.", err=True)
        raise typer.Exit(2)
    if int(os.environ.get("WORLD_SIZE", "1")) > 1:
        typer.echo("this protocol runs folds side by side: use --jobs instead of torchrun.", err=True)
        raise typer.Exit(2)
    recipe = protocol.candidate(dataset, "ecc", "fair")
    wanted = [(f, s) for s in seed or [0] for f in (range(protocol.FOLDS) if fold is None else fold)]
    options = {"epochs": epochs, "workers": workers, "runs": runs, "results": results}
    work = partial(protocol.assess, dataset, tell=typer.echo)
    folds(["fair", dataset], recipe, work, wanted, jobs, resume, [protocol.METRIC, "train_accuracy"], options)


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
