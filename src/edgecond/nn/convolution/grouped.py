r"""The sum over edges that are sorted by filter, with derivatives of every order.

$$\text{grouped}(x, M, s)_i = \sum_{(j,i)} (M_{0r} + s_{ji} M_{1r})\, x_j$$

for edges in run $r$. Its gradient with respect to $x$ is a sum of the same kind, with the ends of the edges exchanged
and the matrices transposed.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from edgecond.graph.transforms import transformed
from edgecond.nn import kernels
from edgecond.nn.kernels import Runs, TORCH


def grouped(
    x: Float[Tensor, "n_src i"], matrices: Float[Tensor, "g c o i"], runs: Runs, count: int
) -> Float[Tensor, "n o"]:
    """Sum over the edges into each of `count` targets; see `Runs`.

    Args:
        x: Signal on the source vertices.
        matrices: $M$, one or two matrices per run.
        runs: The edges, sorted by run, and their scales.
        count: Number of targets.
    """
    dtype = torch.promote_types(x.dtype, matrices.dtype)  # a half from autocast is computed in the wider type
    with torch.autocast(x.device.type, enabled=False):
        scale = None if runs.scale is None else runs.scale.to(dtype)
        x, matrices, runs = x.to(dtype), matrices.to(dtype), replace(runs, scale=scale)
        return TORCH.products(runs, matrices, x, count) if transformed() else _products(x, matrices, runs, count)


def _products(x: Tensor, matrices: Tensor, runs: Runs, count: int) -> Tensor:
    out: Tensor = _Products.apply(x, matrices, runs.scale, runs, count)
    return out


def _outer_sums(z: Tensor, x: Tensor, runs: Runs) -> Tensor:
    out: Tensor = _OuterSums.apply(z, x, runs.scale, runs)
    return out


def _turned(runs: Runs, scale: Tensor | None) -> Runs:
    """Return the edges with source and target exchanged."""
    return Runs(runs.pointer, runs.target, runs.source, scale)


def _for_scale(z: Tensor, x: Tensor, matrices: Tensor, runs: Runs) -> Tensor:
    r"""Return the gradient of the scales, $z_i^\top M_{1r}\, x_j$ for every edge."""
    edges = torch.arange(len(runs.source), device=x.device)
    slopes = _products(x, matrices[:, 1:], Runs(runs.pointer, runs.source, edges), len(edges))
    return (z.index_select(0, runs.target) * slopes).sum(1)


class _Products(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, matrices: Tensor, scale: Tensor | None, runs: Runs, count: int) -> Tensor:
        ctx.runs = runs
        ctx.save_for_backward(x, matrices, scale)
        return kernels.products(runs, matrices, x, count)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        x, matrices, scale = ctx.saved_tensors
        needs_x, needs_matrices, needs_scale = ctx.needs_input_grad[:3]
        runs = replace(ctx.runs, scale=scale)
        for_x = _products(gradient, matrices.mT, _turned(runs, scale), len(x)) if needs_x else None
        for_matrices = _outer_sums(gradient, x, runs) if needs_matrices else None
        for_scale = _for_scale(gradient, x, matrices, runs) if needs_scale else None
        return for_x, for_matrices, for_scale, None, None


class _OuterSums(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, z: Tensor, x: Tensor, scale: Tensor | None, runs: Runs) -> Tensor:
        ctx.runs = runs
        ctx.save_for_backward(z, x, scale)
        return kernels.outer_sums(runs, z, x)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        z, x, scale = ctx.saved_tensors
        needs_z, needs_x, needs_scale = ctx.needs_input_grad[:3]
        runs = replace(ctx.runs, scale=scale)
        for_z = _products(x, gradient, runs, len(z)) if needs_z else None
        for_x = _products(z, gradient.mT, _turned(runs, scale), len(x)) if needs_x else None
        for_scale = _for_scale(z, x, gradient, runs) if needs_scale else None
        return for_z, for_x, for_scale, None
