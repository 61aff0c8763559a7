"""Dropout, D(p), which draws one random number per zero and stores none (Sections 4.1 to 4.4)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import nn, Tensor

from edgecond.graph.transforms import abstract
from edgecond.nn import kernels


class Dropout(nn.Dropout):
    """D(p): set each element to zero with probability $p$, and multiply it by $1/(1-p)$ otherwise."""

    def forward(self, input: Tensor) -> Tensor:
        random = self.training and 0 < self.p < 1
        if not random or input.device.type != "cpu" or abstract(input):
            return super().forward(input)
        out: Tensor = _Dropped.apply(input, self.p, _seed())
        return out


def dropout_mask(shape: Sequence[int], p: float, dtype: torch.dtype) -> Tensor:
    """Return the mask that `Dropout` multiplies a signal by, on a CPU."""
    mask = torch.full(tuple(shape), 1 / (1 - p) if p < 1 else 0.0, dtype=dtype)
    return kernels.drop_(mask, p, _seed()) if 0 < p < 1 else mask


def _seed() -> int:
    return int(torch.empty((), dtype=torch.long).random_())


class _Dropped(torch.autograd.Function):
    """Dropout with a given random seed, from which the backward pass draws the same zeros again."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, p: float, seed: int) -> Tensor:
        ctx.p, ctx.seed = p, seed
        return kernels.drop_(x.contiguous() * (1 / (1 - p)), p, seed)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None, None]:
        return _Dropped.apply(gradient, ctx.p, ctx.seed), None, None
