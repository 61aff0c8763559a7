"""Commands that are killed at random moments lose nothing; `python -m benchmarks.kills` does it two hundred times."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.kills import left_after, processes_of


@pytest.mark.skipif(
    "EDGECOND_STRESS" not in os.environ, reason="moments are random: EDGECOND_STRESS=1 tries some kills"
)
def test_nothing_is_lost_by_some_kills_while_pyramids_are_computed_and_while_training():
    """The command in a process of its own, whose modules the processes to be killed share."""
    scenarios = ["--scenario=pyramids", "--scenario=workers"]

    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.kills", "--kills=5", "--seed=1", *scenarios],
        capture_output=True,
        text=True,
        timeout=300,
        cwd=Path(__file__).parents[2],
    )

    assert done.returncode == 0, done.stdout + done.stderr
    assert "5 kills: 0 faults" in done.stdout


def test_a_process_that_is_left_is_found():
    process = subprocess.Popen(["sh", "-c", "sleep 60 & sleep 60"], start_new_session=True)
    try:
        assert len(left_after(process.pid, 0.5)) >= 1
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    assert left_after(process.pid) == processes_of(process.pid) == []
