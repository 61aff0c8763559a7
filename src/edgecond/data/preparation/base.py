"""What all preparations share: the settings that they are given, and what they return."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol, Self

from torch import Tensor

from edgecond.data.samples import Source
from edgecond.notation import Architecture

Progress = Callable[[int, int], None]
"""Called with the number of graphs whose pyramids are computed, and the number of all graphs."""


def no_progress(done: int, total: int) -> None:
    """Report no progress."""


@dataclass(frozen=True)
class SampleSettings:
    """The settings of a recipe that make samples, unpacked; `edgecond.runs.recipe.Recipe` explains them."""

    name: str
    network: Architecture
    labels: str = "cartesian+spherical"
    resolution: float | None = None
    radius: float | None = None
    radius_scale: float = 1.0
    augment: Mapping[str, Any] = field(default_factory=dict)
    orientations: int = 1
    sparsifications: int = 1
    tries: int = 10
    attributes: bool = False
    standardised: bool = False
    counts: bool = False
    shape: bool = False
    options: Mapping[str, Any] = field(default_factory=dict)


class Preparation(Protocol):
    """Makes samples of examples."""

    @property
    def tensors(self) -> Mapping[str, Tensor]:
        """What was derived from the training set, for the model file."""

    @property
    def encoding(self) -> Mapping[str, Any]:
        """How columns beside the graph are encoded, for the model file; empty without any."""

    @property
    def features(self) -> int:
        """Width of the features beside the graph."""

    @property
    def feature_names(self) -> tuple[str, ...]:
        """Column that each of these features encodes."""

    @property
    def about(self) -> Mapping[str, Any]:
        """Facts for the record of a run."""

    def training(self, examples: Any, seed: int, /) -> Source:
        """Return samples to train on, augmented or expanded as the settings have it."""

    def view(self, examples: Any, number: int, views: int, /) -> Source:
        """Return samples to predict from: one of several views of each example."""

    def transient(self) -> Self:
        """Return the same preparation for examples that come once: it keeps nothing of them."""
