"""The C++ backend: float32 and float64 on the CPU, with AVX-512 or AVX2 where the processor has it.

Shapes and types are checked in Python; the numbers of edges and vertices in C++, in every call, before they are used.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from types import ModuleType

import torch
from jaxtyping import Float
from torch import Tensor

from edgecond.graph import Rows
from edgecond.nn.kernels.interface import Activations, Backend, Gradients, Runs
from edgecond.nn.kernels.torch import TORCH

_extension: ModuleType | None
try:
    if os.environ.get("EDGECOND_NATIVE") == "0":
        raise ImportError
    from edgecond.nn.kernels import _kernels as _extension
except ImportError:
    _extension = None

LAYERS = 8  # the largest number of hidden layers that the kernels compute
_DTYPES = (torch.float32, torch.float64)


class Cpp(Backend):
    """The sums on the C++ kernels. Empty tensors, which have no address, and deep networks $F$ are left to torch.

    Args:
        extension: The compiled kernels; none where they were not built or are turned off.
        most: Name of the widest instruction set to use; the widest of the processor by default.
    """

    name, fused = "cpp", True

    def __init__(self, extension: ModuleType | None, most: str | None = None) -> None:
        self.extension = extension
        self.set = len(self.sets) - 1 if most not in self.sets else self.sets.index(most)

    @property
    def sets(self) -> tuple[str, ...]:
        """The instruction sets of the processor that there are kernels for, from the narrowest to the widest."""
        names: tuple[str, ...] = () if self.extension is None else self.extension.instruction_sets()
        return names

    @property
    def available(self) -> bool:
        """Whether there are kernels to call."""
        return self.extension is not None

    @property
    def instruction_set(self) -> str:
        """'avx512', 'avx2', 'plain', or 'none' without kernels."""
        return "none" if self.extension is None else self.sets[self.set]

    def serves(self, signal: Tensor) -> bool:
        return self.extension is not None and signal.dtype in _DTYPES and signal.device.type == "cpu"

    def gather(self, rows: Rows, a: Activations, weight: Float[Tensor, "c r j"], y: Float[Tensor, "v j"]) -> Tensor:
        if _left_to_torch(rows, a, weight):
            return TORCH.gather(rows, a, weight, y)
        out = y.new_empty(rows.pointer.shape[0] - 1, weight.shape[1])
        self._call_rows("gather", rows, a, weight, None, y, out.data_ptr())
        return out

    def spread(
        self,
        rows: Rows,
        a: Activations,
        weight: Float[Tensor, "c r j"],
        z: Float[Tensor, "n r"],
        y: Float[Tensor, "v j"],
        to: Gradients,
    ) -> None:
        if _left_to_torch(rows, a, weight):
            return TORCH.spread(rows, a, weight, z, y, to)
        # The kernel writes the gradient of the weight in the layout of the weight.
        weight = weight if to.weight is None or to.weight.stride() == weight.stride() else _like(weight, to.weight)
        gradients = {
            "out": _address(to.out),
            "weight": _address(to.weight),
            "hidden": _address(to.hidden),
            "weights": _addresses(to.weights),
            "biases": _addresses(to.biases),
        }
        self._call_rows("spread", rows, a, weight, z, y, gradients)

    def products(
        self, runs: Runs, matrices: Float[Tensor, "g c o i"], x: Float[Tensor, "v i"], count: int
    ) -> Float[Tensor, "n o"]:
        if 0 in (*matrices.shape, runs.source.shape[0]):
            return TORCH.products(runs, matrices, x, count)
        out = x.new_zeros(count, matrices.shape[2])
        self._call_runs("products", runs, matrices, None, x, matrices.shape, out)
        return out

    def outer_sums(self, runs: Runs, z: Float[Tensor, "n o"], x: Float[Tensor, "v i"]) -> Float[Tensor, "g c o i"]:
        shape = (runs.pointer.shape[0] - 1, runs.channels, z.shape[1], x.shape[1])
        if 0 in (*shape, runs.source.shape[0]):
            return TORCH.outer_sums(runs, z, x)
        out = x.new_empty(shape)
        self._call_runs("outer_sums", runs, None, z, x, shape, out)
        return out

    def drop_(self, tensor: Tensor, p: float, seed: int) -> Tensor:
        if not tensor.is_contiguous():
            return TORCH.drop_(tensor, p, seed)
        assert self.extension is not None
        double = tensor.dtype == torch.float64
        self.extension.drop(double=double, elements=tensor.data_ptr(), count=tensor.numel(), p=p, seed=seed)
        return tensor

    def _call_rows(
        self,
        name: str,
        rows: Rows,
        a: Activations,
        weight: Tensor,
        z: Tensor | None,
        y: Tensor,
        results: int | dict[str, int | tuple[int, ...] | None],
    ) -> None:
        # The contiguous copies have names here so that they live until the kernel returns.
        weights, biases = ([tensor.contiguous() for tensor in layers] for layers in (a.weights, a.biases))
        y, z = y.contiguous(), None if z is None else z.contiguous()
        hidden = None if a.hidden is None else a.hidden.contiguous()
        index = None if a.index is None else a.index.contiguous()
        pointer, column = rows.pointer.contiguous(), rows.column.contiguous()
        edge = None if rows.edge is None else rows.edge.contiguous()
        widths = [0 if hidden is None else hidden.shape[1], *[layer.shape[0] for layer in weights]]
        channels, row_width, column_width = weight.shape
        weight_channel, weight_row, weight_column = weight.stride()
        numbers = {
            "threads": torch.get_num_threads(),
            "rows": pointer.shape[0] - 1,
            "columns": y.shape[0],
            "edges": column.shape[0],
            "hidden_width": widths[-1],
            "channels": channels,
            "row_width": row_width,
            "column_width": column_width,
            "weight_channel": weight_channel,
            "weight_row": weight_row,
            "weight_column": weight_column,
            "widths": tuple(widths) if weights else (),
        }
        addresses = {
            "pointer": pointer.data_ptr(),
            "column": column.data_ptr(),
            "edge": _address(edge),
            "index": _address(index),
            "hidden": _address(hidden),
            "row_signal": _address(z),
            "column_signal": y.data_ptr(),
            "weight": weight.data_ptr(),
            "weights": _addresses(weights),
            "biases": _addresses(biases),
        }
        getattr(self.extension, name)(y.dtype == torch.float64, self.set, numbers, addresses, results)

    def _call_runs(
        self,
        name: str,
        runs: Runs,
        matrices: Tensor | None,
        z: Tensor | None,
        x: Tensor,
        shape: Sequence[int],
        out: Tensor,
    ) -> None:
        pointer, source, target = runs.pointer.contiguous(), runs.source.contiguous(), runs.target.contiguous()
        scale = None if runs.scale is None else runs.scale.contiguous()
        x, z = x.contiguous(), None if z is None else z.contiguous()
        groups, channels, row_width, column_width = shape
        strides = (0, 0, 0, 0) if matrices is None else matrices.stride()
        numbers = {
            "threads": torch.get_num_threads(),
            "runs": groups,
            "sources": x.shape[0],
            "targets": out.shape[0] if z is None else z.shape[0],
            "edges": source.shape[0],
            "channels": channels,
            "row_width": row_width,
            "column_width": column_width,
            "weight_run": strides[0],
            "weight_channel": strides[1],
            "weight_row": strides[2],
            "weight_column": strides[3],
        }
        addresses = {
            "pointer": pointer.data_ptr(),
            "source": source.data_ptr(),
            "target": target.data_ptr(),
            "scale": _address(scale),
            "row_signal": _address(z),
            "column_signal": x.data_ptr(),
            "weight": _address(matrices),
        }
        getattr(self.extension, name)(out.dtype == torch.float64, self.set, numbers, addresses, out.data_ptr())


def _left_to_torch(rows: Rows, a: Activations, weight: Tensor) -> bool:
    empty = rows.column.shape[0] == 0 or 0 in weight.shape or (a.hidden is not None and a.hidden.shape[1] == 0)
    return empty or len(a.weights) > LAYERS or any(layer.shape[0] == 0 for layer in a.weights)


def _address(tensor: Tensor | None) -> int | None:
    return None if tensor is None else tensor.data_ptr()


def _addresses(tensors: Iterable[Tensor]) -> tuple[int, ...]:
    return tuple([tensor.data_ptr() for tensor in tensors])


def _like(tensor: Tensor, example: Tensor) -> Tensor:
    """Return the same numbers in the memory layout of the example."""
    return torch.empty_strided(example.shape, example.stride(), dtype=tensor.dtype).copy_(tensor)


CPP = Cpp(_extension, os.environ.get("EDGECOND_NATIVE"))
