"""How kinds of data word what they have found."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

SHOWN = 10
"""Files or rows that are named before the rest is counted."""


def data_name(path: Path) -> str:
    """Return the name of user data, after their path."""
    return path.resolve().stem


def skipped(sentences: Sequence[str]) -> list[str]:
    """Return a line for each file or row that was skipped, or for the first of many."""
    more = [f"skipped: {len(sentences) - SHOWN} more"] if len(sentences) > SHOWN else []
    return [f"skipped: {sentence}" for sentence in sentences[:SHOWN]] + more


def number_range(examples: Any) -> str:
    """Return the range of the numbers of points or vertices."""
    ys = examples.ys.numpy()
    ranges = zip(examples.classes, np.nanmin(ys, axis=0), np.nanmax(ys, axis=0), strict=True)
    return ", ".join(f"{name} from {low:.4g} to {high:.4g}" for name, low, high in ranges)


def class_counts(examples: Any) -> str:
    """Return the number of points or vertices of each class."""
    counts = np.bincount(examples.ys[examples.ys >= 0].numpy(), minlength=len(examples.classes))
    return ", ".join(f"{name} ({count:,})" for name, count in zip(examples.classes, counts.tolist(), strict=True))
