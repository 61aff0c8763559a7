"""Labelled point clouds and graphs by name: `load("sydney", fold=0)`, `load("nci1", fold=0)` (Section 4).

A dataset is a module with the number of its `FOLDS`, a function `load` and a function `fetch`; `_REGISTER` lists them.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from importlib import import_module
from types import ModuleType
from typing import Any, Protocol

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from edgecond.datasets._archives import is_archive
from edgecond.datasets._files import DataError, Progress
from edgecond.datasets._names import hint
from edgecond.datasets.graphs import GraphExamples
from edgecond.graph import Cloud

__all__ = [
    "Clouds",
    "DataError",
    "Examples",
    "GraphExamples",
    "PointExamples",
    "checked_cloud",
    "fetch",
    "folds",
    "is_archive",
    "load",
    "names",
]

_REGISTER: dict[str, tuple[str, dict[str, Any]]] = {
    "sydney": ("sydney", {}),
    "modelnet10": ("modelnet", {"classes": 10}),
    "modelnet40": ("modelnet", {"classes": 40}),
    "mnist": ("mnist", {}),
    "digits": ("digits", {}),
    "synthetic": ("synthetic", {}),
    "scenes": ("scenes", {}),
    "nci1": ("table3", {"dataset": "nci1"}),
    "nci109": ("table3", {"dataset": "nci109"}),
    "mutag": ("table3", {"dataset": "mutag"}),
    "mutag11": ("table3", {"dataset": "mutag11"}),
    "enzymes": ("table3", {"dataset": "enzymes"}),
    "dd": ("table3", {"dataset": "dd"}),
}


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


def names() -> list[str]:
    """The datasets that `load` knows."""
    return list(_REGISTER)


def folds(name: str) -> int:
    """How many splits into training and test examples a dataset has."""
    return _module(name).FOLDS


def load(
    name: str, fold: int = 0, **options: Any
) -> tuple[Examples, Examples] | tuple[PointExamples, PointExamples] | tuple[GraphExamples, GraphExamples]:
    """Training and test examples of a dataset: of clouds, of their points, or of graphs.

    Args:
        name: One of `names()`.
        fold: The number of the split, below `folds(name)`.
        options: What the dataset's own `load` takes, as `sparse=True` for MNIST or `split="fair"` for NCI1.
    """
    module, preset = _module(name), _REGISTER[name][1]
    if not 0 <= fold < module.FOLDS:
        raise DataError(f"the folds of {name} are numbered from 0 to {module.FOLDS - 1}: got {fold}.")
    parameters = inspect.signature(module.load).parameters
    known = [option for option in parameters if option not in ("fold", *preset)]
    for option, value in options.items():
        if option not in known:
            raise DataError(f"{name} has no option {option!r}: it has {', '.join(known) or 'none'}.")
        usual = parameters[option].default
        if not isinstance(value, (int, float) if isinstance(usual, float) else type(usual)):
            raise DataError(
                f"the option {option} of {name} must be like {usual!r}, which it is usually: got {value!r}."
            )
    return module.load(fold=fold, **preset, **options)


def fetch(name: str, progress: Progress | None = None) -> str:
    """Download what is missing of a dataset, check all of it, and say in a sentence what was done."""
    module, preset = _module(name), _REGISTER[name][1]
    return module.fetch(progress=progress, **preset)


def _module(name: str) -> ModuleType:
    if name not in _REGISTER:
        raise DataError(f"there is no dataset {name!r}: {hint(name, names())}")
    return import_module(f"edgecond.datasets.{_REGISTER[name][0]}")
