"""What people see of a run in a terminal: progress, figures, confusion; and how they stop it."""

from __future__ import annotations

import signal
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, TYPE_CHECKING

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

if TYPE_CHECKING:
    from edgecond.nn.training import Step

Tell = Callable[["Step", int, int], None]  # step, batches per epoch, epochs
Count = Callable[[int, int], None]  # done, of all
Say = Callable[[str, int, int], None]  # what, done, of all


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


@contextmanager
def until_asked_to_stop(then: Callable[[int], object] = lambda kind: None) -> Iterator[list[int]]:
    """A list that is no longer empty once SIGINT or SIGTERM came; `then` is called with it."""
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
def progress(name: str, seen: bool = True) -> Iterator[tuple[Tell, Count]]:
    """What to call after each step of a run, and after each of the graphs that it coarsens first.

    A bar with loss, rate and time left; plain lines when this is not a terminal, nothing if not seen.
    """
    if not seen:
        yield lambda *_: None, lambda *_: None
        return
    if not Console().is_terminal:
        yield _of(_lines(name))
        return
    columns = (TextColumn("{task.description}"), BarColumn(), TimeRemainingColumn(), TextColumn("{task.fields[say]}"))
    with Progress(*columns) as bar:
        task = bar.add_task(name, total=None, say="")

        def draw(say: str, done: int, total: int) -> None:
            if done < bar.tasks[task].completed:  # steps after the pyramids, or another run
                bar.reset(task)
            bar.update(task, total=total, completed=done, say=say)

        yield _of(draw)


@contextmanager
def counting(name: str, seen: bool = True) -> Iterator[Callable[[int, int | None], None]]:
    """What to call with how many are done, and of how many if that is known; stdout is left to the results.

    A bar on stderr if that is a terminal, a line from time to time otherwise, nothing if not seen.
    """
    err = Console(stderr=True)
    if not seen or not err.is_terminal:
        yield _counted_lines(name) if seen else lambda done, total: None
        return
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=err, transient=True, redirect_stdout=False) as bar:
        task = bar.add_task(name, total=None)
        yield lambda done, total: bar.update(task, total=total, completed=done)


def _counted_lines(name: str, every: float = 30.0) -> Callable[[int, int | None], None]:
    start = last = time.monotonic()

    def say(done: int, total: int | None) -> None:
        nonlocal last
        now = time.monotonic()
        if now - last > every:
            last = now
            minutes = (now - start) / max(1, done) * ((total or 0) - done) / 60
            typer.echo(f"{name}: {done:,}{f' of {total:,}, {minutes:.0f} min left' if total else ''}", err=True)

    return say


def _lines(name: str, every: float = 30.0) -> Say:
    start = last = time.monotonic()
    first = before = sys.maxsize

    def say(what: str, done: int, total: int) -> None:
        nonlocal last, first, before, start
        now = time.monotonic()
        if done < before:  # the first that is done: of all, of the steps after the pyramids, or of another run
            first, start = done, now
        before = done
        if now - last > every or done == total:
            last = now
            left = (now - start) / max(1, done - first) * (total - done) / 60
            typer.echo(f"{name}: {what}, {left:.0f} min left")

    return say


def _of(say: Say) -> tuple[Tell, Count]:
    """What tells of steps and of pyramids, from what says how much is done of how much."""

    def tell(step: Step, batches: int, epochs: int) -> None:
        what = f"epoch {step.epoch + 1}/{epochs}, loss {step.loss:.3f}, rate {step.learning_rate:g}"
        say(what, step.epoch * batches + step.batch + 1, epochs * batches)

    return tell, lambda done, total: say(f"pyramid {done}/{total}", done, total)


def percentages(figures: Mapping[str, float]) -> str:
    """Figures by name, in per cent."""
    return ", ".join(f"{name} {100 * value:.2f}" for name, value in figures.items())


def quantities(figures: Mapping[str, float]) -> str:
    """Figures by name, as they are."""
    return ", ".join(f"{name} {value:.4g}" for name, value in figures.items())


def print_table(headers: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Columns as wide as they need be, in lines that end where the terminal does."""
    widths = [max(map(len, column)) for column in zip(headers, *rows, strict=True)]
    padded = [map(str.ljust, row, widths) for row in (headers, *rows)]
    lines = ["  ".join(row).rstrip() for row in padded]
    most = Console().width if Console().is_terminal else max(map(len, lines))
    shown = [line if len(line) <= most else f"{line[: most - 1]}…" for line in lines]
    typer.echo("\n".join([shown[0], "─" * max(map(len, shown)), *shown[1:]]))


def confusion_table(table: Any, classes: Sequence[str]) -> None:
    """Which classes are taken for which: a row for each true class, with how many of it were found."""
    numbers = [str(number) for number in range(len(classes))]
    named = [name if name == number else f"{number} {name}" for name, number in zip(classes, numbers, strict=True)]
    rows = [
        [name, *(str(int(count)) if count else "·" for count in row), f"{100 * row[i] / max(1, row.sum()):.0f} %"]
        for i, (name, row) in enumerate(zip(named, table, strict=True))
    ]
    print_table(["true \\ taken for", *numbers, "found"], rows)
