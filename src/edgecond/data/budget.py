"""The memory that a file may take, by its size: every reader checks it before it allocates.

A count in a header costs a few bytes and may ask for terabytes. So whatever a file announces is compared with one of
these limits, and reading it takes at most `FACTOR` $n$ + `CONSTANT` bytes of memory, where $n$ is its size or, if it is
compressed, the size that it unpacks to.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Int

from edgecond.errors import DataError

FACTOR = 400
"""Bytes of memory per byte of a file; lines of text, which are Python objects while they are parsed, take most."""
CONSTANT = 2**28
"""Bytes of memory that any file may take."""
MOST_BYTES = 4 * 2**30
"""Largest size of an unpacked archive."""
MOST_RATIO = 100
"""Largest compression ratio; text reaches 20."""
FREE = 2**20
"""Bytes to unpack, or vertices to number, that any file may ask for, however small it is."""

MOST_COLUMNS = 10_000
"""Columns of points; each is an object of some hundred bytes, though its numbers may take one."""
FREE_FACES = 200_000
"""Faces that a mesh may be divided into, however few it has."""

COARSENING = 2**30
"""Bytes of memory that coarsening a graph may take besides."""
MOST_ENTRIES = 2**23
"""Entries of a matrix while a graph is coarsened: its reduction may connect all pairs of vertices, and a sparse factor
may have far more entries than the graph has edges. The largest graph of D&D needs a quarter of them."""
MOST_POINTS = 2**22
"""Points of a data set that is generated; a cloud counts as a thousand points more."""
MOST_LABELS = 1000
"""Categories of a label, and classes of vertices: each is a column of a one-hot signal."""
MOST_SMILES = 10_000
"""Characters of a SMILES; a protein of 500 amino acids has about so many."""
MOST_RING = 2500
"""Atoms in rings of a molecule: RDKit takes 28 bytes for each pair of atoms of a ring."""


def unpacked(size: int, most: int = MOST_BYTES) -> int:
    """Return the number of bytes that a compressed file of this size may unpack to."""
    return min(most, max(FREE, MOST_RATIO * size))


def numbered(size: int) -> int:
    """Return the number of vertices that a file of this size may announce without storing anything for each."""
    return FREE + size


def generated(name: str, clouds: int, points: float) -> None:
    """Raise a `DataError` if a data set of so many clouds would have more than `MOST_POINTS`."""
    if clouds * (points + 1000) > MOST_POINTS:
        raise DataError(
            f"{name} must have at most {MOST_POINTS:,} points, where each cloud counts as a thousand more: {clouds:,} "
            f"clouds of {points:,.0f} points were asked for."
        )


def one_hot(size: int) -> int:
    """Return the number of entries of the one-hot signal of all vertices that a file of this size may have."""
    return (CONSTANT // 2 + FACTOR // 2 * size) // 4


def divided(faces: Int[np.ndarray, " b"]) -> Int[np.ndarray, " b"]:
    """Return about the number of faces that meshes of so many may be divided into."""
    return FREE_FACES + 4 * faces
