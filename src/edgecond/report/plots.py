"""Pictures of the rerun as PNG and SVG: both figures of the paper, and its tables beside the records."""

from __future__ import annotations

import io
from collections.abc import Sequence
from contextlib import AbstractContextManager
from math import ceil, sqrt
from pathlib import Path
from statistics import mean, stdev
from typing import Any

import numpy as np

from edgecond.files import write_atomic
from edgecond.nn.tasks.combinations import split_name
from edgecond.paper.figures import curves, FILTERS_ROW, sampled_filters, STEPS
from edgecond.paper.tables import DATASETS, entries, Entry, METRICS, TITLES
from edgecond.report.page import ReportError
from edgecond.runs.recipe import find

INK, FAINT, PAPER, RERUN = "#33415c", "#c3ccda", "#33415c", "#d1495b"
COLOURS = ("#33415c", "#d1495b")
STYLE = {
    "font.size": 9,
    "axes.titlesize": 9,
    "axes.labelsize": 9,
    "axes.edgecolor": FAINT,
    "axes.labelcolor": INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "text.color": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "xtick.labelsize": 8,
    "ytick.labelsize": 9,
    "xtick.major.size": 0,
    "ytick.major.size": 0,
    "legend.frameon": False,
    "svg.hashsalt": "edgecond",
    "svg.fonttype": "none",
    "figure.facecolor": "white",
}
PER_LINE = 5  # panels beside each other


def write(figure: Any, path: Path) -> list[Path]:
    """Write a figure as PNG and SVG, and return both paths."""
    paths = [path.with_name(f"{path.name}.{ending}") for ending in ("png", "svg")]
    for each in paths:
        write_atomic(each, rendered(figure, each.suffix[1:]))
    return paths


def rendered(figure: Any, ending: str) -> bytes:
    """Return a figure as PNG or SVG, the same bytes in every run."""
    content = io.BytesIO()
    metadata = {"Date": None} if ending == "svg" else {"Software": None}
    with _style():
        figure.savefig(content, format=ending, dpi=200, bbox_inches="tight", pad_inches=0.1, metadata=metadata)
    return content.getvalue()


def filters(results: Path) -> Any:
    """Draw the 16 filters of the first layer of the sparse MNIST network, at both steps (Section 4.4)."""
    images, epochs = sampled_filters(results)
    limit = max(float(np.abs(stack).max()) for stack in images.values())
    with _style():
        figure = _figure(8.4, 4.2)
        for part, (side, stack) in enumerate(images.items()):
            left, right = 0.05 + 0.45 * part, 0.46 + 0.45 * part
            grid = figure.add_gridspec(4, 4, left=left, right=right, bottom=0.13, top=0.92, wspace=0.07, hspace=0.07)
            axes = grid.subplots()
            edge = 2 + 2 / (side - 1)  # an offset is in the middle of its square
            for ax, image in zip(axes.flat, stack, strict=True):
                shown = ax.imshow(
                    image, origin="lower", cmap="RdBu_r", vmin=-limit, vmax=limit, extent=(-edge, edge, -edge, edge)
                )
                ax.set(xticks=[], yticks=[])
            axes[-1, 0].set(xticks=[-2, 0, 2], xlabel="$\\delta_x$")
            if not part:
                axes[-1, 0].set(yticks=[-2, 0, 2], ylabel="$\\delta_y$")
            figure.text((left + right) / 2, 0.945, STEPS[side], ha="center")
        bar = figure.colorbar(shown, cax=figure.add_axes((0.93, 0.3, 0.012, 0.45)))
        bar.outline.set_visible(False)
        bar.set_label("filter value $\\Theta$")
        whole = find(FILTERS_ROW).train.epochs
        note = "" if epochs == whole else f" of {whole}"
        figure.text(
            0.48, 0.01, f"MNIST, sparse input: the first layer after {epochs}{note} epochs", ha="center", size=8
        )
    return figure


def robustness(results: Path) -> Any:
    """Draw F1 on Sydney over the share of removed points and over the noise (Appendix C)."""
    found = curves(results)
    if not found["removed"]:
        raise ReportError(
            f"{results} must have records of robustness: it has none. Run `edgecond reproduce sydney/ecc "
            "sydney/noise`, then `edgecond plot robustness --runs runs`."
        )
    panels = {"removed": "points removed, per cent", "noise": "standard deviation of the noise, centimetres"}
    with _style():
        figure = _figure(8, 3)
        axes = figure.subplots(1, 2, sharey=True, gridspec_kw={"wspace": 0.08})
        for ax, (change, label) in zip(axes, panels.items(), strict=True):
            for curve, colour in zip(found[change], COLOURS, strict=False):
                at, f1 = 100 * np.array(curve.at), 100 * curve.f1
                middle = f1.mean(0)
                ax.plot(at, middle, color=colour, marker="o", ms=3.5, lw=1.5, label=_described(curve))
                if len(f1) > 1:
                    spread = f1.std(0, ddof=1)
                    ax.fill_between(at, middle - spread, middle + spread, color=colour, alpha=0.15, lw=0)
            ax.grid(color=FAINT, lw=0.4)
            ax.set(xlabel=label, ylim=(0, 90), xlim=(0, None))
            ax.set_axisbelow(True)
        axes[0].set_ylabel("F1, per cent")
        bands = "; bands: standard deviation over folds" * any(len(curve.f1) > 1 for curve in found["removed"])
        figure.text(0.5, 0.93, f"Sydney Urban Objects, test folds{bands}", ha="center")
        figure.legend(*axes[0].get_legend_handles_labels(), loc="upper center", bbox_to_anchor=(0.5, 0.0), ncols=2)
    return figure


def _described(curve: Any) -> str:
    """Return the name of a curve, with the folds and epochs that it has where some are missing."""
    row = find(curve.row)
    folds = "" if len(curve.f1) == row.folds else f"{len(curve.f1)} of {row.folds} folds"
    shorter = curve.epochs[0] < row.train.epochs
    epochs = f"{'–'.join(map(str, dict.fromkeys(curve.epochs)))} of {row.train.epochs} epochs" if shorter else ""
    notes = ", ".join(filter(None, [folds, epochs]))
    return f"{curve.name} ({notes})" if notes else curve.name


def table(number: int, results: Path) -> Any:
    """Draw a table of the paper beside the records, with a panel for each data set and metric."""
    found = entries(number, results)
    panels: dict[tuple[str, str], list[Entry]] = {}
    for entry in found:
        metric, _ = split_name(entry.metric)
        panels.setdefault((entry.recipe.name.split("/")[0], metric), []).append(entry)
    panels = dict(sorted(panels.items(), key=lambda panel: list(DATASETS).index(panel[0][0])))  # as in the paper
    names = list(dict.fromkeys(entry.row for entry in found))
    several_metrics = len({metric for _, metric in panels}) > 1
    columns = min(PER_LINE, ceil(len(panels) / ceil(len(panels) / PER_LINE)))
    lines = ceil(len(panels) / columns)
    with _style():
        titled = len(panels) > 1
        size = (2.0 + 1.75 * columns if titled else 6.5, lines * (0.7 + 0.3 * len(names) + 0.3 * titled) + 0.3)
        figure = _figure(*size)
        axes = figure.subplots(lines, columns, squeeze=False, sharey=True)
        for ax, ((dataset, metric), rows) in zip(axes.flat, panels.items(), strict=False):
            _draw_panel(ax, rows, names)
            if titled:
                ax.set_title(DATASETS[dataset] + (f"\n{METRICS[metric]}" if several_metrics else ""), size=8.5)
        for ax in list(axes.flat)[len(panels) :]:
            ax.set_visible(False)
        figure.tight_layout(w_pad=1.2, h_pad=1.2, rect=(0, 0.26 / size[1], 1, 1 - 0.16 / size[1]))
        figure.suptitle(f"Table {number}. {TITLES[number]} (per cent)", y=1.0, size=10)
        _legend(figure, found)
    return figure


def _draw_panel(ax: Any, rows: Sequence[Entry], names: Sequence[str]) -> None:
    """Draw the rows of a data set: a diamond for the paper, a dot with its standard error for the rerun."""
    ends = []
    for entry in rows:
        y, paper = names.index(entry.row), 100 * entry.paper
        ends.append(paper)
        if entry.folds:
            rerun = 100 * mean(entry.folds)
            error = 100 * stdev(entry.folds) / sqrt(len(entry.folds)) if len(entry.folds) > 1 else 0.0
            ends += [rerun - error, rerun + error]
            ax.plot([paper, rerun], [y, y], color=FAINT, lw=3, zorder=1, solid_capstyle="round")
            ax.errorbar(
                rerun, y, xerr=error or None, fmt="o", color=RERUN, ms=5, lw=1.2, zorder=3,
                mfc=RERUN if entry.rerun is not None else "white",
            )  # fmt: skip
        ax.plot(paper, y, marker="D", ms=5, color=PAPER, mfc="white", mew=1.2, zorder=2 if entry.folds else 3, lw=0)
    low, high = min(ends), max(ends)
    margin = max(0.12 * (high - low), 1.0 - (high - low) / 2)
    ax.set(xlim=(low - margin, min(100.0, high + margin)), ylim=(len(names) - 0.5, -0.5), yticks=range(len(names)))
    ax.set_yticklabels([name.replace("L_deg", "$L_{deg}$") for name in names])
    ax.locator_params(axis="x", nbins=4)
    ax.grid(color=FAINT, lw=0.4)
    ax.set_axisbelow(True)
    ax.spines["left"].set_visible(False)


def _legend(figure: Any, found: Sequence[Entry]) -> None:
    from matplotlib.lines import Line2D

    several = any(len(entry.folds) > 1 for entry in found)
    rerun = "rerun, with its standard error over folds" if several else "rerun"
    marks = [
        Line2D([], [], marker="D", color=PAPER, mfc="white", mew=1.2, lw=0, ms=5, label="paper"),
        Line2D([], [], marker="o", color=RERUN, lw=1.2 if several else 0, ms=5, label=rerun),
    ]
    if any(entry.folds and entry.rerun is None for entry in found):
        marks.append(Line2D([], [], marker="o", color=RERUN, mfc="white", lw=0, ms=5, label="rerun, some folds so far"))
    figure.legend(handles=marks, loc="lower center", ncols=len(marks), fontsize=8, bbox_to_anchor=(0.5, 0))


def _style() -> AbstractContextManager[None]:
    """Return the context in which pictures have one style; matplotlib must be installed."""
    try:
        import matplotlib
    except ImportError:
        raise ReportError(
            "a picture needs matplotlib, which is not installed. Run `pip install 'edgecond[plot]'`."
        ) from None
    return matplotlib.rc_context(STYLE)


def _figure(width: float, height: float) -> Any:
    """Return an empty figure, in inches, that no window shows."""
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height))
