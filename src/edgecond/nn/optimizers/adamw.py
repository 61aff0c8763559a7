"""AdamW: adaptive moments with decoupled weight decay (Loshchilov & Hutter, ICLR 2019)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar, TYPE_CHECKING

from edgecond.nn.optimizers.base import Optimizer

if TYPE_CHECKING:
    import torch
    from torch import nn


@dataclass(frozen=True)
class AdamW(Optimizer):
    """AdamW with the defaults of torch.

    Attributes:
        betas: Decay rates of the running means of gradients and of their squares.
        weight_decay: Share of each parameter, times the learning rate, that every step subtracts.
    """

    name = "adamw"
    default_learning_rate = 1e-3
    state_names: ClassVar = {"exp_avg": "exp_avg", "exp_avg_sq": "exp_avg_sq", "step": "step"}

    betas: tuple[float, float] = (0.9, 0.999)
    weight_decay: float = 1e-2

    def build(self, parameters: Iterable[nn.Parameter], learning_rate: float) -> torch.optim.Optimizer:
        from torch import optim

        return optim.AdamW(parameters, lr=learning_rate, betas=self.betas, weight_decay=self.weight_decay, fused=True)
