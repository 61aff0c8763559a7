"""What a report says where a network answers questions with yes or no, or predicts quantities."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from jaxtyping import Float
from numpy import ndarray as Array

from edgecond.nn import evaluation
from edgecond.nn.objective import Quantities
from edgecond.report.figures import Panel, scatter
from edgecond.report.page import figures, section, table
from edgecond.report.seen import called, legend, shown
from edgecond.runs.model import Learnable, Model

DRAWN = 6
"""Wrong answers, or errors, that are drawn at most."""


def percent(share: float) -> str:
    """With two places."""
    return f"{100 * share:.2f}"


def answers(model: Model, test: Learnable, outputs: Float[Array, "n t"]) -> list[str]:
    """The figures of each question, and the wrong answers that the network was surest of."""
    y, every = test.ys.numpy(), evaluation.each_answer(test.ys.numpy(), outputs)
    rows = [
        [
            name,
            *(f"{found[figure]:.4g}" if found else "-" for figure in ("roc_auc", "average_precision", "accuracy")),
            f"{int((truth == 1).sum()):,}",
            f"{int((truth == 0).sum()):,}",
        ]
        for name, found, truth in zip(model.classes, every, y.T, strict=True)
    ]
    lead = (
        "Area under the ROC curve, average precision and accuracy of each question, and its test examples by their "
        "true answer. A question that has one answer alone among them has no figures."
    )
    headers = ["Question", "ROC AUC", "Average precision", "Accuracy", "Yes", "No"]
    sure = np.where(np.isnan(y) | ((outputs > 0.5) == (y > 0.5)), 0, np.abs(outputs - 0.5))

    def said(number: int, question: int) -> str:
        truth, probability = y[number, question] > 0.5, outputs[number, question]
        wrong = f"{'no' if truth else 'yes'} with probability {percent(1 - probability if truth else probability)}"
        return f"{model.classes[question]}: {'yes' if truth else 'no'}, answered {wrong}\N{NO-BREAK SPACE}%"

    title, lead_wrong = "Mistakes", "wrong answers that the network was surest of"
    return [section("Questions", lead, table(headers, rows)), _worst(title, lead_wrong, test, sure, said)]


def quantities(model: Model, test: Learnable, outputs: Float[Array, "n t"]) -> list[str]:
    """Each quantity as predicted and as it is, and the largest errors in units of its deviation."""
    assert isinstance(model.objective, Quantities)
    y, names = test.ys.numpy(), [called(test, number) for number in range(len(test))]
    panels, rows = [], []
    for name, truth, guess, found in zip(model.classes, y.T, outputs.T, evaluation.each_error(y, outputs), strict=True):
        known = np.flatnonzero(~np.isnan(truth))
        rows.append([name, *(f"{found[figure]:.4g}" if found else "-" for figure in ("rmse", "mae", "r2"))])
        rows[-1].append(f"{len(known):,}")
        if found:
            drawn = scatter(truth[known], guess[known], [names[number] for number in known.tolist()])
            panels.append(Panel(drawn, f"{name} as predicted over the truth: root mean squared error {rows[-1][1]}."))
    errors = np.abs(np.nan_to_num((outputs - y) / np.array(model.objective.scale)))

    def said(number: int, quantity: int) -> str:
        truth, guess = y[number, quantity], outputs[number, quantity]
        return f"{model.classes[quantity]} is {truth:.4g}, predicted {guess:.4g}"

    lead = "On the dotted line a prediction is true."
    columns = ["Quantity", "Root mean squared error", "Mean absolute error", "R²", "Count"]
    return [
        section("Quantities", lead, table(columns, rows), figures(panels)),
        _worst("Largest errors", "errors that are largest in deviations of the quantity", test, errors, said),
    ]


def _worst(
    title: str, what: str, test: Learnable, how_wrong: Float[Array, "n t"], said: Callable[[int, int], str]
) -> str:
    """The examples and targets that are most wrong, from the worst on; what is zero is right."""
    wrong = int((how_wrong > 0).sum())
    if not wrong:
        return section(title, "There are none.")
    worst = np.argsort(-how_wrong, axis=None, kind="stable")[: min(DRAWN, wrong)]
    places = [divmod(int(place), how_wrong.shape[1]) for place in worst]
    panels = [shown(test, number, said(number, target)) for number, target in places]
    return section(title, f"The {len(panels)} of {wrong:,} {what}. {legend(test)}", figures(panels))
