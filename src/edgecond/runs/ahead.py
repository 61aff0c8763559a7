"""Batches that worker processes build ahead of their use."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch.utils.data import DataLoader, Dataset

from edgecond.data.processes import end_with_parent, ignore_stop_signals, signals_held
from edgecond.data.samples import Batches
from edgecond.graph import Sample


class _Positions(Dataset[Sample]):
    """The batches of all epochs as a dataset, so that the workers of a loader can build them."""

    def __init__(self, batches: Batches) -> None:
        self.batches = batches

    def __getitem__(self, position: int) -> Sample:
        return self.batches.batch(position // len(self.batches), position % len(self.batches))


def _begin_worker(_: int) -> None:
    end_with_parent()  # torch's own check may wait forever for a killed parent to read a batch
    ignore_stop_signals()  # a scheduler sends them to all processes, and the run is saved by the first


@dataclass(frozen=True)
class Ahead:
    """Batches built ahead of their use by worker processes, or by this process if there are none."""

    batches: Batches
    workers: int = 1

    def __len__(self) -> int:
        return len(self.batches)

    def run(self, epoch: int, batch: int, epochs: int) -> Iterator[Sample]:
        positions = range(epoch * len(self) + batch, epochs * len(self))
        ahead = {"prefetch_factor": 4} if self.workers else {}
        loader: DataLoader[Sample] = DataLoader(
            _Positions(self.batches),
            batch_size=None,
            sampler=positions,
            num_workers=self.workers,
            worker_init_fn=_begin_worker,
            generator=torch.Generator(),  # the loader draws a seed for its workers, which use none
            **ahead,  # type: ignore[arg-type]
        )
        with signals_held():  # until the workers ignore them
            iterator: Any = iter(loader)
        try:
            yield from iterator
        finally:
            if self.workers:  # at once: an exception may keep the iterator, and Python waits for workers when it ends
                iterator._shutdown_workers()
