"""Draws the pictures of the home page and of the guide when the pages are built, from the code and the records."""

import io
import json
import math
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("svg")

import numpy as np
import torch
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from mkdocs.structure.files import File, Files

from edgecond import EdgeCondRegressor, FilterNetwork
from edgecond.data.datasets import synthetic
from edgecond.data.formats.smiles import parse
from edgecond.data.labels import label_offsets
from edgecond.data.pyramid import cloud_pyramid, Level
from edgecond.data.pyramid.kron import multiresolution
from edgecond.nn.convolution import candidates
from edgecond.paper.tables import DATASETS, entries
from edgecond.report.explanations import shades
from edgecond.report.molecules import molecule as structural_formula
from edgecond.runs.explanation import explain

TYRAMINE = "NCCc1ccc(O)cc1"
RESULTS = Path(__file__).parents[2] / "results"
INK, FAINT, STRONG = "#33415c", "#a9b4c8", "#d1495b"
STYLE = {
    "font.size": 9,
    "axes.titlesize": 9,
    "svg.hashsalt": "edgecond",
    "svg.fonttype": "none",
    "axes.edgecolor": FAINT,
    "text.color": INK,
    "axes.labelcolor": INK,
}


def on_files(files: Files, config: Any, **_: Any) -> Files:
    """Add a file for each picture."""
    for name, draw in PICTURES.items():
        with plt.rc_context(STYLE):
            drawn, content = draw(), io.BytesIO()
            if isinstance(drawn, Figure):
                drawn.savefig(content, format="svg", bbox_inches="tight", metadata={"Date": None})
                plt.close(drawn)
        files.append(File.generated(config, f"{name}.svg", content=content.getvalue() or drawn))
    return files


def speed() -> Figure:
    """Draw time and memory of four layers, from the record that `make bench` writes."""
    record = json.loads((RESULTS / "benchmarks/layers.json").read_text("utf-8"))
    titles = {
        "cloud": "cloud,\n16 to 32 channels",
        "cloud-wide": "cloud,\n32 to 64 channels",
        "categorical": "molecules,\n4 kinds of bonds",
        "molecules": "molecules,\ncontinuous labels",
    }
    measured = {
        "milliseconds, forward and backward": [
            [record["time"][case]["1"][layer]["milliseconds"] for case in titles] for layer in ("NNConv", "ECConv")
        ],
        "peak memory in MiB": [
            [record["memory"][case][layer] / 2**20 for case in titles] for layer in ("NNConv", "ECConv")
        ],
    }
    figure, axes = plt.subplots(1, 2, figsize=(7, 2.6), sharey=True)
    at = np.arange(len(titles))
    for ax, (what, (theirs, ours)) in zip(axes, measured.items(), strict=True):
        ax.barh(at - 0.2, theirs, 0.36, color=FAINT, label="NNConv")
        ax.barh(at + 0.2, ours, 0.36, color=STRONG, label="ECConv")
        for y, before, after in zip(at, theirs, ours, strict=True):
            ax.text(after + 0.02 * max(theirs), y + 0.2, f"{before / after:.0f}x less", va="center")
        ax.set(xlabel=what, yticks=at, yticklabels=list(titles.values()))
        ax.spines[["top", "right"]].set_visible(False)
    axes[0].invert_yaxis()
    axes[1].legend(frameon=False, loc="center right", bbox_to_anchor=(1, 0.38))
    figure.tight_layout()
    return figure


def levels() -> Figure:
    """Draw a cloud and the levels of its pyramid in space."""
    torus = synthetic.load(train=6, test=0)[0][4][0]
    built = cloud_pyramid([torus], [(0.1, 0.25), (0.25, 0.5), (0.5, 1)]).levels
    points = torus.positions - torus.positions.amin(0)
    figure, axes = plt.subplots(1, 4, figsize=(7, 2), subplot_kw={"projection": "3d"})
    axes[0].scatter(*points.T, s=4, color=INK)
    axes[0].set_title(f"{len(points)} points", y=0.98)
    for h, (ax, level) in enumerate(zip(axes[1:], built, strict=True)):
        drawn = (level.source < level.target) & (torch.arange(len(level.source)) % (8, 2, 1)[h] == 0)
        for ends in level.positions[torch.stack([level.source, level.target])[:, drawn]].transpose(0, 1):
            ax.plot(*ends.T, color=FAINT, lw=0.5)
        ax.scatter(*level.positions.T, s=(5, 20, 60)[h], color=STRONG, depthshade=False)
        ax.set_title(f"level {h}: {len(level.positions)} vertices", y=0.98)
    for ax in axes:
        ax.set_axis_off()
        limits = [(0, float(size)) for size in points.amax(0)]
        ax.set(xlim=limits[0], ylim=limits[1], zlim=limits[2])
        ax.set_box_aspect([size for _, size in limits], zoom=1.12)
        ax.view_init(65, 30)
    figure.subplots_adjust(0, 0, 1, 0.92, 0, 0)
    return figure


def molecule() -> str:
    """Train a small network on estimated logP, and draw what the atoms of tyramine add to its prediction."""
    from rdkit.Chem.Crippen import MolLogP

    chains = ["C" * n for n in range(1, 9)] + ["C=C", "CC#C", "C1CCCCC1", "c1ccccc1", "c1ccncc1", "Cc1ccccc1"]
    groups = ["O", "N", "S", "Cl", "C#N", "C(=O)O", "C(=O)OC"]
    smiles = [chain + group for chain, group in product(chains, groups)]
    regressor = EdgeCondRegressor(network="C(16)-C(16)-GAP-FC(16)-FC(1)", epochs=40, batch_size=16, random_state=0)
    regressor.fit(smiles, [MolLogP(parse(text)) for text in smiles])
    (explanation,) = explain(regressor.model_, [TYRAMINE])
    return structural_formula(TYRAMINE, shades(explanation))


def results() -> Figure:
    """Draw the plain network of the paper beside its rerun, where all folds have records."""
    plain = {
        entry.recipe.name.split("/")[0]: entry
        for table in (1, 2, 4, 5)
        for entry in entries(table, RESULTS)
        if entry.row == "ECC" and entry.metric in ("f1", "accuracy") and entry.rerun is not None
    }
    shown = {name: plain[name] for name in DATASETS if name in plain}
    figure, ax = plt.subplots(figsize=(7, 2.4))
    at = np.arange(len(shown))
    reruns, spreads = (
        [100 * entry.rerun for entry in shown.values()],
        [100 * (entry.spread or 0) for entry in shown.values()],
    )
    ax.errorbar(at + 0.1, reruns, spreads, fmt="o", color=STRONG, lw=1, label="here, ± over folds")
    ax.plot(at - 0.1, [100 * entry.paper for entry in shown.values()], "D", color=INK, label="in the paper")
    ax.set(
        xticks=at,
        xticklabels=[f"{DATASETS[name]},\nF1" if plain[name].metric == "f1" else DATASETS[name] for name in shown],
    )
    ax.set(ylabel="test accuracy, per cent", xlim=(-0.5, len(shown) - 0.5))
    ax.grid(axis="y", color=FAINT, lw=0.3)
    ax.spines[["top", "right"]].set_visible(False)
    ax.legend(frameon=False, loc="lower left", ncols=2)
    return figure


def filters() -> Figure:
    """Draw one element of the filter over offsets in the plane, for four networks F."""
    figure, axes = plt.subplots(1, 4, figsize=(8, 2.2), sharey=True)
    x, y = np.meshgrid(np.linspace(-1, 1, 81), np.linspace(-1, 1, 81))
    offsets = torch.tensor(np.stack([x.ravel(), y.ravel(), 0 * x.ravel()], axis=1)).float()
    with torch.random.fork_rng(), torch.no_grad():
        for seed, ax in enumerate(axes):
            torch.manual_seed(seed)
            values = FilterNetwork([6, 16, 32], 1, 1)(label_offsets("cartesian+spherical", offsets).values)
            ax.imshow(values.view(81, 81), extent=(-1, 1, -1, 1), origin="lower", cmap="RdBu", interpolation="bilinear")
            ax.set(xticks=[-1, 0, 1], yticks=[-1, 0, 1], xlabel="δx")
    axes[0].set_ylabel("δy")
    return figure


def plan() -> Figure:
    """Draw the multiply-adds of each algorithm for three kinds of labels."""
    figure, axes = plt.subplots(1, 3, figsize=(8, 2.2), sharex=True)
    kinds: dict[str, dict[str, Any]] = {
        "continuous": {"u": None},
        "4 kinds": {"u": 4},
        "one number": {"u": None, "scalar": True},
    }
    for ax, (kind, given) in zip(axes, kinds.items(), strict=True):
        plans = candidates(10_000, 100_000, 16, 32, 32, **given)
        best = min(plans, key=lambda one: one.effort)
        names = [f"{one.algorithm}, {one.by}" for one in plans]
        ax.barh(
            names, [one.multiply_adds / 1e6 for one in plans], color=[STRONG if one is best else FAINT for one in plans]
        )
        ax.set(title=f"labels: {kind}", xscale="log", xlim=(10, 3000))
        ax.invert_yaxis()
    axes[1].set_xlabel(
        "million multiply-adds; red: the algorithm of the plan (10,000 vertices, 100,000 edges, 16 to 32 channels)"
    )
    figure.tight_layout()
    return figure


def cloud() -> Figure:
    """Draw points, the centroids of their cells, and the edges into one vertex."""
    torus = synthetic.load(train=6, test=0)[0][4][0]
    level = cloud_pyramid([torus], [(0.1, 0.25)]).levels[0]
    figure, axes = plt.subplots(1, 3, figsize=(8, 2.7))
    for ax, title in zip(
        axes, ("256 points, from above", "163 centroids, r = 0.1", "one neighbourhood, ρ = 0.25"), strict=True
    ):
        ax.set(title=title, aspect="equal", xticks=[], yticks=[])
    moved = torus.positions - torus.positions.amin(0)
    axes[0].scatter(*moved[:, :2].T, s=5, color=INK)
    i = int(level.positions[:, 0].argmax())
    for ax in axes[1:]:
        ax.scatter(*level.positions[:, :2].T, s=5, color=INK)
    for j in level.source[level.target == i]:
        axes[2].plot(*level.positions[[int(j), i], :2].T, color=STRONG, lw=0.8)
    return figure


def pyramid() -> Figure:
    """Draw a torus on three levels."""
    torus = synthetic.load(train=6, test=0)[0][4][0]
    levels = cloud_pyramid([torus], [(0.1, 0.25), (0.25, 0.5), (0.5, 1)]).levels
    figure, axes = plt.subplots(1, 3, figsize=(8, 2.7), sharex=True, sharey=True)
    for h, (ax, level) in enumerate(zip(axes, levels, strict=True)):
        drawn = level.source < level.target
        edges(ax, level, drawn & (torch.arange(len(drawn)) % (8, 2, 1)[h] == 0))
        ax.scatter(*level.positions[:, :2].T, s=(5, 20, 60)[h], color=INK, zorder=2)
        ax.set(title=f"level {h}: {len(level.positions)} vertices", aspect="equal", xticks=[], yticks=[])
    return figure


def edges(ax: Axes, level: Level, chosen: torch.Tensor) -> None:
    """Draw some of the edges of a level; all would cover the picture."""
    ends = level.positions[torch.stack([level.source, level.target])[:, chosen]]
    ax.plot(ends[..., 0].numpy(), ends[..., 1].numpy(), color=FAINT, lw=0.4, zorder=1)


def kron() -> Figure:
    """Draw a ring with chords, and its two reductions."""
    n = 24
    source = np.concatenate([np.arange(n), np.arange(0, n, 3)])
    target = np.concatenate([(np.arange(n) + 1) % n, (np.arange(0, n, 3) + 8) % n])
    reduced = multiresolution(source, target, n, 3, np.random.default_rng(0))
    figure, axes = plt.subplots(1, 3, figsize=(8, 2.7), sharex=True, sharey=True)
    angle = 2 * math.pi * np.arange(n) / n
    at = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    for h, (ax, level) in enumerate(zip(axes, reduced.levels, strict=True)):
        for j, i, weight in zip(level.source, level.target, level.weights, strict=True):
            if j < i:
                ax.plot(*at[[j, i]].T, color=FAINT, lw=0.6 + 1.2 * weight, zorder=1)
        kept = np.isin(np.arange(level.n), reduced.kept[h]) if h < len(reduced.kept) else np.zeros(level.n, bool)
        ax.scatter(*at.T, s=18, color=np.where(kept, STRONG, INK), zorder=2)
        ax.set(title=f"{level.n} vertices, {len(level.source) // 2} edges", aspect="equal", xticks=[], yticks=[])
        at = at[reduced.kept[h]] if h < len(reduced.kept) else at
    axes[1].set_xlabel("red: vertices of the next level; thick: large weight")
    return figure


PICTURES: dict[str, Callable[[], Figure | str]] = {
    "pictures/speed": speed,
    "pictures/levels": levels,
    "pictures/molecule": molecule,
    "pictures/results": results,
    "guide/filters": filters,
    "guide/plan": plan,
    "guide/cloud": cloud,
    "guide/pyramid": pyramid,
    "guide/kron": kron,
}
