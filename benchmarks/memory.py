"""Peak memory of forward and backward above the inputs, each in a fresh process: `python -m benchmarks.memory`."""

from __future__ import annotations

import ctypes
import gc
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import torch

from benchmarks.cases import Case, CASES, Rivals


def status(field: str) -> int:
    """Return a field of /proc/self/status in bytes."""
    line = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith(field))
    return int(line.split()[1]) * 1024


def peak_above(run: Callable[[], object]) -> int:
    """Return the peak memory while `run` runs, above the memory in use before."""
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)
    Path("/proc/self/clear_refs").write_text("5")  # resets the high-water mark
    before = status("VmRSS")
    kept = run()
    peak = status("VmHWM") - before
    del kept
    return peak


def measure(name: str, rival: str) -> int:
    """Return the peak bytes of a rival, measured in a fresh process."""
    command = [sys.executable, "-m", "benchmarks.memory", name, rival]
    return int(json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout))


def main(name: str, rival: str) -> None:
    torch.set_num_threads(1)
    case = CASES[name]
    small = Case("warm up", 100, 500, case.widths, case.d_in, case.d_out, case.categories)
    Rivals(small).runs()[rival]()  # loads code and sets up buffers that a second call would not need
    rivals = Rivals(case)
    print(peak_above(rivals.runs()[rival]))


if __name__ == "__main__":
    main(*sys.argv[1:])
