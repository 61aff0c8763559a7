"""What a search for better settings tries: values to choose from, and ranges of numbers."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from edgecond.notation import Architecture, C, FC, Layer


@dataclass(frozen=True)
class Range:
    """Numbers from `low` to `high`, both included; whole ones if both ends are.

    Attributes:
        low: The smallest number.
        high: The largest number.
        log: Whether equal ratios are searched equally, instead of equal differences.
    """

    low: float
    high: float
    log: bool = False

    def __contains__(self, value: object) -> bool:
        return isinstance(value, int | float) and self.low <= value <= self.high


Space = dict[str, tuple[Any, ...] | Range]
"""What to search for each setting, by its dotted name."""


def around(value: float, ratio: float) -> Range:
    """Return the numbers up to `ratio` times larger or smaller than a value; their ends have two digits.

    >>> around(0.003, 5)
    Range(low=0.0006, high=0.015, log=True)
    """
    return Range(_rounded(value / ratio, math.floor), _rounded(value * ratio, math.ceil), log=True)


def _rounded(value: float, towards: Any) -> float:
    unit = 10.0 ** (math.floor(math.log10(value)) - 1)
    return float(f"{towards(round(value / unit, 6)) * unit:.2g}")


def choices(*values: Any, default: Any) -> tuple[Any, ...]:
    """Return the values, and the default if it is none of them."""
    return values if default in values else (default, *values)


def training_space(settings: Mapping[str, Any]) -> Space:
    """Return what to search of the training of any network, around its settings."""
    batch_size = settings["train.batch_size"]
    space: Space = {
        "train.learning_rate": around(settings["train.learning_rate"], 5),
        "train.batch_size": tuple(sorted({max(2, batch_size // 2), batch_size, 2 * batch_size})),
    }
    if settings["train.weight_decay"]:
        space["train.weight_decay"] = around(settings["train.weight_decay"], 20)
    return space


def resized(network: str, factor: float = 1.0, more: int = 0) -> str:
    """Return a network whose layers are wider by a factor, and which has more convolutions, or fewer.

    >>> resized("C(48)-C(64)-GAP-FC(64)-FC(2)", 0.5, more=1)
    'C(24)-C(32)-C(32)-GAP-FC(32)-FC(2)'

    Args:
        network: A network in the paper's notation, which ends with an FC: its outputs stay.
        factor: Factor on the width of all layers but the last.
        more: Number of copies of the last convolution to add, or of convolutions to remove.
    """
    *layers, head = Architecture(network)
    last = max(position for position, layer in enumerate(layers) if isinstance(layer, C))
    layers[last : last + 1] = [layers[last]] * (1 + more) if more >= 0 else []

    def written(layer: Layer) -> str:
        if isinstance(layer, C | FC):
            return f"{type(layer).__name__}({max(1, round(layer.width * factor))})"
        return str(layer)

    return "-".join([*map(written, layers), str(head)])


def network_sizes(network: str, *, deeper: bool = False) -> tuple[str, ...]:
    """Return a network with half, the same and one and a half times the width.

    Args:
        network: A network in the paper's notation, which ends with an FC.
        deeper: Whether to add networks with one convolution less and one more; those with a pyramid keep their
            convolutions, each of which is at the level that it was meant for.
    """
    architecture = Architecture(network)
    count = sum(isinstance(layer, C) for layer in architecture)
    depths = [more for more in (-1, 0, 1) if count + more > 0] if deeper and not architecture.poolings else [0]
    return tuple(resized(network, factor, more) for more in depths for factor in (0.5, 1, 1.5))
