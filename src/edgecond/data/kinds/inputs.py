"""Names of what enters a network: columns of the signal, of the edge labels at each level, and beside the graph.

A model that starts from another one keeps the weights of the columns that both have.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Inputs:
    """Names of the columns that enter a network.

    Attributes:
        signal: Columns of the input signal.
        labels: Columns of the edge labels at each level.
        features: Columns beside the graph.
    """

    signal: Sequence[str]
    labels: Sequence[Sequence[str]]
    features: Sequence[str] = ()


def numbered(names: Sequence[str], width: int, other: str) -> list[str]:
    """Return the names of so many columns; those after the named ones are numbered from 0.

    >>> numbered(["intensity"], 3, "signal")
    ['intensity', 'signal 0', 'signal 1']
    """
    return [*names[:width], *(f"{other} {number}" for number in range(width - len(names)))]
