"""What is known of a filter network F before it is evaluated."""

from __future__ import annotations

import pytest
from torch import nn, Tensor

from edgecond.nn.inspection import pure


class Custom(nn.Module):
    """A module that might do anything."""

    def __init__(self, inside: nn.Module | None = None) -> None:
        super().__init__()
        self.inside = inside

    def forward(self, labels: Tensor) -> Tensor:
        return labels if self.inside is None else self.inside(labels)


class Declared(Custom):
    row_by_row = True


def with_hook(layer: nn.Module) -> nn.Module:
    layer.register_forward_hook(lambda module, inputs, output: output.mean(0).expand_as(output))
    return layer


@pytest.mark.parametrize(
    ("network", "training", "evaluating"),
    [
        (nn.Sequential(nn.Linear(2, 3), nn.ReLU()), True, True),
        (nn.Sequential(nn.Linear(2, 3), nn.LayerNorm(3)), True, True),
        (nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3)), False, True),
        (nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3, track_running_stats=False)), False, False),
        (nn.Sequential(nn.Linear(2, 3), nn.Dropout(0.5)), False, True),
        (nn.Sequential(nn.Linear(2, 3), nn.AlphaDropout(0.5)), False, True),
        (nn.Sequential(nn.Linear(2, 3), nn.RReLU()), False, True),
        (nn.Sequential(nn.Linear(2, 3), nn.Softmax(0)), False, False),
        (nn.Sequential(nn.Linear(2, 3), Custom()), False, False),
        (nn.Sequential(nn.Linear(2, 3), Declared()), True, True),
        (nn.Sequential(nn.Linear(2, 3), Declared(nn.Dropout(0.5))), False, True),
        (nn.utils.parametrizations.spectral_norm(nn.Linear(2, 3)), False, False),
        (nn.Sequential(with_hook(nn.Linear(2, 3))), False, False),
    ],
    ids=[
        "relu",
        "layer norm",
        "batch norm",
        "batch norm without running statistics",
        "dropout",
        "alpha dropout",
        "rrelu",
        "softmax over the labels",
        "a module of one's own",
        "one that is declared row by row",
        "one with dropout inside",
        "spectral norm",
        "a hook",
    ],
)
def test_a_network_is_pure_if_labels_do_not_mix_and_nothing_is_drawn(
    network: nn.Module, training: bool, evaluating: bool
):
    """Batch statistics see all labels together, and dropout gives other numbers the second time."""
    assert pure(network.train()) == training
    assert pure(network.eval()) == evaluating
