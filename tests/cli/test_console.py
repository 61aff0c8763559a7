"""Progress has the time that is left of the current run, and a confusion matrix the recall of each class."""

from __future__ import annotations

import io
import itertools
import time

import numpy as np
import pytest
import typer
from rich.console import Console
from rich.progress import Progress

from edgecond.cli import console
from edgecond.errors import DataError
from edgecond.nn.training import Step


def step(epoch: int) -> Step:
    return Step(epoch, 0, 0.5, 0.1, 1.0, 1.0, last=True)


def test_the_time_left_is_that_of_the_current_run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch):
    """An epoch takes a minute; the second run begins after the first, and its ten epochs take ten minutes."""
    ticks = itertools.count(step=60.0)
    monkeypatch.setattr(time, "monotonic", lambda: next(ticks))

    with console.progress("rings") as (show_step, _):
        for epoch in (*range(10), *range(10)):
            show_step(step(epoch), 1, 10)

    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 20
    assert lines[1] == lines[11] == "rings: epoch 2/10, loss 0.500, learning rate 0.1, 8 min left"


def test_a_bar_restarts_with_another_run(monkeypatch: pytest.MonkeyPatch):
    made: list[Progress] = []

    def bar(*columns: object) -> Progress:
        made.append(Progress(*columns, console=Console(file=io.StringIO(), force_terminal=True)))
        return made[0]

    monkeypatch.setattr(console, "Progress", bar)
    monkeypatch.setattr(Console, "is_terminal", True)

    with console.progress("rings") as (show_step, count):
        for done in range(1, 4):
            count(done, 3)
        assert made[0].tasks[0].finished
        show_step(step(0), 1, 10)
        assert not made[0].tasks[0].finished
        assert (made[0].tasks[0].completed, made[0].tasks[0].total) == (1, 10)


def test_a_confusion_matrix_has_a_row_for_each_class(capsys: pytest.CaptureFixture[str]):
    """Of three examples of class 0, one was predicted as class 1: by hand, the recall is 67 %."""
    console.confusion_table(np.array([[2, 1], [0, 4]]), ["cat", "dog"])

    rows = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert ["0", "cat", "2", "1", "67", "%"] in rows
    assert ["1", "dog", "·", "4", "100", "%"] in rows


ESCAPES = "\x1b[31mred\x07\x9b2J\u202e"
SHOWN = r"\x1b[31mred\x07\x9b2J\u202e"


def test_escapes_in_an_error_are_shown_as_text(capsys: pytest.CaptureFixture[str]):
    with pytest.raises(typer.Exit), console.users_errors():
        raise DataError(f"{ESCAPES}.npy cannot be read.")

    assert capsys.readouterr().err == f"{SHOWN}.npy cannot be read.\n"


def test_escapes_and_line_breaks_in_the_name_of_a_class_stay_in_its_cell(capsys: pytest.CaptureFixture[str]):
    console.confusion_table(np.eye(2), [ESCAPES, "two\nlines"])

    header, line, *rows = capsys.readouterr().out.splitlines()
    assert [row.split("  ")[0].strip() for row in rows] == [f"0 {SHOWN}", r"1 two\nlines"]
    assert len(line) == len(header)


@pytest.mark.parametrize("name", ["[/red]", "[bold]x", ESCAPES])
def test_a_bar_shows_the_name_of_the_data_as_it_is(name: str, monkeypatch: pytest.MonkeyPatch):
    """Rich reads [bold] as markup, and a closing mark without its opening one is an error there."""
    written = io.StringIO()
    terminal = Console(file=written, force_terminal=True, width=120)
    monkeypatch.setattr(console, "Progress", lambda *columns: Progress(*columns, console=terminal))
    monkeypatch.setattr(Console, "is_terminal", True)

    with console.progress(name) as (show_step, _):
        show_step(step(0), 1, 10)

    assert name.replace(ESCAPES, SHOWN) in written.getvalue()
    assert ESCAPES not in written.getvalue()
