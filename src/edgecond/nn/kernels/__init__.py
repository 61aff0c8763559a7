"""The sums behind the exact algorithms: one interface, one module per backend, and the choice among them by tensor.

The C++ kernels serve float32 and float64 on the CPU, Triton's serve float32 and the halves on GPUs; torch serves every
other device and precision, and machines on which the kernels were not built or Triton is not installed.
`EDGECOND_NATIVE=0` turns the C++ kernels off; `avx2` and `plain` turn wider vectors off.
"""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext

from jaxtyping import Float
from torch import Tensor  # no `import torch` here: the name is that of a module of this package
from torch.amp import autocast, is_autocast_available

from edgecond.graph import Rows
from edgecond.nn.kernels.cpp import CPP
from edgecond.nn.kernels.interface import (
    activate,
    Activations,
    Backend,
    check_gradients,
    check_range,
    check_rows,
    check_runs,
    Gradients,
    Runs,
)
from edgecond.nn.kernels.torch import TORCH
from edgecond.nn.kernels.triton import TRITON

__all__ = [
    "BACKENDS",
    "TORCH",
    "Activations",
    "Backend",
    "Gradients",
    "Runs",
    "activate",
    "available",
    "backend_for",
    "check_range",
    "drop_",
    "fuses",
    "gather",
    "instruction_set",
    "outer_sums",
    "products",
    "spread",
]

BACKENDS: tuple[Backend, ...] = (CPP, TRITON, TORCH)  # in order of preference; the last serves every tensor


def available() -> bool:
    """Return whether the C++ kernels are in use."""
    return CPP.available


def instruction_set() -> str:
    """Return the instructions that the C++ kernels use on this processor: 'avx512', 'avx2', 'plain' or 'none'."""
    return CPP.instruction_set


def backend_for(signal: Tensor) -> Backend:
    """Return the preferred backend for signals of this device and precision."""
    for backend in BACKENDS:
        if backend.serves(signal):
            return backend
    raise ValueError(f"no backend serves {signal.dtype} on {signal.device}.")


def fuses(signal: Tensor) -> bool:
    """Return whether hidden layers of $F$ are computed where they are needed, so that no activation is stored."""
    return backend_for(signal).fused


def gather(rows: Rows, a: Activations, weight: Float[Tensor, "c r j"], y: Float[Tensor, "v j"]) -> Tensor:
    """Blend the signals of the neighbours of each row, then multiply: one output per row."""
    check_rows(rows, a, weight, None, y)
    with _without_autocast(y):
        return backend_for(y).gather(rows, a, weight, y)


def spread(
    rows: Rows,
    a: Activations,
    weight: Float[Tensor, "c r j"],
    z: Float[Tensor, "n r"],
    y: Float[Tensor, "v j"],
    to: Gradients,
) -> None:
    """Multiply the signal of each row, then blend onto the vertices at the other ends; compute the gradients."""
    if to.empty:
        return
    check_rows(rows, a, weight, z, y)
    check_gradients(to, a, weight, y)
    with _without_autocast(y):
        backend_for(y).spread(rows, a, weight, z, y, to)


def products(
    runs: Runs, matrices: Float[Tensor, "g c o i"], x: Float[Tensor, "v i"], count: int
) -> Float[Tensor, "n o"]:
    r"""Return $\sum_{e=(j,i)} (M_{0r} + s_e M_{1r})\, x_j$ for each of `count` targets $i$, $r$ the run of $e$."""
    check_runs(runs, matrices, None, x)
    with _without_autocast(x):
        return backend_for(x).products(runs, matrices, x, count)


def outer_sums(runs: Runs, z: Float[Tensor, "n o"], x: Float[Tensor, "v i"]) -> Float[Tensor, "g c o i"]:
    r"""Return $\sum_{e=(j,i)} z_i x_j^\top$ over every run, and the same times $s_e$: the gradient of the matrices."""
    check_runs(runs, None, z, x)
    with _without_autocast(x):
        return backend_for(x).outer_sums(runs, z, x)


def drop_(tensor: Tensor, p: float, seed: int) -> Tensor:
    """Set each element of a tensor to zero with probability $0 < p < 1$, in place."""
    return backend_for(tensor).drop_(tensor, p, seed)


def _without_autocast(signal: Tensor) -> AbstractContextManager[object]:
    """Keep the products of a backend in the precision of their arguments, which were widened where autocast asks."""
    device = signal.device.type
    return autocast(device, enabled=False) if is_autocast_available(device) else nullcontext()
