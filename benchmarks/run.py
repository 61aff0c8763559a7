"""Runs all benchmarks and writes records in results/ and a page of the docs: `python -m benchmarks.run`."""

from __future__ import annotations

from typing import Any

from benchmarks import large, memory, models, network, page, readme, records, timing
from benchmarks.cases import CASES, RIVALS
from edgecond.errors import DataError


def layers() -> dict[str, Any]:
    """Measure single layers, and return the measurements with what is needed to repeat them."""
    record: dict[str, Any] = {**records.circumstances(), "time": {}, "memory": {}, "large": {}}
    for name, case in CASES.items():
        print(f"{case.title} ...", flush=True)
        record["memory"][name] = {rival: memory.measure(name, rival) for rival in RIVALS}
        record["time"][name] = {threads: timing.measure(name, threads) for threads in (1, 2)}
    for edges in large.EDGES:
        print(f"{edges:,} edges ...", flush=True)
        record["large"][edges] = large.measure(edges)
    return record


if __name__ == "__main__":
    records.write(records.LAYERS, layers())
    models.main([])
    for row in network.ROWS:
        try:
            network.main(row)
        except DataError as error:
            print(f"left out the training step of {row}: {error}")
    page.write()
    readme.write()
