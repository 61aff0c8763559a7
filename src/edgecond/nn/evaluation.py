"""Scores of a trained network: weighted F1, accuracies, confusion; votes and scores over several looks (Section 4)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from edgecond.errors import EdgecondError
from edgecond.graph import Sample
from edgecond.nn.objective import Objective, ONE_CLASS

Scores = NDArray[np.float64]  # (examples, classes)
Classes = NDArray[np.int64]  # (examples,)


class NonFiniteOutputError(EdgecondError, ArithmeticError):
    """The network gave numbers that are infinite or not numbers."""


@torch.no_grad()
def predict(
    network: nn.Module, batches: Iterable[Sample], objective: Objective = ONE_CLASS
) -> tuple[Scores, NDArray[Any]]:
    """What the network says of every sample, probabilities or quantities, and what is true.

    A network that classifies vertices says it of each, and where points were joined to vertices, of every point.
    """
    network.eval()
    device = next(network.parameters()).device
    scores, ys = [], []
    for sample in batches:
        sample = sample.to(device)
        found, y = objective.outputs(network(sample.x, sample.pyramid)), sample.y
        if sample.voxel is not None:
            found, y = found[sample.voxel], y[sample.voxel]
        scores.append(found.double().cpu())
        ys.append(y.cpu())
    return torch.cat(scores).numpy(), torch.cat(ys).numpy()


def check_finite(looks: Sequence[Scores]) -> None:
    """There are no figures of outputs that are not numbers: the largest of them would be any class."""
    bad = int((~np.isfinite(np.asarray(looks))).any(axis=(0, 2)).sum())
    if bad:
        raise NonFiniteOutputError(
            f"a network must give finite numbers: this one does not for {bad} of {len(looks[0])} examples. "
            "A lower learning rate is the usual cure; look for very large numbers in the data otherwise."
        )


def average_scores(looks: Sequence[Scores]) -> Classes:
    """The class with the highest mean probability over several looks at each example (ECC-5-scores)."""
    return np.mean(looks, axis=0).argmax(1)


def vote(looks: Sequence[Scores]) -> Classes:
    """The class that most looks at each example favour (ECC-12-votes); among equals, the more probable."""
    classes = looks[0].shape[1]
    votes = sum(np.eye(classes)[look.argmax(1)] for look in looks)
    return (votes + 1e-3 * np.mean(looks, axis=0)).argmax(1)


def confusion(y: Classes, predicted: Classes, classes: int) -> NDArray[np.int64]:
    """How many examples of each true class (row) were taken for each class (column); a class of -1 is unknown."""
    y, predicted = y[y >= 0], predicted[y >= 0]
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


def vertices(y: Classes, probabilities: Scores) -> dict[str, float]:
    r"""The figures of vertices, or of points, whose class is known.

    Args:
        y: True class of each, -1 where it is unknown.
        probabilities: Of the classes.

    Returns:
        `accuracy`: the share that is right; `class_accuracy`: its mean over the classes that occur; `mean_iou`: the
        mean of $|T_c \cap P_c| / |T_c \cup P_c|$ over the classes $c$ that occur or are predicted, where $T_c$ are
        the vertices of that class and $P_c$ those taken for it.
    """
    table = confusion(y, probabilities.argmax(1), probabilities.shape[1]).astype(float)
    hits, true, taken = table.diagonal(), table.sum(1), table.sum(0)
    if not true.any():
        return dict.fromkeys(("accuracy", "class_accuracy", "mean_iou"), float("nan"))
    union = true + taken - hits
    return {
        "accuracy": float(hits.sum() / true.sum()),
        "class_accuracy": float((hits[true > 0] / true[true > 0]).mean()),
        "mean_iou": float((hits[union > 0] / union[union > 0]).mean()),
    }


def answers(y: Scores, probabilities: Scores) -> dict[str, float]:
    """The figures of questions with yes or no: means over the questions that have both answers among the examples.

    Args:
        y: 1, 0 or NaN for each example and question.
        probabilities: Of yes.
    """
    return _means(each_answer(y, probabilities), ("roc_auc", "average_precision", "accuracy"))


def each_answer(y: Scores, probabilities: Scores) -> list[dict[str, float]]:
    """The figures of each question; none of one that has not both answers among the examples."""
    from sklearn.metrics import average_precision_score, roc_auc_score

    found: list[dict[str, float]] = []
    for truth, probability in _known(y, probabilities):
        both = 0 < truth.sum() < len(truth)
        found.append(
            {
                "roc_auc": float(roc_auc_score(truth, probability)),
                "average_precision": float(average_precision_score(truth, probability)),
                "accuracy": float(((probability > 0.5) == (truth > 0.5)).mean()),
            }
            if both
            else {}
        )
    return found


def errors(y: Scores, predicted: Scores) -> dict[str, float]:
    """The figures of quantities, means over them: root of the mean squared error, mean absolute error, and $R^2$."""
    return _means(each_error(y, predicted), ("rmse", "mae", "r2"))


def each_error(y: Scores, predicted: Scores) -> list[dict[str, float]]:
    """The figures of each quantity; none of one that is unknown of all examples."""
    found: list[dict[str, float]] = []
    for truth, guess in _known(y, predicted):
        if not len(truth):
            found.append({})
            continue
        square, spread = float(((guess - truth) ** 2).mean()), float(truth.var())
        r2 = 1 - square / spread if spread else float("nan")
        found.append({"rmse": square**0.5, "mae": float(np.abs(guess - truth).mean()), "r2": r2})
    return found


def _known(y: Scores, predicted: Scores) -> Iterator[tuple[Scores, Scores]]:
    """Of each column, what is known of the truth and what was predicted of it."""
    for truth, guess in zip(y.T, predicted.T, strict=True):
        known = ~np.isnan(truth)
        yield truth[known], guess[known]


def _means(found: Sequence[dict[str, float]], names: Sequence[str]) -> dict[str, float]:
    known = [each for each in found if each]
    return {name: float(np.mean([each[name] for each in known])) if known else float("nan") for name in names}
