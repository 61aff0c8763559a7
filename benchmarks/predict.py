"""`edgecond predict` as a user calls it, for clouds and for SMILES, with two processes: `python -m benchmarks.predict`.

Two sizes are timed in turn, and a rate is the difference of the sizes by that of the times, so that the start-up of the
processes does not count. The rows must be those of one process, byte by byte, and the peak memory of all processes
together must not grow from 100,000 to 1,000,000 rows of SMILES. Needs the tables of MoleculeNet in the data directory.
"""

from __future__ import annotations

import csv
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import cycle, islice
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from benchmarks import page, records
from benchmarks.cases import SEED
from benchmarks.processes import of_children
from edgecond.data.datasets import synthetic
from edgecond.files import data_directory

JOBS, ROUNDS = 2, 3
POINTS = 1_000
SHAPES = 60  # number of shapes; all other clouds are copies with noise
NOISE = 0.01
BROKEN = "broken.npy"
TARGET = "measured log solubility in mols per litre"
TABLES = ("delaney-processed.csv", "tox21.csv")  # ESOL, on which the model is trained, and Tox21
ROWS = (100_000, 1_000_000)  # of SMILES, for the memory
PERIOD = 0.05
ENVIRONMENT = {**os.environ, "OMP_NUM_THREADS": "1"}


@dataclass(frozen=True)
class Case:
    """Something to predict.

    Attributes:
        title: What it is, for people.
        data: `clouds` or `molecules`.
        counts: The two sizes whose difference is timed.
        options: Options of `edgecond predict`.
    """

    title: str
    data: str
    counts: tuple[int, int]
    options: tuple[str, ...] = ()


CASES = (
    Case("clouds, `--views 1`", "clouds", (1_000, 5_000), ("--views=1",)),
    Case("clouds, 12 views, the default", "clouds", (200, 1_000)),
    Case("molecules", "molecules", (10_000, 60_000)),
)


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        inputs = {"clouds": Clouds(place / "clouds"), "molecules": Molecules(place / "molecules")}
        record = {**records.circumstances(), "points": POINTS, "jobs": JOBS, "threads": 1, "rates": [], "memory": {}}
        for case in CASES:
            record["rates"].append(rate(case, inputs[case.data]))
            print(record["rates"][-1], flush=True)
        for count in ROWS:
            run = predicted(inputs["molecules"], inputs["molecules"].write(count), JOBS, place / "out.csv")
            record["memory"][str(count)] = run
            print(f"{count:,} rows", run, flush=True)
    records.write(records.PREDICT, record)
    page.write()


class Clouds:
    """Files of clouds, one of which cannot be read, and a model of them."""

    def __init__(self, place: Path) -> None:
        examples, _ = synthetic.load(train=SHAPES, test=6, points=POINTS)
        self.place, self.model = place, place / "run"
        self.shapes = [cloud.positions.numpy() for cloud, _ in examples]
        for number, (cloud, y) in enumerate(examples):
            path = place / "shapes" / examples.classes[y] / f"{number}.npy"
            path.parent.mkdir(parents=True, exist_ok=True)
            np.save(path, cloud.positions.numpy())
        _train(place / "shapes", self.model)

    def write(self, count: int) -> Path:
        """Write that many files, and one that is none."""
        folder, rng = self.place / str(count), np.random.default_rng(SEED)
        folder.mkdir(exist_ok=True)
        for number in range(count):
            moved = self.shapes[number % len(self.shapes)] + rng.normal(0, NOISE, (POINTS, 3))
            np.save(folder / f"{number:05}.npy", moved.astype(np.float32))
        (folder / BROKEN).write_bytes(b"no array")
        return folder


class Molecules:
    """Tables of the molecules of ESOL and Tox21 again and again, and a model of ESOL."""

    def __init__(self, place: Path) -> None:
        self.place, self.model = place, place / "run"
        place.mkdir()
        tables = [data_directory() / "moleculenet" / name for name in TABLES]
        self.smiles = [row["smiles"].strip() for table in tables for row in csv.DictReader(table.open())]
        _train(tables[0], self.model, f"--target={TARGET}")

    def write(self, count: int) -> Path:
        """Write a table with that many rows."""
        path = self.place / f"{count}.csv"
        path.write_text("".join(f"{text}\n" for text in ("smiles", *islice(cycle(self.smiles), count))))
        return path


def rate(case: Case, given: Clouds | Molecules) -> dict[str, Any]:
    """Return how many examples are predicted in a second, and whether the rows are those of one process."""
    paths, out = [given.write(count) for count in case.counts], given.place / "out.csv"
    rounds = [[predicted(given, path, JOBS, out, *case.options) for path in paths] for _ in range(ROUNDS)]
    differences = [{name: large[name] - small[name] for name in _TIMES} for small, large in rounds]
    more = case.counts[1] - case.counts[0]
    predicted(given, paths[0], JOBS, out, *case.options)
    rows = out.read_bytes()
    single = predicted(given, paths[0], 1, out, *case.options)
    return {
        "title": case.title,
        "counts": case.counts,
        "per_second": median(more / difference["seconds"] for difference in differences),
        "processor_milliseconds_each": 1e3 * median(each["processor_seconds"] for each in differences) / more,
        "rounds_per_second": [more / difference["seconds"] for difference in differences],
        "same_as_one_process": out.read_bytes() == rows,
        "large": rounds[-1][1],
        "one_process": single,
    }


_TIMES = ("seconds", "processor_seconds")


def predicted(given: Clouds | Molecules, path: Path, jobs: int, out: Path, *options: str) -> dict[str, Any]:
    """Return rows, exit status, messages, times and peak memory of one call, and write its rows to `out`."""
    command = [sys.executable, "-m", "edgecond", "predict", str(given.model), str(path), f"--jobs={jobs}", *options]
    start, before, peak = time.perf_counter(), of_children(), 0
    with out.open("wb") as rows, out.with_suffix(".txt").open("wb") as sentences:
        process = subprocess.Popen(command, stdout=rows, stderr=sentences, env=ENVIRONMENT)
        while process.poll() is None:
            peak = max(peak, sum(map(memory, family(process.pid))))
            time.sleep(PERIOD)
    with out.open("rb") as written:
        count = sum(1 for _ in written) - 1
    said = out.with_suffix(".txt").read_text().replace(str(path), "clouds").splitlines()
    return {
        "rows": count,
        "exit": process.returncode,
        "said": [line for line in said if BROKEN in line],
        "seconds": time.perf_counter() - start,
        "processor_seconds": of_children() - before,
        "peak_bytes": peak,
        "load": os.getloadavg()[0],
    }


def family(process: int) -> Iterator[int]:
    """Yield a process and all that it has started, which Linux lists by thread."""
    yield process
    for path in Path(f"/proc/{process}/task").glob("*/children"):
        for child in _text(path).split():
            yield from family(int(child))


def memory(process: int, field: str = "VmRSS") -> int:
    """Return the memory of another process in bytes, or with `VmHWM` its high-water mark; 0 if it has ended.

    (`ru_maxrss` would start with that of its parent.)
    """
    lines = _text(Path(f"/proc/{process}/status")).splitlines()
    return next((1024 * int(line.split()[1]) for line in lines if line.startswith(field)), 0)


def _text(path: Path) -> str:
    try:
        return path.read_text()
    except OSError:  # the process has ended meanwhile
        return ""


def _train(data: Path, run: Path, *options: str) -> None:
    """Train a model for a single epoch."""
    command = [sys.executable, "-m", "edgecond", "train", str(data), "--epochs=1", f"--out={run}", *options]
    subprocess.run(command, check=True, env=ENVIRONMENT, stdout=subprocess.DEVNULL)


if __name__ == "__main__":
    main()
