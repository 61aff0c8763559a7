"""How far a new example is from the training set, in the embedding that a network has before its last layer."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from edgecond.graph import Sample
from edgecond.nn.network import Network

MOST = 1000
"""Training examples whose embeddings a model keeps, at most."""


@dataclass(frozen=True, eq=False)
class Applicability:
    """The embeddings of some training examples, at least two."""

    embeddings: Float[np.ndarray, "n d"]

    @cached_property
    def unit(self) -> float:
        """Mean distance of a training example to the nearest other one; 1 if all are at the same place."""
        from scipy.spatial import KDTree

        distances = KDTree(self.embeddings).query(self.embeddings, k=2)[0][:, 1]
        return float(distances.mean()) or 1.0

    def distances(self, embeddings: Float[np.ndarray, "b d"]) -> Float[np.ndarray, " b"]:
        """Return the distance of examples to the nearest training example: 1 is as far as those are from each other."""
        from scipy.spatial import KDTree

        return KDTree(self.embeddings).query(embeddings)[0] / self.unit


@torch.no_grad()
def embed(network: Network, batches: Iterable[Sample]) -> Float[np.ndarray, "n d"]:
    """Return the embedding of every sample, or of every vertex or point where a network predicts for those."""
    network.eval()
    device = next(network.parameters()).device
    found: list[Tensor] = []
    for sample in batches:
        sample = sample.to(device)
        signal = network.embed(*sample.inputs)
        found.append((signal if sample.voxel is None else signal[sample.voxel]).double().cpu())
    return torch.cat(found).numpy()
