"""The memory that a file may take, by its size: every reader checks it before it allocates.

A count in a header costs a few bytes and may ask for terabytes. So whatever a file announces is compared with one of
these limits, and reading it takes at most `FACTOR` $n$ + `CONSTANT` bytes of memory, where $n$ is its size or, if it is
compressed, the size that it unpacks to.
"""

from __future__ import annotations

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


def unpacked(size: int, most: int = MOST_BYTES) -> int:
    """Return the number of bytes that a compressed file of this size may unpack to."""
    return min(most, max(FREE, MOST_RATIO * size))


def numbered(size: int) -> int:
    """Return the number of vertices or columns that a file of this size may announce without storing any for each."""
    return FREE + size
