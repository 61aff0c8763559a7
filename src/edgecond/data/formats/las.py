"""Laser scans in the ASPRS format, .las, and compressed, .laz."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from mmap import mmap
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from edgecond.data.budget import MOST_RATIO
from edgecond.data.formats import laz
from edgecond.data.formats.table import Table

Buffer = bytes | bytearray | mmap

_HEADER = 227  # bytes of the shortest header, that of LAS 1.0
SIZES = (20, 28, 26, 34, 57, 63, 30, 36, 38, 59, 67)  # bytes of a point in formats 0 to 10
COMPRESSED = 128
"""Bit of the format of points that marks compressed ones."""
_COLOURS = {2: 20, 3: 28, 5: 28, 7: 30, 8: 30, 10: 30}  # offset of the colours in a point, by format
_NIR = {8: 36, 10: 36}  # offset of the near infrared
RECORD = struct.Struct("<2x16sHH32x")  # header of a variable length record: user, number, length


@dataclass(frozen=True, eq=False)
class Header:
    """What the header of a file says of its points, checked against the length of the file.

    Attributes:
        version: Minor version: 2 for LAS 1.2.
        size: Bytes of the header, after which the records begin.
        start: Offset of the points.
        records: Number of variable length records.
        form: Format of points, from 0 to 10.
        compressed: Whether points are compressed.
        width: Bytes of a point.
        count: Number of points.
        scale: Factor from the integers of points to their coordinates.
        offset: Coordinates of the integers 0.
    """

    version: int
    size: int
    start: int
    records: int
    form: int
    compressed: bool
    width: int
    count: int
    scale: Float[np.ndarray, " 3"]
    offset: Float[np.ndarray, " 3"]

    @property
    def extra(self) -> int:
        """Bytes of a point beyond those of its format."""
        return self.width - SIZES[self.form]


def header(data: Buffer) -> Header:
    """Read the header of a file; raise a `ValueError` if its points cannot be in the file."""
    if data[:4] != b"LASF" or len(data) < _HEADER:
        raise ValueError("it must begin with the header of a LAS file")
    size, start, records, form, width, count = struct.unpack_from("<HIIBHI", data, 94)
    scale, offset = np.frombuffer(data[131:179], "<f8").reshape(2, 3)
    version = data[25]
    if version >= 4 and size >= 255 and len(data) >= 255:
        count = struct.unpack_from("<Q", data, 247)[0]
    compressed, form = bool(form & COMPRESSED), form & 63
    if form >= len(SIZES) or width < SIZES[form]:
        raise ValueError(f"its points must have a format from 0 to 10: found {form} with {width} bytes each")
    if count * width > (MOST_RATIO if compressed else 1) * max(len(data) - start, 0):
        raise ValueError(
            f"its {count} points must fit into the file: they need {count * width:,} bytes and "
            f"{max(len(data) - start, 0):,} are left"
        )
    return Header(version, size, start, records, form, compressed, width, count, scale, offset)


def read(data: bytes) -> Table:
    """Read positions, intensities, and colours where the format has them; versions 1.0 to 1.4.

    The classes of points, which are often the target, are read as `classification` only on request: -1 for points
    that were never classified, which the format numbers 0. Numbers of returns, the scan angle in degrees and the near
    infrared are part of the signal only on request. Other attributes are not read.
    """
    found = header(data)
    points = laz.decompressed(data, found, laszip(data, found)) if found.compressed else data[found.start :]
    return table(points, found, found.count)


def table(points: Buffer, header: Header, count: int) -> Table:
    """Return the columns of some points, which are not compressed."""
    form = header.form
    colours = _COLOURS.get(form, 0)
    byte, mask = class_field(form)
    rows = np.frombuffer(
        points,
        np.dtype(
            {
                "names": ["position", "intensity", "colours", "class", "returns", "angle", "nir"],
                "formats": [("<i4", 3), "<u2", ("<u2", 3), "u1", "u1", "i1" if form < 6 else "<i2", "<u2"],
                "offsets": [0, 12, colours, byte, 14, 16 if form < 6 else 18, _NIR.get(form, 0)],
                "itemsize": header.width,
            }
        ),
        count,
    )
    with np.errstate(over="ignore", invalid="ignore"):  # infinite positions, from a damaged header, are refused later
        positions = rows["position"] * header.scale + header.offset
    columns = dict(zip("xyz", positions.T, strict=True)) | {"intensity": rows["intensity"]}
    if colours:
        columns |= dict(zip(("red", "green", "blue"), rows["colours"].T, strict=True))
    classes = (rows["class"] & mask).astype(np.int64)
    bits = 3 if form < 6 else 4  # of the number of a return, and of that of all returns
    optional = {
        "return_number": rows["returns"] & (2**bits - 1),
        "number_of_returns": rows["returns"] >> bits & (2**bits - 1),
        "scan_angle": rows["angle"] * (1.0 if form < 6 else 0.006),
    }
    if form in _NIR:
        optional["nir"] = rows["nir"]
    return Table(columns, on_request={"classification": np.where(classes, classes, -1)}, optional=optional)


def class_field(form: int) -> tuple[int, int]:
    """Return the offset of the byte with the class in a point of a format, and the bits of it that are the class."""
    return (15, 31) if form < 6 else (16, 255)


class Record(NamedTuple):
    """A variable length record: its user, its number, and all its bytes."""

    user: bytes
    number: int
    raw: bytes

    @property
    def content(self) -> bytes:
        return self.raw[RECORD.size :]


def records(data: Buffer, header: Header) -> Iterator[Record]:
    """Yield the variable length records whose headers are in the file."""
    at = header.size
    for _ in range(header.records):
        if at + RECORD.size > len(data):
            return
        user, number, length = RECORD.unpack_from(data, at)
        yield Record(user.rstrip(b"\0"), number, bytes(data[at : at + RECORD.size + length]))
        at += RECORD.size + length


def laszip(data: Buffer, header: Header) -> bytes:
    """Return the LASzip record of a file, which describes how its points are compressed."""
    for record in records(data, header):
        if record[:2] == (laz.USER, laz.NUMBER):
            return record.content
    raise ValueError("its points are compressed, so it must have a LASzip record")
