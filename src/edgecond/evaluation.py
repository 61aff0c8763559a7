"""Scores of a trained network: weighted F1, accuracies, confusion; votes and scores over several looks (Section 4)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from edgecond.graph import Sample
from edgecond.objective import Objective, ONE_CLASS

Scores = NDArray[np.float64]  # (examples, classes)
Classes = NDArray[np.int64]  # (examples,)


@torch.no_grad()
def predict(
    network: nn.Module, batches: Iterable[Sample], objective: Objective = ONE_CLASS
) -> tuple[Scores, NDArray[Any]]:
    """What the network says of every sample, probabilities or quantities, and what is true."""
    network.eval()
    device = next(network.parameters()).device
    scores, ys = [], []
    for sample in batches:
        sample = sample.to(device)
        scores.append(objective.outputs(network(sample.x, sample.pyramid)).double().cpu())
        ys.append(sample.y.cpu())
    return torch.cat(scores).numpy(), torch.cat(ys).numpy()


def average_scores(looks: Sequence[Scores]) -> Classes:
    """The class with the highest mean probability over several looks at each example (ECC-5-scores)."""
    return np.mean(looks, axis=0).argmax(1)


def vote(looks: Sequence[Scores]) -> Classes:
    """The class that most looks at each example favour (ECC-12-votes); among equals, the more probable."""
    classes = looks[0].shape[1]
    votes = sum(np.eye(classes)[look.argmax(1)] for look in looks)
    return (votes + 1e-3 * np.mean(looks, axis=0)).argmax(1)


def confusion(y: Classes, predicted: Classes, classes: int) -> NDArray[np.int64]:
    """How many examples of each true class (row) were taken for each class (column)."""
    return np.bincount(y * classes + predicted, minlength=classes * classes).reshape(classes, classes)


def metrics(y: Classes, predicted: Classes, classes: int) -> dict[str, float]:
    """The figures of the paper's tables.

    Returns:
        `f1`: F1 of each class, weighted by its frequency, as scikit-learn computes it; `f1_legacy`: the same with the
        authors' denominator max(1, P + R), which is too low for weak classes; `accuracy`: mean over instances;
        `class_accuracy`: mean over the classes that occur.
    """
    table = confusion(y, predicted, classes).astype(float)
    hits, true, taken = table.diagonal(), table.sum(1), table.sum(0)
    precision = np.divide(hits, taken, out=np.zeros(classes), where=taken > 0)
    recall = np.divide(hits, true, out=np.zeros(classes), where=true > 0)
    product, total = 2 * precision * recall, precision + recall
    f1 = np.divide(product, total, out=np.zeros(classes), where=total > 0)
    weights = true / true.sum()
    return {
        "f1": float(weights @ f1),
        "f1_legacy": float(weights @ (product / np.maximum(1.0, total))),
        "accuracy": float(hits.sum() / true.sum()),
        "class_accuracy": float(recall[true > 0].mean()),
    }


def figures(y: Classes, looks: Sequence[Scores], *, every: bool = True) -> dict[str, float]:
    """The figures of one look at each example and, if there are several, those of their votes and mean scores.

    Args:
        y: True classes.
        looks: Scores of each look.
        every: One look is the mean over all of them; the first otherwise.
    """
    classes = looks[0].shape[1]
    single = looks if every else looks[:1]
    found = metrics(np.tile(y, len(single)), np.concatenate([look.argmax(1) for look in single]), classes)
    if len(looks) > 1:
        for way, taken in (("votes", vote(looks)), ("scores", average_scores(looks))):
            found |= {f"{name}_{way}": value for name, value in metrics(y, taken, classes).items()}
    return found


def answers(y: Scores, probabilities: Scores) -> dict[str, float]:
    """The figures of questions with yes or no: means over the questions that have both answers among the examples.

    Args:
        y: 1, 0 or NaN for each example and question.
        probabilities: Of yes.
    """
    from sklearn.metrics import average_precision_score, roc_auc_score

    found = []
    for truth, probability in zip(y.T, probabilities.T, strict=True):
        known = ~np.isnan(truth)
        truth, probability = truth[known], probability[known]
        if 0 < truth.sum() < len(truth):
            hits = float(((probability > 0.5) == (truth > 0.5)).mean())
            found.append((roc_auc_score(truth, probability), average_precision_score(truth, probability), hits))
    means = np.mean(found, axis=0).tolist() if found else [float("nan")] * 3
    return dict(zip(("roc_auc", "average_precision", "accuracy"), means, strict=True))


def errors(y: Scores, predicted: Scores) -> dict[str, float]:
    """The figures of quantities, means over them: root of the mean squared error, mean absolute error, and $R^2$."""
    found = []
    for truth, guess in zip(y.T, predicted.T, strict=True):
        known = ~np.isnan(truth)
        if known.any():
            error, spread = (guess - truth)[known], float(truth[known].var())
            square = float((error**2).mean())
            found.append((square**0.5, float(np.abs(error).mean()), 1 - square / spread if spread else float("nan")))
    means = np.mean(found, axis=0).tolist() if found else [float("nan")] * 3
    return dict(zip(("rmse", "mae", "r2"), means, strict=True))
