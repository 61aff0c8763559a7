"""A command that is asked to stop, or whose terminal is closed, saves and ends, and no process stays behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import torch

from edgecond.nn.checkpoint import load_checkpoint
from tests.data.datasets import tiny

# The command, with pyramids of which each takes a minute.
SLOW_PYRAMIDS = """
import sys, time
from edgecond.cli import main
from edgecond.data.samples import store

def compute(*_, **__):
    print("computing", flush=True)
    began = time.monotonic()
    while time.monotonic() - began < 60:
        sum(range(1000))

store.FEW, store.multiresolutions = 0, compute
sys.argv[0] = "edgecond"
main()
"""
REPRODUCE = ["-m", "edgecond", "reproduce", "synthetic/ecc", "--jobs", "2", "--epochs", "10000", "--seed=0", "--seed=1"]


@contextmanager
def started(words: list[str], directory: Path) -> Iterator[subprocess.Popen[str]]:
    """Start Python with these arguments, in a session of its own that ends with the test."""
    environment = {**os.environ, "EDGECOND_CACHE": str(directory / "cache"), "OMP_NUM_THREADS": "1"}
    process = subprocess.Popen(
        [sys.executable, *words],
        cwd=directory,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        yield process
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


@contextmanager
def computing_pyramids(directory: Path) -> Iterator[subprocess.Popen[str]]:
    tiny.pairs(directory / "pairs.safetensors", 12, y=torch.arange(12) % 2)
    train = ["train", "pairs.safetensors", "--folds=3", "--fold=0", "--set=network=C(4)-MP-C(4)-GAP-FC(2)", "--out=run"]
    with started(["-c", SLOW_PYRAMIDS, *train], directory) as process:
        assert process.stdout is not None
        assert any(line == "computing\n" for line in process.stdout)
        yield process


@pytest.mark.parametrize("to_all", [False, True], ids=["to the first process", "to all"])
@pytest.mark.parametrize("kind", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_is_heard_while_pyramids_are_computed(kind: signal.Signals, to_all: bool, tmp_path: Path):
    """A terminal sends its signals to all processes at once; pipes close when the last process has ended."""
    with computing_pyramids(tmp_path) as process:
        began = time.monotonic()
        (os.killpg if to_all else os.kill)(process.pid, kind)
        output, errors = process.communicate(timeout=30)
        seconds = time.monotonic() - began

    assert (process.returncode, errors) == (130, "")
    assert "stopped before the first step" in output
    assert not (tmp_path / "run").exists()
    assert seconds < 20  # pyramids would take 60; less than one on an idle machine


def test_no_process_stays_behind_when_one_that_computes_pyramids_is_killed(tmp_path: Path):
    with computing_pyramids(tmp_path) as process:
        process.kill()

        process.communicate(timeout=5)  # the workers hold the other end


def test_a_terminal_that_is_closed_stops_a_run_which_is_saved(tmp_path: Path):
    command = ["-m", "edgecond", "train", "synthetic", "--epochs", "500", "--set", "train.drops=[]", "--out", "run"]
    with started(command, tmp_path) as process:
        while not (tmp_path / "run" / "log.jsonl").exists() or not (tmp_path / "run" / "log.jsonl").read_text():
            assert process.poll() is None
            time.sleep(0.02)
        process.send_signal(signal.SIGHUP)
        output, errors = process.communicate(timeout=60)

    assert (process.returncode, errors) == (130, "")
    assert "saved in run" in output
    assert load_checkpoint(tmp_path / "run" / "checkpoint.safetensors")[1]["position"]["epoch"] >= 1


def test_a_signal_to_all_processes_saves_a_run_whose_batches_are_built_by_workers(tmp_path: Path):
    """A scheduler sends SIGTERM to all; a worker of torch that does not ignore it would take the run with it."""
    command = ["-m", "edgecond", "train", "synthetic", "--epochs", "500", "--workers", "2", "--out", "run"]
    with started([*command, "--set", "train.drops=[]"], tmp_path) as process:
        while not (tmp_path / "run" / "log.jsonl").exists() or not (tmp_path / "run" / "log.jsonl").read_text():
            assert process.poll() is None
            time.sleep(0.02)
        os.killpg(process.pid, signal.SIGTERM)
        output, errors = process.communicate(timeout=60)

    assert (process.returncode, errors) == (130, "")
    assert "saved in run" in output


def test_a_run_under_nohup_goes_on_when_the_terminal_is_closed(tmp_path: Path):
    """nohup(1) ignores SIGHUP before the command starts."""
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with started(["-m", "edgecond", "train", "synthetic", "--epochs", "2", "--out", "run"], tmp_path) as process:
            while not (tmp_path / "run" / "log.jsonl").exists():
                assert process.poll() is None
                time.sleep(0.02)
            process.send_signal(signal.SIGHUP)
            process.communicate(timeout=120)
    finally:
        signal.signal(signal.SIGHUP, before)

    assert process.returncode == 0


@pytest.mark.slow
def test_folds_in_parallel_are_saved_and_end_when_the_process_that_started_them_is_killed(tmp_path: Path):
    runs = [tmp_path / "runs" / "synthetic" / "ecc" / f"fold0-seed{seed}" for seed in (0, 1)]
    with started(REPRODUCE, tmp_path) as process:
        while not all((run / "log.jsonl").exists() and (run / "log.jsonl").read_text() for run in runs):
            assert process.poll() is None
            time.sleep(0.02)
        process.kill()
        output = process.communicate(timeout=30)[0]  # after the step that they are in; the machine may be busy

    for run in runs:
        assert f"saved in {run.relative_to(tmp_path)}" in output
        assert load_checkpoint(run / "checkpoint.safetensors")[1]["position"]["epoch"] >= 1
