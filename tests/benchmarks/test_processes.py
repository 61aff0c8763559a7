"""Methods are compared by the time of processes that are started for them."""

from __future__ import annotations

import os
import time
from typing import Any

from benchmarks import processes


def busy(seconds: float) -> dict[str, Any]:
    """Compute for some seconds of processor time, and then wait as long."""
    start = time.process_time()
    while time.process_time() - start < seconds:
        pass
    time.sleep(seconds)
    return {"process": os.getpid(), "threads": os.environ["OMP_NUM_THREADS"]}


def test_wall_time_and_processor_time_are_those_of_a_process_started_for_the_method():
    """Half a second of computing is in both, and half a second of waiting only in the former."""
    record = processes.measured(busy, 0.5)

    assert record["processor_seconds"] >= 0.5
    assert record["seconds"] >= 1.0
    assert record["process"] != os.getpid()
    assert record["threads"] == "1"
