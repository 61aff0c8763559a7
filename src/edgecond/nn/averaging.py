"""The exponential moving average of the weights of a network in training, which predicts instead of the last ones."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import torch
from torch import nn, Tensor

WARM_UP = 10
"""The average forgets its first weights, which are random, after about so many steps."""


@dataclass(eq=False)
class Average:
    r"""The average $a_t = \beta_t a_{t-1} + (1 - \beta_t) w_t$ of the weights $w_t$ after each step $t$.

    $\beta_t$ is the decay, but at first $t / (t + 9)$, as an average over few steps should be one of these alone.

    Attributes:
        decay: The decay $\beta$: the average is over about $1 / (1 - \beta)$ steps.
        weights: The average by the names of the weights; that of running means and variances too.
    """

    decay: float
    weights: dict[str, Tensor] = field(repr=False)

    @staticmethod
    def of(network: nn.Module, decay: float) -> Average:
        """Return the average before the first step."""
        return Average(decay, {name: value.detach().clone() for name, value in network.state_dict().items()})

    @torch.no_grad()
    def update(self, network: nn.Module, step: int) -> None:
        """Take in the weights after a step.

        Args:
            network: The network.
            step: Number of the step, from 1.
        """
        decay = min(self.decay, step / (step + WARM_UP - 1))
        averages, values = [], []
        for name, value in network.state_dict().items():
            if value.is_floating_point():
                averages.append(self.weights[name])
                values.append(value)
            else:
                self.weights[name].copy_(value)  # a count of batches
        torch._foreach_lerp_(averages, values, 1 - decay)

    def restore(self, weights: Mapping[str, Tensor]) -> None:
        """Take the average of a checkpoint."""
        for name, value in self.weights.items():
            value.copy_(weights[name])
