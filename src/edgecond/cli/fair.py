"""The verb that assesses ECC by the protocol of Errica et al."""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from edgecond.cli._app import verb
from edgecond.cli.console import echo, users_errors
from edgecond.cli.running import Epochs, Jobs, On, Results, Resume, run_folds, Runs, Seeds, Settings, Workers


@verb
def fair(
    dataset: Annotated[str, typer.Argument(help="nci1, enzymes or dd.")],
    fold: Annotated[list[int] | None, typer.Option(help="An outer fold, from 0; may be repeated.")] = None,
    plus: Annotated[bool, typer.Option("--plus", help="Select from the networks of today: see plus/DATASET.")] = False,
    repeats: Annotated[
        int, typer.Option(min=1, help="Number of times that the selected network is trained and tested in a fold.")
    ] = 3,
    settings: Settings = None,
    seed: Seeds = None,
    jobs: Jobs = None,
    on: On = None,
    epochs: Epochs = None,
    workers: Workers = 0,
    resume: Resume = True,
    runs: Runs = Path("runs"),
    results: Results = Path("results"),
) -> None:
    """Assess ECC by the protocol of Errica et al.: in each outer fold, select a network by validation, then test it.

    With --set it is an experiment, whose records are kept beside the others.

    Example: edgecond fair enzymes --jobs 2

    Example: edgecond fair dd --plus --set counts=false
    """
    from edgecond.paper import fair as protocol
    from edgecond.runs.recipe import parse_settings

    if dataset not in protocol.QUOTED:
        echo(f"a data set with public folds must be one of {', '.join(protocol.QUOTED)}: got {dataset}.", err=True)
        raise typer.Exit(2)
    if int(os.environ.get("WORLD_SIZE", "1")) > 1:
        echo("this protocol runs folds side by side: use --jobs instead of torchrun.", err=True)
        raise typer.Exit(2)
    with users_errors():  # before the first of many folds
        for each in seed or [0]:
            protocol.seeds_of_tests(each, repeats)
        changes = parse_settings(settings or [])
        first, *_ = protocol.candidates(dataset, plus, changes)
        recipe = protocol.candidate(dataset, first, "fair", changes=changes)
    wanted = [(f, s) for s in seed or [0] for f in (range(protocol.FOLDS) if fold is None else fold)]
    options = {"repeats": repeats, "epochs": epochs, "workers": workers, "runs": runs, "results": results}
    work = partial(protocol.assess, dataset, plus=plus, changes=changes, report=echo)
    name = ["fair", dataset, *["--plus"] * plus, *[f"--set={change}" for change in settings or []]]
    metrics = [protocol.METRIC, protocol.SINGLE, "train_accuracy"]
    run_folds(name, recipe, work, wanted, jobs, on, resume, metrics, options)
