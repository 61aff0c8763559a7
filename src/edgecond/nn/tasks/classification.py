"""One class of several for each graph: cross-entropy and the metrics of the paper's tables (Section 4)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
import torch
from jaxtyping import Float, Int
from numpy.typing import NDArray
from torch import nn, Tensor

from edgecond.nn.tasks.base import Loss, Task
from edgecond.nn.tasks.combinations import combined_name, Outputs, SCORES, Views, VOTES
from edgecond.nn.tasks.conformal import Scores
from edgecond.nn.tasks.findings import Cards, ConfusionMatrix, Finding, Gallery, Marks, percent, SHOWN, Table
from edgecond.nn.tasks.uncertainty import (
    coverage_table,
    FEWEST,
    fitted_temperature,
    Judged,
    uncertainty_section,
)

Classes = Int[np.ndarray, " n"]

_SMALLEST = 1e-30  # probability whose logarithm is taken
UNBALANCED = 3.0
"""Classes are weighted equally if the most frequent is this many times as frequent as the rarest."""


@dataclass(frozen=True)
class Classification(Task):
    """Predict one class of several for each graph. A class of -1 is unknown.

    Attributes:
        weights: Weight of each class in the loss; none for equal weights.
        temperature: Number that scores are divided by before the softmax; none for 1.
    """

    name: ClassVar[str] = "classification"
    metrics: ClassVar[Mapping[str, str]] = {
        "accuracy": "Accuracy",
        "f1": "Weighted F1",
        "f1_legacy": "F1 as in the authors' code",
        "class_accuracy": "Mean class accuracy",
    }
    special_metrics: ClassVar[frozenset[str]] = frozenset({"f1_legacy"})
    training_metric: ClassVar[str] = "accuracy"
    meaning: ClassVar[str] = "score of each class; the softmax of the scores is the probability"
    weights_classes: ClassVar[bool] = True
    has_classes: ClassVar[bool] = True
    smooths_labels: ClassVar[bool] = True
    validation_metric: ClassVar[str] = "accuracy"
    calibrates: ClassVar[bool] = True
    explains: ClassVar[str] = "log-odds"
    unit: ClassVar[str] = "examples"

    weights: tuple[float, ...] = ()
    temperature: tuple[float, ...] = ()

    @classmethod
    def fits(cls, targets: Sequence[Sequence[str]], per_vertex: bool) -> bool:
        return len(targets) == 1 and len(targets[0]) > 0 and per_vertex == cls.per_vertex

    @classmethod
    def fit(cls, ys: Tensor, outputs: int, *, balanced: bool = False, class_weights: Sequence[float] = ()) -> Self:
        if class_weights or not balanced:
            return cls(tuple(class_weights))
        known = ys[ys >= 0]
        counts = torch.bincount(known, minlength=outputs).clamp(min=1)
        return cls(tuple((len(known) / (outputs * counts)).tolist()))

    @classmethod
    def settings(cls, ys: NDArray[Any]) -> dict[str, Any]:
        counts = np.bincount(ys[ys >= 0])
        return {"balanced": bool(counts.max() > UNBALANCED * counts[counts > 0].min())}

    @classmethod
    def strata(cls, ys: NDArray[Any]) -> NDArray[np.int64] | None:
        return ys

    @classmethod
    def check_targets(cls, ys: Tensor, names: Sequence[str]) -> None:
        classes = set(ys.tolist())
        if len(classes) == 1:
            raise ValueError(f"must have at least two classes: all examples are of the class {names[classes.pop()]}.")

    def loss(
        self, scores: Tensor, y: Tensor, *, label_smoothing: float = 0.0, weights: Float[Tensor, " b"] | None = None
    ) -> Loss:
        classes = scores.new_tensor(self.weights) if self.weights else None
        losses = nn.functional.cross_entropy(
            scores,
            y,
            classes,
            ignore_index=-1,
            reduction="sum" if weights is None else "none",
            label_smoothing=label_smoothing,
        )
        known = y >= 0
        count = scores.new_tensor(int(known.sum()))
        each = None if classes is None else classes[y[known]]
        if weights is not None:
            losses, each = losses @ weights, weights[known] * (1.0 if each is None else each)
        return Loss(losses, count if each is None else each.sum(), (scores.argmax(1) == y).sum(), count)

    def outputs(self, scores: Tensor) -> Tensor:
        """Return the probabilities of the classes."""
        return scores.softmax(1)

    def scores(self, outputs: Tensor) -> Tensor:
        """Return the logarithms of the probabilities, divided by the temperature."""
        return outputs.clamp(min=_SMALLEST).log() / (self.temperature or (1.0,))[0]

    @property
    def rescales(self) -> bool:
        return bool(self.temperature)

    def evaluate(self, y: Classes, views: Views, *, average: bool = True) -> dict[str, float]:
        """Return the metrics of a single view and, if there are several, those of their votes and mean scores."""
        classes = views[0].shape[1]
        single = views if average else views[:1]
        predicted = np.concatenate([view.argmax(1) for view in single])
        metrics = class_metrics(np.tile(y, len(single)), predicted, classes)
        if len(views) > 1:
            for combination, predicted in ((VOTES, vote(views)), (SCORES, average_scores(views))):
                combined = class_metrics(y, predicted, classes)
                metrics |= {combined_name(name, combination): value for name, value in combined.items()}
        return metrics

    def decide(self, outputs: Outputs) -> Classes:
        return outputs.argmax(1)

    def calibrated(self, y: Classes, outputs: Outputs, spread: Outputs | None = None) -> Self:
        """Return the task with the temperature of the least cross-entropy (Guo et al. 2017)."""
        known = np.flatnonzero(y >= 0)
        if len(known) < FEWEST:
            return self

        def loss(temperature: float) -> float:
            probabilities = _softmax_of_logs(outputs[known], temperature)
            return -float(np.log(np.maximum(probabilities[np.arange(len(known)), y[known]], _SMALLEST)).mean())

        return replace(self, temperature=(fitted_temperature(loss),))

    def tempered(self, outputs: Outputs) -> Outputs:
        return _softmax_of_logs(outputs, self.temperature[0]) if self.temperature else outputs

    def nonconformity(self, y: Classes, outputs: Outputs, spread: Outputs | None) -> list[Float[np.ndarray, " known"]]:
        """Return how improbable the true class is (Sadinle et al. 2019)."""
        known = np.flatnonzero(y >= 0)
        return [1 - outputs[known, y[known]]]

    def targets(self, names: Sequence[str]) -> list[str]:
        return ["class"]

    def spread_row(
        self, names: Sequence[str], output: Float[np.ndarray, " t"], spread: Float[np.ndarray, " t"]
    ) -> dict[str, float]:
        return {"spread": round(float(spread[output.argmax()]), 6)}

    def bounds_row(
        self,
        names: Sequence[str],
        output: Float[np.ndarray, " t"],
        spread: Float[np.ndarray, " t"] | None,
        limits: Sequence[float],
    ) -> dict[str, Any]:
        """Return the classes that are probable enough, the most probable first; there may be none."""
        ranked = np.argsort(-output, kind="stable")
        return {"set": "|".join(names[c] for c in ranked if 1 - output[c] <= limits[0])}

    def judged(self, y: Classes, outputs: Outputs, spread: Outputs | None) -> Judged:
        known = np.flatnonzero(y >= 0)
        chosen = outputs[known].argmax(1)
        right = chosen == y[known]
        of_chosen = None if spread is None else spread[known, chosen]
        return Judged((~right).astype(float), of_chosen, outputs[known, chosen], right)

    def uncertainty(
        self, names: Sequence[str], y: Classes, outputs: Outputs, spread: Outputs | None, scores: Scores
    ) -> list[Finding]:
        parts = self.judged(y, outputs, spread).parts()
        if scores:

            def size(_: int, bound: float) -> str:
                return f"{(1 - outputs[y >= 0] <= bound).sum(1).mean():.2f}"

            found = self.nonconformity(y, outputs, spread)
            parts.append(coverage_table(["class"], scores, found, size, "Mean number of classes"))
        return [uncertainty_section(parts, bool(self.temperature))]

    def confusion(self, y: Classes, views: Views) -> NDArray[np.int64]:
        return confusion(y, vote(views), views[0].shape[1])

    def explained(self, scores: Float[Tensor, "v n t"], target: int) -> Float[Tensor, " n"]:
        r"""Return the log-odds $\log p / (1 - p)$ of the calibrated probability of a class.

        Probabilities saturate, and the score of one class may rise with those of all others; log-odds do neither.
        """
        logs = scores.log_softmax(2).logsumexp(0) / (self.temperature or (1.0,))[0]
        others = [number for number in range(logs.shape[1]) if number != target]
        return logs[:, target] - logs[:, others].logsumexp(1)

    def explained_target(self, outputs: Outputs) -> int:
        """Return the predicted class, or the one that is predicted for most vertices."""
        return int(np.bincount(self.decide(outputs)).argmax())

    def columns(self, names: Sequence[str], probabilities: bool = False) -> list[str]:
        return ["class", "probability", *([f"p({name})" for name in names] if probabilities else [])]

    def row(self, names: Sequence[str], output: Float[np.ndarray, " t"], probabilities: bool = False) -> dict[str, Any]:
        numbers = [round(float(value), 6) for value in output]
        prediction = {"class": names[int(output.argmax())], "probability": max(numbers)}
        return prediction | ({f"p({name})": p for name, p in zip(names, numbers, strict=True)} if probabilities else {})

    def probability_columns(self, names: Sequence[str]) -> dict[str, str]:
        return {name: f"p({name})" for name in names}

    def truth(self, names: Sequence[str], y: Any) -> dict[str, Any]:
        return {"truth": names[int(y)] if y >= 0 else ""}

    def point_columns(self, names: Sequence[str], outputs: Outputs) -> tuple[dict[str, NDArray[Any]], list[str]]:
        """Return class and probability of each point; classes are numbered as in the data if those are numbers."""
        classes = self.class_numbers(names)
        comments = [f"class {number} is {name}" for number, name in classes.items()]
        columns = {"class": np.array([*classes])[outputs.argmax(1)], "probability": outputs.max(1)}
        return columns, [] if comments == [f"class {name} is {name}" for name in names] else comments

    def class_numbers(self, names: Sequence[str]) -> dict[int, str]:
        numbered = all(name.isdecimal() for name in names)
        return {int(name) if numbered else place: name for place, name in enumerate(names)}

    def headline(
        self, metrics: Mapping[str, float], training: Mapping[str, float], views: int, extra: Sequence[str] = ()
    ) -> Finding:
        shown = self.shown(self.metrics, extra)
        cards = [(self.metrics[name], f"{percent(metrics[name])} %") for name in shown]
        cards.append(("Training accuracy", f"{percent(training['accuracy'])} %"))
        if views == 1:
            return Finding("Metrics", "", (Cards(tuple(cards)),))
        rows = tuple(
            (self.metrics[name], *(percent(metrics[combined_name(name, how)]) for how in ("", VOTES, SCORES)))
            for name in shown
        )
        headers = ("In per cent", "One view", f"Votes of {views} views", f"Mean scores of {views} views")
        return Finding("Metrics", "", (Cards(tuple(cards)), Table(headers, rows)))

    def findings(self, names: Sequence[str], y: Classes, views: Views) -> list[Finding]:
        return [*self._classes(names, y, views), self._mistakes(names, y, views)]

    def marks(self, names: Sequence[str], y: Classes, outputs: Outputs) -> Marks:
        return Marks(y, tuple(names), "class", (y >= 0) & (outputs.argmax(1) != y))

    @classmethod
    def written(cls, metrics: Mapping[str, float]) -> str:
        return ", ".join(f"{name} {percent(value)}" for name, value in metrics.items())

    @classmethod
    def _count(cls, name: str, outputs: int) -> int:
        return 1 if name == "temperature" else outputs

    def _classes(self, names: Sequence[str], y: Classes, views: Views) -> list[Finding]:
        """The confusion matrix, and precision, recall and F1 of each class."""
        counts = confusion(y, vote(views), len(names))
        caption = f"Test {self.unit} by class (row) and predicted class (column)."
        how = f"the majority vote of {len(views)} views" if len(views) > 1 else "the most probable class"
        precision, recall, f1 = precision_recall_f1(counts)
        rows = [
            (name, percent(precision[i]), percent(recall[i]), percent(f1[i]), f"{counts[i].sum():,}")
            for i, name in enumerate(names)
        ]
        lead = (
            f"Precision, recall and F1, their harmonic mean, of each class in per cent, and its number of {self.unit}."
        )
        return [
            Finding("Confusion", f"The prediction is {how}.", (ConfusionMatrix(counts, tuple(names), caption),)),
            Finding("Classes", lead, (Table(("Class", "Precision", "Recall", "F1", "Count"), tuple(rows)),)),
        ]

    def _mistakes(self, names: Sequence[str], y: Classes, views: Views) -> Finding:
        """The wrong predictions with the highest probability."""
        predicted = vote(views)
        probability = np.mean(views, axis=0)[np.arange(len(y)), predicted]
        wrong = np.flatnonzero(predicted != y)
        shown = wrong[np.argsort(-probability[wrong], kind="stable")][:SHOWN].tolist()
        if not shown:
            return Finding("Mistakes", "None: all predictions on the test set are right.")
        examples = tuple(
            (
                number,
                f"{names[y[number]]}, predicted as {names[predicted[number]]} "
                f"with probability {percent(probability[number])}\N{NO-BREAK SPACE}%",
            )
            for number in shown
        )
        lead = f"The {len(shown)} of {len(wrong)} wrong predictions with the highest probability."
        return Finding("Mistakes", lead, (Gallery(examples),))


def _softmax_of_logs(outputs: Outputs, temperature: float) -> Outputs:
    """Return the softmax of the logarithms of probabilities, divided by a temperature; their order stays."""
    logs = np.log(np.maximum(outputs, _SMALLEST)) / temperature
    powers = np.exp(logs - logs.max(1, keepdims=True))
    return powers / powers.sum(1, keepdims=True)


def average_scores(views: Views) -> Classes:
    """Return the class with the highest mean probability over the views of each example (ECC-5-scores)."""
    return np.mean(views, axis=0).argmax(1)


def vote(views: Views) -> Classes:
    """Return the class predicted in most views of each example (ECC-12-votes); of equals, the more probable."""
    classes = views[0].shape[1]
    votes = sum(np.eye(classes)[view.argmax(1)] for view in views)
    return (votes + 1e-3 * np.mean(views, axis=0)).argmax(1)


def confusion(y: Classes, predicted: Classes, classes: int) -> NDArray[np.int64]:
    """Count the examples of each class (row) predicted as each class (column); a class of -1 is unknown."""
    y, predicted = y[y >= 0], predicted[y >= 0]
    return np.bincount(y * classes + predicted, minlength=classes * classes).reshape(classes, classes)


def precision_recall_f1(counts: Int[np.ndarray, "c c"]) -> tuple[Outputs, Outputs, Outputs]:
    """Return precision, recall and F1 of each class from a confusion matrix; 0 where one is not defined."""
    hits, true, predicted = counts.diagonal().astype(float), counts.sum(1), counts.sum(0)
    precision = np.divide(hits, predicted, out=np.zeros(len(hits)), where=predicted > 0)
    recall = np.divide(hits, true, out=np.zeros(len(hits)), where=true > 0)
    total = precision + recall
    f1 = np.divide(2 * precision * recall, total, out=np.zeros(len(hits)), where=total > 0)
    return precision, recall, f1


def class_metrics(y: Classes, predicted: Classes, classes: int) -> dict[str, float]:
    """Return the metrics of the paper's tables.

    Returns:
        `f1`: F1 of each class, weighted by its frequency, as scikit-learn computes it; `f1_legacy`: the same with the
        authors' denominator max(1, P + R), which is too low for weak classes; `accuracy`: mean over examples;
        `class_accuracy`: mean over the classes that occur.
    """
    counts = confusion(y, predicted, classes)
    precision, recall, f1 = precision_recall_f1(counts)
    table = counts.astype(float)
    hits, true = table.diagonal(), table.sum(1)
    weights = true / true.sum()
    return {
        "f1": float(weights @ f1),
        "f1_legacy": float(weights @ (2 * precision * recall / np.maximum(1.0, precision + recall))),
        "accuracy": float(hits.sum() / true.sum()),
        "class_accuracy": float(recall[true > 0].mean()),
    }
