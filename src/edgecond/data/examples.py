"""Clouds with what to predict of them: the training or the test part of a dataset."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Protocol

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from edgecond.errors import DataError
from edgecond.graph import Cloud


class Clouds(Protocol):
    """A list of clouds, or something like it that makes each cloud when it is asked for."""

    def __len__(self) -> int: ...

    def __getitem__(self, index: int, /) -> Cloud: ...


@dataclass(frozen=True, eq=False)
class Examples:
    """Clouds with what to predict of them: the training or the test part of a dataset.

    Attributes:
        name: The dataset.
        classes: Name of each class, or of each quantity.
        clouds: One cloud per example, made on access where there are many.
        ys: Class of each example, or its quantities, NaN where unknown.
        digest: Sum of the whole dataset's contents, for the records: equal digests, equal data.
        names: What the dataset calls each example; may be empty.
    """

    name: str
    classes: tuple[str, ...]
    clouds: Clouds
    ys: Int[Tensor, " n"] | Float[Tensor, "n t"]
    digest: str
    names: Sequence[str] = ()

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
        """Some of the examples, in the given order."""
        chosen = [range(len(self))[index] for index in indices]
        return replace(
            self,
            clouds=_Chosen(self.clouds, chosen),
            ys=self.ys[chosen],
            names=[self.names[index] for index in chosen] if self.names else (),
        )


@dataclass(frozen=True, eq=False)
class PointExamples:
    """Clouds with a class to predict for every point: the training or the test part of a dataset.

    Attributes:
        name: The dataset.
        classes: Name of each class.
        clouds: One cloud per example, made on access where there are many; `y` tells the classes of its points.
        digest: Sum of the whole dataset's contents, for the records: equal digests, equal data.
        names: What the dataset calls each example; may be empty.
    """

    name: str
    classes: tuple[str, ...]
    clouds: Clouds
    digest: str
    names: Sequence[str] = ()

    def __len__(self) -> int:
        return len(self.clouds)

    def __getitem__(self, index: int) -> tuple[Cloud, int]:
        """A cloud, and -1 for the class of the whole, which it does not have."""
        cloud = self.clouds[index]
        if cloud.y is None:
            raise DataError(f"{self.name} needs a class for every point, or -1: cloud {index} has none at all.")
        unknown = cloud.y[(cloud.y < -1) | (cloud.y >= len(self.classes))]
        if len(unknown):
            raise DataError(
                f"{self.name} has {len(self.classes)} classes, numbered from 0, and -1 for points of none: found the "
                f"unknown class {int(unknown[0])} in cloud {index}."
            )
        return cloud, -1

    @cached_property
    def ys(self) -> Int[Tensor, " points"]:
        """Class of each point, one cloud after the other; -1 where it is unknown."""
        parts = [self[index][0].y for index in range(len(self))]
        return torch.cat([part for part in parts if part is not None])

    def take(self, indices: Sequence[int]) -> PointExamples:
        """Some of the examples, in the given order."""
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


def checked_cloud(positions: Float[np.ndarray, "n 3"], signal: Float[np.ndarray, "n d0"], source: object) -> Cloud:
    """A cloud in single precision of numbers from a file, `source`: at least one point, and every number finite."""
    if not len(positions):
        raise DataError(f"{source} holds an empty cloud: at least one point is needed.")
    with np.errstate(over="ignore"):  # what single precision cannot hold becomes infinite, and is refused
        single = [np.array(rows, np.float32) for rows in (positions, signal)]
    for what, rows in zip(("position", "signal"), single, strict=True):
        bad = np.flatnonzero(~np.isfinite(rows).all(1))
        if len(bad):
            raise DataError(
                f"{source} must hold finite numbers: the {what} of point {bad[0]} is {rows[bad[0]].tolist()}."
            )
    return Cloud(torch.from_numpy(single[0]), torch.from_numpy(single[1]))
