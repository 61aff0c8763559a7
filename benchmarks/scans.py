"""`edgecond predict --to laz` on a scan of 20 million points: `python -m benchmarks.scans [POINTS ...]`.

The scan is a terrain with houses and trees, with values in all fields of its points, and 20 points per square metre.
Intensities differ from class to class, and a small network is trained on some pieces like it. The copy must have all
fields, records and header values of the scan, by laspy, but for the class, and the process must stay below 2 GB.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import laspy
import numpy as np

from benchmarks import page, records
from benchmarks.cases import SEED
from benchmarks.predict import ENVIRONMENT, memory

COUNTS = (2_000_000, 20_000_000)
DENSITY = 20  # points per square metre
LIMIT = 2 * 10**9
GROUND, TREE, HOUSE = 2, 5, 6
NETWORK = "C(8)-MP(3,6)-C(16)-V-FC(16)-FC(3)"
SETTINGS = {
    "network": NETWORK,
    "input.resolution": 1,
    "input.radius": 2,
    "train.learning_rate": 0.01,
    "train.batch_size": 2,
    "train.ema": 0,  # few steps
    "orientations": 1,
    "balanced": "false",
}
CHUNK = 500_000
WKT = b'LOCAL_CS["none",UNIT["metre",1]]\0'
HEADER = (
    *("version", "point_count", "maxs", "mins", "scales", "offsets", "number_of_points_by_return", "creation_date"),
    *("system_identifier", "generating_software", "file_source_id", "uuid"),
)


def main(*counts: int) -> None:
    counts = counts or COUNTS
    record = {**records.circumstances(), "threads": 1, "density": DENSITY, "network": NETWORK, "runs": {}}
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        _train(place)
        for count in counts:
            scan = write_scan(place / "scan.laz", count, SEED)
            print(f"{count:,} points in {scan.stat().st_size / 1e6:.0f} MB ...", flush=True)
            run = measure(place, scan) | compare(scan, place / "out" / "scan.laz")
            print(run, flush=True)
            assert run["different"] == ["classification"]
            assert run["peak_bytes"] < LIMIT
            record["runs"][str(count)] = run
    if counts == COUNTS:
        records.write(records.SCANS, record)
        page.write()


def measure(place: Path, scan: Path) -> dict[str, Any]:
    """Return time, processor time and peak memory of predicting for a scan, in a separate process."""
    command = [sys.executable, "-m", "edgecond", "predict", str(place / "run"), str(scan), "--to", "laz", "--jobs", "1"]
    start, peak = time.perf_counter(), 0
    process = subprocess.Popen([*command, "--out", str(place / "out")], env=ENVIRONMENT)
    while not (ended := os.wait4(process.pid, os.WNOHANG))[0]:
        peak = max(peak, memory(process.pid, "VmHWM"))
        time.sleep(0.05)
    _, status, usage = ended
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"edgecond predict ended with status {process.returncode}.")
    seconds, processor = time.perf_counter() - start, usage.ru_utime + usage.ru_stime
    return {"seconds": seconds, "processor_seconds": processor, "peak_bytes": peak}


def compare(scan: Path, copy: Path) -> dict[str, Any]:
    """Return what differs between two files by laspy, and the share of points with the class they were made with."""
    different, right, count = set[str](), 0, 0
    with laspy.open(scan) as first, laspy.open(copy) as second:
        one, other = first.header, second.header
        different |= {name for name in HEADER if not np.all(getattr(one, name) == getattr(other, name))}
        for name, both in ("vlrs", (one.vlrs, other.vlrs)), ("evlrs", (first.evlrs, second.evlrs)):
            theirs = [[(r.user_id, r.record_id, r.description, r.record_data_bytes()) for r in some] for some in both]
            different |= {name} if theirs[0] != theirs[1] else set()
        for some, others in zip(first.chunk_iterator(CHUNK), second.chunk_iterator(CHUNK), strict=True):
            assert some.array.dtype == others.array.dtype
            names = [
                name for name in some.array.dtype.names if not np.array_equal(some.array[name], others.array[name])
            ]
            different |= set(names)
            right += int((np.asarray(others.classification) == np.asarray(others.user_data)).sum())
            count += len(others)
    return {"different": sorted(different), "compared": count, "accuracy": right / count}


def write_scan(path: Path, count: int, seed: int, *, classified: bool = False) -> Path:
    """Write a scan strip by strip; `user_data` has the class that a point was made with, as `classification` may."""
    path.parent.mkdir(parents=True, exist_ok=True)
    rng, side = np.random.default_rng(seed), (count / DENSITY) ** 0.5
    header = laspy.LasHeader(point_format=6, version="1.4")
    header.scales, header.offsets = [0.001] * 3, [500_000.0, 5_000_000.0, 0.0]
    header.vlrs.append(laspy.vlrs.known.WktCoordinateSystemVlr(WKT.rstrip(b"\0").decode()))
    header.global_encoding.wkt = True
    start = 0
    with laspy.open(path, "w", header=header) as writer:
        while start < count:
            number = min(CHUNK, count - start)
            writer.write_points(_strip(header, rng, side, start, number, count, classified))
            start += number
        writer.write_evlrs(laspy.vlrs.vlrlist.VLRList([laspy.VLR("someone", 7, "about", b"a record after the points")]))
    return path


def _strip(header: Any, rng: Any, side: float, start: int, number: int, count: int, classified: bool) -> Any:
    """Return points of a strip: ground, and in some squares of 20 m a house or a tree."""
    x, y = rng.random(number) * side, (start + rng.random(number) * number) / count * side
    z, classes = 2 * np.sin(x / 15), np.full(number, GROUND)
    kind = ((x // 20).astype(int) * 7 + (y // 20).astype(int) * 13) % 5
    inside = (np.abs(x % 20 - 10) < 5) & (np.abs(y % 20 - 10) < 5)
    house, tree = inside & (kind == 1), inside & (kind == 2)
    classes[house], classes[tree] = HOUSE, TREE
    z[house] += 6
    z[tree] += 1 + 5 * rng.random(int(tree.sum()))
    points = laspy.ScaleAwarePointRecord.zeros(number, header=header)
    points["x"], points["y"], points["z"] = x + 500_000, y + 5_000_000, z + rng.normal(0, 0.03, number)
    points["intensity"], points["user_data"] = 8 * classes + rng.integers(0, 40, number), classes
    points["classification"] = classes if classified else np.ones(number, int)
    points["return_number"], points["number_of_returns"] = np.ones(number, int), rng.integers(1, 4, number)
    points["withheld"], points["overlap"] = rng.integers(0, 2, (2, number))
    points["scan_angle"], points["point_source_id"] = rng.integers(-3000, 3000, number), rng.integers(0, 9, number)
    points["gps_time"] = (start + np.arange(number)) * 1e-5
    return points


def _train(place: Path) -> None:
    """Train a small network on four pieces of 60 m."""
    for number in range(4):
        write_scan(place / "pieces" / f"{number}.laz", 72_000, SEED + 1 + number, classified=True)
    command = [sys.executable, "-m", "edgecond", "train", str(place / "pieces"), "--vertices", "classification"]
    command += ["--folds", "2", "--fold", "0", "--epochs", "60", "--out", str(place / "run"), "--seed", str(SEED)]
    for name, value in SETTINGS.items():
        command += ["--set", f"{name}={value}"]
    subprocess.run(command, check=True, env=ENVIRONMENT, stdout=subprocess.DEVNULL)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
