"""The format of the Point Cloud Library, .pcd: text, binary, or compressed binary."""

from __future__ import annotations

import math
import struct
from dataclasses import dataclass
from itertools import islice

import numpy as np

from edgecond.data.budget import MOST_RATIO
from edgecond.data.formats.table import lines, named, numbers, Table

_KINDS = {"F": "f", "I": "i", "U": "u"}


@dataclass(frozen=True)
class _Header:
    """The header of a file; `record` names fields by their number, since padding fields are all called `_`."""

    names: list[str]
    types: list[np.dtype]
    counts: list[int]
    points: int
    data: str
    start: int  # number of bytes before the points
    lines: int  # number of lines before the points

    @property
    def record(self) -> np.dtype:
        return np.dtype(
            [(str(k), kind, (count,)) for k, (kind, count) in enumerate(zip(self.types, self.counts, strict=True))]
        )


def read(data: bytes) -> Table:
    """Read the fields with one number per point; a packed `rgb` becomes `red`, `green` and `blue`.

    Scans that are stored as images have NaN where nothing was measured: such points are left out.
    """
    header = _header(data)
    if not header.points:
        raise ValueError("it must hold at least one point: it is empty")
    size = header.points * sum(kind.itemsize * count for kind, count in zip(header.types, header.counts, strict=True))
    if header.data == "ascii":
        fields = _text(data, header)
    elif header.data == "binary":
        if header.start + size > len(data):
            raise ValueError(f"its {header.points} points must have {size:,} bytes: found {len(data) - header.start:,}")
        # The record fits into the file by now; NumPy would wrap around the size of one of more than 2 GiB.
        rows = np.frombuffer(data, header.record, header.points, header.start)
        fields = [rows[name] for name in header.record.names or ()]
    elif header.data == "binary_compressed":
        fields = _compressed(data, header, size)
    else:
        raise ValueError(f"its DATA must be ascii, binary or binary_compressed: found {header.data[:20]!r}")
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
            raise ValueError("it must begin with the header of a PCD file, up to a line DATA")
        kind, *words = data[start:end].decode("latin-1").partition("#")[0].split() or [""]
        entries[kind.upper()] = words
        start, lines = end, lines + 1
    names = entries.get("FIELDS") or entries.get("COLUMNS") or []
    sizes, kinds = entries.get("SIZE", ["4"] * len(names)), entries.get("TYPE", ["F"] * len(names))
    counts = [int(count) for count in entries.get("COUNT", ["1"] * len(names))]
    if not names or not len(names) == len(sizes) == len(kinds) == len(counts):
        raise ValueError("its header must have a SIZE, a TYPE and a COUNT for each of its FIELDS")
    points = [int(word) for word in entries.get("POINTS") or [*entries.get("WIDTH", []), *entries.get("HEIGHT", [])]]
    if not points or min(points) < 0 or min(counts) < 1 or max(counts) > 2**16:
        raise ValueError("its header must give a valid number of points, and of numbers per field")
    types = []
    for kind, size in zip(kinds, sizes, strict=True):
        if kind.upper() not in _KINDS or size not in (("4", "8") if kind.upper() == "F" else ("1", "2", "4", "8")):
            raise ValueError(f"its fields must be of TYPE F, I or U and SIZE 1, 2, 4 or 8: found {kind} {size}")
        types.append(np.dtype(f"<{_KINDS[kind.upper()]}{size}"))
    return _Header(names, types, counts, math.prod(points), "".join(entries["DATA"]).lower(), start, lines)


def _text(data: bytes, header: _Header) -> list[np.ndarray]:
    rows = lines(data[header.start :], header.lines)
    if len(rows) < header.points:
        raise ValueError(f"it must hold {header.points} points, one per line: found {len(rows)}")
    table = numbers(dict(islice(rows.items(), header.points)))
    if table.shape[1] != sum(header.counts):
        raise ValueError(f"line {next(iter(rows))} must hold {sum(header.counts)} numbers: found {table.shape[1]}")
    columns = np.split(table, np.cumsum(header.counts)[:-1], axis=1)
    # Positions keep all their digits; packed colours need the type of the field.
    with np.errstate(invalid="ignore", over="ignore"):
        return [
            column.astype(kind) if name.casefold() in ("rgb", "rgba") else column
            for name, kind, column in zip(header.names, header.types, columns, strict=True)
        ]


def _compressed(data: bytes, header: _Header, size: int) -> list[np.ndarray]:
    """Return the fields of compressed points: two sizes, then the fields one after the other."""
    if len(data) < header.start + 8:
        raise ValueError("it ends before the size of its compressed points")
    packed, unpacked = struct.unpack_from("<II", data, header.start)
    if unpacked != size or packed > len(data) - header.start - 8 or unpacked > MOST_RATIO * packed:
        raise ValueError(
            f"its {header.points} points must be {size:,} bytes, compressed at most {MOST_RATIO} times: "
            f"found {unpacked:,} from {packed:,} of the remaining {len(data) - header.start - 8:,}"
        )
    plain = decompress(data[header.start + 8 : header.start + 8 + packed], unpacked)
    fields, start = [], 0
    for kind, count in zip(header.types, header.counts, strict=True):
        fields.append(np.frombuffer(plain, kind, header.points * count, start).reshape(header.points, count))
        start += fields[-1].nbytes
    return fields


def decompress(data: bytes, size: int) -> bytes:
    """Decompress LZF data: runs of literal bytes, and copies of earlier ones.

    A control byte $c < 32$ is followed by $c + 1$ literal bytes. Otherwise its upper three bits are the length of a
    copy minus 2 (if they are 7, the next byte is added), and its lower five bits and the following byte are its
    distance minus 1.
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
        pass  # the data end inside a copy
    if len(out) != size:
        raise ValueError(f"its compressed points must unpack to {size:,} bytes: found {len(out):,}")
    return bytes(out)
