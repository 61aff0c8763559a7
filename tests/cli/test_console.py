"""What people see of a run: how long it still takes, also when another begins."""

from __future__ import annotations

import io
import itertools
import time

import pytest
from rich.console import Console
from rich.progress import Progress

from edgecond.cli import console
from edgecond.nn.training import Step


def step(epoch: int) -> Step:
    return Step(epoch=epoch, batch=0, loss=0.5, learning_rate=0.1, metric=1.0, count=1.0, last=True)


def test_the_time_left_is_that_of_the_run_at_hand(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch):
    """An epoch takes a minute; the second run begins after the first, and its ten epochs take ten minutes."""
    ticks = itertools.count(step=60.0)
    monkeypatch.setattr(time, "monotonic", lambda: next(ticks))

    with console.progress("rings") as (tell, _):
        for epoch in (*range(10), *range(10)):
            tell(step(epoch), 1, 10)

    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 20
    assert lines[1] == lines[11] == "rings: epoch 2/10, loss 0.500, rate 0.1, 8 min left"


def test_a_bar_begins_again_with_another_run(monkeypatch: pytest.MonkeyPatch):
    made: list[Progress] = []

    def bar(*columns: object) -> Progress:
        made.append(Progress(*columns, console=Console(file=io.StringIO(), force_terminal=True)))
        return made[0]

    monkeypatch.setattr(console, "Progress", bar)
    monkeypatch.setattr(Console, "is_terminal", True)

    with console.progress("rings") as (tell, count):
        for done in range(1, 4):
            count(done, 3)
        assert made[0].tasks[0].finished
        tell(step(0), 1, 10)
        assert not made[0].tasks[0].finished
        assert (made[0].tasks[0].completed, made[0].tasks[0].total) == (1, 10)
