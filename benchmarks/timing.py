"""Time of forward and backward, interleaved: every round runs all rivals and the machine's matrix product once."""

from __future__ import annotations

import time
from collections.abc import Callable
from statistics import median
from typing import TypeVar

import torch

from benchmarks.cases import CASES, Rivals

T = TypeVar("T")
ROUNDS = 9
SIDE = 1024  # side of the matrices whose product measures the machine's peak


def clocked(run: Callable[[], T]) -> tuple[T, float]:
    """Return the result of a run, and its seconds."""
    start = time.perf_counter()
    result = run()
    return result, time.perf_counter() - start


def seconds(run: Callable[[], object]) -> float:
    start = time.perf_counter()
    run()  # its result is freed before the clock stops
    return time.perf_counter() - start


def measure(name: str, threads: int) -> dict[str, dict[str, float]]:
    """Return for each rival median milliseconds, median ratio to NNConv within a round, and share of the peak."""
    case, rivals = CASES[name], Rivals(CASES[name])
    torch.set_num_threads(threads)
    rivals.check()
    a = torch.randn(SIDE, SIDE)
    times: dict[str, list[float]] = {run: [] for run in (*rivals.runs(), "peak")}
    for _ in range(ROUNDS):
        times["peak"].append(min(seconds(lambda: a @ a) for _ in range(3)) / SIDE**3)
        for run, call in rivals.runs().items():
            repeats = 1 if run == "NNConv" else 3
            times[run].append(min(seconds(call) for _ in range(repeats)) if repeats > 1 else seconds(call))
    return {
        run: {
            "milliseconds": 1e3 * median(times[run]),
            "times_faster": median(p / t for p, t in zip(times["NNConv"], times[run], strict=True)),
            "share_of_peak": median(case.multiply_adds * p / t for p, t in zip(times["peak"], times[run], strict=True)),
        }
        for run in rivals.runs()
    }
