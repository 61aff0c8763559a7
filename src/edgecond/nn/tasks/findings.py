"""What a task finds out about predictions, as plain values that a report draws."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int


@dataclass(frozen=True)
class Cards:
    """A few facts to see first, each with its name."""

    facts: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Table:
    """Rows of text, the first cell of which names the row."""

    headers: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, eq=False)
class ConfusionMatrix:
    """How many examples of each class (row) were predicted as each class (column)."""

    counts: Int[np.ndarray, "classes classes"]
    classes: tuple[str, ...]
    caption: str


@dataclass(frozen=True, eq=False)
class Scatter:
    """Predictions over the truth.

    Attributes:
        truth: What is true.
        predicted: What was predicted.
        examples: Number of the example of each point, if each example has one.
        caption: What the figure shows.
    """

    truth: Float[np.ndarray, " n"]
    predicted: Float[np.ndarray, " n"]
    examples: Int[np.ndarray, " n"] | None
    caption: str


@dataclass(frozen=True)
class Gallery:
    """Examples to draw, each by its number and with a caption."""

    examples: tuple[tuple[int, str], ...]


@dataclass(frozen=True, eq=False)
class Curves:
    """Lines over a common axis.

    Attributes:
        lines: Name, and coordinates of the points of each line.
        horizontal: Title of the horizontal axis.
        vertical: Title of the vertical axis.
        caption: What the figure shows.
        diagonal: Whether to draw the line on which both coordinates are equal.
    """

    lines: tuple[tuple[str, Float[np.ndarray, " n"], Float[np.ndarray, " n"]], ...]
    horizontal: str
    vertical: str
    caption: str
    diagonal: bool = False


@dataclass(frozen=True, eq=False)
class Marks:
    """What the colours on a map of examples mean, and which examples are marked.

    Attributes:
        colours: The class of each example, or a number.
        classes: Names of the classes; empty for numbers.
        title: What the colours are.
        wrong: Whether each prediction is wrong.
        mistake: What is marked as wrong.
    """

    colours: Float[np.ndarray, " n"] | Int[np.ndarray, " n"]
    classes: tuple[str, ...]
    title: str
    wrong: Bool[np.ndarray, " n"]
    mistake: str = "wrong prediction"


Part = Cards | Table | ConfusionMatrix | Scatter | Gallery | Curves


@dataclass(frozen=True, eq=False)
class Finding:
    """A section of a report: its title, a sentence or two, and what follows."""

    title: str
    lead: str
    parts: tuple[Part, ...] = ()


SHOWN = 6
"""Examples in a gallery, at most."""


def percent(share: float) -> str:
    """Return a share in per cent, with two decimals."""
    return f"{100 * share:.2f}"
