"""Many machines give the results of one: `python -m benchmarks.cluster`; needs MUTAG.

A Ray cluster of two nodes, here on one machine, runs the ten folds of `mutag/ecc`, and one node is killed midway. Then
it predicts 10,000 clouds. Records and predictions must be those of the plain commands.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import psutil

from benchmarks import records
from edgecond.files import sha256

ROW, FOLDS = "mutag/ecc", 10
KILL_AFTER = 3  # folds
MODEL, CLOUDS, POINTS = "model/sydney", 10_000, 60
VARY = ("seconds", "date")
"""What differs between two runs of the same fold."""
ENVIRONMENT = {**os.environ, "OMP_NUM_THREADS": "1", "RAY_USAGE_STATS_ENABLED": "0"}


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        record = {**records.circumstances(), "ray": version("ray"), "reproduce": folds(place), "predict": clouds(place)}
    records.write(records.CLUSTER, record)


@contextmanager
def two_nodes(**settings: Any) -> Iterator[tuple[Any, Any]]:
    """Yield a cluster of two nodes with one CPU each, and the second node, which is not that of the driver.

    Args:
        settings: Settings of Ray itself.
    """
    from ray.cluster_utils import Cluster

    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    limits = {"num_cpus": 1, "object_store_memory": 2**28}
    cluster = Cluster(
        initialize_head=True, head_node_args={**limits, "include_dashboard": False, "_system_config": settings}
    )
    try:
        node = cluster.add_node(**limits)
        cluster.wait_for_nodes()
        yield cluster, node
    finally:
        cluster.shutdown()


def folds(place: Path) -> dict[str, Any]:
    """Return how the records of a cluster that loses a node compare with those of the plain run."""
    plain, plain_seconds = place / "plain", _timed(_reproduce(place / "plain"))
    many = place / "many"
    with two_nodes() as (cluster, node):
        start, environment = time.monotonic(), {**ENVIRONMENT, "RAY_ADDRESS": cluster.address}
        process = subprocess.Popen([*_reproduce(many), "--on=ray"], env=environment)
        lost: list[int] = []
        while process.poll() is None:
            if not lost and len(_records(many)) >= KILL_AFTER and (lost := _folds_on(node)):
                cluster.remove_node(node, allow_graceful=False)
                print(f"killed the node of fold {lost}", flush=True)
            time.sleep(0.5)
        seconds = time.monotonic() - start
    ours, theirs = _records(many), _records(plain)
    return {
        "row": ROW,
        "folds": len(theirs),
        "equal_records": sum(ours.get(name) == record for name, record in theirs.items()),
        "lost_folds": len(lost),
        "status": process.returncode,
        "seconds": seconds,
        "plain_seconds": plain_seconds,
    }


def _reproduce(place: Path) -> list[str]:
    row = [sys.executable, "-m", "edgecond", "reproduce", ROW]
    return [*row, f"--runs={place / 'runs'}", f"--results={place / 'results'}"]


def _records(place: Path) -> dict[str, Any]:
    """Return the records of a run, by their names, without what varies."""
    found = {path.name: json.loads(path.read_text()) for path in (place / "results" / ROW).glob("fold*.json")}
    return {name: {key: value for key, value in one.items() if key not in VARY} for name, one in found.items()}


def _folds_on(node: Any) -> list[int]:
    """Return the folds that run on a node, by the command lines of its processes."""
    raylet = node.all_processes["raylet"][0].process.pid
    words = [word for each in psutil.Process(raylet).children(recursive=True) for word in each.cmdline()]
    return [int(word.removeprefix("--fold=")) for word in words if word.startswith("--fold=")]


def clouds(place: Path) -> dict[str, Any]:
    """Return whether the predictions of a cluster are those of the plain command, byte for byte, and the times."""
    folder, random = place / "clouds", np.random.default_rng(records.SEED)
    folder.mkdir()
    for number in range(CLOUDS):
        np.save(folder / f"{number:05}.npy", random.normal(size=(POINTS, 4)).astype(np.float32))
    predict = [sys.executable, "-m", "edgecond", "predict", MODEL, str(folder), "--views=1"]
    plain_seconds = _timed([*predict, f"--out={place / 'plain.csv'}"])
    with two_nodes() as (cluster, _):
        environment = {"RAY_ADDRESS": cluster.address}
        seconds = _timed([*predict, f"--out={place / 'many.csv'}", "--on=ray"], environment)
    return {
        "model": MODEL,
        "clouds": CLOUDS,
        "rows": len((place / "many.csv").read_text().splitlines()) - 1,
        "equal_bytes": sha256(place / "many.csv") == sha256(place / "plain.csv"),
        "seconds": seconds,
        "plain_seconds": plain_seconds,
    }


def _timed(command: list[str], environment: dict[str, str] | None = None) -> float:
    """Return the seconds of a command, which must not fail."""
    start = time.monotonic()
    subprocess.run(command, check=True, env=ENVIRONMENT | (environment or {}))
    return time.monotonic() - start


if __name__ == "__main__":
    main()
