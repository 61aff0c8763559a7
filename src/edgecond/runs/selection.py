"""The choice of an epoch by a validation set: its weights are kept, and training may end when none is better."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from torch import Tensor

from edgecond.nn.training import check_weights, split_prefix, Training
from edgecond.runs.blocks import Best

PREFIX = "best."  # before the names of the weights of the best epoch, in a checkpoint


@dataclass(eq=False)
class Selection:
    """The best epoch of a run so far; of equals, the last.

    Attributes:
        measure: Returns the metric on the validation set.
        training: The run's training, whose task has the name of the metric.
        patience: Number of epochs without a better one after which training ends; none for all epochs.
        best: The best epoch, if one has ended.
        weights: Its weights.
    """

    measure: Callable[[], float]
    training: Training
    patience: int | None = None
    best: Best | None = None
    weights: dict[str, Tensor] = field(default_factory=dict, repr=False)

    def end_epoch(self, epoch: int) -> dict[str, float]:
        """Compare an epoch that has ended, from 1, and return its metric by name; none where it is not defined."""
        task = self.training.task
        with self.training.predicting():
            value = self.measure()
        if not math.isfinite(value):
            return {}
        sign = -1 if task.lower_is_better else 1
        if self.best is None or sign * value >= sign * self.best.value:
            self.best, self.weights = Best(epoch=epoch, value=value), self.training.weights()
        return {f"validation_{task.validation_metric}": value}

    def exhausted(self, epochs: int) -> bool:
        """Return whether no epoch was better for as long as `patience`, of so many that have ended."""
        if self.patience is None:
            return False
        return epochs - (0 if self.best is None else self.best.epoch) >= self.patience

    def state(self) -> tuple[dict[str, Tensor], dict[str, Any]]:
        """Return what a checkpoint holds: tensors by name, and the best epoch."""
        tensors = {f"{PREFIX}{name}": value for name, value in self.weights.items()}
        return tensors, {} if self.best is None else {"best": self.best.model_dump()}

    def restore(self, tensors: Mapping[str, Tensor], best: Best | None) -> dict[str, Tensor]:
        """Take the best epoch of a checkpoint, and return the tensors that are others'."""
        weights, others = split_prefix(tensors, PREFIX)
        if best is not None:
            check_weights(self.training.network, weights)
            self.best, self.weights = best, weights
        return others
