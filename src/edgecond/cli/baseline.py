"""The verb that fits and tests a baseline on the folds of a row."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from edgecond.cli._app import verb
from edgecond.cli.console import counting, echo, users_errors
from edgecond.cli.running import in_parallel, Jobs, On, place_for, Results, Seeds


@verb
def baseline(
    name: Annotated[
        str,
        typer.Argument(
            metavar="NAME", help="bag, wl, wl-edges, gcn or gin for graphs; shape, voxnet or pointnet for clouds."
        ),
    ],
    row: Annotated[str, typer.Argument(help="A row of `edgecond list`, whose data, folds and augmentation are used.")],
    missing: Annotated[bool, typer.Option("--missing", help="Leave out the folds that have a record.")] = False,
    fold: Annotated[
        list[int] | None, typer.Option(min=0, help="A test fold, from 0; may be repeated. All by default.")
    ] = None,
    seed: Seeds = None,
    jobs: Jobs = None,
    on: On = None,
    results: Results = Path("results"),
) -> None:
    """Fit and test what others use on the folds of a row, and write a record per fold.

    `edgecond table N` shows baselines beside the paper and the reruns.

    Example: edgecond baseline wl nci1/ecc

    Example: edgecond baseline voxnet sydney/ecc --jobs 2
    """
    from edgecond.nn import tasks
    from edgecond.paper.baselines import record_baseline, without_record
    from edgecond.runs.baselines import find as find_baseline
    from edgecond.runs.recipe import find

    with users_errors():
        method, recipe = find_baseline(name), find(row)
        wanted = [(f, s) for s in seed or [0] for f in (range(recipe.folds) if fold is None else fold)]
        if missing:
            wanted = without_record(method, recipe, wanted, results)
    if not wanted:
        echo("every fold has a record.")
        return
    if on or ((jobs or 1) > 1 and len(wanted) > 1):
        words = ["baseline", name, row, f"--results={results}"]
        with place_for(on, jobs, {"--results": results}) as place:
            commands = [[*words, f"--fold={f}", f"--seed={s}"] for f, s in wanted]
            raise typer.Exit(in_parallel(commands, place))
    for number, random_seed in wanted:
        what = f"{name} on {row} fold {number} seed {random_seed}"
        with users_errors(), counting(what) as progress:
            record = record_baseline(method, recipe, number, random_seed, results=results, progress=progress)
        echo(f"{what}: {tasks.find(recipe.task).written(record['metrics'])} ({record['processor_seconds']:.0f} s)")
