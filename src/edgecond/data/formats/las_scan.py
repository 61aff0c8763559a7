"""Laser scans of any size: the points of a .las or .laz file, some at a time, as bytes and as columns."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from mmap import ACCESS_READ, mmap
from pathlib import Path

import numpy as np
from jaxtyping import UInt8

from edgecond.data.formats import las, laz
from edgecond.data.formats.table import Table

CHUNK = 2**18
"""Number of points that are read at a time."""

Points = UInt8[np.ndarray, "n width"]


class LasScan:
    """A .las or .laz file, whose header is checked; its points are read again by each iteration.

    Args:
        path: The file.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        with self.data() as data:
            self.header = las.header(data)
        self.count = self.header.count

    @contextmanager
    def data(self) -> Iterator[las.Buffer]:
        """Yield the bytes of the file, which are read as far as they are used."""
        with self.path.open("rb") as file, mmap(file.fileno(), 0, access=ACCESS_READ) as data:
            yield data

    def points(self) -> Iterator[Points]:
        """Yield the bytes of the points, `CHUNK` at a time; they are changed by the next iteration."""
        header, width = self.header, self.header.width
        buffer = bytearray(min(CHUNK, self.count) * width)
        with self.path.open("rb") as file, self.data() as data:
            if header.compressed:
                reader = laz.opened(data, file, header, las.laszip(data, header))
            else:
                file.seek(header.start)
            for start in range(0, self.count, CHUNK):
                part = memoryview(buffer)[: min(CHUNK, self.count - start) * width]
                if header.compressed:
                    with laz.damaged():
                        reader.decompress_many(part)
                elif file.readinto(part) < len(part):
                    raise ValueError(f"its points must fit into the file: it ends within the first {start + CHUNK}")
                yield np.frombuffer(part, np.uint8).reshape(-1, width)

    def tables(self) -> Iterator[Table]:
        """Yield the columns of the points, `CHUNK` at a time."""
        for points in self.points():
            yield las.table(points.tobytes(), self.header, len(points))
