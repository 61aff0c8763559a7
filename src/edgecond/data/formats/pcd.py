"""The Point Cloud Library's format, .pcd: text, binary, or binary and compressed."""

from __future__ import annotations

import math
import struct
from dataclasses import dataclass
from itertools import islice

import numpy as np

from edgecond.data.archives import MOST_RATIO
from edgecond.data.formats.table import lines, named, numbers, Table

_KINDS = {"F": "f", "I": "i", "U": "u"}


@dataclass(frozen=True)
class _Header:
    """Fields are named by their number here, as padding fields are all called `_`."""

    names: list[str]
    types: list[np.dtype]
    counts: list[int]
    points: int
    data: str
    start: int  # byte where the points begin
    lines: int  # ... and the lines before it

    @property
    def record(self) -> np.dtype:
        return np.dtype(
            [(str(k), kind, (count,)) for k, (kind, count) in enumerate(zip(self.types, self.counts, strict=True))]
        )


def read(data: bytes) -> Table:
    """The fields with one number per point; a packed `rgb` becomes `red`, `green` and `blue`.

    A sensor that sees nothing in some direction leaves NaN in its place: such points are left out.
    """
    header = _header(data)
    if not header.points:
        raise ValueError("it must hold at least one point: it is empty")
    size = header.points * header.record.itemsize
    if header.data == "ascii":
        fields = _text(data, header)
    elif header.data == "binary":
        if header.start + size > len(data):
            raise ValueError(
                f"its {header.points} points must have {size:,} bytes, and {len(data) - header.start:,} are left"
            )
        rows = np.frombuffer(data, header.record, header.points, header.start)
        fields = [rows[name] for name in header.record.names or ()]
    elif header.data == "binary_compressed":
        fields = _compressed(data, header, size)
    else:
        raise ValueError(f"its DATA must be ascii, binary or binary_compressed, and is {header.data[:20]!r}")
    pairs = []
    for name, count, field in zip(header.names, header.counts, fields, strict=True):
        if name.casefold() in ("rgb", "rgba"):
            bits = np.ascontiguousarray(field[:, 0]).view(f"u{field.dtype.itemsize}")
            pairs += [(colour, bits >> shift & 255) for colour, shift in (("red", 16), ("green", 8), ("blue", 0))]
        elif count == 1 and name != "_":
            pairs.append((name, field[:, 0]))
    return Table(named(pairs), holes=True)


def _header(data: bytes) -> _Header:
    entries: dict[str, list[str]] = {}
    start = lines = 0
    while "DATA" not in entries:
        end = data.find(b"\n", start, start + 2**16) + 1
        if not end:
            raise ValueError("it must begin with the header of a PCD file up to a line DATA, and does not")
        kind, *words = data[start:end].decode("latin-1").partition("#")[0].split() or [""]
        entries[kind.upper()] = words
        start, lines = end, lines + 1
    names = entries.get("FIELDS") or entries.get("COLUMNS") or []
    sizes, kinds = entries.get("SIZE", ["4"] * len(names)), entries.get("TYPE", ["F"] * len(names))
    counts = [int(count) for count in entries.get("COUNT", ["1"] * len(names))]
    if not names or not len(names) == len(sizes) == len(kinds) == len(counts):
        raise ValueError("its header must have a SIZE, a TYPE and a COUNT for each of its FIELDS, and has not")
    points = [int(word) for word in entries.get("POINTS") or [*entries.get("WIDTH", []), *entries.get("HEIGHT", [])]]
    if not points or min(points) < 0 or min(counts) < 1 or max(counts) > 2**16:
        raise ValueError("its header must tell the number of points, and of numbers per field, and does not")
    types = []
    for kind, size in zip(kinds, sizes, strict=True):
        if kind.upper() not in _KINDS or size not in (("4", "8") if kind.upper() == "F" else ("1", "2", "4", "8")):
            raise ValueError(f"its fields must be of TYPE F, I or U and SIZE 1, 2, 4 or 8, and one is {kind} {size}")
        types.append(np.dtype(f"<{_KINDS[kind.upper()]}{size}"))
    return _Header(names, types, counts, math.prod(points), "".join(entries["DATA"]).lower(), start, lines)


def _text(data: bytes, header: _Header) -> list[np.ndarray]:
    rows = lines(data[header.start :], header.lines)
    if len(rows) < header.points:
        raise ValueError(f"it must hold {header.points} points, a line each, and holds {len(rows)}")
    table = numbers(dict(islice(rows.items(), header.points)))
    if table.shape[1] != sum(header.counts):
        raise ValueError(f"line {next(iter(rows))} must hold {sum(header.counts)} numbers, and holds {table.shape[1]}")
    columns = np.split(table, np.cumsum(header.counts)[:-1], axis=1)
    # Positions keep the digits they are written with; colours need the type they were packed in.
    with np.errstate(invalid="ignore", over="ignore"):
        return [
            column.astype(kind) if name.casefold() in ("rgb", "rgba") else column
            for name, kind, column in zip(header.names, header.types, columns, strict=True)
        ]


def _compressed(data: bytes, header: _Header, size: int) -> list[np.ndarray]:
    """Two sizes, then the fields one after the other, compressed."""
    if len(data) < header.start + 8:
        raise ValueError("it must tell the size of its compressed points, and ends before")
    packed, unpacked = struct.unpack_from("<II", data, header.start)
    if unpacked != size or packed > len(data) - header.start - 8 or unpacked > MOST_RATIO * packed:
        raise ValueError(
            f"its {header.points} points must be {size:,} bytes, compressed to no less than a {MOST_RATIO}th, "
            f"and are {unpacked:,} from {packed:,} of the {len(data) - header.start - 8:,} that are left"
        )
    plain = decompress(data[header.start + 8 : header.start + 8 + packed], unpacked)
    fields, start = [], 0
    for kind, count in zip(header.types, header.counts, strict=True):
        fields.append(np.frombuffer(plain, kind, header.points * count, start).reshape(header.points, count))
        start += fields[-1].nbytes
    return fields


def decompress(data: bytes, size: int) -> bytes:
    """What LZF compressed: runs of bytes as they are, and copies of what came before.

    A control byte below 32 announces one more byte than it says. Another one has the length of a copy, less 2, in its
    upper three bits (7: and the next byte more), and with a byte after it how far back it begins, less 1, in the rest.
    """
    out = bytearray()
    k = 0
    try:
        while k < len(data):
            control = data[k]
            k += 1
            if control < 32:
                out += data[k : k + control + 1]
                k += control + 1
            else:
                length = control >> 5
                if length == 7:
                    length += data[k]
                    k += 1
                back = ((control & 31) << 8) + data[k] + 1
                k += 1
                piece = out[-back:][: length + 2] if back <= len(out) else b""
                out += (piece * (length // max(len(piece), 1) + 2))[: length + 2]  # a copy may overlap itself
            if len(out) > size:
                break
    except IndexError:
        pass  # it ends inside a copy
    if len(out) != size:
        raise ValueError(f"its compressed points must unpack to {size:,} bytes, and do to {len(out):,}")
    return bytes(out)
