"""The verb that reruns rows of the paper."""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Annotated, TYPE_CHECKING

import typer

from edgecond.cli._app import verb
from edgecond.cli.console import echo, until_asked_to_stop, users_errors
from edgecond.cli.running import (
    Epochs,
    in_parallel,
    Jobs,
    Log,
    On,
    outputs_of,
    place_for,
    precompute,
    Results,
    Resume,
    run_folds,
    Runs,
    Seeds,
    Settings,
    words_for,
    Workers,
)
from edgecond.data.processes import stop_signals

if TYPE_CHECKING:
    from edgecond.cli.running import Place
    from edgecond.paper.queue import Task
    from edgecond.runs.recipe import Recipe


@verb
def reproduce(
    rows: Annotated[list[str] | None, typer.Argument(metavar="[ROW]...", help="Rows of `edgecond list`.")] = None,
    every: Annotated[bool, typer.Option("--all", help="All rows of the paper, as far as records are missing.")] = False,
    missing: Annotated[bool, typer.Option("--missing", help="Leave out the folds that have a record.")] = False,
    fold: Annotated[
        list[int] | None, typer.Option(help="A test fold, from 0; may be repeated. All by default.")
    ] = None,
    settings: Settings = None,
    seed: Seeds = None,
    jobs: Jobs = None,
    on: On = None,
    epochs: Epochs = None,
    workers: Workers = 0,
    resume: Resume = True,
    log: Log = None,
    runs: Runs = Path("runs"),
    results: Results = Path("results"),
) -> None:
    """Rerun rows of the paper and write a record per fold. A run that was stopped is resumed.

    Of several rows the one that takes the shortest time comes first, and one that fails does not end the others.

    With --set it is an experiment, whose records are kept beside the row's: see `edgecond table experiments`.

    Under torchrun several processes train as one: torchrun --nproc-per-node 2 -m edgecond reproduce modelnet10/ecc

    Example: edgecond reproduce sydney/ecc --jobs 2

    Example: edgecond reproduce --all --jobs 2

    Example: edgecond reproduce --all --on ray
    """
    from edgecond.paper import queue, records
    from edgecond.runs.recipe import experiment, find, parse_settings, recipes, with_epochs
    from edgecond.runs.tracking import trackers

    if every == bool(rows):
        echo(f"reproduce needs rows, or --all: got {'both' if every else 'neither'}. See `edgecond list`.", err=True)
        raise typer.Exit(2)
    with users_errors():
        names = [row.name for row in recipes().values() if row.paper] if every else list(dict.fromkeys(rows or []))
        changes = parse_settings(settings or [])
        chosen = [(name, experiment(with_epochs(find(name), epochs), changes)) for name in names]
        wanted = queue.tasks(chosen, fold, seed or [0])
        if every or missing:
            wanted = queue.without_record(wanted, results)
        callbacks = trackers(log)
    if not wanted:
        echo("every fold has a record.")
        return
    options = {"epochs": epochs, "workers": workers, "runs": runs, "results": results}
    changed = [*[f"--set={change}" for change in settings or []], *([f"--log={log}"] if log else [])]
    if len(names) > 1:
        with place_for(on, jobs, outputs_of(options)) as place:
            _run_rows(wanted, place, [*changed, *words_for(options, resume)], results)
        return
    [(row, recipe)] = chosen
    work = partial(records.reproduce, recipe, about={"changes": changes} if changes else None, callbacks=callbacks)
    folds = [(task.fold, task.seed) for task in wanted]
    run_folds(["reproduce", row, *changed], recipe, work, folds, jobs, on, resume, _metrics(find(row)), options)


def _metrics(row: Recipe) -> list[str]:
    """Return the names of the metrics to print: those of the paper, and accuracies."""
    return [*[metric for claim in row.paper for metric in claim.metrics], "accuracy", "train_accuracy"]


def _run_rows(wanted: list[Task], place: Place, words: list[str], results: Path) -> None:
    """Run the folds of several rows, print a line for each, and exit with the status of the first that fails."""
    from edgecond.paper.queue import duration, Estimate

    if int(os.environ.get("WORLD_SIZE", "1")) > 1:
        echo("several rows run side by side: use --jobs instead of torchrun, or name one row.", err=True)
        raise typer.Exit(2)
    estimate, left = Estimate(place.jobs), list(wanted)
    begun: list[Task] = []
    failed: dict[str, int] = {}
    count = f"{len(wanted)} fold{'s' * (len(wanted) > 1)}"
    echo(f"{count} of {len({task.row for task in wanted})} rows, about {duration(estimate.minutes(left))} in all.")

    def commands() -> Iterator[list[str]]:
        prepared = set[str]()
        for task in wanted:
            if task.row not in failed and place.jobs > 1 and task.row not in prepared:
                prepared.add(task.row)
                if (status := _precompute(task.recipe)) == 130:
                    return
                if status:
                    failed[task.row] = status
            if task.row in failed:
                left.remove(task)
            else:
                begun.append(task)
                yield ["reproduce", task.row, *words, f"--fold={task.fold}", f"--seed={task.seed}"]

    def go_on(number: int, status: int) -> bool:
        task = begun[number]
        left.remove(task)
        if status == 130 or -status in stop_signals():
            echo(f"{task} was stopped; the same command goes on.")
        elif status:
            failed.setdefault(task.row, status)
            echo(f"{task} has failed with status {status}: its row is left out, and the others go on.")
        else:
            metrics, seconds = _recorded(task, results)
            estimate.ended(task, seconds)
            rest = f"{len(left)} left, about {duration(estimate.minutes(left))}" if left else "none left"
            echo(f"{task}: {metrics} ({duration(seconds / 60)}); {rest}")
        return True

    status = in_parallel(commands(), place, go_on, quiet=True)
    if failed:
        echo(f"rows that have failed: {', '.join(failed)}. Add --missing to run what is left.", err=True)
    raise typer.Exit(status or next(iter(failed.values()), 0))


def _precompute(recipe: Recipe) -> int:
    """Compute the pyramids that all folds share, and return the exit status; a signal ends the computation."""
    try:
        with until_asked_to_stop() as signals:
            precompute(recipe, stop=lambda: bool(signals))
    except typer.Exit as ended:
        if signals:
            os.kill(os.getpid(), signals[0])  # for those who wait for it
        return 130 if signals else ended.exit_code
    return 0


def _recorded(task: Task, results: Path) -> tuple[str, float]:
    """Return the metrics of a fold as a line of text, and its seconds."""
    from edgecond.nn.tasks import find as find_task
    from edgecond.paper.records import read_records
    from edgecond.runs.recipe import find

    with users_errors():
        records = read_records(results / task.recipe.name)
    record = next(record for record in records if (record.fold, record.seed) == (task.fold, task.seed))
    known = {metric: record.metrics[metric] for metric in _metrics(find(task.row)) if metric in record.metrics}
    return find_task(task.recipe.task).written(known), record.seconds
