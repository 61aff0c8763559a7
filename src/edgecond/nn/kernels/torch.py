"""The torch backend: every device and precision, in plain torch operations.

Blends and products of rows are formed for a few channels at a time, so that none has more than `ELEMENTS` numbers (or
one channel), and summed over blocks of edges with `BLOCK` numbers each, which stay in the cache. No size is read back
from a device. Half precisions are summed in single precision.
"""

from __future__ import annotations

from collections.abc import Iterator

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from edgecond.graph import Rows
from edgecond.graph.segment import segment_sum
from edgecond.nn.kernels.interface import (
    activate,
    Activations,
    Backend,
    check_pointer,
    check_range,
    descend,
    Gradients,
    Runs,
)

ELEMENTS = 1 << 24
BLOCK = 1 << 20
PIECE = 64  # edges of a run that are multiplied at a time where the sizes of runs are not read
READABLE = ("cpu",)  # devices that need not wait for a size to be read


class Torch(Backend):
    """The sums on torch's own operations."""

    name, fused = "torch", False

    def serves(self, signal: Tensor) -> bool:
        return True

    def gather(self, rows: Rows, a: Activations, weight: Float[Tensor, "c r j"], y: Float[Tensor, "v j"]) -> Tensor:
        _check_rows(rows, a, weight, y)
        out = y.new_zeros(len(rows.pointer) - 1, weight.shape[1], dtype=_wide(y))
        hidden = _last(_activations(a))
        for channels, blends in _blends(rows, a, hidden, weight, y):
            out += torch.einsum("ncj,crj->nr", blends, weight[channels].to(out.dtype))
        return out.to(y.dtype)

    def spread(
        self,
        rows: Rows,
        a: Activations,
        weight: Float[Tensor, "c r j"],
        z: Float[Tensor, "n r"],
        y: Float[Tensor, "v j"],
        to: Gradients,
    ) -> None:
        _check_rows(rows, a, weight, y)
        activations = _activations(a)
        hidden = _last(activations)
        if to.weight is not None:
            for channels, blends in _blends(rows, a, hidden, weight, y):
                to.weight[channels] = torch.einsum("nr,ncj->crj", z.to(blends.dtype), blends).to(weight.dtype)
        for_hidden = torch.zeros_like(hidden) if hidden is not None and (to.hidden is not None or to.weights) else None
        if to.out is not None or for_hidden is not None:
            _multiply_first(rows, a, hidden, weight, z, y, to.out, for_hidden)
        if for_hidden is not None and to.weights:
            descend(a, activations, for_hidden, to)
        elif for_hidden is not None and to.hidden is not None:
            to.hidden.copy_(for_hidden)

    def products(self, runs: Runs, matrices: Float[Tensor, "g c o i"], x: Float[Tensor, "v i"], count: int) -> Tensor:
        _check_runs(runs, len(x), count)
        if 0 in (len(matrices), len(runs.source)):
            return x.new_zeros(count, matrices.shape[2])
        if x.device.type in READABLE:
            groups = zip(x[runs.source].split(runs.pointer.diff().tolist()), matrices.flatten(1, 2), strict=True)
            messages, target, scale = torch.cat([rows @ matrix.T for rows, matrix in groups]), runs.target, runs.scale
        else:
            run, edges, there = _pieces(runs)
            messages = torch.bmm(x[runs.source[edges]] * there, matrices.flatten(1, 2)[run].mT).flatten(0, 1)
            target, scale = runs.target[edges].flatten(), None if runs.scale is None else runs.scale[edges].flatten()
        if scale is not None:
            constant, slope = messages.chunk(2, 1)
            messages = torch.addcmul(constant, scale[:, None], slope)
        return segment_sum(messages, target, count)

    def outer_sums(self, runs: Runs, z: Float[Tensor, "n o"], x: Float[Tensor, "v i"]) -> Float[Tensor, "g c o i"]:
        _check_runs(runs, len(x), len(z))
        groups = len(runs.pointer) - 1
        shape = (groups, runs.channels, z.shape[1], x.shape[1])
        if 0 in (groups, len(runs.source)):
            return x.new_zeros(shape)
        left = z[runs.target]
        if runs.scale is not None:
            left = torch.cat([left, left * runs.scale[:, None]], 1)
        if x.device.type in READABLE:
            sizes = runs.pointer.diff().tolist()
            pairs = zip(left.split(sizes), x[runs.source].split(sizes), strict=True)
            return torch.cat([rows.T @ columns for rows, columns in pairs]).view(shape)
        run, edges, there = _pieces(runs)
        return segment_sum(torch.bmm(left[edges].mT, x[runs.source[edges]] * there), run, groups).view(shape)

    def drop_(self, tensor: Tensor, p: float, seed: int) -> Tensor:
        kept = torch.empty_like(tensor).bernoulli_(1 - p, generator=torch.Generator(tensor.device).manual_seed(seed))
        return tensor.mul_(kept)


TORCH = Torch()


def _check_rows(rows: Rows, a: Activations, weight: Tensor, y: Tensor) -> None:
    edges = len(rows.column)
    check_pointer(rows.pointer, edges)
    check_range("the vertices of edges", rows.column, len(y))
    check_range("the numbers of edges", rows.edge, edges)
    check_range("the index of labels", a.index, len(weight))


def _check_runs(runs: Runs, sources: int, targets: int) -> None:
    check_pointer(runs.pointer, len(runs.source))
    check_range("the sources of edges", runs.source, sources)
    check_range("the targets of edges", runs.target, targets)


def _activations(a: Activations) -> list[Tensor]:
    return [] if a.hidden is None else activate(a.hidden, a.weights, a.biases)


def _last(activations: list[Tensor]) -> Tensor | None:
    return activations[-1] if activations else None


def _multiply_first(
    rows: Rows,
    a: Activations,
    hidden: Tensor | None,
    weight: Tensor,
    z: Tensor,
    y: Tensor,
    out: Tensor | None,
    for_hidden: Tensor | None,
) -> None:
    row, dtype = rows.row, _wide(y)
    contributions = None if out is None else y.new_zeros(len(row), y.shape[1], dtype=dtype)
    for channels in _slices(rows, weight):
        products = torch.einsum("nr,crj->ncj", z.to(dtype), weight[channels].to(dtype))
        for edges in _blocks(rows, weight, channels):
            of_row = products[row[edges]]
            if contributions is not None:
                some = _dense(rows, a, hidden, weight, channels, edges, dtype)
                contributions[edges] += (some[:, None, :] @ of_row).squeeze(1)
            if for_hidden is not None:
                gradient = (of_row @ y[rows.column[edges]].to(dtype)[:, :, None]).squeeze(2).to(for_hidden.dtype)
                kept = for_hidden[:, channels]  # without the constant channel
                kept[edges if rows.edge is None else rows.edge[edges]] = gradient[:, : kept.shape[1]]
    if out is not None and contributions is not None:
        out += segment_sum(contributions, rows.column, len(out)).to(out.dtype)


def _blends(
    rows: Rows, a: Activations, hidden: Tensor | None, weight: Tensor, y: Tensor
) -> Iterator[tuple[slice, Float[Tensor, "n c j"]]]:
    r"""Yield $A_r = \sum_e a_e \otimes y_e$, a few channels at a time."""
    row, dtype = rows.row, _wide(y)
    for channels in _slices(rows, weight):
        blends = y.new_zeros(len(rows.pointer) - 1, len(weight[channels]), y.shape[1], dtype=dtype)
        for edges in _blocks(rows, weight, channels):
            some = _dense(rows, a, hidden, weight, channels, edges, dtype)
            blends.index_add_(0, row[edges], some[:, :, None] * y[rows.column[edges]].to(dtype)[:, None, :])
        yield channels, blends


def _dense(
    rows: Rows,
    a: Activations,
    hidden: Tensor | None,
    weight: Tensor,
    channels: slice,
    edges: slice,
    dtype: torch.dtype,
) -> Float[Tensor, "e c"]:
    """Return the activations of some channels of some edges, in the order of the rows."""
    numbers = edges if rows.edge is None else rows.edge[edges]
    if hidden is None:
        assert a.index is not None
        return (a.index[numbers][:, None] == torch.arange(len(weight), device=weight.device)[channels]).to(dtype)
    dense = hidden[:, channels][numbers].to(dtype)
    missing = len(weight[channels]) - dense.shape[1]
    return torch.cat([dense, dense.new_ones(len(dense), missing)], 1) if missing else dense


def _slices(rows: Rows, weight: Tensor) -> Iterator[slice]:
    """Yield channels whose blends or products have `ELEMENTS` numbers."""
    step = max(1, ELEMENTS // max(1, (len(rows.pointer) - 1) * weight.shape[2]))
    return (slice(begin, begin + step) for begin in range(0, len(weight), step))


def _blocks(rows: Rows, weight: Tensor, channels: slice) -> Iterator[slice]:
    """Yield edges that have `BLOCK` numbers in these channels."""
    step = max(1, BLOCK // max(1, len(weight[channels]) * weight.shape[2]))
    return (slice(begin, begin + step) for begin in range(0, len(rows.column), step))


def _pieces(runs: Runs) -> tuple[Int[Tensor, " p"], Int[Tensor, "p e"], Bool[Tensor, "p e 1"]]:
    """Return the run of each piece of at most `PIECE` edges, its edges, and which of them are there.

    There are as many pieces as runs of any sizes may need.
    """
    edges, groups, device = len(runs.source), len(runs.pointer) - 1, runs.source.device
    needed = (runs.pointer.diff() + PIECE - 1) // PIECE
    ends = needed.cumsum(0)
    piece = torch.arange(groups + edges // PIECE, device=device)
    run = torch.searchsorted(ends, piece, right=True).clamp(max=groups - 1)
    first = runs.pointer[run] + (piece - (ends - needed)[run]) * PIECE
    members = first[:, None] + torch.arange(PIECE, device=device)
    there = members < runs.pointer[run + 1][:, None]
    return run, members.clamp(max=edges - 1), there[:, :, None]


def _wide(y: Tensor) -> torch.dtype:
    return torch.promote_types(y.dtype, torch.float32)
