"""The verb that reruns rows of the paper."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from edgecond.cli._app import verb
from edgecond.cli.console import users_errors
from edgecond.cli.running import Epochs, Jobs, Results, Resume, run_folds, Runs, Seeds, Settings, Workers


@verb()
def reproduce(
    row: Annotated[str, typer.Argument(help="A row of `edgecond list`.")],
    fold: Annotated[
        list[int] | None, typer.Option(help="A test fold, from 0; may be repeated. All by default.")
    ] = None,
    settings: Settings = None,
    seed: Seeds = None,
    jobs: Jobs = 1,
    epochs: Epochs = None,
    workers: Workers = 0,
    resume: Resume = True,
    runs: Runs = Path("runs"),
    results: Results = Path("results"),
) -> None:
    """Rerun a row of the paper and write a record per fold. A run that was stopped is resumed.

    With --set it is an experiment, whose records are kept beside the row's: see `edgecond table experiments`.

    Under torchrun several processes train as one: torchrun --nproc-per-node 2 -m edgecond reproduce modelnet10/ecc

    Example: edgecond reproduce sydney/ecc --jobs 2
    """
    from edgecond.paper import records
    from edgecond.runs.recipe import experiment, find, parse_settings, with_epochs

    with users_errors():
        plain, changes = find(row), parse_settings(settings or [])
        recipe = experiment(with_epochs(plain, epochs), changes)
    metrics = [*[metric for claim in plain.paper for metric in claim.metrics], "accuracy", "train_accuracy"]
    wanted = [(f, s) for s in seed or [0] for f in (range(recipe.folds) if fold is None else fold)]
    options = {"epochs": epochs, "workers": workers, "runs": runs, "results": results}
    work = partial(records.reproduce, recipe, about={"changes": changes} if changes else None)
    command = ["reproduce", row, *[f"--set={change}" for change in settings or []]]
    run_folds(command, recipe, work, wanted, jobs, resume, metrics, options)
