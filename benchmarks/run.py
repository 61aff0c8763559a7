"""All benchmarks, as records in results/ and a page of the docs: `python -m benchmarks.run`."""

from __future__ import annotations

from typing import Any

from benchmarks import large, memory, network, page, readme, records, timing
from benchmarks.cases import CASES, RIVALS
from edgecond.errors import DataError


def layers() -> dict[str, Any]:
    """Everything that is measured of single layers, with what is needed to measure it again."""
    found: dict[str, Any] = {**records.circumstances(), "time": {}, "memory": {}, "large": {}}
    for name, case in CASES.items():
        print(f"{case.title} ...", flush=True)
        found["memory"][name] = {rival: memory.measure(name, rival) for rival in RIVALS}
        found["time"][name] = {threads: timing.measure(name, threads) for threads in (1, 2)}
    for edges in large.EDGES:
        print(f"{edges:,} edges ...", flush=True)
        found["large"][edges] = large.measure(edges)
    return found


if __name__ == "__main__":
    records.write(records.LAYERS, layers())
    for row in network.ROWS:
        try:
            network.main(row)
        except DataError as error:
            print(f"left out the training step of {row}: {error}")
    page.write()
    readme.write()
