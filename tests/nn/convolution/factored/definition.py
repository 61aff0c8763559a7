"""The definition that factored convolution must agree with: filters formed by the weight, then the reference."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import pytest
import torch
from torch import Tensor

from edgecond.graph import Graph
from edgecond.nn.convolution import reference
from tests.nn.convolution.zoo import (
    graph_of,
)

SIDES = ("target", "source")
bias = pytest.mark.parametrize("bias", [False, True], ids=["no bias", "bias"])
by = pytest.mark.parametrize("by", SIDES)


def by_forming_filters(graph: Graph, reduce: str) -> Callable[..., Tensor]:
    """The definition: theta is the blend of the matrices of the weight, the constant channel included."""

    def convolve(x: Tensor, hidden: Tensor, weight: Tensor) -> Tensor:
        constant = hidden.new_ones(len(hidden), len(weight) - hidden.shape[1])
        theta = torch.einsum("mk,koi->moi", torch.cat([hidden, constant], 1), weight)
        return reference(x, graph, theta, reduce)

    return convolve


# Degrees around the numbers of edges and of rows that the kernels process at a time, up to a large one.
DEGREES = (1, 47, 48, 49, 1023, 1024, 1025, 5000)


@cache
def hubs(reverse: bool) -> Graph:
    """Vertices that receive (or send, if `reverse`) that many edges."""
    pairs = [(j, i) for i, degree in enumerate(DEGREES) for j in range(degree)]
    pairs = [(i, j) for j, i in pairs] if reverse else pairs
    return graph_of(pairs, max(DEGREES))


def transposed(tensor: Tensor) -> Tensor:
    """A view with the same numbers, in another order in memory."""
    return tensor.transpose(0, -1).contiguous().transpose(0, -1)
