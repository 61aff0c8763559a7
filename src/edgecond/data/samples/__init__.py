"""Batches of samples, reproducible in any order and from any process (Section 3)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Protocol

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from edgecond.graph import Sample

Indices = Sequence[int] | Int[np.ndarray, " b"]


class Source(Protocol):
    """Examples from which samples are built by index: `CloudSource` and `GraphSource`."""

    @property
    def together(self) -> int:
        """Number of examples, at least, that a network should predict at once: few small graphs waste its time."""

    def __len__(self) -> int: ...

    def sample(self, indices: Indices, epoch: int, /) -> Sample:
        """Build one sample from some examples, as they are augmented in an epoch."""


@dataclass(frozen=True, eq=False)
class Batches:
    """The batches of any epoch.

    An epoch visits all examples in batches of nearly equal size. The examples of a batch depend on the seed, the epoch
    and the number of the batch only.

    Args:
        source: Examples from which samples are built.
        size: Largest number of examples in a batch.
        shuffle: Visit the examples in a new order in each epoch.
        seed: Random seed of that order.
        share: Part of every batch to build, r out of s as (r, s), for processes that train together.
    """

    source: Source
    size: int
    shuffle: bool = True
    seed: int = 0
    share: tuple[int, int] = (0, 1)

    def __post_init__(self) -> None:
        if self.size < 1:
            raise ValueError(f"the batch size must be at least 1: got {self.size}.")
        if len(self) and len(self.source) // len(self) < self.share[1]:
            raise ValueError(
                "every process needs at least one example of every batch: the smallest batch has "
                f"{len(self.source) // len(self)} examples for {self.share[1]} processes. "
                "Start fewer processes, or choose a larger batch size."
            )

    def __len__(self) -> int:
        return -(-len(self.source) // self.size)

    def indices(self, epoch: int, number: int) -> Int[np.ndarray, " b"]:
        """Return the indices of the examples of a batch, or of the share of it."""
        if not 0 <= number < len(self):
            raise IndexError(f"the batches of an epoch are numbered from 0 to {len(self) - 1}: got {number}.")
        n, count = len(self.source), len(self)
        order = _shuffled(n, self.seed, epoch) if self.shuffle else np.arange(n)
        batch = order[n * number // count : n * (number + 1) // count]
        r, shares = self.share
        return batch[len(batch) * r // shares : len(batch) * (r + 1) // shares]

    def batch(self, epoch: int, number: int) -> Sample:
        """Build one batch of an epoch."""
        return self.source.sample(self.indices(epoch, number), epoch)

    def epoch(self, epoch: int) -> Iterator[Sample]:
        """Build all batches of an epoch, one after the other."""
        return (self.batch(epoch, number) for number in range(len(self)))


@dataclass(frozen=True, eq=False)
class Weighted:
    """Samples whose examples have weights in the loss.

    Args:
        source: Examples from which samples are built: all of them once or, as copies of graphs are, several times.
        weights: Weight of each example.
    """

    source: Source
    weights: Float[Tensor, " n"]

    @property
    def together(self) -> int:
        return self.source.together

    def __len__(self) -> int:
        return len(self.source)

    def sample(self, indices: Indices, epoch: int) -> Sample:
        """Build one sample from some examples, with their weights."""
        chosen = torch.as_tensor(np.asarray(indices)) % len(self.weights)
        return replace(self.source.sample(indices, epoch), weights=self.weights[chosen])


def generator(seed: int, *key: int) -> np.random.Generator:
    """Return a random generator that depends on a seed and on what it is used for."""
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=key))


@lru_cache(maxsize=4)
def _shuffled(count: int, seed: int, epoch: int) -> Int[np.ndarray, " n"]:
    return generator(seed, epoch).permutation(count)
