"""Tables of the comparison on molecules, from the records: what was better on which data, and what it cost."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.molecules import Case, CASES
from benchmarks.page import table_row

OURS = "ours"
METHODS = {OURS: "edgecond", "ensemble": "edgecond, ensemble", "chemprop": "chemprop", "forest": "random forest"}
PACKAGES = {
    OURS: ["edgecond", "torch"],
    "ensemble": ["edgecond", "torch"],
    "chemprop": ["chemprop"],
    "forest": ["scikit-learn", "rdkit"],
}
PEERS = ("chemprop", "forest")
METRICS = {"rmse": ("RMSE", -1), "roc_auc": ("ROC AUC", 1)}
"""Name of each metric, and the sign of a better value's difference."""
CERTAIN = 2  # standard errors of a difference that is called won or lost

Records = Mapping[str, Mapping[int, Mapping[str, Any]]]
"""Records of a case by method and seed."""


def read(folder: Path) -> dict[str, Records]:
    """Read the records of all cases; those of a seed must be of the same data and split, whatever the method."""
    found: dict[str, dict[str, dict[int, Any]]] = {}
    for case in CASES:
        found[case] = {method: {} for method in METHODS}
        same: dict[int, Any] = {}
        for method, records in found[case].items():
            for path in sorted((folder / case / method).glob("fold*.json")):
                record = json.loads(path.read_text())
                records[record["seed"]] = record
                known = same.setdefault(record["seed"], (record["data"], record["split"]))
                if known != (record["data"], record["split"]):
                    raise ValueError(f"records of one seed must be of the same data and split: {path} is of another.")
    return found


def tables(folder: Path) -> str:
    """Return a table of metrics with what was won and lost, a table of processor times, and the circumstances."""
    records = read(folder)
    shown = [method for method in METHODS if any(records[case][method] for case in CASES)]
    columns = list(dict.fromkeys([OURS, *shown]))  # what is missing of ours is seen
    titles = [METHODS[method] for method in columns]
    beside = [f"edgecond beside {METHODS[peer]}" for peer in PEERS]
    lines = [
        table_row(["data", "split", "metric", *titles, *beside, "splits"]),
        "|---|---|---|" + "---:|" * len(columns) + "---|" * len(PEERS) + "---:|",
    ]
    for name, case in CASES.items():
        cells = [_summary(case, records[name][method]) for method in columns]
        means = {method: _mean(case, records[name][method]) for method in columns if records[name][method]}
        best = max(means, key=lambda method: METRICS[case.metric][1] * means[method], default=None)
        if len({frozenset(records[name][method]) for method in means}) > 1:
            best = None  # means over other splits do not compare
        cells = [f"**{cell}**" if method == best else cell for method, cell in zip(columns, cells, strict=True)]
        verdicts = [verdict(case, records[name][OURS], records[name][peer]) for peer in PEERS]
        counts = sorted({len(records[name][method]) for method in means})
        splits = " to ".join(map(str, counts[:1] + counts[1:][-1:]))  # the fewest and the most
        lines.append(table_row([*_titles(case), METRICS[case.metric][0], *cells, *verdicts, splits]))
    lines += ["", table_row(["processor seconds", "split", *titles]), "|---|---|" + "---:|" * len(columns)]
    for name, case in CASES.items():
        times = [[record["processor_seconds"] for record in records[name][method].values()] for method in columns]
        lines.append(table_row([*_titles(case), *(f"{np.mean(each):.0f}" if each else "" for each in times)]))
    if about := circumstances(records):
        lines += ["", about]
    return "\n".join(lines)


def circumstances(records: Mapping[str, Records]) -> str:
    """Return dates, processors and versions of all records."""
    of_method = [
        (method, record)
        for by_method in records.values()
        for method, by_seed in by_method.items()
        for record in by_seed.values()
    ]
    dates = sorted({record["date"] for _, record in of_method})
    versions = {
        f"{package} {record['versions'][package]}"
        for method, record in of_method
        for package in PACKAGES[method]
        if package in record["versions"]
    }
    parts = [*sorted({record["processor"] for _, record in of_method}), *sorted(versions)]
    between = " to ".join(dict.fromkeys([dates[0], dates[-1]])) if dates else ""
    return f"Measured on {between}: {', '.join(parts)}." if dates else ""


def verdict(case: Case, ours: Mapping[int, Any], peer: Mapping[int, Any]) -> str:
    """Return whether ours is better than a peer on the splits that both have: won, lost or even.

    The mean of the differences split by split decides, if it is at least two of its standard errors.
    """
    seeds = sorted(ours.keys() & peer.keys())
    if len(seeds) < 2:
        return ""
    pairs = [[record[seed]["metrics"][case.metric] for record in (ours, peer)] for seed in seeds]
    differences = np.subtract(*np.transpose(pairs))
    mean, error = differences.mean(), _error(differences)
    gain = METRICS[case.metric][1] * mean
    word = "even" if abs(gain) < CERTAIN * error or not gain else "won" if gain > 0 else "lost"
    return f"{word}: {mean:+.3f} ± {error:.3f}"


def _titles(case: Case) -> list[str]:
    return [case.title, "scaffold" if case.scaffold else "random"]


def _mean(case: Case, records: Mapping[int, Any]) -> float:
    return float(np.mean([record["metrics"][case.metric] for record in records.values()]))


def _summary(case: Case, records: Mapping[int, Any]) -> str:
    """The mean of a metric over splits and its standard error."""
    values = np.array([record["metrics"][case.metric] for record in records.values()])
    if not len(values):
        return ""
    return f"{values.mean():.3f} ± {_error(values):.3f}" if len(values) > 1 else f"{values.mean():.3f}"


def _error(values: np.ndarray) -> float:
    """The standard error of the mean."""
    return float(values.std(ddof=1) / np.sqrt(len(values)))
