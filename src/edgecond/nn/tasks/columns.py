"""Metrics of several targets, column by column, where a target may be unknown for some examples."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np
from jaxtyping import Float


def known_pairs(
    y: Float[np.ndarray, "n t"], predicted: Float[np.ndarray, "n t"]
) -> Iterator[tuple[Float[np.ndarray, " k"], Float[np.ndarray, " k"]]]:
    """Yield the known values of each column and the predictions for them."""
    for truth, prediction in zip(y.T, predicted.T, strict=True):
        known = ~np.isnan(truth)
        yield truth[known], prediction[known]


def means(columns: Sequence[Mapping[str, float]], names: Iterable[str]) -> dict[str, float]:
    """Return the mean of each metric over the columns that have metrics, NaN if none has."""
    known = [metrics for metrics in columns if metrics]
    return {name: float(np.mean([metrics[name] for metrics in known])) if known else float("nan") for name in names}
