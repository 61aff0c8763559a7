"""All folds of user data: where their runs are, their metrics with mean and spread, and out-of-fold predictions."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from edgecond.files import atomic_file, csv_line, path_text, write_atomic
from edgecond.runs.model import Model
from edgecond.runs.prediction import place_columns, Wanted
from edgecond.runs.user_data import Dataset

PREDICTIONS, METRICS, FINAL = "predictions.csv", "metrics.json", "final"
Row = dict[str, Any]


@dataclass(frozen=True, eq=False)
class FoldResult:
    """Metrics of a fold's model on its test set, and a row for each prediction with its place and truth."""

    fold: int
    count: int
    metrics: dict[str, float]
    header: list[str]
    rows: list[Row]


def fold_directory(out: Path, fold: int) -> Path:
    """Return the directory of a fold's run."""
    return out / f"fold{fold}"


def evaluate_fold(model: Model, dataset: Dataset, fold: int) -> FoldResult:
    """Test the model of a fold; a row has what `edgecond predict` writes, beside the truth."""
    test, task, names, wanted = dataset.test, model.task, model.classes, Wanted(model)
    views, y = model.outputs_per_member(test), test.ys.numpy()
    outputs, spreads = model.mean_and_spread(views)
    sizes = [len(test.take([number]).ys) for number in range(len(test))] if task.per_vertex else [1] * len(test)
    rows: list[Row] = []
    position = 0
    for place, size in zip(dataset.places, sizes, strict=True):
        where = place | {"file": path_text(place["file"]), "fold": fold}
        for number in range(size):
            unit = {model.kind.unit: number} if task.per_vertex else {}
            spread = None if spreads is None else spreads[position]
            truth, prediction = task.truth(names, y[position]), wanted.row(outputs[position], spread, None)
            rows.append(where | unit | truth | prediction)
            position += 1
    header = [*place_columns(model), "fold", *task.truth(names, y[0]), *wanted.columns()]
    return FoldResult(fold, len(test), model.metrics([view.mean(0) for view in views], y), header, rows)


def summarise(results: Sequence[FoldResult]) -> tuple[dict[str, float], dict[str, float]]:
    """Return the mean of each metric over the folds, and its standard deviation; NaN if a fold has none."""
    values = {name: np.array([result.metrics[name] for result in results]) for name in results[0].metrics}
    means = {name: float(some.mean()) for name, some in values.items()}
    return means, {name: float(some.std(ddof=1)) for name, some in values.items()}


def write(out: Path, results: Sequence[FoldResult]) -> None:
    """Write the out-of-fold predictions as CSV, and the metrics of all folds as JSON."""
    with atomic_file(out / PREDICTIONS) as file:
        file.write(csv_line(results[0].header).encode("utf-8", "backslashreplace"))
        for row in (row for result in results for row in result.rows):
            file.write(csv_line([row[name] for name in results[0].header]).encode("utf-8", "backslashreplace"))
    means, spreads = summarise(results)
    content = {
        "folds": [{"fold": result.fold, "examples": result.count, **_finite(result.metrics)} for result in results],
        "mean": _finite(means),
        "standard_deviation": _finite(spreads),
    }
    write_atomic(out / METRICS, (json.dumps(content, indent=1) + "\n").encode())


def _finite(metrics: Mapping[str, float]) -> dict[str, float | None]:
    """Metrics as JSON has them, which knows no NaN."""
    return {name: float(value) if np.isfinite(value) else None for name, value in metrics.items()}
