"""From examples to batches of samples, which are labelled pyramids: in any order and from any process (Section 3)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Protocol

import numpy as np
from jaxtyping import Int

from edgecond.graph import Sample

Indices = Sequence[int] | Int[np.ndarray, " b"]


class Source(Protocol):
    """Examples by number, of which a sample can be made: `CloudSource` and `GraphSource`."""

    def __len__(self) -> int: ...

    def sample(self, indices: Indices, epoch: int, /) -> Sample:
        """Some examples as they look in an epoch, as one sample."""


@dataclass(frozen=True, eq=False)
class Batches:
    """The batches of any epoch.

    An epoch visits all examples in batches of nearly equal size. Which examples make a batch depends on seed, epoch and
    the number of the batch alone.

    Args:
        source: Makes samples of the examples.
        size: Examples in a batch, at most.
        shuffle: Visit the examples in a new order in each epoch.
        seed: What that order depends on.
        share: The part of every batch that is wanted, number r of s as (r, s): several processes may train as one.
    """

    source: Source
    size: int
    shuffle: bool = True
    seed: int = 0
    share: tuple[int, int] = (0, 1)

    def __post_init__(self) -> None:
        if self.size < 1:
            raise ValueError(f"a batch holds at least one example: got a size of {self.size}.")
        if len(self) and len(self.source) // len(self) < self.share[1]:
            raise ValueError(
                f"every process needs a share of every batch: the smallest has {len(self.source) // len(self)} "
                f"examples for {self.share[1]} processes. Start fewer, or choose larger batches."
            )

    def __len__(self) -> int:
        return -(-len(self.source) // self.size)

    def indices(self, epoch: int, number: int) -> Int[np.ndarray, " b"]:
        """The examples of a batch, or of the share of it that is wanted."""
        if not 0 <= number < len(self):
            raise IndexError(f"an epoch has batches 0 to {len(self) - 1}: got {number}.")
        n, count = len(self.source), len(self)
        order = _shuffled(n, self.seed, epoch) if self.shuffle else np.arange(n)
        batch = order[n * number // count : n * (number + 1) // count]
        r, shares = self.share
        return batch[len(batch) * r // shares : len(batch) * (r + 1) // shares]

    def batch(self, epoch: int, number: int) -> Sample:
        """One batch of an epoch."""
        return self.source.sample(self.indices(epoch, number), epoch)

    def epoch(self, epoch: int) -> Iterator[Sample]:
        """All batches of an epoch, one after the other."""
        return (self.batch(epoch, number) for number in range(len(self)))


def generator(seed: int, *key: int) -> np.random.Generator:
    """Chance that depends on a seed and on what it is for."""
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=key))


@lru_cache(maxsize=4)
def _shuffled(count: int, seed: int, epoch: int) -> Int[np.ndarray, " n"]:
    return generator(seed, epoch).permutation(count)
