"""Compressed points of laser scans, by lazrs: checked before it reads them, since it trusts what they announce."""

from __future__ import annotations

import io
import struct
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from typing import Any, BinaryIO, TYPE_CHECKING

if TYPE_CHECKING:
    from edgecond.data.formats.las import Buffer, Header

USER, NUMBER = b"laszip encoded", 22204
"""User and number of the LASzip record, which describes how points are compressed."""
_VARIABLE = 2**32 - 1  # size of the chunks, if they differ


def decompressed(data: Buffer, header: Header, how: bytes) -> bytearray:
    """Decompress all points of a file; see `opened`."""
    points = bytearray(header.count * header.width)
    reader = opened(data, io.BytesIO(data), header, how)
    with damaged():
        reader.decompress_many(points)
    return points


def opened(data: Buffer, file: BinaryIO, header: Header, how: bytes) -> Any:
    """Return what decompresses the points of a file one after the other, by `decompress_many`.

    Args:
        data: The file, whose tables are checked.
        file: The same, opened.
        header: Its header.
        how: Its LASzip record.
    """
    lazrs = library()
    _check_chunks(data, header.start, header.width)
    with damaged():
        file.seek(header.start)
        chunks = lazrs.read_chunk_table(file, lazrs.LazVlr(how))
        _check_layers(data, header.start + 8, header.width, _layers(how), chunks)
        file.seek(header.start)
        return lazrs.LasZipDecompressor(file, how)


def new_record(form: int, extra: int, like: bytes | None = None) -> bytes:
    """Return a LASzip record to compress points with.

    Args:
        form: Format of the points.
        extra: Bytes of a point beyond those of its format.
        like: The record of another file, which is returned if it compresses the same points in chunks of equal size.
    """
    new = bytes(library().LazVlr.new_for_compression(form, extra).record_data())
    same = like is not None and (like[:2], like[32:]) == (new[:2], new[32:])
    if like is not None and same and struct.unpack_from("<I", like, 12)[0] not in (0, _VARIABLE):
        return like
    return new


def library() -> Any:
    """Return lazrs; raise a `ValueError` with what to install if it is missing."""
    try:
        return import_module("lazrs")
    except ImportError:
        raise ValueError(
            "compressed scans need lazrs, which is not installed: run pip install 'edgecond[clouds]'"
        ) from None


@contextmanager
def damaged() -> Iterator[None]:
    """Turn what lazrs raises into a `ValueError`: it panics on some damaged files, and a panic is not an Exception."""
    try:
        yield
    except (KeyboardInterrupt, SystemExit, GeneratorExit):
        raise
    except BaseException as error:
        raise ValueError(f"its compressed points are damaged ({error})") from None


def _check_chunks(data: Buffer, start: int, size: int) -> None:
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


def _check_layers(data: Buffer, start: int, size: int, layers: int, chunks: Sequence[tuple[int, int]]) -> None:
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
