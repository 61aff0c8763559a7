"""One or more numbers for each graph, some of which may be unknown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import floor, log10
from typing import Any, ClassVar, Self

import numpy as np
import torch
from jaxtyping import Float
from numpy.typing import NDArray
from torch import Tensor

from edgecond.nn.tasks.base import DECIMALS, Loss, prediction_columns, Task, titles, weighted_sum
from edgecond.nn.tasks.columns import known_pairs, means
from edgecond.nn.tasks.combinations import Outputs, Views
from edgecond.nn.tasks.conformal import Scores
from edgecond.nn.tasks.findings import Finding, Gallery, Marks, Part, Scatter, SHOWN, Table
from edgecond.nn.tasks.uncertainty import coverage_table, Judged, retention_curve, uncertainty_section

DIGITS = 7
"""Number of digits of a target's standard deviation that are written."""

OFFSET = 2.0**16
"""Standard deviations that the mean of a target may be from 0: single precision has steps of 1/128 of one there."""


@dataclass(frozen=True)
class Regression(Task):
    """Predict one or more numbers for each graph: squared error, in standard deviations of the training set.

    Attributes:
        mean: Mean of each target over the training set.
        scale: Standard deviation of each target over the training set.
        spread: Mean spread of an ensemble over its calibration set; none without one.
    """

    name: ClassVar[str] = "regression"
    metrics: ClassVar[Mapping[str, str]] = {
        "rmse": "Root mean squared error",
        "mae": "Mean absolute error",
        "r2": "R²",
    }
    training_metric: ClassVar[str] = "mse"
    validation_metric: ClassVar[str] = "rmse"
    lower_is_better: ClassVar[bool] = True
    calibrates: ClassVar[bool] = True
    meaning: ClassVar[str] = "each target, less its mean and divided by its scale, which the objective holds"

    mean: tuple[float, ...]
    scale: tuple[float, ...]
    spread: tuple[float, ...] = ()

    @classmethod
    def fits(cls, targets: Sequence[Sequence[str]], per_vertex: bool) -> bool:
        return len(targets) > 0 and not any(targets) and per_vertex == cls.per_vertex

    @classmethod
    def fit(cls, ys: Tensor, outputs: int, *, balanced: bool = False, class_weights: Sequence[float] = ()) -> Self:
        mean = ys.nanmean(0)
        scale = (ys - mean).square().nanmean(0).sqrt()
        scale = torch.where((scale > 0) & scale.isfinite(), scale, 1.0)
        return cls(tuple(mean.nan_to_num().tolist()), tuple(scale.tolist()))

    @classmethod
    def check_targets(cls, ys: Tensor, names: Sequence[str]) -> None:
        numbers = ys.double().reshape(-1, len(names))
        means, scales = numbers.nanmean(0), (numbers - numbers.nanmean(0)).square().nanmean(0).sqrt()
        largest = numbers.abs().nan_to_num().amax(0)
        for name, mean, scale, most in zip(names, means.tolist(), scales.tolist(), largest.tolist(), strict=True):
            if most > torch.finfo(torch.float32).max:
                raise ValueError(f"must hold numbers of single precision: {name} has {most:.3g}. Scale it down.")
            if abs(mean) > OFFSET * scale > 0:
                raise ValueError(
                    f"must hold numbers that single precision can tell apart: {name} lies around {mean:.6g}, with a "
                    f"standard deviation of {scale:.3g}. Subtract {mean:.6g}."
                )

    def continued(self, start: Self, places: Sequence[int | None]) -> Self:
        """Return the task with the units of the targets that are kept, which the weights of the last FC are in."""

        def kept(old: Sequence[float], new: Sequence[float]) -> tuple[float, ...]:
            return tuple(value if place is None else old[place] for value, place in zip(new, places, strict=True))

        return replace(self, mean=kept(start.mean, self.mean), scale=kept(start.scale, self.scale))

    @classmethod
    def settings(cls, ys: NDArray[Any]) -> dict[str, Any]:
        return {"train.label_smoothing": 0.0}

    @classmethod
    def _required(cls) -> tuple[str, ...]:
        return ("mean", "scale")

    def loss(
        self, scores: Tensor, y: Tensor, *, label_smoothing: float = 0.0, weights: Float[Tensor, " b"] | None = None
    ) -> Loss:
        known, scale = ~y.isnan(), scores.new_tensor(self.scale).expand_as(scores)
        errors = (self.outputs(scores) - y.to(scores.dtype))[known]
        total, weight = weighted_sum((errors / scale[known]).square(), known, weights)
        return Loss(total, weight, errors.detach().square().sum(), known.sum().to(scores.dtype))

    def outputs(self, scores: Tensor) -> Tensor:
        """Return the numbers in their own units."""
        return scores.new_tensor(self.mean) + scores.new_tensor(self.scale) * scores

    def scores(self, outputs: Tensor) -> Tensor:
        """Return the numbers in standard deviations from the mean."""
        return (outputs - outputs.new_tensor(self.mean)) / outputs.new_tensor(self.scale)

    def evaluate(self, y: Outputs, views: Views, *, average: bool = True) -> dict[str, float]:
        """Return the means over the targets, of the mean predictions over views."""
        return means(error_metrics(y, np.mean(views, axis=0)), self.metrics)

    def decide(self, outputs: Outputs) -> Outputs:
        return outputs

    def calibrated(self, y: Outputs, outputs: Outputs, spread: Outputs | None = None) -> Self:
        """Return the task with the mean spread of an ensemble, if its networks differ."""
        mean = () if spread is None else tuple(spread.mean(0).tolist())
        return replace(self, spread=mean if min(mean, default=0) > 0 else ())

    def nonconformity(self, y: Outputs, outputs: Outputs, spread: Outputs | None) -> list[Float[np.ndarray, " known"]]:
        """Return the absolute errors in units of `_unit`."""
        errors = np.abs(y - outputs) / self._unit(spread)
        return [column[~np.isnan(column)] for column in errors.T]

    def bounds_row(
        self,
        names: Sequence[str],
        output: Float[np.ndarray, " t"],
        spread: Float[np.ndarray, " t"] | None,
        limits: Sequence[float],
    ) -> dict[str, Any]:
        half = np.array(limits) * self._unit(spread)
        lower = zip(titles("lower", names), self.rounded(output - half), strict=True)
        upper = zip(titles("upper", names), self.rounded(output + half), strict=True)
        return {name: end for pair in zip(lower, upper, strict=True) for name, end in pair}

    def judged(self, y: Outputs, outputs: Outputs, spread: Outputs | None) -> Judged:
        """Return errors and spreads of all targets in standard deviations of the training set."""
        known, scale = ~np.isnan(y), np.array(self.scale)
        return Judged((np.abs(y - outputs) / scale)[known], None if spread is None else (spread / scale)[known])

    def uncertainty(
        self, names: Sequence[str], y: Outputs, outputs: Outputs, spread: Outputs | None, scores: Scores
    ) -> list[Finding]:
        parts: list[Part] = []
        if spread is not None:
            for name, truth, predicted, spreads in zip(names, y.T, outputs.T, spread.T, strict=True):
                if (known := ~np.isnan(truth)).any():
                    errors = np.abs(truth - predicted)[known]
                    parts.append(retention_curve(errors, spreads[known], f"Mean absolute error of {name}"))
        if scores:
            unit = np.broadcast_to(self._unit(spread), y.shape)

            def size(target: int, bound: float) -> str:
                return f"{2 * bound * unit[:, target].mean():.4g}"

            found = self.nonconformity(y, outputs, spread)
            parts.append(coverage_table(names, scores, found, size, "Mean width of intervals"))
        return [uncertainty_section(parts, False)] if parts else []

    def _unit(self, spread: NDArray[np.float64] | None) -> NDArray[np.float64]:
        """Return the unit of errors: a standard deviation of the training set, or the spread plus its mean.

        Without the mean, intervals would vanish where the networks of an ensemble happen to agree.
        """
        return np.array(self.scale) if spread is None or not self.spread else spread + np.array(self.spread)

    def explained(self, scores: Float[Tensor, "v n t"], target: int) -> Float[Tensor, " n"]:
        """Return the predicted number, in its own units."""
        return self.outputs(scores)[:, :, target].mean(0)

    def columns(self, names: Sequence[str], probabilities: bool = False) -> list[str]:
        return prediction_columns(names)

    def row(self, names: Sequence[str], output: Float[np.ndarray, " t"], probabilities: bool = False) -> dict[str, Any]:
        return dict(zip(prediction_columns(names), self.rounded(output), strict=True))

    def rounded(self, numbers: Float[np.ndarray, " t"]) -> list[float]:
        """Return a number for each target, with seven digits of its standard deviation and at least six decimals."""
        return [round(float(number), _decimals(scale)) for number, scale in zip(numbers, self.scale, strict=True)]

    def findings(self, names: Sequence[str], y: Outputs, views: Views) -> list[Finding]:
        outputs = np.mean(views, axis=0)
        rows, plots = [], []
        columns = zip(names, y.T, outputs.T, error_metrics(y, outputs), strict=True)
        for name, truth, predicted, metrics in columns:
            known = np.flatnonzero(~np.isnan(truth))
            numbers = [f"{metrics[metric]:.4g}" if metrics else "-" for metric in self.metrics]
            rows.append((name, *numbers, f"{len(known):,}"))
            if metrics:
                caption = f"{name}, predictions over the truth: root mean squared error {numbers[0]}."
                plots.append(Scatter(truth[known], predicted[known], None if self.per_vertex else known, caption))
        table = Table(("Target", *self.metrics.values(), "Count"), tuple(rows))
        lead = (
            "The metrics of each target, and its number of known values in the test set. On the dotted line of a plot, "
            "predictions equal the truth."
        )
        return [Finding("Targets", lead, (table, *plots)), *self._errors(names, y, outputs)]

    def marks(self, names: Sequence[str], y: Outputs, outputs: Outputs) -> Marks:
        """Return the first target of each example; errors of more than a standard deviation are marked."""
        errors = np.abs(np.nan_to_num(outputs - y)) / np.array(self.scale)
        return Marks(y[:, 0], (), names[0], (errors > 1).any(1), "error above a standard deviation of the training set")

    def _errors(self, names: Sequence[str], y: Outputs, outputs: Outputs) -> list[Finding]:
        """The largest errors, in standard deviations of the training set."""
        if self.per_vertex:
            return []
        errors = np.abs(np.nan_to_num((outputs - y) / np.array(self.scale)))
        shown = [divmod(int(place), y.shape[1]) for place in np.argsort(-errors, axis=None, kind="stable")[:SHOWN]]
        examples = tuple(
            (number, f"{names[target]}: {y[number, target]:.4g}, predicted {outputs[number, target]:.4g}")
            for number, target in shown
            if errors[number, target] > 0
        )
        if not examples:
            return [Finding("Errors", "There are none.")]
        lead = "The largest errors, relative to the standard deviation of their target."
        return [Finding("Errors", lead, (Gallery(examples),))]


def _decimals(scale: float) -> int:
    """Return the number of decimals with which numbers of a standard deviation are written."""
    return max(DECIMALS, DIGITS - 1 - floor(log10(scale))) if scale > 0 else DECIMALS


def error_metrics(y: Outputs, predicted: Outputs) -> list[dict[str, float]]:
    """Return RMSE, MAE and $R^2$ of each target; none for a target that is unknown for all examples."""
    columns: list[dict[str, float]] = []
    for truth, prediction in known_pairs(y, predicted):
        if not len(truth):
            columns.append({})
            continue
        square, variance = float(((prediction - truth) ** 2).mean()), float(truth.var())
        r2 = 1 - square / variance if variance else float("nan")
        columns.append({"rmse": square**0.5, "mae": float(np.abs(prediction - truth).mean()), "r2": r2})
    return columns
