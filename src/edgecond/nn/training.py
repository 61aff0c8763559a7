"""Training by stochastic gradient descent with the paper's step schedule, resumable after every step (Section 4)."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Protocol

import torch
from torch import nn, Tensor

from edgecond.errors import EdgecondError
from edgecond.graph import Sample
from edgecond.nn import parallel
from edgecond.nn.tasks import Classification, Task


class Batches(Protocol):
    """The batches of every epoch, the same ones whenever they are asked for."""

    def __len__(self) -> int:
        """How many there are in an epoch."""
        ...

    def run(self, epoch: int, batch: int, epochs: int) -> Iterator[Sample]:
        """All batches from one of some epoch on, to the end of the last of `epochs`."""
        ...


@dataclass(frozen=True)
class Schedule:
    """How long and how fast to learn.

    Attributes:
        epochs: Passes over the training data.
        learning_rate: Initial learning rate.
        drops: Epochs after which the rate is multiplied by `factor`.
        factor: See `drops`.
        momentum: Of the gradients (the authors' code).
        weight_decay: Of all parameters (the authors' code).
    """

    epochs: int
    learning_rate: float
    drops: tuple[int, ...] = ()
    factor: float = 0.1
    momentum: float = 0.9
    weight_decay: float = 5e-4

    def learning_rate_at(self, epoch: int) -> float:
        """The learning rate of an epoch, counted from 0."""
        return self.learning_rate * self.factor ** sum(epoch >= drop for drop in self.drops)


@dataclass(frozen=True)
class Step:
    """What one step did: `batch` of `epoch`, both counted from 0, `last` if it ended the epoch.

    `figure` is a sum over `count` examples of what the objective has people watch: right answers, or squared errors.
    """

    epoch: int
    batch: int
    loss: float
    learning_rate: float
    figure: float
    count: float
    last: bool


class NonFiniteLossError(EdgecondError, ArithmeticError):
    """The loss became infinite or not a number."""


@dataclass(eq=False)
class Training:
    """A network on its way: after every step its state can be saved, and taken up again bit by bit.

    Randomness (dropout) is a function of seed, epoch and batch alone, so the state is the network, the momenta and
    the position. Processes that torchrun started train as one: each is given its share of a batch, and all make the
    step that one process would make with the whole.

    Attributes:
        network: From signal and pyramid to scores of classes.
        schedule: How long and how fast.
        seed: Of everything random.
        epoch: The epoch of the next step.
        batch: The batch of the next step.
        objective: What is learned.
    """

    network: nn.Module
    schedule: Schedule
    seed: int = 0
    epoch: int = 0
    batch: int = 0
    objective: Task = field(default_factory=Classification)
    optimizer: torch.optim.SGD = field(init=False)
    _joined: nn.Module = field(init=False, repr=False)

    def __post_init__(self) -> None:
        s = self.schedule
        self._joined = parallel.joined(self.network)
        self.optimizer = torch.optim.SGD(
            self.network.parameters(), lr=s.learning_rate, momentum=s.momentum, weight_decay=s.weight_decay, fused=True
        )

    @property
    def finished(self) -> bool:
        return self.epoch >= self.schedule.epochs

    def steps(self, batches: Batches) -> Iterator[Step]:
        """Learn, one step at a time, from the current position to the end of the schedule."""
        for sample in batches.run(self.epoch, self.batch, self.schedule.epochs):
            yield self._step(sample, len(batches))

    def state(self) -> tuple[dict[str, Tensor], dict[str, Any]]:
        """All tensors, and the position."""
        tensors = {f"network.{name}": value for name, value in self.network.state_dict().items()}
        for name, parameter in self.network.named_parameters():
            momentum = self.optimizer.state[parameter].get("momentum_buffer")
            if momentum is not None:
                tensors[f"momentum.{name}"] = momentum
        return tensors, {"epoch": self.epoch, "batch": self.batch, "seed": self.seed}

    def restore(self, tensors: dict[str, Tensor], position: dict[str, Any]) -> None:
        """Go on from a state."""
        own = {name.removeprefix("network."): t for name, t in tensors.items() if name.startswith("network.")}
        self.network.load_state_dict(own)
        for name, parameter in self.network.named_parameters():
            momentum = tensors.get(f"momentum.{name}")
            if momentum is not None:
                self.optimizer.state[parameter]["momentum_buffer"] = momentum.to(parameter.device).clone()
        self.epoch, self.batch, self.seed = position["epoch"], position["batch"], position["seed"]

    def _step(self, sample: Sample, batches: int) -> Step:
        epoch, batch, rate = self.epoch, self.batch, self.schedule.learning_rate_at(self.epoch)
        for group in self.optimizer.param_groups:
            group["lr"] = rate
        if not self._joined.training:
            self._joined.train()
        device = next(self.network.parameters()).device
        sample = sample.to(device)
        with seeded(mix(self.seed, epoch, batch), device):
            scores = self._joined(sample.x, sample.pyramid)
        losses, *others = self.objective.loss(scores, sample.y)
        summed, weight, figure, count = parallel.total(torch.stack([losses.detach(), *others])).tolist()
        weight = weight or 1.0  # a batch of which nothing is known teaches nothing
        if not math.isfinite(summed):
            raise NonFiniteLossError(
                f"the loss must stay finite: it is {summed} in epoch {epoch + 1}, batch {batch + 1}. "
                "A lower learning rate is the usual cure; look for non-finite signals in that batch otherwise."
            )
        self.optimizer.zero_grad()
        (losses * (parallel.ranks() / weight)).backward()  # the processes' gradients are averaged
        self.optimizer.step()
        last = batch + 1 == batches
        self.epoch, self.batch = (epoch + 1, 0) if last else (epoch, batch + 1)
        return Step(epoch, batch, summed / weight, rate, figure, count, last)


@contextmanager
def seeded(seed: int, device: torch.device) -> Iterator[None]:
    """Numbers drawn within depend on the seed alone, and those drawn after it are as if none had been.

    On a processor only its own generator is touched: `torch.manual_seed` takes a millisecond there.
    """
    on_cpu = device.type == "cpu"
    with torch.random.fork_rng([] if on_cpu else None):
        (torch.default_generator if on_cpu else torch).manual_seed(seed)
        yield


def mix(*numbers: int) -> int:
    """One seed from several, by the mixing steps of SplitMix64."""
    state = 0
    for number in numbers:
        state = (state + number + 0x9E3779B97F4A7C15) & (2**64 - 1)
        state = ((state ^ state >> 30) * 0xBF58476D1CE4E5B9) & (2**64 - 1)
        state = ((state ^ state >> 27) * 0x94D049BB133111EB) & (2**64 - 1)
        state ^= state >> 31
    return state >> 1
