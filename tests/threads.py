"""Many threads that take turns as often as Python allows."""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from random import Random
from typing import TypeVar

T = TypeVar("T")


@contextmanager
def hurried() -> Iterator[None]:
    """Let threads take turns every microsecond instead of every five milliseconds."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        yield
    finally:
        sys.setswitchinterval(before)


def at_once(work: Sequence[Callable[[], T]], times: int, threads: int = 8) -> list[list[T]]:
    """Return the results of each function, called so many times in several threads."""
    with hurried(), ThreadPoolExecutor(threads) as pool:
        futures = [[pool.submit(function) for function in work] for _ in range(times)]
        return [[row[number].result() for row in futures] for number in range(len(work))]


def compared(work: Mapping[str, Callable[[], bytes]], seconds: float, threads: int = 8) -> tuple[int, Counter[str]]:
    """Call functions in several threads for some time; return the number of calls, and which differ from one alone.

    Each thread calls each of them about as often.
    """
    alone = {name: function() for name, function in work.items()}
    names = list(work)
    end = time.monotonic() + seconds

    def loop(thread: int) -> tuple[int, Counter[str]]:
        random, calls, different = Random(thread), 0, Counter[str]()
        while time.monotonic() < end or calls < 2:
            name = random.choice(names)
            different[name] += work[name]() != alone[name]
            calls += 1
        return calls, +different

    with hurried(), ThreadPoolExecutor(threads) as pool:
        results = list(pool.map(loop, range(threads)))
    return sum(calls for calls, _ in results), sum((different for _, different in results), Counter())
