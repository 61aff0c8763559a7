"""Several processes that train as one: each has a share of every batch, and all see the whole (torchrun)."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
import torch.distributed as dist
from torch import nn, Tensor
from torch.nn.parallel import DistributedDataParallel

from edgecond.nn.dropout import dropout_mask


def ranks() -> int:
    """How many processes train together."""
    return dist.get_world_size() if dist.is_initialized() else 1


def rank() -> int:
    """The number of this process; 0 is the one that writes."""
    return dist.get_rank() if dist.is_initialized() else 0


def device() -> torch.device:
    """Where this process computes: its own GPU if there is one."""
    if torch.cuda.is_available():
        return torch.device("cuda", int(os.environ.get("LOCAL_RANK", "0")))
    return torch.device("cpu")


@contextmanager
def processes() -> Iterator[None]:
    """Join the processes that `torchrun` started; nothing to do where it did not."""
    if int(os.environ.get("WORLD_SIZE", "1")) == 1 or dist.is_initialized():
        yield
        return
    dist.init_process_group("nccl" if device().type == "cuda" else "gloo")
    try:
        yield
    finally:
        dist.destroy_process_group()


@contextmanager
def first_alone() -> Iterator[None]:
    """What process 0 does first and the others after it."""
    if ranks() > 1 and rank() > 0:
        dist.barrier()
    yield
    if ranks() > 1 and rank() == 0:
        dist.barrier()


def total(values: Tensor) -> Tensor:
    """The sum over all processes; gradients flow back to each."""
    return _Total.apply(values) if ranks() > 1 else values


def agreed(yes: bool) -> bool:
    """Whether all processes say yes."""
    return int(total(torch.tensor(int(yes), device=device()))) == ranks()


def joined(network: nn.Module) -> nn.Module:
    """The network as one of several that see a whole batch: the layers that mix samples are exchanged, in place.

    The gradient of a parameter is the mean over the processes.
    """
    if ranks() == 1:
        return network
    for parent in list(network.modules()):
        for name, child in list(parent.named_children()):
            match child:
                case nn.BatchNorm1d():
                    child.__class__ = _BatchNorm
                case nn.Dropout() if child.p:
                    setattr(parent, name, _Dropout(child.p))
    where = [device()] if device().type == "cuda" else None
    return DistributedDataParallel(network, device_ids=where, broadcast_buffers=False)


class _Total(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, values: Tensor) -> Tensor:
        values = values.clone()
        dist.all_reduce(values)
        return values

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Tensor:
        return _Total.forward(ctx, grads[0])


class _BatchNorm(nn.BatchNorm1d):
    """Batch normalisation by mean and variance of the whole batch; torch's own is for GPUs alone."""

    def forward(self, input: Tensor) -> Tensor:
        if not self.training:
            return super().forward(input)
        n = total(input.new_tensor(float(len(input))))
        mean = total(input.sum(0)) / n
        centred = input - mean
        variance = total(centred.square().sum(0)) / n
        if self.running_mean is not None and self.running_var is not None and self.num_batches_tracked is not None:
            self.num_batches_tracked.add_(1)
            momentum = self.momentum if self.momentum is not None else 1 / float(self.num_batches_tracked)
            self.running_mean.lerp_(mean.detach(), momentum)
            self.running_var.lerp_(variance.detach() * n / (n - 1), momentum)
        x = centred * torch.rsqrt(variance + self.eps)
        return x * self.weight + self.bias if self.affine else x


class _Dropout(nn.Module):
    """Dropout by the mask that one process would draw for the whole batch; the shares follow each other in it."""

    def __init__(self, p: float) -> None:
        super().__init__()
        self.p = p

    def forward(self, input: Tensor) -> Tensor:
        if not self.training:
            return input
        rows = torch.zeros(ranks(), dtype=torch.long, device=input.device)
        rows[rank()] = len(input)
        dist.all_reduce(rows)
        before, own, _ = rows.split([rank(), 1, ranks() - rank() - 1])
        shape = (int(rows.sum()), *input.shape[1:])
        on_cpu = input.device.type == "cpu"
        mask = (
            dropout_mask(shape, self.p, input.dtype) if on_cpu else nn.functional.dropout(input.new_ones(shape), self.p)
        )
        start = int(before.sum())
        return input * mask[start : start + int(own)]
