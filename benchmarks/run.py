"""All benchmarks, as a record in results/ and a page of the docs: `python -m benchmarks.run`."""

from __future__ import annotations

import json
import platform
from datetime import datetime, UTC
from importlib.metadata import version
from pathlib import Path

from benchmarks import large, memory, timing
from benchmarks.cases import CASES, SEED
from edgecond.convolution import native

ROOT = Path(__file__).parent.parent
RECORD = ROOT / "results" / "benchmarks" / "layers.json"
PAGE = ROOT / "docs" / "benchmarks.md"
README = ROOT / "README.md"
MARKS = ("<!-- written by make bench -->", "<!-- until here -->")
RIVALS = ("NNConv", "ECConv", "ECConv, edge_index", "ECConv, low memory")


def processor() -> str:
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    return next((line.split(":")[1].strip() for line in lines if line.startswith("model name")), platform.machine())


def record() -> dict[str, object]:
    """Everything that is measured, with what is needed to measure it again."""
    found: dict[str, object] = {
        "date": datetime.now(UTC).date().isoformat(),
        "seed": SEED,
        "processor": processor(),
        "kernels": native.instruction_set(),
        "versions": {name: version(name) for name in ("edgecond", "torch", "torch_geometric", "numpy")},
        "time": {},
        "memory": {},
        "large": {},
    }
    for name, case in CASES.items():
        print(f"{case.title} ...", flush=True)
        found["memory"][name] = {rival: memory.measure(name, rival) for rival in RIVALS}  # type: ignore[index]
        found["time"][name] = {threads: timing.measure(name, threads) for threads in (1, 2)}  # type: ignore[index]
    for edges in large.EDGES:
        print(f"{edges:,} edges ...", flush=True)
        found["large"][edges] = large.measure(edges)  # type: ignore[index]
    return found


def page(found: dict) -> str:  # type: ignore[type-arg]
    """The record as tables."""
    lines = [
        "# Benchmarks",
        "",
        "PyG's `NNConv` and `ECConv` with the same weights on the same graph, forward and backward, in single",
        "precision, interleaved in one run: every round runs each, and a ratio is the median over the rounds of the",
        "ratio within a round. Memory is the high-water mark of a fresh process above the inputs. The share of peak",
        "is the arithmetic of the algorithm, nothing counted twice, against a 1024 x 1024 matrix product measured in",
        "the same round.",
        "`make bench` writes this page and its record, `results/benchmarks/layers.json`.",
        "",
        f"Measured on {found['date']}: {found['processor']}, kernels {found['kernels']}, "
        + ", ".join(f"{name} {number}" for name, number in found["versions"].items())
        + f", seed {found['seed']}.",
        "",
    ]
    for name, case in CASES.items():
        kind = f"{case.categories} categories" if case.categories else "continuous labels"
        widths = "-".join(map(str, case.widths))
        lines += [
            f"## {case.title[0].upper()}{case.title[1:]}",
            "",
            f"{case.n:,} vertices, {case.m:,} edges, {kind}, F = {widths}, {case.d_in} to {case.d_out} channels.",
            "",
            "| layer | 1 thread | faster | of peak | 2 threads | faster | of peak | peak memory | less |",
            "|---|---:|---:|---:|---:|---:|---:|---:|---:|",
        ]
        used = found["memory"][name]
        for rival in RIVALS:
            cells = [rival]
            for threads in (1, 2):
                row = found["time"][name][threads][rival]
                cells += [f"{row['milliseconds']:.1f} ms", f"{row['times_faster']:.1f}x", f"{row['share_of_peak']:.0%}"]
            cells += [f"{used[rival] / 2**20:.1f} MiB", f"{used['NNConv'] / used[rival]:.1f}x"]
            lines.append("| " + " | ".join(cells) + " |")
        lines.append("")
    lines += [
        "## Growth with the number of edges",
        "",
        "One graph, ten edges into each vertex, F = 6-16-32, 16 to 32 channels, forward and backward, 2 threads.",
        "",
        "| vertices | edges | seconds | microseconds per edge | peak above the inputs | peak of the process |",
        "|---:|---:|---:|---:|---:|---:|",
    ]
    for edges, row in found["large"].items():
        cells = [
            f"{edges // large.DEGREE:,}",
            f"{edges:,}",
            f"{row['seconds']:.2f}",
            f"{1e6 * row['seconds'] / edges:.3f}",
            f"{row['above_inputs'] / 2**20:,.0f} MiB",
            f"{row['process'] / 2**30:.2f} GiB",
        ]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def summary(found: dict) -> str:  # type: ignore[type-arg]
    """The record in one line per layer, for the README."""
    lines = ["| forward and backward, beside `NNConv` | 1 thread | 2 threads | peak memory |", "|---|---:|---:|---:|"]
    for name, case in CASES.items():
        faster = [f"{found['time'][name][threads]['ECConv']['times_faster']:.0f}x faster" for threads in (1, 2)]
        used = found["memory"][name]
        less = f"{used['ECConv'] / 2**20:.0f} MiB instead of {used['NNConv'] / 2**20:.0f}"
        lines.append(f"| {case.title} | {faster[0]} | {faster[1]} | {less} |")
    return "\n".join(lines)


def with_summary(text: str, found: dict) -> str:  # type: ignore[type-arg]
    """The README with the summary between its marks."""
    before, rest = text.split(MARKS[0])
    return f"{before}{MARKS[0]}\n\n{summary(found)}\n\n{MARKS[1]}{rest.split(MARKS[1])[1]}"


if __name__ == "__main__":
    measured = record()
    RECORD.parent.mkdir(parents=True, exist_ok=True)
    RECORD.write_text(json.dumps(measured, indent=1) + "\n")
    PAGE.write_text(page(measured))
    README.write_text(with_summary(README.read_text(), measured))
    print(f"wrote {RECORD.relative_to(ROOT)}, {PAGE.relative_to(ROOT)} and the table in {README.name}")
