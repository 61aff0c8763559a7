"""The outputs of a trained network on some examples."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from numpy.typing import NDArray
from torch import nn

from edgecond.errors import EdgecondError
from edgecond.graph import Sample
from edgecond.nn.tasks import Classification, Outputs, Task


class NonFiniteOutputError(EdgecondError, ArithmeticError):
    """The outputs of a network are infinite or not numbers."""


def predict(
    network: nn.Module,
    batches: Iterable[Sample],
    task: Task = Classification(),  # noqa: B008 (immutable)
) -> tuple[Outputs, NDArray[Any]]:
    """Return the outputs of a network for every sample, and the targets.

    There is a row for each graph; or for each vertex, and where points were joined to vertices, for each point.
    """
    outputs, ys = predict_all([network], batches, task)
    return outputs[0], ys


@torch.no_grad()
def predict_all(
    networks: Sequence[nn.Module], batches: Iterable[Sample], task: Task
) -> tuple[Float[np.ndarray, "k n t"], NDArray[Any]]:
    """Return the outputs of several networks for every sample, and the targets; see `predict`."""
    for network in networks:
        network.eval()
    device = next(networks[0].parameters()).device
    outputs, ys = [], []
    for sample in batches:
        sample = sample.to(device)
        output, y = torch.stack([task.outputs(network(*sample.inputs)) for network in networks]), sample.y
        if sample.voxel is not None:
            output, y = output[:, sample.voxel], y[sample.voxel]
        outputs.append(output.double().cpu())
        ys.append(y.cpu())
    return torch.cat(outputs, 1).numpy(), torch.cat(ys).numpy()


def check_finite(views: Sequence[Outputs]) -> None:
    """Raise an error if some outputs are not finite: metrics would be meaningless."""
    bad = int((~np.isfinite(np.asarray(views))).any(axis=(0, 2)).sum())
    if bad:
        raise NonFiniteOutputError(
            f"the outputs of a network must be finite: they are not for {bad} of {len(views[0])} examples. "
            "A lower learning rate is the usual cure; look for very large numbers in the data otherwise."
        )
