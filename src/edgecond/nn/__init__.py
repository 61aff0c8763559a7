"""The model wing: labelled pyramids become predictions."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from edgecond.nn.swapping import swap as swap

__all__ = ["swap"]


def __getattr__(name: str) -> object:
    if name != "swap":
        raise AttributeError(f"module 'edgecond.nn' has no attribute {name!r}")
    from edgecond.nn.swapping import swap  # on first use: a part of the wing is imported without the others

    globals()[name] = swap
    return swap
