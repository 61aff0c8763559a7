"""Writes the tables of the README and of the page on molecules from the records: `python -m benchmarks.readme`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benchmarks import compared, molecules, records
from benchmarks.cases import CASES
from benchmarks.models import CASES as CALLED
from benchmarks.page import MIB, table_row, THREADS
from edgecond.nn.tasks.combinations import split_name
from edgecond.paper import tables as paper_tables
from edgecond.paper.fair import assessments, FOLDS, MODELS, QUOTED

README = records.ROOT / "README.md"
MOLECULES = records.ROOT / "docs" / "molecules.md"
END = "<!-- until here -->"
DATASETS = paper_tables.DATASETS | {"sydney": "Sydney Urban Objects, F1"}


def speed(layers: dict[str, Any], networks: dict[str, Any]) -> str:
    """Return a table of time and memory beside `NNConv`, one line per layer and network."""
    lines = ["| forward and backward, beside `NNConv` | 1 thread | 2 threads | peak memory |", "|---|---:|---:|---:|"]
    compared = [
        (case.title, [layers["time"][name][threads]["ECConv"] for threads in THREADS], layers["memory"][name])
        for name, case in CASES.items()
    ]
    for name, network in networks.items():
        title = f"whole training step of `{name}`, graph building included"
        compared.append((title, [network["time"][threads] for threads in THREADS], network["memory"]))
    for title, rows, used in compared:
        faster = [f"{row['times_faster']:.0f}x faster" for row in rows]
        less = f"{used['ECConv'] / MIB:.0f} MiB instead of {used['NNConv'] / MIB:.0f}"
        lines.append(table_row([title, *faster, less]))
    return "\n".join(lines)


def gains(models: dict[str, Any]) -> str:
    """Return a table of what models gain that are called with `edge_index`, one line per kind of labels."""
    lines = ["| forward and backward, `edge_index` in any order | 1 thread | 2 threads |", "|---|---:|---:|"]
    for name, row in models.items():
        faster = [f"{row['time'][threads]['times_faster']:.0f}x faster" for threads in THREADS]
        lines.append(table_row([CALLED[name].title, *faster]))
    return "\n".join(lines)


def accuracy(results: Path) -> str:
    """Return tables of the paper's plain ECC and its reruns, and of the fair protocol, where all folds have records."""
    plain = {
        entry.recipe.name.split("/")[0]: entry
        for table in (1, 2, 4, 5)
        for entry in paper_tables.entries(table, results)
        if entry.row == "ECC" and entry.metric in ("f1", "accuracy") and entry.rerun is not None
    }
    today = {
        entry.recipe.name.split("/")[1]: entry
        for entry in paper_tables.plus(results)
        if split_name(entry.metric)[0] in ("f1", "accuracy")
    }
    columns = "ECC in the paper | ECC here | ECC here, networks of today | folds"
    lines = [f"| test accuracy, per cent | {columns} |", "|---|---:|---:|---:|---:|"]
    for dataset, name in DATASETS.items():
        if entry := plain.get(dataset):
            reruns = [_rerun(entry), _rerun(today[dataset]) if dataset in today else ""]
            lines.append(table_row([name, f"{100 * entry.paper:.1f}", *reruns, str(entry.recipe.folds)]))
    quoted = ", quoted | ".join(MODELS)
    here = "ECC, the paper's networks | ECC, networks of today"
    lines += ["", f"| fair comparison, per cent | {quoted}, quoted | {here} |", "|---|" + "---:|" * (len(MODELS) + 2)]
    found = {(each.dataset, each.plus): each for each in assessments(results) if not each.changes}
    for dataset in QUOTED:
        paper, plus = found[dataset, False], found[dataset, True]
        reruns = [fair.rerun if len(fair.folds) == FOLDS else "" for fair in (paper, plus)]
        if any(reruns):
            lines.append(table_row([DATASETS[dataset], *map(paper.quoted, MODELS), *reruns]))
    return "\n".join(lines)


def _rerun(entry: paper_tables.Entry) -> str:
    """Return the mean over folds with its standard deviation, in per cent; nothing if a fold is missing."""
    if entry.rerun is None:
        return ""
    return f"{100 * entry.rerun:.1f}" + ("" if entry.spread is None else f" ± {100 * entry.spread:.1f}")


def tables() -> dict[Path, dict[str, str]]:
    """Return the tables of each page by what writes them."""
    layers, networks = records.read(records.LAYERS), records.read(records.NETWORK)
    return {
        README: {
            "benchmarks.models": gains(records.read(records.MODELS)),
            "make bench": speed(layers, networks),
            "benchmarks.readme": accuracy(records.ROOT / "results"),
        },
        MOLECULES: {"benchmarks.readme": compared.tables(molecules.RECORDS)},
    }


def filled(text: str, by_writer: Mapping[str, str]) -> str:
    """Return a page with its tables between their marks."""
    for writer, table in by_writer.items():
        mark = f"<!-- written by {writer} -->"
        before, rest = text.split(mark)
        text = f"{before}{mark}\n\n{table}\n\n{END}{rest.split(END, 1)[1]}"
    return text


def write() -> None:
    """Write the tables from the records that exist."""
    for page, by_writer in tables().items():
        page.write_text(filled(page.read_text(), by_writer))
        print(f"wrote the tables in {page.name}")


if __name__ == "__main__":
    write()
