"""The terminal: errors, progress, tables, and signals that stop a run."""

from __future__ import annotations

import os
import signal
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TYPE_CHECKING

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from edgecond.data.processes import stop_signals
from edgecond.errors import DataWarning, EdgecondError, printable, ReportedError

if TYPE_CHECKING:
    from edgecond.nn.training import Step

Tell = Callable[["Step", int, int], None]  # step, batches per epoch, epochs
Count = Callable[[int, int], None]  # done, of all
Say = Callable[[str, int, int], None]  # what, done, of all


def echo(text: object, err: bool = False) -> None:
    """Print a line; control characters in names are written out."""
    typer.echo(printable(str(text)), err=err)


@contextmanager
def users_errors() -> Iterator[None]:
    """Print an error of edgecond, or of a path, as a sentence without a traceback, and exit with status 2.

    Warnings about data are printed as sentences too.
    """
    try:
        with _warnings_as_sentences():
            yield
    except EdgecondError as error:
        if not isinstance(error, ReportedError):
            echo(error, err=True)
    except OSError as error:
        if error.filename is None:  # of standard output, which is full or closed
            raise
        echo(f"{str(error.filename)[:200]} cannot be used: {error.strerror}. Name another path.", err=True)
    else:
        return
    raise typer.Exit(2) from None


@contextmanager
def _warnings_as_sentences() -> Iterator[None]:
    with warnings.catch_warnings():
        show = warnings.showwarning

        def print_sentence(message: Any, category: type[Warning], *rest: Any) -> None:
            if issubclass(category, DataWarning):
                echo(message, err=True)
            else:
                show(message, category, *rest)

        warnings.simplefilter("always", DataWarning)
        warnings.showwarning = print_sentence  # type: ignore[assignment]
        yield


@contextmanager
def until_asked_to_stop(then: Callable[[int], object] = lambda kind: None) -> Iterator[list[int]]:
    """Yield a list that fills when SIGINT, SIGTERM or SIGHUP comes; `then` is called with the signal.

    Forked processes do nothing: a terminal sends its signals to them too.
    """
    signals: list[int] = []
    owner = os.getpid()

    def remember(kind: int, _: object) -> None:
        if os.getpid() == owner:
            signals.append(kind)
            then(kind)

    before = {kind: signal.signal(kind, remember) for kind in stop_signals()}
    try:
        yield signals
    finally:
        for kind, handler in before.items():
            signal.signal(kind, handler)


@contextmanager
def progress(name: str, seen: bool = True) -> Iterator[tuple[Tell, Count]]:
    """Yield what to call after each step of a run, and after each pyramid that is computed before.

    Shows a bar with loss, learning rate and remaining time; lines if this is not a terminal, nothing if not `seen`.
    """
    if not seen:
        yield lambda *_: None, lambda *_: None
        return
    if not Console().is_terminal:
        yield _of(_lines(name))
        return
    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.fields[say]}", markup=False),
    )
    with Progress(*columns) as bar:
        task = bar.add_task(printable(name), total=None, say="")

        def draw(say: str, done: int, total: int) -> None:
            if done < bar.tasks[task].completed:  # steps after the pyramids, or another run
                bar.reset(task)
            bar.update(task, total=total, completed=done, say=say)

        yield _of(draw)


@contextmanager
def counting(name: str, seen: bool = True) -> Iterator[Callable[[int, int | None], None]]:
    """Yield what to call with the number of examples done, and of all if it is known; stdout is left to the results.

    Shows a bar on stderr if that is a terminal, a line from time to time otherwise, nothing if not `seen`.
    """
    err = Console(stderr=True)
    if not seen or not err.is_terminal:
        yield _counted_lines(name) if seen else lambda done, total: None
        return
    columns = (TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=err, transient=True, redirect_stdout=False) as bar:
        task = bar.add_task(printable(name), total=None)
        yield lambda done, total: bar.update(task, total=total, completed=done)


def _counted_lines(name: str, every: float = 30.0) -> Callable[[int, int | None], None]:
    start = last = time.monotonic()

    def say(done: int, total: int | None) -> None:
        nonlocal last
        now = time.monotonic()
        if now - last > every:
            last = now
            minutes = (now - start) / max(1, done) * ((total or 0) - done) / 60
            echo(f"{name}: {done:,}{f' of {total:,}, {minutes:.0f} min left' if total else ''}", err=True)

    return say


def _lines(name: str, every: float = 30.0) -> Say:
    start = last = time.monotonic()
    first = before = sys.maxsize

    def say(what: str, done: int, total: int) -> None:
        nonlocal last, first, before, start
        now = time.monotonic()
        if done < before:  # the first call, the first step after the pyramids, or another run
            first, start = done, now
        before = done
        if now - last > every or done == total:
            last = now
            left = (now - start) / max(1, done - first) * (total - done) / 60
            echo(f"{name}: {what}, {left:.0f} min left")

    return say


def _of(say: Say) -> tuple[Tell, Count]:
    """Return what reports steps and pyramids, given what shows a text and how much is done."""

    def show_step(step: Step, batches: int, epochs: int) -> None:
        what = f"epoch {step.epoch + 1}/{epochs}, loss {step.loss:.3f}, learning rate {step.learning_rate:g}"
        say(what, step.epoch * batches + step.batch + 1, epochs * batches)

    return show_step, lambda done, total: say(f"pyramid {done}/{total}", done, total)


def print_table(headers: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print a table with aligned columns, cut at the width of the terminal."""
    cells = [[printable(cell).replace("\n", "\\n") for cell in row] for row in (headers, *rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    padded = [map(str.ljust, row, widths) for row in cells]
    lines = ["  ".join(row).rstrip() for row in padded]
    most = Console().width if Console().is_terminal else max(map(len, lines))
    shown = [line if len(line) <= most else f"{line[: most - 1]}…" for line in lines]
    echo("\n".join([shown[0], "─" * max(map(len, shown)), *shown[1:]]))


def confusion_table(table: Any, classes: Sequence[str]) -> None:
    """Print a confusion matrix: a row per class, a column per predicted class, and the recall of each class."""
    numbers = [str(number) for number in range(len(classes))]
    named = [name if name == number else f"{number} {name}" for name, number in zip(classes, numbers, strict=True)]
    rows = [
        [name, *(str(int(count)) if count else "·" for count in row), f"{100 * row[i] / max(1, row.sum()):.0f} %"]
        for i, (name, row) in enumerate(zip(named, table, strict=True))
    ]
    print_table(["class \\ predicted", *numbers, "recall"], rows)
