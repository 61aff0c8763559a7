"""The training loop, resumable after every step (Section 4); optimizers and schedules are chosen by name."""

from __future__ import annotations

import math
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from typing import Any, Protocol

import torch
from torch import nn, Tensor

from edgecond.errors import EdgecondError
from edgecond.graph import Sample
from edgecond.nn import parallel
from edgecond.nn.averaging import Average
from edgecond.nn.optimizers import Optimizer, SGD
from edgecond.nn.schedules import Schedule
from edgecond.nn.tasks import Classification, Task

_AVERAGE = "average."  # before the names of averaged weights in a checkpoint


class Batches(Protocol):
    """The batches of every epoch, the same whenever they are iterated."""

    def __len__(self) -> int:
        """Return the number of batches per epoch."""
        ...

    def run(self, epoch: int, batch: int, epochs: int) -> Iterator[Sample]:
        """Yield all batches from a position to the end of the last of `epochs` epochs."""
        ...


@dataclass(frozen=True)
class Step:
    """The outcome of one training step.

    Attributes:
        epoch: Epoch, from 0.
        batch: Batch of the epoch, from 0.
        loss: Mean loss of the batch.
        learning_rate: Learning rate of the step.
        metric: Sum of the task's metric over the batch: correct predictions, or squared errors.
        count: Number of known targets in the batch.
        last: Whether the step ended the epoch.
    """

    epoch: int
    batch: int
    loss: float
    learning_rate: float
    metric: float
    count: float
    last: bool


class NonFiniteLossError(EdgecondError, ArithmeticError):
    """The loss is infinite or not a number."""


@dataclass(eq=False)
class Training:
    """A network in training, whose state can be saved after every step and resumed bit by bit.

    Randomness (dropout) is a function of seed, epoch and batch alone, so the state is the network, the tensors of the
    optimizer and the position. Processes that torchrun started train as one: each gets its share of a batch, and
    together they take the step that one process would take with the whole batch.

    Attributes:
        network: Module from signal and pyramid to the scores of the classes.
        schedule: Number of epochs, and the learning rate of each step.
        seed: Random seed.
        epoch: Epoch of the next step, from 0.
        batch: Batch of the next step, from 0.
        task: The loss, and the metric beside it.
        optimizer: Settings of the optimizer.
        gradient_clip: Norm that the gradient of all parameters is scaled down to where it is larger; none for any norm.
        ema: Decay of the average of the weights (see `Average`); none for no average.
        label_smoothing: Share of the probability of the true class that the loss spreads over all classes.
        precision: "fp32", or "bf16" for mixed precision: products in bfloat16, sums and weights in single precision.
    """

    network: nn.Module
    schedule: Schedule
    seed: int = 0
    epoch: int = 0
    batch: int = 0
    task: Task = Classification()  # noqa: RUF009 (immutable)
    optimizer: Optimizer = SGD()  # noqa: RUF009 (immutable)
    gradient_clip: float | None = None
    ema: float | None = None
    label_smoothing: float = 0.0
    precision: str = "fp32"
    _average: Average | None = field(init=False, repr=False)
    _descent: torch.optim.Optimizer = field(init=False, repr=False)
    _joined: nn.Module = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self._joined = parallel.joined(self.network)
        self._average = None if self.ema is None else Average.of(self.network, self.ema)
        self._descent = self.optimizer.build(self.network.parameters(), self.schedule.learning_rate)

    @property
    def finished(self) -> bool:
        return self.epoch >= self.schedule.epochs

    def steps(self, batches: Batches) -> Iterator[Step]:
        """Train one step at a time, from the current position to the end of the schedule."""
        for sample in batches.run(self.epoch, self.batch, self.schedule.epochs):
            yield self._step(sample, len(batches))

    def state(self) -> tuple[dict[str, Tensor], dict[str, Any]]:
        """Return all tensors by name, and the position."""
        tensors = {f"network.{name}": value for name, value in self.network.state_dict().items()}
        tensors |= self.optimizer.state(self._descent, self.network)
        if self._average is not None:
            tensors |= {f"{_AVERAGE}{name}": value for name, value in self._average.weights.items()}
        return tensors, {"epoch": self.epoch, "batch": self.batch, "seed": self.seed}

    def restore(self, tensors: dict[str, Tensor], position: dict[str, Any]) -> None:
        """Resume from what `state` returned; tensors of another network or optimizer are refused."""
        check_finite(tensors)
        weights, rest = split_prefix(tensors, "network.")
        check_weights(self.network, weights)
        if self._average is not None:
            average, rest = split_prefix(rest, _AVERAGE)
            check_weights(self.network, average)
            self._average.restore(average)
        self.optimizer.check_state(self.network, rest)
        self.network.load_state_dict(weights)
        self.optimizer.restore(self._descent, self.network, tensors)
        self.epoch, self.batch, self.seed = position["epoch"], position["batch"], position["seed"]

    def weights(self) -> dict[str, Tensor]:
        """Return a copy of the weights to predict with: their average, or without one those of the last step."""
        weights = self.network.state_dict() if self._average is None else self._average.weights
        return {name: value.clone() for name, value in weights.items()}

    @contextmanager
    def predicting(self) -> Iterator[None]:
        """Give the network the weights to predict with, within a block."""
        last = {name: value.clone() for name, value in self.network.state_dict().items()}
        self.network.load_state_dict(self.weights())
        try:
            yield
        finally:
            self.network.load_state_dict(last)

    def _step(self, sample: Sample, batches: int) -> Step:
        epoch, batch = self.epoch, self.batch
        learning_rate = self.schedule.learning_rate_at(epoch, batch, batches)
        for group in self._descent.param_groups:
            group["lr"] = learning_rate
        if not self._joined.training:
            self._joined.train()
        device = next(self.network.parameters()).device
        sample = sample.to(device)
        mixed = torch.autocast(device.type, torch.bfloat16) if self.precision == "bf16" else nullcontext()
        with seeded(mix(self.seed, epoch, batch), device), mixed:
            scores = self._joined(*sample.inputs)
        losses, *others = self.task.loss(
            scores.to(sample.x.dtype), sample.y, label_smoothing=self.label_smoothing, weights=sample.weights
        )
        summed, weight, metric, count = parallel.total(torch.stack([losses.detach(), *others])).tolist()
        weight = weight or 1.0  # a batch without any known target has no gradient
        if not math.isfinite(summed):
            raise NonFiniteLossError(
                f"the loss must stay finite: it is {summed} in epoch {epoch + 1}, batch {batch + 1}. "
                "Try a lower learning rate, or look for signals in that batch that are not finite."
            )
        self._descent.zero_grad()
        (losses * (parallel.ranks() / weight)).backward()  # gradients are averaged over processes
        if self.gradient_clip is not None:
            nn.utils.clip_grad_norm_(self.network.parameters(), self.gradient_clip)
        self._descent.step()
        if self._average is not None:
            self._average.update(self.network, epoch * batches + batch + 1)
        last = batch + 1 == batches
        self.epoch, self.batch = (epoch + 1, 0) if last else (epoch, batch + 1)
        return Step(epoch, batch, summed / weight, learning_rate, metric, count, last)


def split_prefix(tensors: Mapping[str, Tensor], prefix: str) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
    """Return the tensors whose names begin with a prefix, without it, and the others."""
    inside = {name.removeprefix(prefix): tensor for name, tensor in tensors.items() if name.startswith(prefix)}
    return inside, {name: tensor for name, tensor in tensors.items() if not name.startswith(prefix)}


def check_finite(tensors: Mapping[str, Tensor]) -> None:
    """Check that all numbers of a file are finite."""
    for name, tensor in tensors.items():
        if tensor.is_floating_point() and not tensor.float().isfinite().all():  # some types have no test of their own
            raise ValueError(
                f"its numbers must be finite, and those of {name} are not all: the training diverged. "
                "Train again with a lower learning rate."
            )


def check_weights(network: nn.Module, weights: Mapping[str, Tensor]) -> None:
    """Check that weights have the names, shapes and types of those of a network."""
    expected = network.state_dict()
    for name in (*expected, *weights):
        if name not in weights:
            raise ValueError(f"the network has weights {name}, which are missing.")
        if name not in expected:
            raise ValueError(f"the network has no weights {name[:60]}, and the file has.")
        (shape, kind), (found, found_kind) = ((of[name].shape, of[name].dtype) for of in (expected, weights))
        if (shape, kind) != (found, found_kind):
            raise ValueError(
                f"the weights {name} must be {tuple(shape)} of {kind}: the file has {tuple(found)} of {found_kind}."
            )


_GENERATORS = threading.RLock()


@contextmanager
def seeded(seed: int, device: torch.device) -> Iterator[None]:
    """Seed torch's random numbers within a block, and restore the state of the generators after it.

    All threads share the generators, so that one thread at a time may be in such a block. On a CPU only the generator
    of the CPU is seeded: `torch.manual_seed` takes a millisecond there.
    """
    on_cpu = device.type == "cpu"
    with _GENERATORS, torch.random.fork_rng([] if on_cpu else None):
        (torch.default_generator if on_cpu else torch).manual_seed(seed)
        yield


def mix(*numbers: int) -> int:
    """Mix several numbers into one seed, as SplitMix64 does."""
    state = 0
    for number in numbers:
        state = (state + number + 0x9E3779B97F4A7C15) & (2**64 - 1)
        state = ((state ^ state >> 30) * 0xBF58476D1CE4E5B9) & (2**64 - 1)
        state = ((state ^ state >> 27) * 0x94D049BB133111EB) & (2**64 - 1)
        state ^= state >> 31
    return state >> 1
