r"""The sums behind the algorithms, on C++ kernels or on their torch twin: those of the factored form first.

A graph is read row by row (`Rows`): by target, or by source for the other side. Row $r$ has signal $z_r$, the vertex
at the other end of edge $e$ has signal $y_e$, $a_e$ are the activations of the edge, and $W_c$ the weight matrices,
one per channel of $a$:

$$\text{gather: } \sum_e \sum_c a_{ec} W_c y_e \qquad
\text{spread: } \sum_c a_{ec} W_c^\top z_r, \text{ and as gradients } z_r^\top W_c\, y_e \text{ and }
\sum_r z_r \sum_e a_{ec} y_e^\top$$

Where few filters serve all edges, the edges are sorted by filter instead (`Runs`): see `products` and `outer_sums`.

The kernels serve float32 and float64 on the CPU; everything else, and a machine without them, is served by the twin.
`EDGECOND_NATIVE=0` turns them off.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

from edgecond.graph import Rows
from edgecond.nn.kernels import torch as twin

try:
    if os.environ.get("EDGECOND_NATIVE") == "0":
        raise ImportError
    from edgecond.nn.kernels import _kernels as _extension
except ImportError:
    _extension = None  # type: ignore[assignment]

_WIDE = bool(_extension and _extension.avx2() and os.environ.get("EDGECOND_NATIVE") != "plain")
_LAYERS = 8  # hidden layers that the kernels take


def available() -> bool:
    """Whether the C++ kernels are in use."""
    return _extension is not None


def serves(signal: Tensor) -> bool:
    """Whether the kernels serve signals of this type on this device."""
    known = signal.device.type == "cpu" and signal.dtype in (torch.float32, torch.float64)
    return _extension is not None and known


def instruction_set() -> str:
    """The instructions the kernels use on this processor: 'avx2', 'plain', or 'none' where there are no kernels."""
    return "none" if _extension is None else "avx2" if _WIDE else "plain"


@dataclass(frozen=True, eq=False)
class Activations:
    r"""$a_e$ for every edge: one-hot at `index`, or a row of `hidden`, or computed from it by hidden layers of $F$.

    With `weights` and `biases`, `hidden` are the labels and $a = \mathrm{relu}(\dots \mathrm{relu}(W_1 l + b_1))$. A
    weight with one channel more than $a$ is wide gives its last matrix a constant activation of 1: the bias of the
    last layer of $F$.
    """

    hidden: Float[Tensor, "m k"] | None
    index: Int[Tensor, " m"] | None = None
    weights: Sequence[Tensor] = ()
    biases: Sequence[Tensor] = ()


@dataclass(eq=False)
class Gradients:
    """What `spread` computes, for what is wanted: it adds to `out`, and fills the rest.

    Attributes:
        out: Signal at the other ends.
        hidden: Gradient of `Activations.hidden`.
        weight: Gradient of the weight.
        weights: Gradients of the hidden layers.
        biases: Gradients of their biases.
    """

    out: Float[Tensor, "v j"] | None = None
    hidden: Float[Tensor, "m k"] | None = None
    weight: Float[Tensor, "c r j"] | None = None
    weights: Sequence[Tensor] = ()
    biases: Sequence[Tensor] = ()


@dataclass(frozen=True, eq=False)
class Runs:
    r"""Edges in runs that share a filter $M_r$, or a filter $M_{0r} + s_e M_{1r}$ that is linear in a `scale` $s_e$.

    Attributes:
        pointer: Where each run begins, and where the last one ends.
        source: Vertex $j$ of each edge.
        target: Vertex $i$ of each edge.
        scale: $s_e$; none if a filter is a single matrix.
    """

    pointer: Int[Tensor, " g+1"]
    source: Int[Tensor, " m"]
    target: Int[Tensor, " m"]
    scale: Float[Tensor, " m"] | None = None

    @property
    def channels(self) -> int:
        """Matrices of a filter."""
        return 1 if self.scale is None else 2


def gather(rows: Rows, a: Activations, weight: Float[Tensor, "c r j"], y: Float[Tensor, "v j"]) -> Tensor:
    """Blend the signals of each row's neighbours, then multiply: one output per row."""
    _check(rows, a, weight, None, y)
    if not serves(y) or _empty(rows, a, weight) or len(a.weights) > _LAYERS:
        return twin.gather(rows, a, weight, y)
    out = y.new_empty(len(rows.pointer) - 1, weight.shape[1])
    _call("gather", rows, a, weight, None, y, [out])
    return out


def spread(
    rows: Rows,
    a: Activations,
    weight: Float[Tensor, "c r j"],
    z: Float[Tensor, "n r"],
    y: Float[Tensor, "v j"],
    to: Gradients,
) -> None:
    """Multiply the signal of each row, then blend onto the vertices at the other ends; and gradients."""
    if to.out is None and to.hidden is None and to.weight is None and not to.weights:
        return
    _check(rows, a, weight, z, y)
    if not serves(y) or _empty(rows, a, weight) or len(a.weights) > _LAYERS:
        return twin.spread(rows, a, weight, z, y, to)
    # The kernel writes the gradient of the weight in the layout of the weight.
    weight = weight if to.weight is None or to.weight.stride() == weight.stride() else _like(weight, to.weight)
    outputs = [to.out, to.weight, to.hidden, len(to.weights), *to.weights, *to.biases]
    _call("spread", rows, a, weight, z, y, outputs)


def products(runs: Runs, matrices: Float[Tensor, "g c o i"], x: Float[Tensor, "v i"], count: int) -> Tensor:
    r"""$\sum_{e=(j,i)} (M_{0r} + s_e M_{1r})\, x_j$ for each of `count` targets $i$, $r$ being the run of $e$."""
    _check_runs(runs, matrices.shape, x.dtype, x.shape[1], matrices.shape[2])
    if not serves(x) or 0 in (*matrices.shape, len(runs.source)):
        return twin.products(runs, matrices, x, count)
    out = x.new_zeros(count, matrices.shape[2])
    _call_sorted("products", runs, matrices, None, x, count, matrices.shape, out)
    return out


def outer_sums(runs: Runs, z: Float[Tensor, "n o"], x: Float[Tensor, "v i"]) -> Float[Tensor, "g c o i"]:
    r"""$\sum_{e=(j,i)} z_i x_j^\top$ over every run, and the same times $s_e$: the gradient of the matrices."""
    shape = (len(runs.pointer) - 1, runs.channels, z.shape[1], x.shape[1])
    _check_runs(runs, shape, x.dtype, x.shape[1], z.shape[1])
    if not serves(x) or 0 in (*shape, len(runs.source)):
        return twin.outer_sums(runs, z, x)
    out = x.new_empty(shape)
    _call_sorted("outer_sums", runs, None, z, x, len(z), shape, out)
    return out


def drop_(tensor: Tensor, p: float, seed: int) -> Tensor:
    """Set each element of a contiguous tensor to zero with probability $0 < p < 1$, in place."""
    if not serves(tensor) or not tensor.is_contiguous():
        return twin.drop_(tensor, p, seed)
    _extension.drop(tensor.dtype == torch.float64, tensor.data_ptr(), tensor.numel(), p, seed)
    return tensor


def _empty(rows: Rows, a: Activations, weight: Tensor) -> bool:
    """An empty tensor has no address, by which the kernels would know what they are given."""
    return len(rows.column) == 0 or 0 in weight.shape or (a.hidden is not None and a.hidden.shape[1] == 0)


def _check(rows: Rows, a: Activations, weight: Tensor, z: Tensor | None, y: Tensor) -> None:
    """The kernels trust every size and type."""
    edges, (channels, row_width, column_width) = len(rows.column), weight.shape
    given = [tensor for tensor in (weight, y, z, a.hidden, *a.weights, *a.biases) if tensor is not None]
    if any(tensor.dtype != y.dtype for tensor in given):
        raise ValueError(f"all tensors must have one precision: got {', '.join(str(t.dtype) for t in given)}.")
    labelled = a.index if a.hidden is None else a.hidden
    if labelled is None or len(labelled) != edges or (a.index is not None and a.index.dtype != torch.long):
        found = "none" if labelled is None else f"{tuple(labelled.shape)} of {labelled.dtype}"
        raise ValueError(f"activations, or the int64 index of labels, must have one row per edge: got {found}.")
    if a.hidden is not None:
        width = a.hidden.shape[1]
        for layer, bias in zip(a.weights, a.biases, strict=True):
            if layer.shape[1] != width or bias.shape != layer.shape[:1]:
                raise ValueError(
                    f"a hidden layer of F must take what comes before it: got a layer of {tuple(layer.shape)} "
                    f"with a bias of {tuple(bias.shape)} after {width} numbers."
                )
            width = layer.shape[0]
        if channels - width not in (0, 1):
            raise ValueError(
                f"the weight must have one matrix per activation, and perhaps one for the bias of F: "
                f"got {channels} matrices for {width} activations."
            )
    if y.shape[1] != column_width or (z is not None and tuple(z.shape) != (len(rows.pointer) - 1, row_width)):
        found = f"{tuple(y.shape)}" if z is None else f"{tuple(y.shape)} and {tuple(z.shape)}"
        raise ValueError(f"matrices of {row_width} by {column_width} do not fit signals of shape {found}.")


def _call(
    name: str,
    rows: Rows,
    a: Activations,
    weight: Tensor,
    z: Tensor | None,
    y: Tensor,
    outputs: Sequence[Tensor | int | None],
) -> None:
    kept = [tensor.contiguous() for tensor in (*a.weights, *a.biases)]  # alive until the kernel returns
    y, z = y.contiguous(), None if z is None else z.contiguous()
    hidden = None if a.hidden is None else a.hidden.contiguous()
    index = None if a.index is None else a.index.contiguous()
    pointer, column = rows.pointer.contiguous(), rows.column.contiguous()
    edge = None if rows.edge is None else rows.edge.contiguous()
    width = 0 if hidden is None else hidden.shape[1]
    widths = [width, *[len(layer) for layer in a.weights]]
    numbers = (
        torch.get_num_threads(),
        len(pointer) - 1,
        len(y),
        *map(_address, (pointer, column, edge, index, hidden)),
        widths[-1],
        *weight.shape,
        *map(_address, (z, y, weight)),
        *weight.stride(),
        len(a.weights),
        *(widths if a.weights else ()),
        *map(_address, kept),
        *map(_address, outputs),
    )
    getattr(_extension, name)(y.dtype == torch.float64, _WIDE, numbers)


def _check_runs(runs: Runs, shape: Sequence[int], dtype: torch.dtype, columns: int, rows: int) -> None:
    """As above: the kernels trust every size and type."""
    expected = (len(runs.pointer) - 1, runs.channels, rows, columns)
    if tuple(shape) != expected:
        raise ValueError(f"a matrix per run, channel and width is needed, {expected}: got {tuple(shape)}.")
    indices = (runs.pointer, runs.source, runs.target)
    if any(index.dtype != torch.long for index in indices) or len(runs.source) != len(runs.target):
        raise ValueError("runs need int64 vertex numbers, a source and a target per edge.")
    if runs.scale is not None and (runs.scale.shape != runs.source.shape or runs.scale.dtype != dtype):
        raise ValueError(
            f"runs need one scale per edge, of {dtype}: got {tuple(runs.scale.shape)} of {runs.scale.dtype}."
        )


def _call_sorted(
    name: str,
    runs: Runs,
    matrices: Tensor | None,
    z: Tensor | None,
    x: Tensor,
    targets: int,
    shape: Sequence[int],
    out: Tensor,
) -> None:
    given = (runs.pointer, runs.source, runs.target, runs.scale, z, x)
    kept = [None if tensor is None else tensor.contiguous() for tensor in given]  # alive until the kernel returns
    numbers = (
        torch.get_num_threads(),
        shape[0],
        targets,
        *map(_address, kept[:4]),
        *shape[1:],
        *map(_address, (*kept[4:], matrices)),
        *((0, 0, 0, 0) if matrices is None else matrices.stride()),
        _address(out),
    )
    getattr(_extension, name)(out.dtype == torch.float64, _WIDE, numbers)


def _address(value: Tensor | int | None) -> int:
    return value.data_ptr() if isinstance(value, Tensor) else value or 0


def _like(tensor: Tensor, example: Tensor) -> Tensor:
    """The same numbers in the memory layout of the example."""
    return torch.empty_strided(example.shape, example.stride(), dtype=tensor.dtype).copy_(tensor)
