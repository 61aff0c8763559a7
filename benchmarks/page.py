"""Writes the records as a page of the docs, without measuring: `python -m benchmarks.page`."""

from __future__ import annotations

import textwrap
from typing import Any

from benchmarks import large, records
from benchmarks.cases import CASES, RIVALS
from benchmarks.models import CASES as CALLED

PAGE = records.ROOT / "docs" / "benchmarks.md"
THREADS = ("1", "2")
MIB = 2**20


def page(
    layers: dict[str, Any],
    networks: dict[str, Any],
    pyramids: dict[str, Any] | None = None,
    predict: dict[str, Any] | None = None,
    models: dict[str, Any] | None = None,
    scans: dict[str, Any] | None = None,
) -> str:
    """Return the page with the records as tables."""
    lines = [
        "# Benchmarks",
        "",
        "PyG's `NNConv` and `ECConv` with the same weights on the same graph, forward and backward, in single",
        "precision, interleaved in one run: every round runs each layer, and a ratio is the median over the rounds of",
        "the ratio within a round. Memory is the high-water mark of a fresh process above the inputs. The share of",
        "peak compares the arithmetic of the algorithm, nothing counted twice, with a 1024 x 1024 matrix product",
        "measured in the same round.",
        "`make bench` writes this page and its records, `layers.json`, `models.json` and `network.json` in",
        "`results/benchmarks`.",
        "",
    ]
    if models:
        lines += [*drop_in(models), ""]
    lines += [measured(layers), ""]
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
        used = layers["memory"][name]
        for rival in RIVALS:
            cells = [rival]
            for threads in THREADS:
                row = layers["time"][name][threads][rival]
                cells += [f"{row['milliseconds']:.1f} ms", f"{row['times_faster']:.1f}x", f"{row['share_of_peak']:.0%}"]
            cells += [f"{used[rival] / MIB:.1f} MiB", f"{used['NNConv'] / used[rival]:.1f}x"]
            lines.append(table_row(cells))
        lines.append("")
    lines += [
        "## Growth with the number of edges",
        "",
        "One graph, ten edges into each vertex, F = 6-16-32, 16 to 32 channels, forward and backward, 2 threads.",
        "",
        "| vertices | edges | seconds | microseconds per edge | peak above the inputs | peak of the process |",
        "|---:|---:|---:|---:|---:|---:|",
    ]
    for edges, row in layers["large"].items():
        cells = [
            f"{int(edges) // large.DEGREE:,}",
            f"{int(edges):,}",
            f"{row['seconds']:.2f}",
            f"{1e6 * row['seconds'] / int(edges):.3f}",
            f"{row['above_inputs'] / MIB:,.0f} MiB",
            f"{row['process'] / 2**30:.2f} GiB",
        ]
        lines.append(table_row(cells))
    for name, record in networks.items():
        lines += ["", *training_step(name, record)]
    if pyramids:
        lines += ["", *coarsening(pyramids)]
    if predict:
        lines += ["", *predicting(predict)]
    if scans:
        lines += ["", *classifying(scans)]
    return "\n".join(lines) + "\n"


def drop_in(record: dict[str, Any]) -> list[str]:
    """Return the section of models called with `edge_index`."""
    text = (
        "Every `NNConv` of a model is replaced by `ECConv.from_nnconv` and called as before, with an `edge_index` in "
        "no order and `edge_attr`: forward and backward, with tensors that are new in every step, as from a loader. "
        "The first layer sorts the edges; the last two columns are the share of a step that later layers spend on "
        "recognising them."
    )
    lines = [
        "## Models called with edge_index",
        "",
        *textwrap.wrap(text, 112, break_on_hyphens=False, break_long_words=False),
        "",
        measured(next(iter(record.values()))),
        "",
        "| model | vertices | edges | F | width | 1 thread | 2 threads | graph, 1 thread | 2 threads |",
        "|---|---:|---:|---|---:|---:|---:|---:|---:|",
    ]
    for name, row in record.items():
        case, times = CALLED[name], [row["time"][threads] for threads in THREADS]
        sizes = [f"{case.graphs * case.vertices:,}", f"{case.graphs * case.edges:,}"]
        shares = [f"{time['graph_share']:.1%}" for time in times]
        ratios = [f"{time['times_faster']:.1f}x" for time in times]
        lines.append(
            table_row([case.title, *sizes, "-".join(map(str, case.widths)), str(case.width), *ratios, *shares])
        )
    return lines


def training_step(name: str, record: dict[str, Any]) -> list[str]:
    """Return the section of a row's network."""
    times, used = record["time"], record["memory"]
    one = times["1"]
    vertices, edges = (" / ".join(f"{count:,.0f}" for count in one[of]) for of in ("vertices", "edges"))
    text = (
        f"`{record['network']}`, and the same network on `NNConv` with PyG's poolings, from the same parameters on the "
        f"same {one['batches']} batches of {record['batch']} examples: forward, loss, backward and optimizer step. "
        "Each batch is built once, and each network takes one step on it, in alternating order. A batch has "
        f"{vertices} vertices at its {len(one['vertices'])} levels and {edges} edges (medians). The network on "
        "`NNConv` gets its `edge_index` before the clock starts, and graph building counts the same for both. Waiting "
        "is the part of graph building that remains in a training loop whose batches one worker process builds ahead."
    )
    lines = [
        f"## Training step of {name}",
        "",
        *textwrap.wrap(text, 112, break_on_hyphens=False, break_long_words=False),
        "",
        measured(record),
        "",
        "| | " + " | ".join(f"{threads} thread{'s' * (threads != '1')}" for threads in THREADS) + " |",
        "|---|---:|---:|",
    ]
    rows = {
        "graph building": lambda row: f"{row['build_milliseconds']:.0f} ms",
        "step on `NNConv`": lambda row: f"{row['step_milliseconds']['NNConv']:.0f} ms",
        "step on `ECConv`": lambda row: f"{row['step_milliseconds']['ECConv']:.0f} ms",
        "faster, the step alone": lambda row: f"{row['step_times_faster']:.1f}x",
        "faster, graph building included": lambda row: f"{row['times_faster']:.1f}x",
        "share of graph building, no worker": lambda row: f"{row['build_share']:.0%}",
        "share of waiting for graphs, one worker": lambda row: f"{row['waiting_share']:.1%}",
    }
    lines += [table_row([title, *(cell(times[threads]) for threads in THREADS)]) for title, cell in rows.items()]
    less = used["NNConv"] / used["ECConv"]
    return [
        *lines,
        "",
        f"Peak memory of a step: {used['ECConv'] / MIB:,.0f} MiB, and {used['NNConv'] / MIB:,.0f} MiB on `NNConv`, "
        f"{less:.1f}x as much.",
    ]


def coarsening(record: dict[str, Any]) -> list[str]:
    """Return the section of pyramids."""
    first = next(iter(record.values()))
    lines = [
        "## Pyramids of whole datasets",
        "",
        "All sparsifications of all graphs, computed once and cached; `python -m benchmarks.pyramids`.",
        "",
        measured(first),
        "",
        f"| | graphs | levels | copies | {first['processes']} processes | all processors | from the cache | memory |",
        "|---|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for name, row in record.items():
        counts = [f"{row[count]:,}" for count in ("graphs", "levels", "copies")]
        times = [f"{row[of]:.{digits}f} s" for of, digits in _TIMES]
        lines.append(table_row([f"`{name}`", *counts, *times, f"{row['peak_bytes_of_a_process'] / MIB:,.0f} MiB"]))
    return lines


_TIMES = (("seconds", 0), ("processor_seconds", 0), ("seconds_from_cache", 2))


def predicting(record: dict[str, Any]) -> list[str]:
    """Return the section of `edgecond predict`."""
    text = (
        f"`edgecond predict MODEL FILES --jobs {record['jobs']} > out.csv` with {record['jobs']} processes of "
        f"{record['threads']} thread; `python -m benchmarks.predict`. Clouds are NPY files of {record['points']:,} "
        "points beside one that cannot be read, and molecules are rows of SMILES, those of ESOL and Tox21 again and "
        "again. Examples per second are the difference of two sizes by that of their times, so that start-up does not "
        "count: the median of the rounds, all of which are shown. Where the load of the machine is above "
        f"{record['jobs']}, other programs had a share of its processors, and the processor time is what compares: "
        "that of all processes for one more example. Memory is that of all processes together."
    )
    lines = [
        "## Predicting from thousands of files",
        "",
        *textwrap.wrap(text, 112, break_on_hyphens=False, break_long_words=False),
        "",
        measured(record),
        "",
        "| | sizes | per second | rounds | load | processor time | rows of one process | exit status | peak memory |",
        "|---|---:|---:|---|---:|---:|---|---:|---:|",
    ]
    for row in record["rates"]:
        cells = [row["title"], " and ".join(f"{count:,}" for count in row["counts"])]
        cells += [f"{row['per_second']:,.0f}", ", ".join(f"{each:,.0f}" for each in row["rounds_per_second"])]
        large, same = row["large"], "the same" if row["same_as_one_process"] else "differ"
        cells += [f"{large['load']:.0f}", f"{row['processor_milliseconds_each']:.2f} ms", same, str(large["exit"])]
        lines.append(table_row([*cells, f"{large['peak_bytes'] / MIB:,.0f} MiB"]))
    lines += ["", "| rows of SMILES | rows written | peak memory | seconds |", "|---:|---:|---:|---:|"]
    for count, row in record["memory"].items():
        cells = [f"{int(count):,}", f"{row['rows']:,}", f"{row['peak_bytes'] / MIB:,.0f} MiB", f"{row['seconds']:.0f}"]
        lines.append(table_row(cells))
    return lines


def classifying(record: dict[str, Any]) -> list[str]:
    """Return the section of `edgecond predict --to laz`."""
    lines = [
        "## Classifying laser scans",
        "",
        "`edgecond predict MODEL scan.laz --to laz --out DIRECTORY --jobs 1`, "
        f"{record['density']} points per square metre,",
        f"network {record['network']}, {record['threads']} thread; `python -m benchmarks.scans`. laspy compared all",
        "fields of all points, records and header values of both files. Intensities differ from class to class, so",
        "that a small network is right and the last column shows that each point has its own prediction.",
        "",
        measured(record),
        "",
        "| points | peak memory | processor time | different fields | points of the right class |",
        "|---:|---:|---:|---|---:|",
    ]
    for count, row in record["runs"].items():
        cells = [f"{int(count):,}", f"{row['peak_bytes'] / MIB:,.0f} MiB", f"{row['processor_seconds']:.0f} s"]
        lines.append(table_row([*cells, ", ".join(row["different"]), f"{row['accuracy']:.2%}"]))
    return lines


def measured(record: dict[str, Any]) -> str:
    """Return date, processor, kernels, versions and seed of a measurement."""
    versions = ", ".join(f"{name} {number}" for name, number in record["versions"].items())
    return (
        f"Measured on {record['date']}: {record['processor']}, kernels {record['kernels']}, {versions}, "
        f"seed {record['seed']}."
    )


def table_row(cells: list[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def current() -> str:
    """Return the page of the records that exist."""
    paths = (records.LAYERS, records.NETWORK, records.PYRAMIDS, records.PREDICT, records.MODELS, records.SCANS)
    return page(*map(records.read, paths))


def write() -> None:
    """Write the page from the records that exist."""
    PAGE.write_text(current())
    print(f"wrote {PAGE.relative_to(records.ROOT)}")


if __name__ == "__main__":
    write()
