"""The step schedule of the paper: the learning rate is divided by ten after given epochs (Section 4)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from math import floor
from typing import Self

from edgecond.nn.schedules.base import Schedule

FACTOR = 0.1


@dataclass(frozen=True)
class Steps(Schedule):
    """A constant learning rate that is divided by ten after each of some epochs.

    Attributes:
        drops: Numbers of epochs after which the learning rate drops.
    """

    name = "steps"

    drops: tuple[int, ...] = ()

    @property
    def description(self) -> str:
        counts = sorted(Counter(drop for drop in self.drops if drop < self.epochs).items())
        drops = ", ".join(
            f"by {10**count} after {_epochs([str(drop) for drop, _ in group])}"
            for count, group in groupby(counts, key=lambda item: item[1])
        )
        return f"learning rate {self.learning_rate:g}" + (f", divided {drops}" if drops else "")

    def learning_rate_at(self, epoch: int, batch: int, batches: int) -> float:
        return self.learning_rate * FACTOR ** sum(epoch >= drop for drop in self.drops)

    def with_epochs(self, epochs: int) -> Self:
        """Scale the drops, rounded half up to whole epochs; the first epoch keeps the initial learning rate."""
        drops = (max(1, floor(drop * epochs / self.epochs + 0.5)) if drop > 0 else drop for drop in self.drops)
        return replace(self, epochs=epochs, drops=tuple(drops))


def _epochs(numbers: Sequence[str]) -> str:
    *first, last = numbers
    return f"epochs {', '.join(first)} and {last}" if first else f"epoch {last}"
