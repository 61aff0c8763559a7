"""What torch does with a computation: run it, transform it, or trace it without numbers."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext

import torch
from torch import Tensor
from torch._subclasses.fake_tensor import FakeTensor
from torch.autograd import forward_ad


def transformed() -> bool:
    """Return whether a transform of `torch.func` (grad, vmap, jvp, ...) or forward-mode differentiation is active.

    These take torch's own operations apart. They do not see into a kernel, and tensors that are kept outlive them.
    """
    if torch._C._are_functorch_transforms_active():
        return True
    return not torch.compiler.is_compiling() and forward_ad._current_level >= 0


def abstract(tensor: Tensor) -> bool:
    """Return whether the numbers of a tensor cannot be read: while it is traced or transformed, or if it has none."""
    return torch.compiler.is_compiling() or tensor.is_meta or isinstance(tensor, FakeTensor) or transformed()


def ordinary_tensors() -> AbstractContextManager[object]:
    """Make tensors that may take part in a later backward pass, even in inference mode, whose own may not."""
    return torch.inference_mode(False) if torch.is_inference_mode_enabled() else nullcontext()
