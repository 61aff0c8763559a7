"""Only one process trains in a directory at a time, and a directory is free again when its process ends."""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from typer.testing import CliRunner

from edgecond.cli import app
from edgecond.errors import CheckpointError
from edgecond.runs.lock import locked

COMMAND = [sys.executable, "-m", "edgecond"]
TRAIN = ["train", "synthetic", "--epochs", "1000", "--set", "train.drops=[]", "--out", "run"]
fork = multiprocessing.get_context("fork")


def hold(directory: Path, ready: int, child: bool) -> None:
    """Hold the lock until killed, with a forked process that lives on for a minute or without one."""
    with locked(directory):
        if child:
            fork.Process(target=time.sleep, args=(60,), daemon=True).start()
        os.write(ready, b"x")
        signal.pause()


@contextmanager
def held(directory: Path, child: bool = False) -> Iterator[multiprocessing.Process]:
    ours, theirs = os.pipe()
    process = fork.Process(target=hold, args=(directory, theirs, child))
    process.start()
    os.close(theirs)
    assert os.read(ours, 1) == b"x"
    try:
        yield process
    finally:
        process.kill()
        process.join()
        os.close(ours)


def test_the_second_process_is_refused_and_told_who_must_stop(tmp_path: Path):
    with held(tmp_path) as holder, pytest.raises(CheckpointError) as refused, locked(tmp_path):
        pass

    assert str(tmp_path) in str(refused.value)
    assert f"process {holder.pid}" in str(refused.value) or "another process" in str(refused.value)
    assert "name another directory" in str(refused.value)


@pytest.mark.parametrize("child", [False, True])
def test_a_killed_process_leaves_no_lock_though_its_workers_still_run(tmp_path: Path, child: bool):
    """flock(2): a lock belongs to the open file, which a forked process shares until it closes it."""
    with held(tmp_path, child) as holder:
        holder.kill()
        holder.join()

        with locked(tmp_path):
            pass


def test_a_directory_can_be_locked_again_and_others_are_free(tmp_path: Path):
    for _ in range(2):
        with locked(tmp_path / "one"), locked(tmp_path / "two"):
            (tmp_path / "one" / "file").touch()

    assert [path.name for path in tmp_path.iterdir()] == ["one"]


def test_directories_that_stay_empty_are_removed_and_others_kept(tmp_path: Path):
    (tmp_path / "kept").mkdir()

    with locked(tmp_path / "kept" / "a" / "b"):
        assert (tmp_path / "kept" / "a" / "b").is_dir()

    assert [path.name for path in tmp_path.iterdir()] == ["kept"]
    assert not list((tmp_path / "kept").iterdir())


def test_the_second_training_in_a_directory_exits_with_a_sentence_and_the_first_loses_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    with subprocess.Popen([*COMMAND, *TRAIN], cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as first:
        while not (tmp_path / "run" / "log.jsonl").exists():
            assert first.poll() is None
            time.sleep(0.05)

        second = CliRunner().invoke(app, [*TRAIN, "--restart"])

        first.send_signal(signal.SIGTERM)
        errors = first.communicate(timeout=60)[1]
    assert (first.returncode, errors) == (130, b"")
    assert second.exit_code == 2
    assert second.stderr.count("\n") == 1
    assert second.stderr.startswith("run must be used by one training at a time")
    assert (tmp_path / "run" / "checkpoint.safetensors").exists()


def test_a_fold_that_is_being_rerun_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    words = ["reproduce", "synthetic/ecc", "--epochs", "1", "--fold", "0"]

    with held(tmp_path / "runs" / "synthetic" / "ecc" / "fold0-seed0"):
        refused = CliRunner().invoke(app, words)

    assert refused.exit_code == 2
    assert "runs/synthetic/ecc/fold0-seed0 must be used by one training at a time" in refused.stderr
    assert not (tmp_path / "results").exists()


def test_a_process_that_waits_gets_the_lock_when_the_other_ends(tmp_path: Path):
    with held(tmp_path) as holder:
        threading.Timer(0.5, holder.kill).start()
        start = time.monotonic()

        with locked(tmp_path, wait=True):
            assert time.monotonic() - start > 0.3
