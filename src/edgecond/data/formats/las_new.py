"""Points of other formats in the form of a LAS 1.4 scan, so that predictions can be written into a copy of it."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import numpy as np

from edgecond.data.formats import las
from edgecond.data.formats.las import Buffer, Header
from edgecond.data.formats.table import Table

_SIZE = 375  # bytes of a header of LAS 1.4
_WKT = 16  # bit of the global encoding, which formats from 6 must have
_COLOURS = ("red", "green", "blue")
_LARGEST = 2**16 - 1
_STEPS = 2 * 10**9  # less than the integers of a coordinate


class NewScan:
    """The points of a table as a LAS 1.4 file of format 6, or 7 with colours.

    Intensities and colours are kept if they are whole numbers of 16 bits; all other columns are left out.

    Args:
        table: Columns by name, x, y and z among them, all of them finite.
    """

    def __init__(self, table: Table) -> None:
        self._columns = {name: np.asarray(column, np.float64) for name, column in table.columns.items()}
        positions = np.stack([self._columns[axis] for axis in "xyz"], 1)
        self._low, self._high = positions.min(0), positions.max(0)
        form = 7 if all(self._fits(name) for name in _COLOURS) else 6
        offset, count = np.floor(self._low), len(positions)
        extent = np.maximum(self._high - offset, 1e-3)
        scale = 10.0 ** np.ceil(np.log10(extent / _STEPS))  # the finest power of ten that holds all points
        self.header = Header(4, _SIZE, _SIZE, 0, form, False, las.SIZES[form], count, scale, offset)
        self._positions = np.rint((positions - self.header.offset) / scale).astype("<i4")

    @contextmanager
    def data(self) -> Iterator[Buffer]:
        """Yield the header."""
        header, data = self.header, bytearray(_SIZE)
        struct.pack_into("<4sHH", data, 0, b"LASF", 0, _WKT)
        struct.pack_into("<BB32s32s", data, 24, 1, 4, b"OTHER", b"edgecond")
        legacy = 0  # formats from 6 have no counts of 32 bits
        struct.pack_into("<HIIBHI", data, 94, _SIZE, _SIZE, 0, header.form, header.width, legacy)
        struct.pack_into("<12d", data, 131, *header.scale, *header.offset, *_alternating(self._high, self._low))
        struct.pack_into("<QQ", data, 247, header.count, header.count)  # all points, and all first returns
        yield bytes(data)

    def points(self) -> Iterator[np.ndarray]:
        """Yield the bytes of all points."""
        rows = np.zeros((self.header.count, self.header.width), np.uint8)
        rows[:, :12] = self._positions.view(np.uint8)
        if self._fits("intensity"):
            rows[:, 12:14] = self._words("intensity")
        rows[:, 14] = 17  # the first return of one
        if self.header.form == 7:
            rows[:, 30:36] = np.concatenate([self._words(name) for name in _COLOURS], 1)
        yield rows

    def _fits(self, name: str) -> bool:
        column = self._columns.get(name)
        return column is not None and bool(((column >= 0) & (column <= _LARGEST) & (column % 1 == 0)).all())

    def _words(self, name: str) -> np.ndarray:
        return self._columns[name].astype("<u2")[:, None].view(np.uint8)


def _alternating(high: np.ndarray, low: np.ndarray) -> Sequence[float]:
    """Return largest and smallest coordinates in the order of the header."""
    return [number for pair in zip(high, low, strict=True) for number in pair]
