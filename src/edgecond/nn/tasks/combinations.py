"""Several views of an example: their outputs, and names of metrics of one view, of mean scores and of votes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from jaxtyping import Float

Outputs = Float[np.ndarray, "n t"]
"""Probabilities or numbers: a row per example, or per vertex where a task is about vertices."""
Views = Sequence[Outputs]
"""The outputs of each view of the examples (test-time augmentation)."""
SCORES, VOTES = "scores", "votes"
COMBINATIONS = (SCORES, VOTES)
"""How the outputs of several views become one prediction; the first is what `predict` does."""


def combined_name(metric: str, combination: str) -> str:
    """Return the name of a metric of combined views in records; "" for that of one view.

    >>> combined_name("accuracy", VOTES), combined_name("accuracy", "")
    ('accuracy_votes', 'accuracy')
    """
    return f"{metric}_{combination}" if combination else metric


def split_name(name: str) -> tuple[str, str]:
    """Return metric and combination of a name; see `combined_name`.

    >>> split_name("class_accuracy_scores"), split_name("f1")
    (('class_accuracy', 'scores'), ('f1', ''))
    """
    metric, _, combination = name.rpartition("_")
    return (metric, combination) if combination in COMBINATIONS else (name, "")


def by_combination(metrics: Mapping[str, float]) -> dict[str, dict[str, float]]:
    """Return the metrics of each combination, and under "" those of one view.

    >>> by_combination({"f1": 0.5, "f1_votes": 0.75})
    {'scores': {}, 'votes': {'f1': 0.75}, '': {'f1': 0.5}}
    """
    found: dict[str, dict[str, float]] = {combination: {} for combination in (*COMBINATIONS, "")}
    for name, value in metrics.items():
        metric, combination = split_name(name)
        found[combination][metric] = value
    return found
