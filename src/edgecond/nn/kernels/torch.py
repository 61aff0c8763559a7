"""The torch backend: every device and precision, in plain torch operations.

The channels are processed a few at a time, so that no tensor has more than `ELEMENTS` numbers (or one channel), and no
size has to be read back from a device. Half precisions are summed in single precision.
"""

from __future__ import annotations

from collections.abc import Iterator

import torch
from jaxtyping import Float
from torch import Tensor

from edgecond.graph import Rows
from edgecond.graph.segment import segment_sum
from edgecond.nn.kernels.interface import activate, Activations, Backend, check_pointer, check_range, Gradients, Runs

ELEMENTS = 1 << 24


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
            _descend(a, activations, for_hidden, to)
        elif for_hidden is not None and to.hidden is not None:
            to.hidden.copy_(for_hidden)

    def products(self, runs: Runs, matrices: Float[Tensor, "g c o i"], x: Float[Tensor, "v i"], count: int) -> Tensor:
        _check_runs(runs, len(x), count)
        sizes = runs.pointer.diff().tolist()
        groups = zip(x.index_select(0, runs.source).split(sizes), matrices.flatten(1, 2), strict=True)
        nothing = x.new_zeros(0, runs.channels * matrices.shape[2])  # where there is no run at all
        messages = torch.cat([nothing, *[rows @ matrix.T for rows, matrix in groups]])
        if runs.scale is not None:
            constant, slope = messages.chunk(2, 1)
            messages = torch.addcmul(constant, runs.scale[:, None], slope)
        return segment_sum(messages, runs.target, count)

    def outer_sums(self, runs: Runs, z: Float[Tensor, "n o"], x: Float[Tensor, "v i"]) -> Float[Tensor, "g c o i"]:
        _check_runs(runs, len(x), len(z))
        sizes, left = runs.pointer.diff().tolist(), z.index_select(0, runs.target)
        if runs.scale is not None:
            left = torch.cat([left, left * runs.scale[:, None]], 1)
        pairs = zip(left.split(sizes), x.index_select(0, runs.source).split(sizes), strict=True)
        sums = [rows.T @ columns for rows, columns in pairs]
        return torch.cat([x.new_zeros(0, x.shape[1]), *sums]).view(len(sizes), runs.channels, z.shape[1], x.shape[1])

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


def _descend(a: Activations, activations: list[Tensor], gradient: Tensor, to: Gradients) -> None:
    """Propagate the gradient of the last activations to the hidden layers and the labels."""
    for position in reversed(range(len(a.weights))):
        gradient = gradient.masked_fill(activations[position + 1] <= 0, 0)  # as in torch, a NaN passes
        to.weights[position].copy_(gradient.T @ activations[position])
        to.biases[position].copy_(gradient.sum(0))
        if position or to.hidden is not None:
            gradient = gradient @ a.weights[position]
    if to.hidden is not None:
        to.hidden.copy_(gradient)


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
    row, neighbours = rows.row, y[rows.column].to(_wide(y))
    contributions = torch.zeros_like(neighbours)
    for channels in _slices(rows, weight):
        products = torch.einsum("nr,crj->ncj", z.to(_wide(y)), weight[channels].to(_wide(y)))[row]
        if out is not None:
            contributions += (_dense(rows, a, hidden, weight, channels, _wide(y))[:, None, :] @ products).squeeze(1)
        if for_hidden is not None:
            gradient = (products @ neighbours[:, :, None]).squeeze(2).to(for_hidden.dtype)
            kept = for_hidden[:, channels]  # without the constant channel
            kept[slice(None) if rows.edge is None else rows.edge] = gradient[:, : kept.shape[1]]
    if out is not None:
        out += segment_sum(contributions, rows.column, len(out)).to(out.dtype)


def _blends(
    rows: Rows, a: Activations, hidden: Tensor | None, weight: Tensor, y: Tensor
) -> Iterator[tuple[slice, Float[Tensor, "n c j"]]]:
    r"""Yield $A_r = \sum_e a_e \otimes y_e$, a few channels at a time."""
    row, neighbours = rows.row, y[rows.column].to(_wide(y))
    for channels in _slices(rows, weight):
        outer = _dense(rows, a, hidden, weight, channels, neighbours.dtype)[:, :, None] * neighbours[:, None, :]
        yield channels, segment_sum(outer, row, len(rows.pointer) - 1)


def _dense(
    rows: Rows, a: Activations, hidden: Tensor | None, weight: Tensor, channels: slice, dtype: torch.dtype
) -> Float[Tensor, "m c"]:
    """Return the activations of some channels, in the order of the rows."""
    edges = slice(None) if rows.edge is None else rows.edge
    if hidden is None:
        assert a.index is not None
        return (a.index[edges][:, None] == torch.arange(len(weight), device=weight.device)[channels]).to(dtype)
    dense = hidden[:, channels][edges].to(dtype)
    missing = len(range(len(weight))[channels]) - dense.shape[1]
    return torch.cat([dense, dense.new_ones(len(dense), missing)], 1) if missing else dense


def _slices(rows: Rows, weight: Tensor) -> Iterator[slice]:
    step = max(1, ELEMENTS // max(1, len(rows.column) * weight.shape[2]))
    return (slice(begin, begin + step) for begin in range(0, len(weight), step))


def _wide(y: Tensor) -> torch.dtype:
    return torch.promote_types(y.dtype, torch.float32)
