"""Data-parallel training under torchrun: processes share each batch, and take the steps that one process would."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import torch
import torch.distributed as dist
from torch import nn, Tensor
from torch.nn.parallel import DistributedDataParallel

from edgecond.nn.dropout import dropout_mask


def ranks() -> int:
    """Return the number of processes that train together."""
    return dist.get_world_size() if dist.is_initialized() else 1


def rank() -> int:
    """Return the number of this process; process 0 writes all files."""
    return dist.get_rank() if dist.is_initialized() else 0


def device() -> torch.device:
    """Return the device of this process: its own GPU if there is one."""
    if torch.cuda.is_available():
        return torch.device("cuda", int(os.environ.get("LOCAL_RANK", "0")))
    return torch.device("cpu")


@contextmanager
def processes() -> Iterator[None]:
    """Connect the processes that torchrun started; do nothing without torchrun.

    A process that finishes waits for the others before it disconnects: gloo may abort a process whose peer leaves while
    it communicates. One that fails leaves at once, and torchrun ends the others.
    """
    if int(os.environ.get("WORLD_SIZE", "1")) == 1 or dist.is_initialized():
        yield
        return
    dist.init_process_group("nccl" if device().type == "cuda" else "gloo")
    try:
        yield
        if dist.get_backend() == "gloo":  # NCCL would end a process that waits ten minutes, while process 0 tests
            with suppress(RuntimeError):  # it waited half an hour: nobody needs it any more
                dist.barrier()
    finally:
        dist.destroy_process_group()


@contextmanager
def first_alone() -> Iterator[None]:
    """Run a block in process 0 first, and then in the others."""
    if ranks() > 1 and rank() > 0:
        dist.barrier()
    yield
    if ranks() > 1 and rank() == 0:
        dist.barrier()


def total(values: Tensor) -> Tensor:
    """Return the sum over all processes; gradients flow back to each."""
    return _Total.apply(values) if ranks() > 1 else values


def agreed(yes: bool) -> bool:
    """Return whether all processes agree."""
    return int(total(torch.tensor(int(yes), device=device()))) == ranks()


def joined(network: nn.Module) -> nn.Module:
    """Return the network for data-parallel training, in which the gradient of a parameter is the mean over processes.

    Layers that mix samples are replaced, in place, by ones that see the whole batch.
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
    """Batch normalisation by mean and variance of the whole batch; torch's SyncBatchNorm needs GPUs."""

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
    """Dropout with the mask that one process would draw for the whole batch, in which the shares follow each other."""

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
