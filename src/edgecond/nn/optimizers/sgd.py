"""Stochastic gradient descent with momentum, the optimizer of the paper (Section 4)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar, TYPE_CHECKING

from edgecond.nn.optimizers.base import Optimizer

if TYPE_CHECKING:
    import torch
    from torch import nn


@dataclass(frozen=True)
class SGD(Optimizer):
    """Stochastic gradient descent; momentum and weight decay are those of the authors' code.

    Attributes:
        momentum: Share of the previous update that is kept.
        weight_decay: L2 penalty on all parameters, added to their gradients.
    """

    name = "sgd"
    default_learning_rate = 0.1
    state_names: ClassVar = {"momentum": "momentum_buffer"}

    momentum: float = 0.9
    weight_decay: float = 5e-4

    def build(self, parameters: Iterable[nn.Parameter], learning_rate: float) -> torch.optim.Optimizer:
        from torch import optim

        return optim.SGD(
            parameters, lr=learning_rate, momentum=self.momentum, weight_decay=self.weight_decay, fused=True
        )
