"""Dropout, D(p), that draws few random numbers (Sections 4.1 to 4.4)."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import nn, Tensor

from edgecond.convolution import native


class Dropout(nn.Dropout):
    """D(p): each element is zero with probability $p$, and $1/(1-p)$ times itself otherwise."""

    def forward(self, input: Tensor) -> Tensor:
        if not self.training or not self.p or input.device.type != "cpu" or torch.compiler.is_compiling():
            return super().forward(input)
        return input * dropout_mask(input.shape, self.p, input.dtype)


def dropout_mask(shape: Sequence[int], p: float, dtype: torch.dtype) -> Tensor:
    r"""What dropout multiplies by on a processor, where most of the time of torch's goes into random numbers."""
    mask = torch.full(tuple(shape), 1 / (1 - p) if p < 1 else 0.0, dtype=dtype)
    return native.drop_(mask, p) if 0 < p < 1 else mask
