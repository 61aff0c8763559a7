"""The contents of a point file: named columns of numbers, and triangles between the rows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
from jaxtyping import Float, Int, Shaped

from edgecond.data.budget import MOST_COLUMNS

Triangles = Int[np.ndarray, "f 3"]

_SHORT = {"r": "red", "g": "green", "b": "blue", "i": "intensity"}


@dataclass(frozen=True, eq=False)
class Table:
    """Columns with a number per point, or per vertex of the triangles.

    Attributes:
        columns: Columns by name.
        triangles: Rows of the three corners of each triangle, numbered from 0.
        on_request: Columns that are targets only if they are requested by name, and never part of the signal.
        optional: Columns that are part of the signal only if they are requested by name.
        holes: A point whose position has a NaN was not measured, and is left out.
        unmeasured: Number of such points that were left out.
    """

    columns: dict[str, np.ndarray]
    triangles: Triangles = field(default_factory=lambda: np.empty((0, 3), np.int64))
    on_request: dict[str, np.ndarray] = field(default_factory=dict)
    optional: dict[str, np.ndarray] = field(default_factory=dict)
    holes: bool = False
    unmeasured: int = 0


def named(pairs: Iterable[tuple[str, np.ndarray]]) -> dict[str, np.ndarray]:
    """Return columns by their usual names; a column whose name is empty is left out."""
    columns: dict[str, np.ndarray] = {}
    for title, column in pairs:
        name = usual(title)
        if not name:
            continue
        if name in columns:
            raise ValueError(f"its columns must have different names: two are called {name!r}")
        columns[name] = column
    return columns


def usual(title: str) -> str:
    """Return the usual name of a column: `R`, `diffuse_red` and `scalar_Red` all give `red`."""
    name = title.strip(" \t\"'").casefold().removeprefix("scalar_").removeprefix("diffuse_")
    return _SHORT.get(name, name)


def unnamed(rows: np.ndarray) -> dict[str, np.ndarray]:
    """Return the columns of a matrix as x, y and z, and others named by their number."""
    if rows.ndim != 2 or rows.shape[1] < 3:
        raise ValueError(f"it must have columns x, y, z and perhaps others: found the shape {rows.shape}")
    if rows.shape[1] > MOST_COLUMNS:
        raise ValueError(f"it must have at most {MOST_COLUMNS:,} columns: found {rows.shape[1]:,}")
    return {"xyz"[k] if k < 3 else f"column {k + 1}": rows[:, k] for k in range(rows.shape[1])}


def lines(data: bytes, before: int = 0) -> dict[int, str]:
    """Return the lines that are not blank by their numbers; `before` lines precede them."""
    rows = enumerate(data.splitlines(), before + 1)
    return {line: row.decode("latin-1") for line, row in rows if not row.isspace() and row}


def numbers(rows: Mapping[int, str], expected: int | None = None) -> Float[np.ndarray, "n k"]:
    """Parse lines of numbers separated by blanks; all have the same count.

    Args:
        rows: The lines by their numbers.
        expected: Count of numbers that lines should have, to name the first that has not if they differ; that of the
            first line by default.
    """
    for line, row in rows.items():
        if not row.strip():
            raise ValueError(f"line {line} must hold numbers: found none")
    try:
        return np.loadtxt(list(rows.values()), np.float64, comments=None, ndmin=2)
    except ValueError:
        width = expected or len(next(iter(rows.values())).split())
        for line, row in rows.items():
            words = row.split()
            for word in words:
                if not is_number(word):
                    raise ValueError(f"line {line} must hold numbers: found {word[:20]!r}") from None
            if len(words) != width:
                raise ValueError(f"line {line} must hold {width} numbers: found {len(words)}") from None
        raise


def is_number(word: str | bytes, kind: type = float) -> bool:
    """Whether a word is a number, or a whole number where `kind` is int."""
    try:
        return kind(word) is not None
    except ValueError:
        return False


def fans(polygons: Sequence[Sequence[int]] | Shaped[np.ndarray, "f c"]) -> Triangles:
    """Cut polygons into triangles, each a fan around its first corner."""
    if isinstance(polygons, np.ndarray) and polygons.ndim == 2:
        if not (np.abs(polygons) <= 2**53).all() or (polygons % 1).any():
            raise ValueError("the corners of its faces must be whole numbers")
        k = np.arange(1, max(polygons.shape[1] - 1, 1))
        return polygons[:, np.stack([0 * k, k, k + 1], 1)].reshape(-1, 3).astype(np.int64)
    triangles = [(corners[0], *pair) for corners in polygons for pair in pairwise(corners[1:])]
    return np.array(triangles, np.int64).reshape(-1, 3)
