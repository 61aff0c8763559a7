"""The command line: one function per verb, each importing what it needs when it runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, TYPE_CHECKING

import typer

from edgecond import __version__
from edgecond.notation import Architecture, D, FC, Pooling

if TYPE_CHECKING:
    from edgecond.training import Step

app = typer.Typer(no_args_is_help=True, add_completion=False)


def main() -> None:
    """The entry point `edgecond`."""
    app()


@contextmanager
def users_errors() -> Iterator[None]:
    """Print an error of our own as the sentence it is, without a traceback, and leave with status 2."""
    try:
        yield
    except Exception as error:
        if not type(error).__module__.startswith("edgecond."):
            raise
        typer.echo(error, err=True)
        raise typer.Exit(2) from None


def _version(asked: bool) -> None:
    if asked:
        typer.echo(f"edgecond {__version__}")
        raise typer.Exit


@app.callback()
def edgecond(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and leave.")
    ] = False,
) -> None:
    """Edge-conditioned convolution on graphs and point clouds."""


@app.command()
def info() -> None:
    """Tell the versions in use, the kernels and the threads.

    Example: edgecond info
    """
    import platform

    import torch

    from edgecond.convolution import native

    kernels = f"C++, {native.instruction_set()}" if native.available() else "torch"
    typer.echo(f"edgecond  {__version__}")
    typer.echo(f"python    {platform.python_version()}")
    typer.echo(f"torch     {torch.__version__}")
    typer.echo(f"kernels   {kernels}")
    typer.echo(f"threads   {torch.get_num_threads()}")


@app.command()
def network(
    notation: Annotated[str, typer.Argument(help="A network as the paper writes it, in quotes.")],
) -> None:
    """List the layers of a network and the level of graph resolution that each works on.

    Example: edgecond network "C(16)-MP(0.25,0.5)-GAP-FC(14)"
    """
    from rich import box
    from rich.console import Console
    from rich.table import Table

    with users_errors():
        architecture = Architecture(notation)

    table = Table("layer", "level", "", box=box.SIMPLE)
    for layer, level in zip(architecture, architecture.levels, strict=True):
        on = f"{level} to {level + 1}" if isinstance(layer, Pooling) else f"{level}"
        table.add_row(str(layer), "" if isinstance(layer, FC | D) else on, type(layer).__doc__)
    Console().print(table)
    layers, resolutions = architecture.parametric_layers, architecture.resolutions
    typer.echo(f"parametric layers: {layers}, levels of graph resolution: {resolutions}")


@app.command("list")
def list_rows() -> None:
    """List the rows of the paper's tables that can be rerun.

    Example: edgecond list
    """
    from rich import box
    from rich.console import Console
    from rich.table import Table

    from edgecond.recipe import recipes

    table = Table("row", "in the paper", "as", box=box.SIMPLE)
    for name, recipe in recipes().items():
        places = [f"Table {c.table}" if c.table else f"Section {c.section}" for c in recipe.paper]
        table.add_row(name, ", ".join(dict.fromkeys(places)), recipe.paper[0].row)
    Console().print(table)


@app.command()
def show(row: Annotated[str, typer.Argument(help="A row of `edgecond list`.")]) -> None:
    """Show all that a row is made of.

    Example: edgecond show sydney/wider
    """
    from edgecond.recipe import find

    with users_errors():
        recipe = find(row)
    for name in type(recipe).model_fields:
        value = getattr(recipe, name)
        for line in value if name == "paper" else [value]:
            typer.echo(f"{name:14}{line}")


@app.command()
def fetch(name: Annotated[str, typer.Argument(help="A dataset: sydney, modelnet10, modelnet40, mnist, ...")]) -> None:
    """Download what is missing of a dataset, and check all of it. EDGECOND_DATA names the directory.

    Example: edgecond fetch sydney
    """
    from edgecond import datasets

    with users_errors():
        typer.echo(datasets.fetch(name))


@app.command()
def reproduce(
    row: Annotated[str, typer.Argument(help="A row of `edgecond list`.")],
    fold: Annotated[
        list[int] | None, typer.Option(help="A test fold, from 0; may be repeated. All by default.")
    ] = None,
    seed: Annotated[list[int] | None, typer.Option(help="A seed; may be repeated.")] = None,
    jobs: Annotated[int, typer.Option(min=1, help="Folds to run side by side, one thread each.")] = 1,
    epochs: Annotated[int | None, typer.Option(min=1, help="Instead of the paper's.")] = None,
    workers: Annotated[int, typer.Option(min=0, help="Processes that build batches ahead.")] = 0,
    runs: Annotated[Path, typer.Option(help="Directory of checkpoints.")] = Path("runs"),
    results: Annotated[Path, typer.Option(help="Directory of records.")] = Path("results"),
) -> None:
    """Rerun a row of the paper and write a record per fold. A run that was stopped is taken up where it stood.

    Example: edgecond reproduce sydney/ecc --jobs 2
    """
    from edgecond.recipe import find

    with users_errors():
        recipe = find(row)
    wanted = [(f, s) for s in seed or [0] for f in (range(recipe.folds) if fold is None else fold)]
    if jobs > 1 and len(wanted) > 1:
        rest = ["--workers", str(workers), "--runs", str(runs), "--results", str(results)]
        rest += [] if epochs is None else ["--epochs", str(epochs)]
        raise typer.Exit(_side_by_side(row, wanted, jobs, rest))

    from edgecond.experiment import Interrupted
    from edgecond.experiment import reproduce as rerun

    for number, of in wanted:
        name = f"{row} fold {number} seed {of}"
        with users_errors(), _until_asked_to_stop() as asked, _progress(name) as advance:

            def observe(step: Step, batches: int, epochs: int) -> bool:
                advance(step, batches, epochs)
                return not asked

            try:
                record = rerun(
                    recipe, number, of, runs=runs, results=results, epochs=epochs, workers=workers, observe=observe
                )
            except Interrupted as stopped:
                typer.echo(f"{name}: {stopped}")
                raise typer.Exit(130) from None
        figures = ", ".join(f"{metric} {100 * value:.2f}" for metric, value in record["metrics"].items())
        typer.echo(f"{name}: {figures}")


def _side_by_side(row: str, wanted: Sequence[tuple[int, int]], jobs: int, rest: Sequence[str]) -> int:
    """Each fold in a process of its own, `jobs` at a time, until one fails or is stopped; the first bad status."""
    import os
    import subprocess
    import sys
    import time

    running: list[subprocess.Popen[bytes]] = []
    waiting, status = list(wanted), 0

    def pass_on(kind: int) -> None:
        for process in running:
            process.send_signal(kind)

    with _until_asked_to_stop(pass_on) as asked:
        while running or (waiting and not status and not asked):
            while waiting and len(running) < jobs and not status and not asked:
                fold, seed = waiting.pop(0)
                command = [
                    sys.executable,
                    "-m",
                    "edgecond",
                    "reproduce",
                    row,
                    f"--fold={fold}",
                    f"--seed={seed}",
                    *rest,
                ]
                running.append(subprocess.Popen(command, env={**os.environ, "OMP_NUM_THREADS": "1"}))
            time.sleep(0.1)
            ended = [process for process in running if process.poll() is not None]
            status = status or next((process.returncode for process in ended if process.returncode), 0)
            running = [process for process in running if process not in ended]
    return status


@contextmanager
def _until_asked_to_stop(then: Callable[[int], object] = lambda kind: None) -> Iterator[list[int]]:
    """A list that is no longer empty once SIGINT or SIGTERM came; `then` is called with it."""
    import signal

    asked: list[int] = []

    def remember(kind: int, _: object) -> None:
        asked.append(kind)
        then(kind)

    before = {kind: signal.signal(kind, remember) for kind in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield asked
    finally:
        for kind, handler in before.items():
            signal.signal(kind, handler)


@contextmanager
def _progress(name: str) -> Iterator[Callable[[Step, int, int], None]]:
    """A bar with loss, rate and time left; plain lines when this is not a terminal."""
    import time

    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    if Console().is_terminal:
        columns = (
            TextColumn("{task.description}"),
            BarColumn(),
            TimeRemainingColumn(),
            TextColumn("{task.fields[say]}"),
        )
        with Progress(*columns) as bar:
            task = bar.add_task(name, total=None, say="")

            def draw(step: Step, batches: int, epochs: int) -> None:
                say = f"epoch {step.epoch + 1}/{epochs}, loss {step.loss:.3f}, rate {step.rate:g}"
                done = step.epoch * batches + step.batch + 1
                bar.update(task, total=epochs * batches, completed=done, say=say)

            yield draw
        return
    start = last = time.monotonic()
    first: int | None = None

    def tell(step: Step, batches: int, epochs: int) -> None:
        nonlocal last, first
        now, done = time.monotonic(), step.epoch * batches + step.batch + 1
        first = done if first is None else first
        if now - last > 30 or done == epochs * batches:
            last = now
            left = (now - start) / max(1, done - first) * (epochs * batches - done) / 60
            say = f"epoch {step.epoch + 1}/{epochs}, loss {step.loss:.3f}, rate {step.rate:g}, {left:.0f} min left"
            typer.echo(f"{name}: {say}")

    yield tell


@app.command()
def table(
    number: Annotated[int, typer.Argument(help="The table's number in the paper.")],
    results: Annotated[Path, typer.Option(help="Directory of records.")] = Path("results"),
) -> None:
    """Print a table of the paper beside what has been rerun so far.

    Example: edgecond table 1
    """
    from rich import box
    from rich.console import Console
    from rich.table import Column, Table

    from edgecond.report import entries, tables

    found = entries(number, results)
    if not found:
        typer.echo(f"the tables that are rerun are {', '.join(map(str, tables()))}: got {number}.", err=True)
        raise typer.Exit(2)
    headers = ("", "row", "figure", "paper", "rerun", "±", "folds", "seeds", "epochs")
    shown = Table(*[Column(header, no_wrap=bool(header)) for header in headers], box=box.SIMPLE, padding=(0, 1, 0, 0))
    for entry in found:
        percent = [None if x is None else f"{100 * x:.1f}" for x in (entry.rerun, entry.spread)]
        rerun = percent[0] or ("not yet" if not entry.folds else "incomplete")
        epochs = "" if entry.epochs is None else "-".join(map(str, dict.fromkeys(entry.epochs)))
        folds = f"{len(entry.folds)} of {entry.recipe.folds}"
        cells = [entry.metric, f"{100 * entry.paper:.1f}", rerun, percent[1] or "", folds, str(entry.seeds), epochs]
        shown.add_row(entry.row, entry.recipe.name, *cells)
    Console().print(shown)
    typer.echo("±: standard deviation over folds; the figure of a fold is the mean over its seeds.")
