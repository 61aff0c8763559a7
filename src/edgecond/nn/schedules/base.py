"""The interface of schedules: the learning rate of each step as a function of its position alone."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar, Self


@dataclass(frozen=True)
class Schedule(ABC):
    """How long a network is trained, and the learning rate of each step. Fields beyond these two are settings.

    A schedule has no state, so that a training resumes from its position alone.

    Attributes:
        name: Name in recipes.
        epochs: Number of epochs.
        learning_rate: Highest learning rate.
    """

    name: ClassVar[str]

    epochs: int
    learning_rate: float

    @classmethod
    def defaults(cls) -> dict[str, Any]:
        """Return the default of each setting."""
        return {field.name: field.default for field in fields(cls)[len(fields(Schedule)) :]}

    @property
    def settings(self) -> dict[str, Any]:
        """The value of each setting."""
        return {name: getattr(self, name) for name in self.defaults()}

    @property
    @abstractmethod
    def description(self) -> str:
        """The learning rates in one line."""

    @abstractmethod
    def learning_rate_at(self, epoch: int, batch: int, batches: int) -> float:
        """Return the learning rate of a step.

        Args:
            epoch: Epoch, from 0.
            batch: Batch of the epoch, from 0.
            batches: Number of batches per epoch.
        """

    def with_epochs(self, epochs: int) -> Self:
        """Return the schedule with another number of epochs, of which each learning rate keeps its share."""
        return replace(self, epochs=epochs)

    def agrees_with(self, other: Schedule, epoch: int, batch: int, batches: int) -> bool:
        """Return whether two schedules have the same learning rates in all steps before a position."""
        positions = (divmod(step, batches) for step in range(epoch * batches + batch))
        return all(self.learning_rate_at(*at, batches) == other.learning_rate_at(*at, batches) for at in positions)
