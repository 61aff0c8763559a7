"""Clouds with their targets: the training or the test set of a dataset."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Protocol

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from edgecond.errors import DataError
from edgecond.graph import Cloud


class Clouds(Protocol):
    """A list of clouds, or an object that builds each cloud on access."""

    def __len__(self) -> int: ...

    def __getitem__(self, index: int, /) -> Cloud: ...


@dataclass(frozen=True, eq=False)
class Examples:
    """Clouds with their targets: the training or the test set of a dataset.

    Attributes:
        name: Name of the dataset.
        classes: Name of each class, or of each target of a regression.
        clouds: One cloud per example, possibly built on access.
        ys: Class of each example, or its targets, NaN where unknown.
        digest: Checksum of the whole dataset, for the records: equal digests mean equal data.
        names: Name of each example in the dataset; may be empty.
        weights: Weight of each example in the loss; none for equal weights.
    """

    name: str
    classes: tuple[str, ...]
    clouds: Clouds
    ys: Int[Tensor, " n"] | Float[Tensor, "n t"]
    digest: str
    names: Sequence[str] = ()
    weights: Float[Tensor, " n"] | None = None

    def __post_init__(self) -> None:
        if len(self.clouds) != len(self.ys) or (self.names and len(self.names) != len(self.ys)):
            raise DataError(
                f"{self.name} needs one class per cloud: got {len(self.ys)} classes for {len(self.clouds)} clouds."
            )
        if self.ys.is_floating_point():
            return
        unknown = self.ys[(self.ys < 0) | (self.ys >= len(self.classes))]
        if len(unknown):
            raise DataError(
                f"{self.name} has {len(self.classes)} classes, numbered from 0: found the unknown class "
                f"{int(unknown[0])}."
            )

    def __len__(self) -> int:
        return len(self.ys)

    def __getitem__(self, index: int) -> tuple[Cloud, Any]:
        y = self.ys[index]
        return self.clouds[index], y if y.dim() else int(y)

    def __iter__(self) -> Iterator[tuple[Cloud, Any]]:
        return (self[index] for index in range(len(self)))

    def take(self, indices: Sequence[int]) -> Examples:
        """Return some of the examples, in the given order."""
        chosen = [range(len(self))[index] for index in indices]
        return replace(
            self,
            clouds=_Chosen(self.clouds, chosen),
            ys=self.ys[chosen],
            names=[self.names[index] for index in chosen] if self.names else (),
            weights=None if self.weights is None else self.weights[chosen],
        )


@dataclass(frozen=True, eq=False)
class PointExamples:
    """Clouds with a class for every point: the training or the test set of a dataset.

    Attributes:
        name: Name of the dataset.
        classes: Name of each class, or of each number to predict.
        clouds: One cloud per example, possibly built on access; its `y` has the targets of its points.
        digest: Checksum of the whole dataset, for the records: equal digests mean equal data.
        names: Name of each example in the dataset; may be empty.
    """

    name: str
    classes: tuple[str, ...]
    clouds: Clouds
    digest: str
    names: Sequence[str] = ()
    weights: ClassVar[None] = None  # the examples have as many targets as points

    def __len__(self) -> int:
        return len(self.clouds)

    def __getitem__(self, index: int) -> tuple[Cloud, int]:
        """Return a cloud, and -1 in the place of a class of the whole cloud."""
        cloud = self.clouds[index]
        if cloud.y is None:
            raise DataError(f"{self.name} needs a target for every point: cloud {index} has none.")
        if cloud.y.is_floating_point():
            return cloud, -1
        unknown = cloud.y[(cloud.y < -1) | (cloud.y >= len(self.classes))]
        if len(unknown):
            raise DataError(
                f"{self.name} has {len(self.classes)} classes, numbered from 0, and -1 where unknown: "
                f"found the class {int(unknown[0])} in cloud {index}."
            )
        return cloud, -1

    @cached_property
    def ys(self) -> Int[Tensor, " points"] | Float[Tensor, "points t"]:
        """Class of each point, cloud by cloud, -1 where it is unknown; or its numbers, NaN where one is unknown."""
        parts = [self[index][0].y for index in range(len(self))]
        return torch.cat([part for part in parts if part is not None])

    def take(self, indices: Sequence[int]) -> PointExamples:
        """Return some of the examples, in the given order."""
        chosen = [range(len(self))[index] for index in indices]
        names = [self.names[index] for index in chosen] if self.names else ()
        return replace(self, clouds=_Chosen(self.clouds, chosen), names=names)


@dataclass(frozen=True)
class _Chosen:
    clouds: Clouds
    indices: Sequence[int]

    def __len__(self) -> int:
        return len(self.indices)

    def __getitem__(self, index: int, /) -> Cloud:
        return self.clouds[self.indices[index]]


def checked_weights(weights: Any, count: int, where: str = "the weights") -> Float[Tensor, " n"]:
    """Return the weight of each example, in single precision.

    Args:
        weights: A number for each example.
        count: Number of examples.
        where: Origin of the weights, for messages.
    """
    values = np.asarray(weights, np.float64)
    if values.shape != (count,):
        raise DataError(f"{where} must be a number for each of {count} examples: got an array of shape {values.shape}.")
    if (bad := np.flatnonzero(~(np.isfinite(values) & (values >= 0)))).size:
        raise DataError(f"{where} must be finite and not below 0: that of example {bad[0]} is {values[bad[0]]:g}.")
    if not values.any():
        raise DataError(f"{where} must not all be 0: there would be nothing to learn. Give some examples a weight.")
    return torch.from_numpy(values.astype(np.float32))


def checked_cloud(positions: Float[np.ndarray, "n 3"], signal: Float[np.ndarray, "n d0"], source: object) -> Cloud:
    """Return a cloud in single precision; it must have at least one point, and all numbers must be finite.

    Args:
        positions: Position of each point.
        signal: Signal of each point.
        source: Origin of the cloud, for messages.
    """
    if not len(positions):
        raise DataError(f"{source} holds an empty cloud: at least one point is needed.")
    with np.errstate(over="ignore"):  # numbers beyond single precision become infinite, and are refused
        single = [np.array(rows, np.float32) for rows in (positions, signal)]
    for what, rows in zip(("position", "signal"), single, strict=True):
        bad = np.flatnonzero(~np.isfinite(rows).all(1))
        if len(bad):
            raise DataError(
                f"{source} must hold finite numbers: the {what} of point {bad[0]} is {rows[bad[0]].tolist()}."
            )
    return Cloud(torch.from_numpy(single[0]), torch.from_numpy(single[1]))
