"""Several yes-or-no labels for each graph, some of which may be unknown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
from jaxtyping import Float
from numpy.typing import NDArray
from torch import nn, Tensor

from edgecond.nn.tasks.base import Loss, prediction_columns, Task, titles, weighted_sum
from edgecond.nn.tasks.columns import known_pairs, means
from edgecond.nn.tasks.combinations import Outputs, Views
from edgecond.nn.tasks.conformal import Scores
from edgecond.nn.tasks.findings import Finding, Gallery, Marks, percent, SHOWN, Table
from edgecond.nn.tasks.uncertainty import (
    coverage_table,
    FEWEST,
    fitted_temperature,
    Judged,
    uncertainty_section,
)


@dataclass(frozen=True)
class Multilabel(Task):
    """Predict several labels, each yes or no, for each graph: binary cross-entropy of those that are known.

    Attributes:
        temperature: Number that the scores of each label are divided by before the sigmoid; none for 1.
    """

    name: ClassVar[str] = "multilabel"
    metrics: ClassVar[Mapping[str, str]] = {
        "roc_auc": "ROC AUC",
        "average_precision": "Average precision",
        "accuracy": "Accuracy",
    }
    training_metric: ClassVar[str] = "accuracy"
    has_classes: ClassVar[bool] = True
    smooths_labels: ClassVar[bool] = True
    validation_metric: ClassVar[str] = "roc_auc"
    calibrates: ClassVar[bool] = True
    meaning: ClassVar[str] = "score of each label; its sigmoid is the probability of yes"

    explains: ClassVar[str] = "log-odds"

    temperature: tuple[float, ...] = ()

    @classmethod
    def fits(cls, targets: Sequence[Sequence[str]], per_vertex: bool) -> bool:
        return len(targets) > 1 and not per_vertex and all(len(names) in (1, 2) for names in targets)

    @classmethod
    def fit(cls, ys: Tensor, outputs: int, *, balanced: bool = False, class_weights: Sequence[float] = ()) -> Self:
        return cls()

    @classmethod
    def settings(cls, ys: NDArray[Any]) -> dict[str, Any]:
        return {"train.label_smoothing": 0.0}  # labels of most assays are rarely yes: smoothed ones rank worse

    def loss(
        self, scores: Tensor, y: Tensor, *, label_smoothing: float = 0.0, weights: Float[Tensor, " b"] | None = None
    ) -> Loss:
        known = ~y.isnan()
        predicted, truth = scores[known], y[known].to(scores.dtype)
        smooth = (1 - label_smoothing) * truth + label_smoothing / 2
        losses = nn.functional.binary_cross_entropy_with_logits(predicted, smooth, reduction="none")
        total, weight = weighted_sum(losses, known, weights)
        return Loss(total, weight, ((predicted > 0) == (truth > 0.5)).sum(), known.sum().to(scores.dtype))

    def outputs(self, scores: Tensor) -> Tensor:
        """Return the probability of yes for each label."""
        return scores.sigmoid()

    def scores(self, outputs: Tensor) -> Tensor:
        """Return the logits of the probabilities, divided by the temperature of each label."""
        return outputs.logit(eps=1e-7) / outputs.new_tensor(self.temperature or 1.0)

    @property
    def rescales(self) -> bool:
        return bool(self.temperature)

    def evaluate(self, y: Outputs, views: Views, *, average: bool = True) -> dict[str, float]:
        """Return the means over the labels that are yes for some examples and no for others."""
        return means(label_metrics(y, np.mean(views, axis=0)), self.metrics)

    def decide(self, outputs: Outputs) -> NDArray[np.int64]:
        return (outputs > 0.5).astype(int)

    def calibrated(self, y: Outputs, outputs: Outputs, spread: Outputs | None = None) -> Self:
        """Return the task with a temperature for each label; 1 where too few examples are known, or all are alike."""

        def fitted(truth: Float[np.ndarray, " k"], probability: Float[np.ndarray, " k"]) -> float:
            if len(truth) < FEWEST or not 0 < truth.sum() < len(truth):
                return 1.0

            def loss(temperature: float) -> float:
                odds = (2 * truth - 1) * _logit(probability) / temperature
                return float(np.logaddexp(0, -odds).mean())

            return fitted_temperature(loss)

        return replace(self, temperature=tuple(fitted(*pair) for pair in known_pairs(y, outputs)))

    def tempered(self, outputs: Outputs) -> Outputs:
        if not self.temperature:
            return outputs
        return 1 / (1 + np.exp(-_logit(outputs) / np.array(self.temperature)))

    def nonconformity(self, y: Outputs, outputs: Outputs, spread: Outputs | None) -> list[Float[np.ndarray, " known"]]:
        """Return how improbable the true answer is (Sadinle et al. 2019)."""
        return [np.where(truth > 0.5, 1 - p, p) for truth, p in known_pairs(y, outputs)]

    def bounds_row(
        self,
        names: Sequence[str],
        output: Float[np.ndarray, " t"],
        spread: Float[np.ndarray, " t"] | None,
        limits: Sequence[float],
    ) -> dict[str, Any]:
        """Return the answers, yes and no, that are probable enough, the more probable first; there may be none."""

        def answers(p: float, bound: float) -> str:
            ranked = sorted([("yes", 1 - p), ("no", p)], key=lambda answer: answer[1])
            return "|".join(answer for answer, improbable in ranked if improbable <= bound)

        found = zip(titles("set", names), output.tolist(), limits, strict=True)
        return {name: answers(p, bound) for name, p, bound in found}

    def judged(self, y: Outputs, outputs: Outputs, spread: Outputs | None) -> Judged:
        known = ~np.isnan(y)
        true = y[known] > 0.5
        wrong = (outputs[known] > 0.5) != true
        return Judged(wrong.astype(float), None if spread is None else spread[known], outputs[known], true)

    def uncertainty(
        self, names: Sequence[str], y: Outputs, outputs: Outputs, spread: Outputs | None, scores: Scores
    ) -> list[Finding]:
        known = ~np.isnan(y)
        if not known.any():
            return []
        parts = self.judged(y, outputs, spread).parts()
        if scores:

            def size(label: int, bound: float) -> str:
                column = outputs[known[:, label], label]
                return f"{((column <= bound).mean() + (1 - column <= bound).mean()):.2f}" if len(column) else "-"

            found = self.nonconformity(y, outputs, spread)
            parts.append(coverage_table(names, scores, found, size, "Mean number of answers"))
        return [uncertainty_section(parts, bool(self.temperature))]

    def explained(self, scores: Float[Tensor, "v n t"], target: int) -> Float[Tensor, " n"]:
        r"""Return the log-odds $\log p / (1 - p)$ of the calibrated probability of a label."""
        yes, no = (nn.functional.logsigmoid(sign * scores[:, :, target]).logsumexp(0) for sign in (1, -1))
        return (yes - no) / (self.temperature[target] if self.temperature else 1.0)

    def explained_target(self, outputs: Outputs) -> int:
        """Return the most probable label."""
        return int(outputs.mean(0).argmax())

    def columns(self, names: Sequence[str], probabilities: bool = False) -> list[str]:
        return prediction_columns(names)

    def row(self, names: Sequence[str], output: Float[np.ndarray, " t"], probabilities: bool = False) -> dict[str, Any]:
        return dict(zip(prediction_columns(names), self.rounded(output), strict=True))

    def probability_columns(self, names: Sequence[str]) -> dict[str, str]:
        return dict(zip(names, prediction_columns(names), strict=True))

    @classmethod
    def written(cls, metrics: Mapping[str, float]) -> str:
        return ", ".join(f"{name} {percent(value)}" for name, value in metrics.items())

    def findings(self, names: Sequence[str], y: Outputs, views: Views) -> list[Finding]:
        outputs = np.mean(views, axis=0)
        rows = tuple(
            (
                name,
                *(f"{metrics[metric]:.4g}" if metrics else "-" for metric in self.metrics),
                f"{int((truth == 1).sum()):,}",
                f"{int((truth == 0).sum()):,}",
            )
            for name, metrics, truth in zip(names, label_metrics(y, outputs), y.T, strict=True)
        )
        lead = (
            "ROC AUC, average precision and accuracy of each label, and its number of positive and negative test "
            "examples. A label without both kinds has no metrics."
        )
        headers = ("Label", *self.metrics.values(), "Positive", "Negative")
        return [Finding("Labels", lead, (Table(headers, rows),)), self._mistakes(names, y, outputs)]

    def marks(self, names: Sequence[str], y: Outputs, outputs: Outputs) -> Marks:
        """Return the number of positive labels of each example; those with a wrong label are marked."""
        wrong = ~np.isnan(y) & ((outputs > 0.5) != (y > 0.5))
        return Marks(np.nansum(y, 1), (), "positive labels", wrong.any(1), "a label predicted wrong")

    def _mistakes(self, names: Sequence[str], y: Outputs, outputs: Outputs) -> Finding:
        """The wrong labels with the highest probability."""
        wrong = ~np.isnan(y) & ((outputs > 0.5) != (y > 0.5))
        margin = np.where(wrong, np.abs(outputs - 0.5), 0)
        shown = [divmod(int(place), y.shape[1]) for place in np.argsort(-margin, axis=None, kind="stable")[:SHOWN]]
        shown = [(number, label) for number, label in shown if margin[number, label] > 0]
        if not shown:
            return Finding("Mistakes", "None: all predictions on the test set are right.")

        def caption(number: int, label: int) -> str:
            positive, probability = y[number, label] > 0.5, outputs[number, label]
            prediction = f"{'no' if positive else 'yes'} with probability"
            share = percent(1 - probability if positive else probability)
            return (
                f"{names[label]}: {'yes' if positive else 'no'}, predicted as {prediction} {share}\N{NO-BREAK SPACE}%"
            )

        lead = f"The {len(shown)} of {int(wrong.sum())} wrong predictions with the highest probability."
        return Finding("Mistakes", lead, (Gallery(tuple((n, caption(n, label)) for n, label in shown)),))


def _logit(probability: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the score whose sigmoid a probability is, which is finite."""
    inside = np.clip(probability, 1e-15, 1 - 1e-15)
    return np.log(inside / (1 - inside))


def label_metrics(y: Outputs, probabilities: Outputs) -> list[dict[str, float]]:
    """Return the metrics of each label; none for a label that is not both yes and no among the examples.

    Args:
        y: 1, 0 or NaN for each example and label.
        probabilities: Probability of yes.
    """
    from sklearn.metrics import average_precision_score, roc_auc_score

    return [
        {
            "roc_auc": float(roc_auc_score(truth, probability)),
            "average_precision": float(average_precision_score(truth, probability)),
            "accuracy": float(((probability > 0.5) == (truth > 0.5)).mean()),
        }
        if 0 < truth.sum() < len(truth)
        else {}
        for truth, probability in known_pairs(y, probabilities)
    ]
