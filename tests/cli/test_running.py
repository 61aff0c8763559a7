"""What several verbs share: folds run one after the other or in parallel, and a failure ends them."""

import sys
from pathlib import Path

import pytest
import typer

from edgecond.cli import running
from edgecond.runs.recipe import find
from edgecond.runs.run import Interrupted


def test_a_run_that_was_asked_to_stop_exits_with_130(capsys: pytest.CaptureFixture[str]):
    def work(**_: object) -> None:
        raise Interrupted("stopped in epoch 3; the same command goes on.")

    with pytest.raises(typer.Exit) as stopped:
        running.watched("rings", work)

    assert stopped.value.exit_code == 130
    assert capsys.readouterr().out == "rings: stopped in epoch 3; the same command goes on.\n"


def test_folds_run_in_order_and_their_metrics_are_printed(capsys: pytest.CaptureFixture[str]):
    calls = []

    def work(fold: int, seed: int, **options: object) -> dict:
        calls.append((fold, seed, options["restart"], options["epochs"]))
        return {"metrics": {"accuracy": 0.5 + fold / 10, "other": 0.1}}

    command, wanted = ["reproduce", "synthetic/ecc"], [(0, 7), (1, 7)]
    running.run_folds(command, find("synthetic/ecc"), work, wanted, 1, None, True, ["accuracy", "votes"], {"epochs": 2})

    assert calls == [(0, 7, False, 2), (1, 7, False, 2)]
    assert capsys.readouterr().out.splitlines() == [
        "synthetic/ecc fold 0 seed 7: accuracy 50.00",
        "synthetic/ecc fold 1 seed 7: accuracy 60.00",
    ]


def test_a_fold_that_fails_stops_the_others_and_gives_the_status(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """A program in place of Python notes the fold and fails for fold 1; fold 2 is not begun."""
    program = tmp_path / "program"
    program.write_text(
        f'#!/bin/sh\nfor word in "$@"; do echo $word; done | grep fold >> {tmp_path}/folds\n'
        'case "$*" in *--fold=1*) exit 3;; esac\n'
    )
    program.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(program))

    status = running.in_parallel([["reproduce", "row", f"--fold={fold}"] for fold in range(3)], running.Here(1))

    assert status == 3
    assert (tmp_path / "folds").read_text().split() == ["--fold=0", "--fold=1"]


def test_a_fold_that_is_killed_gives_the_status_of_a_shell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """128 plus the number of the signal; POSIX leaves a byte for the status."""
    program = tmp_path / "program"
    program.write_text("#!/bin/sh\nkill -9 $$\n")
    program.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(program))

    assert running.in_parallel([["reproduce", "row"]] * 2, running.Here(1)) == 137


def test_a_signal_that_ends_folds_while_they_start_gives_the_status_of_a_stop(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """The fold has no handler yet, and the next one is not begun."""
    program = tmp_path / "program"
    program.write_text("#!/bin/sh\nkill -TERM $PPID\nsleep 60\n")
    program.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(program))

    assert running.in_parallel([["reproduce", "row"]] * 2, running.Here(1)) == 130
