"""Classified copies of laser scans: the classes of points are replaced, and all else stays as it is.

Where classes have names instead of numbers, a record for the lookup of classes has the code of each, as the format
defines it. Numbers beside the class are extra bytes of each point, described by a record too.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, BinaryIO, Protocol

import numpy as np

from edgecond.data.formats import las, laz
from edgecond.data.formats.las import Buffer, Header, Record

CLASS = "class"
"""Name of the predicted column that replaces the class of a point."""
Columns = Mapping[str, np.ndarray]

_SPECIFICATION = b"LASF_Spec"
_LOOKUP, _EXTRA = 0, 4  # numbers of the records for the lookup of classes, and for extra bytes
_DESCRIPTOR = struct.Struct("<2xBB32s124x32x")  # type, options, name
_FLOAT = 9  # type of extra bytes
_WIDTHS = (1, 1, 2, 2, 4, 4, 8, 8, 4, 8)  # bytes of the types from 1
_COPC = b"copc"  # user of the records of a Cloud Optimized Point Cloud: offsets of chunks, which a copy has elsewhere
_LONG = struct.Struct("<2x16sHQ32x")  # header of an extended record: user, number, length
_WAVES, _LONGS = 227, 235  # where a header has the offsets of waveforms and of extended records
_BLOCK = 2**20
_BROKEN = (9, 10)  # formats whose waveforms differ after lazrs 0.8.2 has compressed and decompressed them


class Source(Protocol):
    """What a copy is made of: `LasScan`, or points of another format in the form of one."""

    header: Header

    def data(self) -> AbstractContextManager[Buffer]:
        """Return the bytes of the file, of which those of points are not used."""

    def points(self) -> Iterator[np.ndarray]:
        """Yield the bytes of the points, some at a time."""


def write(
    source: Source,
    file: BinaryIO,
    predicted: Iterable[Columns],
    *,
    compressed: bool,
    classes: Mapping[int, str],
    extra: Sequence[str] = (),
) -> None:
    """Write a copy of a scan with predictions, in constant memory.

    Args:
        source: The scan.
        file: The file to write, empty.
        predicted: The predicted columns of the points, as many at a time as the source yields.
        compressed: Whether points are compressed.
        classes: Name of each class by its number in the column `CLASS`; none if there is no such column.
        extra: Names of the other columns, numbers in single precision.
    """
    header, codes = source.header, class_codes(classes, source.header.form)
    if header.form in _BROKEN and (compressed or header.compressed):
        raise ValueError(
            f"points of format {header.form} have waveforms, which lazrs changes: convert and write LAS files instead"
        )
    with source.data() as data:
        records = [each for each in las.records(data, header) if each.user != _COPC]
        padding = bytes(data[header.size + sum(len(each.raw) for each in las.records(data, header)) : header.start])
        if any(name != str(code) for name, code in zip(classes.values(), codes.values(), strict=True)):
            _put(records, _record(_SPECIFICATION, _LOOKUP, _lookup(classes, codes), "class names by edgecond"))
        places, width = _placed(records, header, extra)
        how = _compression(records, header, width, compressed)
        start = header.size + sum(len(each.raw) for each in records) + len(padding)
        file.write(bytes(data[: header.size]) + b"".join(each.raw for each in records) + padding)
        sink = _Compressed(file, how) if how else file
        for points, columns in zip(source.points(), predicted, strict=True):
            sink.write(_replaced(points, columns, header, codes, places, width).tobytes())
        if isinstance(sink, _Compressed):
            sink.close()
        after = _copy_rest(data, header, file)
    form = header.form | (las.COMPRESSED if compressed else 0)
    for at, kind, value in [(96, "<IIBH", (start, len(records), form, width)), *after]:
        file.seek(at)
        file.write(struct.pack(kind, *value))
    file.seek(0, 2)


def class_codes(classes: Mapping[int, str], form: int) -> dict[int, int]:
    """Return the code of each class by its number.

    The name of a class that is a whole number is its code. Other classes have those that the format leaves to users,
    from 64, or in formats before 6, which have none, the reserved ones from 13.

    Args:
        classes: Name of each class by its number.
        form: Format of points.
    """
    _, most = las.class_field(form)
    codes = {number: int(name) for number, name in classes.items() if name.isdecimal()}
    free = (code for code in range(64 if form >= 6 else 13, most + 1) if code not in set(codes.values()))
    for number, name in classes.items():
        if number not in codes:
            codes[number] = next(free, most + 1)
        if codes[number] > most:
            raise ValueError(
                f"points of format {form} have classes from 0 to {most}, and the class {name!r} has no place among "
                f"them: write PLY files instead"
            )
    return {number: codes[number] for number in classes}


def _lookup(classes: Mapping[int, str], codes: Mapping[int, int]) -> bytes:
    """Return the contents of a record with a description of each class, of at most 15 bytes."""
    names = {codes[number]: name for number, name in classes.items()}
    return b"".join(struct.pack("<B15s", code, names.get(code, "").encode("ascii", "replace")) for code in range(256))


def _record(user: bytes, number: int, content: bytes, description: str) -> Record:
    if len(content) > 2**16 - 1:
        raise ValueError(f"a record must have at most 65,535 bytes: {description} need {len(content):,}")
    head = struct.pack("<H16sHH32s", 0, user, number, len(content), description.encode())
    return Record(user, number, head + content)


def _put(records: list[Record], new: Record) -> None:
    """Replace the record of the same user and number, or append one."""
    for place, record in enumerate(records):
        if record[:2] == new[:2]:
            records[place] = new
            return
    records.append(new)


@dataclass(frozen=True)
class _Dimension:
    """Extra bytes of a point: name, type, and the range of bytes."""

    name: str
    kind: int
    start: int
    stop: int


def _placed(records: list[Record], header: Header, names: Sequence[str]) -> tuple[dict[str, int], int]:
    """Return where each extra column begins in a point, and the width of a point; describe them in a record."""
    described = b"".join(each.content for each in records if each[:2] == (_SPECIFICATION, _EXTRA))
    known = list(_dimensions(described, las.SIZES[header.form]))
    width, places = header.width, dict[str, int]()
    used = known[-1].stop if known else las.SIZES[header.form]
    for name in names:
        same = next((each for each in known if each.name == name), None)
        if same is not None and same.kind == _FLOAT and same.stop <= header.width:
            places[name] = same.start
            continue
        if same is not None:
            raise ValueError(f"its points have a dimension {name!r} already, which holds no float: rename it first")
        if used < width:  # bytes that nothing describes
            described += b"".join(
                _DESCRIPTOR.pack(0, min(255, width - k), b"undescribed") for k in range(used, width, 255)
            )
        described += _DESCRIPTOR.pack(_FLOAT, 0, name.encode("ascii", "replace")[:32])
        places[name] = width
        width = used = width + 4
    if width > header.width:
        if width >= 2**16:
            raise ValueError(f"a point must have less than 65,536 bytes: it would have {width:,}")
        _put(records, _record(_SPECIFICATION, _EXTRA, described, "extra bytes"))
    return places, width


def _dimensions(described: bytes, start: int) -> Iterator[_Dimension]:
    """Yield the extra bytes that a record describes; types beyond 10 have two or three numbers."""
    whole = len(described) // _DESCRIPTOR.size * _DESCRIPTOR.size
    for kind, options, name in _DESCRIPTOR.iter_unpack(described[:whole]):
        size = _WIDTHS[(kind - 1) % 10] * ((kind - 1) // 10 + 1) if kind else options
        yield _Dimension(name.rstrip(b"\0").decode("latin-1"), kind, start, start + size)
        start += size


def _compression(records: list[Record], header: Header, width: int, compressed: bool) -> bytes | None:
    """Return how points are compressed, if they are; the LASzip record is that of these points, or removed."""
    like = next((each for each in records if each[:2] == (laz.USER, laz.NUMBER)), None)
    if not compressed:
        if like is not None:
            records.remove(like)
        return None
    how = laz.new_record(header.form, width - las.SIZES[header.form], like and like.content)
    if like is None or how != like.content:
        _put(records, _record(laz.USER, laz.NUMBER, how, "by lazrs"))
    return how


class _Compressed:
    """Compresses points into a file."""

    def __init__(self, file: BinaryIO, how: bytes) -> None:
        lazrs = laz.library()
        self._compressor: Any = lazrs.LasZipCompressor(file, lazrs.LazVlr(how))

    def write(self, points: bytes) -> None:
        self._compressor.compress_many(points)

    def close(self) -> None:
        self._compressor.done()


def _replaced(
    points: np.ndarray,
    columns: Columns,
    header: Header,
    codes: Mapping[int, int],
    places: Mapping[str, int],
    width: int,
) -> np.ndarray:
    """Return the bytes of points with predictions."""
    if width > header.width:
        rows = np.zeros((len(points), width), np.uint8)
        rows[:, : header.width] = points
    else:
        rows = points.copy()
    if codes:
        byte, mask = las.class_field(header.form)
        numbers = np.array([*codes])
        order = np.argsort(numbers)
        found = order[np.searchsorted(numbers, columns[CLASS], sorter=order)]
        rows[:, byte] = rows[:, byte] & (255 - mask) | np.array([*codes.values()], np.uint8)[found]
    for name, start in places.items():
        rows[:, start : start + 4] = columns[name].astype("<f4")[:, None].view(np.uint8)
    return rows


def _copy_rest(data: Buffer, header: Header, file: BinaryIO) -> list[tuple[int, str, tuple[int, ...]]]:
    """Copy what follows the points, and return the offsets to write into the header: where, in what form, and what."""
    offsets = [at for at, version in ((_WAVES, 3), (_LONGS, 4)) if header.version >= version and header.size >= at + 8]
    values = {at: struct.unpack_from("<Q", data, at)[0] for at in offsets}
    end = header.start + header.count * header.width
    if header.compressed:  # a table of chunks follows the points, and belongs to them
        end = min((value for value in values.values() if header.start < value < len(data)), default=len(data))
    count = struct.unpack_from("<I", data, _LONGS + 8)[0] if _LONGS in offsets else 0
    longs = list(_long_records(data, values.get(_LONGS, 0), count))
    moved = file.tell() - end
    if any(user == _COPC for user, _, _ in longs):
        kept = [(start, stop) for user, start, stop in longs if user != _COPC]
        first = file.tell() if kept else 0
        for start, stop in kept:
            _copy(data, start, stop, file)
        return [(_LONGS, "<QI", (first, len(kept)))]
    _copy(data, end, len(data), file)
    return [(at, "<Q", (value + moved,)) for at, value in values.items() if end <= value < len(data)]


def _long_records(data: Buffer, start: int, count: int) -> Iterator[tuple[bytes, int, int]]:
    """Yield the user and the range of bytes of each extended record that is in the file."""
    for _ in range(count):
        if not 0 < start <= len(data) - _LONG.size:
            return
        user, _, length = _LONG.unpack_from(data, start)
        stop = start + _LONG.size + length
        yield user.rstrip(b"\0"), start, min(stop, len(data))
        start = stop


def _copy(data: Buffer, start: int, stop: int, file: BinaryIO) -> None:
    for at in range(start, stop, _BLOCK):
        file.write(data[at : min(at + _BLOCK, stop)])
