"""How the networks of others are trained: Adam on a cosine schedule for a fixed number of epochs, the last reported."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np
import torch
from torch import nn, Tensor

from edgecond.data.preparation import no_progress, Progress, SampleSettings
from edgecond.nn.tasks import Outputs, Task
from edgecond.runs.baselines.base import Baseline, Predictor

TOGETHER = 256
"""Number of test examples in a batch."""


class NetworkBaseline(Baseline):
    """A network that is not ours.

    Attributes:
        epochs: Number of epochs.
        batch_size: Number of examples in a batch.
        learning_rate: Learning rate at the beginning; it falls to 0 along a cosine.
    """

    packages: ClassVar[tuple[str, ...]] = ()
    epochs: int
    batch_size: ClassVar[int]
    learning_rate: ClassVar[float]

    @property
    def settings(self) -> dict[str, Any]:
        names = ("epochs", "batch_size", "learning_rate")
        return {"optimizer": "adam", "schedule": "cosine", **{name: getattr(self, name) for name in names}}

    @abstractmethod
    def network(self, examples: Any, settings: SampleSettings) -> nn.Module:
        """Return a new network for the examples of a training set, with an output for each class or target."""

    @abstractmethod
    def inputs(
        self, examples: Any, chosen: np.ndarray, settings: SampleSettings, rng: np.random.Generator, *, training: bool
    ) -> Any:
        """Return what enters the network for some examples, augmented for training."""

    def fit(
        self,
        examples: Any,
        task: Task,
        seed: int,
        *,
        settings: SampleSettings,
        progress: Progress = no_progress,
    ) -> Predictor:
        rng = np.random.default_rng(seed)
        with torch.random.fork_rng():
            torch.manual_seed(seed)
            network = self.network(examples, settings)
            optimizer = torch.optim.Adam(network.parameters(), self.learning_rate)
            schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, self.epochs)
            for epoch in range(self.epochs):
                for chosen in self.batches(len(examples), rng):
                    optimizer.zero_grad()
                    scores = network(self.inputs(examples, chosen, settings, rng, training=True))
                    loss = task.loss(scores, examples.ys[torch.from_numpy(chosen)])
                    (loss.total / loss.weight.clamp(min=1)).backward()
                    optimizer.step()
                schedule.step()
                progress(epoch + 1, self.epochs)
        network.eval()

        @torch.no_grad()
        def predict(new: Any) -> Outputs:
            drawn, parts = np.random.default_rng(seed), list[Tensor]()
            for chosen in np.array_split(np.arange(len(new)), -(-len(new) // TOGETHER)):
                parts.append(task.outputs(network(self.inputs(new, chosen, settings, drawn, training=False))))
            return torch.cat(parts).double().numpy()

        return predict

    def batches(self, count: int, rng: np.random.Generator) -> Iterator[np.ndarray]:
        """Yield the examples of each batch of an epoch, all in random order.

        A last batch of one example is left out, which batch normalisation cannot take.
        """
        order = rng.permutation(count)
        for chosen in np.split(order, range(self.batch_size, count, self.batch_size)):
            if len(chosen) > 1:
                yield chosen
