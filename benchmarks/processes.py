"""Wall time and processor time of a method in a fresh process of one thread, for methods that are compared."""

from __future__ import annotations

import os
import resource
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import Any

ONE_THREAD = {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}


def measured(function: Callable[..., dict[str, Any]], *arguments: Any) -> dict[str, Any]:
    """Return what a function returns in a fresh process of one thread, with its wall time and processor time.

    The latter is that of the process and of all that it starts, their start-up included; on a machine that does other
    work too, it is the one that compares.
    """
    os.environ.update(ONE_THREAD)
    before, start = of_children(), time.monotonic()
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        result = pool.submit(function, *arguments).result()
    return {
        **result,
        "seconds": round(time.monotonic() - start, 1),
        "processor_seconds": round(of_children() - before, 1),
    }


def of_children() -> float:
    """Return the processor time of all processes that were started by this one and have ended."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime
