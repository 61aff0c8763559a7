"""`edgecond predict` on 1,000 and on 10,000 clouds, one of them unreadable: `python -m benchmarks.predict`.

The peak memory should be the same for both, and the unreadable file should give one message and exit status 1.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import page, records
from benchmarks.cases import SEED
from edgecond.data.datasets import synthetic

COUNTS = (1_000, 10_000)
POINTS = 1_000
SHAPES = 60  # number of shapes; all other clouds are copies with noise
NOISE = 0.01
BROKEN = "broken.npy"
ENVIRONMENT = {**os.environ, "OMP_NUM_THREADS": "1"}


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        shapes = _trained(place)
        record = {**records.circumstances(), "points": POINTS, "threads": 1, "runs": {}}
        for count in COUNTS:
            print(f"{count:,} clouds ...", flush=True)
            record["runs"][str(count)] = measure(place, shapes, count)
            print(record["runs"][str(count)])
    records.write(records.PREDICT, record)
    page.write()


def measure(place: Path, shapes: list[np.ndarray], count: int) -> dict[str, Any]:
    """Return time, peak memory and output of predicting that many clouds, in a separate process."""
    clouds = place / "clouds"
    _write(clouds, shapes, count)
    out, said = place / "out.csv", place / "said.txt"
    command = [sys.executable, "-m", "edgecond", "predict", str(place / "run"), str(clouds)]
    start, peak = time.perf_counter(), 0
    with out.open("wb") as rows, said.open("wb") as sentences:
        process = subprocess.Popen(command, stdout=rows, stderr=sentences, env=ENVIRONMENT)
        while process.poll() is None:
            peak = max(peak, peak_memory(process.pid))
            time.sleep(0.1)
    seconds = time.perf_counter() - start
    sentences_said = said.read_text().replace(str(clouds), "clouds").splitlines()
    return {
        "rows": len(out.read_text().splitlines()) - 1,
        "exit": process.returncode,
        "said": [line for line in sentences_said if BROKEN in line],
        "peak_bytes": peak,
        "seconds": seconds,
        "clouds_per_second": count / seconds,
    }


def peak_memory(process: int) -> int:
    """Return the high-water mark of another process in bytes. (`ru_maxrss` would start with that of its parent.)"""
    try:
        lines = Path(f"/proc/{process}/status").read_text().splitlines()
    except OSError:  # it has ended meanwhile
        return 0
    return next((1024 * int(line.split()[1]) for line in lines if line.startswith("VmHWM")), 0)


def _trained(place: Path) -> list[np.ndarray]:
    """Train a model on some shapes for a single epoch, and return the shapes."""
    examples, _ = synthetic.load(train=SHAPES, test=6, points=POINTS)
    for number, (cloud, y) in enumerate(examples):
        path = place / "shapes" / examples.classes[y] / f"{number}.npy"
        path.parent.mkdir(parents=True, exist_ok=True)
        np.save(path, cloud.positions.numpy())
    command = [sys.executable, "-m", "edgecond", "train", str(place / "shapes"), "--epochs=1"]
    subprocess.run([*command, f"--out={place / 'run'}"], check=True, env=ENVIRONMENT, stdout=subprocess.DEVNULL)
    return [cloud.positions.numpy() for cloud, _ in examples]


def _write(clouds: Path, shapes: list[np.ndarray], count: int) -> None:
    """Write that many files, and one that cannot be read."""
    clouds.mkdir(exist_ok=True)
    rng = np.random.default_rng(SEED)
    for number in range(count):
        moved = shapes[number % len(shapes)] + rng.normal(0, NOISE, (POINTS, 3))
        np.save(clouds / f"{number:05}.npy", moved.astype(np.float32))
    (clouds / BROKEN).write_bytes(b"no array")


if __name__ == "__main__":
    main()
