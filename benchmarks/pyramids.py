"""Pyramids of whole datasets, from graphs to a file in the cache: `python -m benchmarks.pyramids`; needs the data."""

from __future__ import annotations

import os
import resource
import tempfile
import time
from typing import Any

from benchmarks import page, records
from edgecond.data import datasets
from edgecond.data.graphs import GraphExamples
from edgecond.data.samples.store import pyramids
from edgecond.runs.recipe import find

ROWS = ("nci1/ecc", "dd/ecc")
PROCESSES = 2


def measure(row: str) -> dict[str, Any]:
    """Return wall-clock seconds and processor seconds for all pyramids of a row."""
    recipe = find(row)
    examples, _ = datasets.load(recipe.dataset, **recipe.options)
    assert isinstance(examples, GraphExamples)
    graphs, levels, copies = examples.graphs, recipe.network.resolutions, recipe.sparsifications
    with tempfile.TemporaryDirectory() as cache:
        os.environ["EDGECOND_CACHE"] = cache
        clock, worked = time.perf_counter(), _processor_seconds()
        pyramids(graphs, levels, copies, jobs=PROCESSES)
        clock, worked = time.perf_counter() - clock, _processor_seconds() - worked
        again = time.perf_counter()
        pyramids(graphs, levels, copies)
        again = time.perf_counter() - again
    return {
        **records.circumstances(),
        "data": graphs.digest,
        "graphs": len(graphs),
        "levels": levels,
        "copies": copies,
        "processes": PROCESSES,
        "seconds": clock,
        "processor_seconds": worked,
        "seconds_from_cache": again,
        "peak_bytes_of_a_process": 1024 * resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss,
    }


def _processor_seconds() -> float:
    return sum(sum(resource.getrusage(who)[:2]) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))


if __name__ == "__main__":
    record = records.read(records.PYRAMIDS)
    for row in ROWS:
        print(f"pyramids of {row} ...", flush=True)
        record[row] = measure(row)
        print({name: record[row][name] for name in ("seconds", "processor_seconds", "seconds_from_cache")})
    records.write(records.PYRAMIDS, record)
    page.write()
