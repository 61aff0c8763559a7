"""What both figures of the paper show, measured with trained models and kept as records (Section 4.4, Appendix C)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import torch
from jaxtyping import Float
from numpy import ndarray as Array

from edgecond.data.augment import jittered, thinned
from edgecond.data.datasets import sydney
from edgecond.data.examples import Examples
from edgecond.data.labels import label_offsets
from edgecond.data.samples import generator
from edgecond.errors import DataError
from edgecond.graph import Cloud
from edgecond.nn.layers import ECConv, FilterNetwork
from edgecond.paper.records import read_records, write_measurements
from edgecond.runs.model import FILE, Model
from edgecond.runs.recipe import find

ROBUSTNESS, FILTERS = FOLDERS = ("robustness", "filters")
"""Folders of the records in the directory of results."""
ROBUST_ROWS = {"sydney/ecc": "ECC", "sydney/noise": "ECC, trained with noise"}
"""The networks of Appendix C, and their names in the figure."""
FILTERS_ROW = "mnist/sparse"
REMOVED = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
"""Shares of the points that are removed; the paper's own are not known."""
NOISE = (0.0, 0.01, 0.02, 0.03, 0.04, 0.05, 0.06, 0.08, 0.1, 0.15, 0.2)
"""Standard deviations of the noise in metres; the paper's own are not known."""
STEPS = {5: "integer steps", 41: "steps of 0.1"}
"""Number of offsets from -2 to 2 along a side of both grids of Section 4.4, and their names."""

Report = Callable[[str], object]
_Change = Callable[[Cloud, np.random.Generator, float], Cloud]


def measure_robustness(runs: Path, results: Path, report: Report = lambda text: None) -> None:
    """Test all models of Appendix C in a directory of runs on clouds with points removed or with noise.

    Args:
        runs: Directory of runs, each in `DATASET/ROW/foldK-seedS`.
        results: Directory of records.
        report: Called with a line for each model.
    """
    for model in _models(runs, ROBUST_ROWS):
        _, test = sydney.load(model.about["fold"])
        path = write_measurements(ROBUSTNESS, model, results, robustness(model, test, model.about["seed"]))
        report(f"{model.recipe.name} fold {model.about['fold']}: {path}")


def robustness(model: Model, test: Examples, seed: int) -> dict[str, float]:
    """Return F1 by share of removed points and by noise, as `removed=0.1` and `noise=0.02`.

    The points that are removed at one share are also removed at the next, and noise has the same direction.
    """
    changes: dict[str, tuple[_Change, tuple[float, ...]]] = {"removed": (thinned, REMOVED), "noise": (jittered, NOISE)}
    found = {}
    for name, (change, amounts) in changes.items():
        for amount in amounts:
            clouds = [change(test.clouds[index], generator(seed, index), amount) for index in range(len(test))]
            found[f"{name}={amount:g}"] = model.evaluate(replace(test, clouds=clouds))["f1"]
    return found


@dataclass(frozen=True)
class Curve:
    """F1 of a network over removal or noise.

    Attributes:
        row: Name of the row.
        name: Name of the network in the figure.
        at: Shares of removed points, or standard deviations in metres.
        f1: F1 of each fold.
        epochs: Smallest and largest number of epochs of the models.
    """

    row: str
    name: str
    at: tuple[float, ...]
    f1: Float[Array, "folds points"]
    epochs: tuple[int, int]


def curves(results: Path) -> dict[str, list[Curve]]:
    """Return the curves of Appendix C that have records: over removal and over noise."""
    found: dict[str, list[Curve]] = {"removed": [], "noise": []}
    for row, name in ROBUST_ROWS.items():
        for change, values in (("removed", REMOVED), ("noise", NOISE)):
            keys = [f"{change}={value:g}" for value in values]
            records = read_records(results / ROBUSTNESS / row, *keys)
            if records:
                by_fold = [
                    np.mean([[r.metrics[key] for key in keys] for r in records if r.fold == fold], axis=0)
                    for fold in sorted({record.fold for record in records})
                ]
                epochs = [record.epochs for record in records]
                found[change].append(Curve(row, name, values, np.stack(by_fold), (min(epochs), max(epochs))))
    return found


def measure_filters(runs: Path, results: Path, report: Report = lambda text: None) -> None:
    """Record the filter network of the first layer of the sparse MNIST network (Section 4.4)."""
    for model in _models(runs, [FILTERS_ROW]):
        first = next(layer for layer in model.network.modules() if isinstance(layer, ECConv))
        parameters = {name: value.tolist() for name, value in first.filters.state_dict().items()}
        path = write_measurements(FILTERS, model, results, {}, parameters=parameters)
        report(f"{model.recipe.name} fold {model.about['fold']}: {path}")


def sampled_filters(results: Path) -> tuple[dict[int, Float[Array, "d_out side side"]], int]:
    """Return the filters of the first layer over both grids of offsets, by the side of the grid, and the epochs.

    The first axis of an image is that of the offset in y.
    """
    records = read_records(results / FILTERS / FILTERS_ROW)
    if not records:
        raise DataError(
            f"{results / FILTERS} must have a record of {FILTERS_ROW}: it has none. Run `edgecond reproduce "
            f"{FILTERS_ROW}`, then `edgecond plot filters --runs runs`."
        )
    values = {name: torch.tensor(value) for name, value in records[0].parameters.items()}
    weights = [value for name, value in values.items() if name.endswith("weight")]
    d_out = len(weights[-1])  # the signal has a width of one: the intensity of a pixel
    network = FilterNetwork([weight.shape[1] for weight in weights], 1, d_out)
    network.load_state_dict(values)
    found = {}
    for side in STEPS:
        along = (torch.arange(side) - side // 2) * (4 / (side - 1))  # 0 exactly, where the azimuth jumps
        y, x = torch.meshgrid(along, along, indexing="ij")
        offsets = torch.stack([x, y, torch.zeros_like(x)], dim=2).view(-1, 3)
        labels = label_offsets(find(FILTERS_ROW).labels, offsets)
        with torch.no_grad():
            found[side] = network(labels.per_edge(labels.values)).T.reshape(d_out, side, side).numpy()
    return found, records[0].epochs


def _models(runs: Path, rows: Mapping[str, str] | Sequence[str]) -> list[Model]:
    paths = [path for row in rows for path in sorted((runs / row).glob(f"fold*/{FILE}"))]
    if not paths:
        raise DataError(
            f"{runs} must have models of {' and '.join(rows)}: it has none. `edgecond reproduce ROW` trains them."
        )
    return [Model.load(path) for path in paths]
