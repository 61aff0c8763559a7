"""Laser scans in the ASPRS format, .las, and compressed, .laz."""

from __future__ import annotations

import io
import struct
from collections.abc import Sequence
from importlib import import_module

import numpy as np

from edgecond.data.budget import MOST_RATIO
from edgecond.data.formats.table import Table

_HEADER = 227  # bytes of the shortest header, that of LAS 1.0
_SIZES = (20, 28, 26, 34, 57, 63, 30, 36, 38, 59, 67)  # bytes of a point in formats 0 to 10
_COLOURS = {2: 20, 3: 28, 5: 28, 7: 30, 8: 30, 10: 30}  # offset of the colours in a point, by format
_NIR = {8: 36, 10: 36}  # offset of the near infrared
_RECORD = struct.Struct("<2x16sHH32x")  # header of a variable length record: user, number, length


def read(data: bytes) -> Table:
    """Read positions, intensities, and colours where the format has them; versions 1.0 to 1.4.

    The classes of points, which are often the target, are read as `classification` only on request: -1 for points
    that were never classified, which the format numbers 0. Numbers of returns, the scan angle in degrees and the near
    infrared are part of the signal only on request. Other attributes are not read.
    """
    if data[:4] != b"LASF" or len(data) < _HEADER:
        raise ValueError("it must begin with the header of a LAS file")
    head, start, records, kind, size, count = struct.unpack_from("<HIIBHI", data, 94)
    scale, offset = np.frombuffer(data, "<f8", 6, 131).reshape(2, 3)
    if data[25] >= 4 and head >= 255 and len(data) >= 255:
        count = struct.unpack_from("<Q", data, 247)[0]
    compressed, kind = kind & 128, kind & 63
    if kind >= len(_SIZES) or size < _SIZES[kind]:
        raise ValueError(f"its points must have a format from 0 to 10: found {kind} with {size} bytes each")
    if count * size > (MOST_RATIO if compressed else 1) * max(len(data) - start, 0):
        raise ValueError(
            f"its {count} points must fit into the file: they need {count * size:,} bytes and "
            f"{max(len(data) - start, 0):,} are left"
        )
    points = _decompressed(data, start, head, records, count, size) if compressed else data[start:]
    colours = _COLOURS.get(kind, 0)
    byte, mask = (15, 31) if kind < 6 else (16, 255)  # the class, which has five bits in older formats
    rows = np.frombuffer(
        points,
        np.dtype(
            {
                "names": ["position", "intensity", "colours", "class", "returns", "angle", "nir"],
                "formats": [("<i4", 3), "<u2", ("<u2", 3), "u1", "u1", "i1" if kind < 6 else "<i2", "<u2"],
                "offsets": [0, 12, colours, byte, 14, 16 if kind < 6 else 18, _NIR.get(kind, 0)],
                "itemsize": size,
            }
        ),
        count,
    )
    with np.errstate(over="ignore", invalid="ignore"):  # infinite positions, from a damaged header, are refused later
        positions = rows["position"] * scale + offset
    columns = dict(zip("xyz", positions.T, strict=True)) | {"intensity": rows["intensity"]}
    if colours:
        columns |= dict(zip(("red", "green", "blue"), rows["colours"].T, strict=True))
    classes = (rows["class"] & mask).astype(np.int64)
    bits = 3 if kind < 6 else 4  # of the number of a return, and of that of all returns
    optional = {
        "return_number": rows["returns"] & (2**bits - 1),
        "number_of_returns": rows["returns"] >> bits & (2**bits - 1),
        "scan_angle": rows["angle"] * (1.0 if kind < 6 else 0.006),
    }
    if kind in _NIR:
        optional["nir"] = rows["nir"]
    return Table(columns, on_request={"classification": np.where(classes, classes, -1)}, optional=optional)


def _decompressed(data: bytes, start: int, head: int, records: int, count: int, size: int) -> bytearray:
    """Decompress the points of a .laz file with lazrs."""
    try:
        lazrs = import_module("lazrs")
    except ImportError:
        raise ValueError(
            "compressed scans need lazrs, which is not installed: run pip install 'edgecond[clouds]'"
        ) from None
    how = _laszip(data, head, records)
    _check_chunks(data, start, size)
    stream, points = io.BytesIO(data), bytearray(count * size)
    stream.seek(start)
    try:
        _check_layers(data, start + 8, size, _layers(how), lazrs.read_chunk_table(stream, lazrs.LazVlr(how)))
        stream.seek(start)
        lazrs.LasZipDecompressor(stream, how).decompress_many(points)
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:  # lazrs panics on some damaged files, and a panic is not an Exception
        raise ValueError(f"its compressed points are damaged ({error})") from None
    return points


def _check_chunks(data: bytes, start: int, size: int) -> None:
    """Check the number of chunks in the table of chunks, which lazrs trusts; each chunk has an uncompressed point.

    The table begins with a version and that number. Its offset precedes the points; it is -1 if the writer could not
    seek back, and is then at the end of the file.
    """
    table = struct.unpack_from("<q", data, start)[0] if start + 8 <= len(data) else 0
    table = struct.unpack_from("<q", data, len(data) - 8)[0] if table == -1 else table
    if not start + 8 <= table <= len(data) - 8:
        raise ValueError("its compressed points must have a table of chunks in the file")
    if (chunks := struct.unpack_from("<I", data, table + 4)[0]) * size > len(data):
        raise ValueError(f"its {chunks} chunks of compressed points must fit into the file")


def _check_layers(data: bytes, start: int, size: int, layers: int, chunks: Sequence[tuple[int, int]]) -> None:
    """Check the sizes of the layers in each chunk of newer formats, for which lazrs allocates memory.

    Args:
        data: The file.
        start: Offset of the first chunk.
        size: Bytes of a point.
        layers: Number of layers in each chunk.
        chunks: Number of points and bytes of each chunk.
    """
    for _, length in chunks if layers else ():
        claimed = sum(struct.unpack_from(f"<{layers}I", data, start + size + 4))
        if claimed > length:
            raise ValueError(f"a chunk of {length:,} bytes has layers of {claimed:,}")
        start += length


_LAYERS = {
    10: 9,
    11: 1,
    12: 2,
    13: 1,
}  # by kind: points, colours, colours with infrared, waveforms; other bytes have one layer each


def _layers(how: bytes) -> int:
    """Return the number of layers of a chunk, from the LASzip record: 0 in older formats."""
    if struct.unpack_from("<H", how)[0] != 3:
        return 0
    items = struct.iter_unpack("<HHH", how[34 : 34 + 6 * struct.unpack_from("<H", how, 32)[0]])
    return sum(_LAYERS.get(kind, size) for kind, size, _ in items)


def _laszip(data: bytes, head: int, records: int) -> bytes:
    """Return the LASzip record, which describes how points are compressed."""
    for _ in range(records):
        if head + _RECORD.size > len(data):
            break
        user, which, length = _RECORD.unpack_from(data, head)
        head += _RECORD.size
        if (user.rstrip(b"\0"), which) == (b"laszip encoded", 22204):
            return data[head : head + length]
        head += length
    raise ValueError("its points are compressed, so it must have a LASzip record")
