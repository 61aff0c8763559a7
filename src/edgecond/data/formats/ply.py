"""The Polygon File Format, .ply: clouds and meshes, as text or binary of either byte order."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from edgecond.data.formats.table import fans, is_number, named, Table

_ORDERS = {"ascii": "=", "binary_little_endian": "<", "binary_big_endian": ">"}
_WHOLE = {"char": "i1", "uchar": "u1", "short": "i2", "ushort": "u2", "int": "i4", "uint": "u4"}
_WHOLE |= {"int8": "i1", "uint8": "u1", "int16": "i2", "uint16": "u2", "int32": "i4", "uint32": "u4"}
_TYPES = _WHOLE | {"float": "f4", "double": "f8", "float32": "f4", "float64": "f8"}
_NAMES = {"i4": "int", "f4": "float", "f8": "double"}
_CORNERS = ("vertex_indices", "vertex_index")


@dataclass(frozen=True)
class _Property:
    name: str
    kind: np.dtype
    count: np.dtype | None = None  # type of the length of a list


@dataclass(frozen=True)
class _Element:
    name: str
    count: int
    properties: list[_Property] = field(default_factory=list)


class _Source(Protocol):
    """A sequence of numbers; those before `at` have been read."""

    at: int

    def take(self, kind: np.dtype, count: int) -> np.ndarray:
        """Return the next numbers."""

    def table(self, properties: list[_Property], lengths: list[int], count: int) -> list[np.ndarray] | None:
        """Return a column or a matrix for each property of the next rows, if all lists have these lengths."""


def read(data: bytes) -> Table:
    """Read the properties of the vertices, and the faces if there are any."""
    text, elements, body = _header(data)
    source: _Source = _Words(body, data[: len(data) - len(body)].count(b"\n")) if text else _Bytes(body)
    wanted = {element.name for element in elements} & {"vertex", "face"}
    values: dict[str, dict[str, Any]] = {}
    for element in elements:
        if not wanted <= values.keys():
            values[element.name] = _values(source, element)
    vertices = values.get("vertex", {})
    columns = named((name, np.array(rows)) for name, rows in vertices.items() if np.ndim(rows[:1]) == 1)
    if any(each.count is None for each in _properties(elements, "face") if each.name in _CORNERS):
        raise ValueError("the corners of each of its faces must be a list: found a single number")
    polygons = [rows for name, rows in values.get("face", {}).items() if name in _CORNERS]
    return Table(columns, fans(polygons[0]) if polygons else fans([]))


def write(columns: Mapping[str, np.ndarray], comments: Sequence[str] = ()) -> bytes:
    """Return a binary file of a cloud with these columns, x, y and z among them; integers have 4 bytes, others 8."""
    table = rows(columns)
    return header(table.dtype, len(table), comments) + table.tobytes()


def rows(columns: Mapping[str, np.ndarray]) -> np.ndarray:
    """Return the rows of a binary file; whole numbers of more than 32 bits have 8 bytes too."""
    kinds = [(name, "<i4" if _is_int(column) else "<f8") for name, column in columns.items()]
    table = np.empty(len(columns["x"]), np.dtype(kinds))
    for name, column in columns.items():
        table[name] = column
    return table


def _is_int(column: np.ndarray) -> bool:
    return column.dtype.kind in "iu" and -(2**31) <= column.min(initial=0) <= column.max(initial=0) < 2**31


def header(kind: np.dtype, count: int, comments: Sequence[str] = ()) -> bytes:
    """Return the header of a binary file with rows of this type."""
    names = [f"{_NAMES[kind[name].str[1:]]} {'_'.join(name.split())}" for name in kind.names or ()]
    lines = [
        "ply",
        "format binary_little_endian 1.0",
        *_commented(comments),
        f"element vertex {count}",
        *[f"property {name}" for name in names],
        "end_header",
    ]
    return "".join(f"{line}\n" for line in lines).encode("ascii", "backslashreplace")


def _commented(comments: Sequence[str]) -> list[str]:
    return [f"comment {' '.join(comment.split())}" for comment in comments]


def annotate(data: bytes, columns: Mapping[str, np.ndarray], comments: Sequence[str] = ()) -> bytes:
    """Return a file with more properties of its vertices, or others in place of those of the same names.

    Integers have 4 bytes and other numbers too. All else stays as it is: properties, elements, comments, the order.

    Args:
        data: The file.
        columns: The properties, with a number for each vertex.
        comments: Comments to add to the header.
    """
    text, elements, body = _header(data)
    vertex = next((element for element in elements if element.name == "vertex"), None)
    if vertex is None or any(each.count is not None for each in vertex.properties):
        raise ValueError("its vertices must have one number for each property, to add others: some have a list")
    kinds = {name: "i4" if column.dtype.kind in "iu" else "f4" for name, column in columns.items()}
    head = _extended(data[: len(data) - len(body)], kinds, comments)
    before = elements[: elements.index(vertex)]
    if text:
        lines = body.splitlines(keepends=True)
        places = [k for k, line in enumerate(lines) if line.strip()][sum(each.count for each in before) :]
        for row, place in enumerate(places[: vertex.count]):
            lines[place] = _extended_row(lines[place], row, vertex, columns)
        return head + b"".join(lines)
    source = _Bytes(body)
    for element in before:
        _values(source, element)
    start, order = source.at, (vertex.properties or [_Property("", np.dtype("<i4"))])[0].kind.byteorder
    old = source.take(np.dtype([(each.name, each.kind) for each in vertex.properties]), vertex.count)
    merged = {each.name: each.kind.str for each in vertex.properties} | {
        name: ("<" if order in "|=" else order) + kind for name, kind in kinds.items()
    }
    table = np.empty(vertex.count, np.dtype(list(merged.items())))
    for name in merged:
        table[name] = columns.get(name, old[name] if name in (old.dtype.names or ()) else None)
    return head + body[:start] + table.tobytes() + body[source.at :]


def _extended(head: bytes, kinds: Mapping[str, str], comments: Sequence[str]) -> bytes:
    """Return a header with more properties of vertices, after those that they have, and more comments."""
    end = re.match(rb"ply[ \t]*(\r\n|\n|\r)", head)
    assert end is not None
    lines, element, last = head.decode("latin-1").split(end[1].decode()), "", 0
    waiting = {name: f"property {_NAMES[kind]} {name}" for name, kind in kinds.items()}
    for place, line in enumerate(lines):
        match line.split():
            case ["element", name, _]:
                element = name
                last = place if name == "vertex" else last
            case ["property", *_, name] if element == "vertex":
                lines[place] = waiting.pop(name, line)
                last = place
    lines[last + 1 : last + 1] = waiting.values()
    first = next(place for place, line in enumerate(lines) if line.split()[:1] == ["format"])
    lines[first + 1 : first + 1] = _commented(comments)
    return end[1].join(line.encode("latin-1", "backslashreplace") for line in lines)


def _extended_row(line: bytes, row: int, vertex: _Element, columns: Mapping[str, np.ndarray]) -> bytes:
    """Return a line of text with more numbers, or others in place of some."""
    words, names = line.split(), [each.name for each in vertex.properties]
    if len(words) != len(names):
        raise ValueError(f"each of its vertices must have a line of {len(names)} numbers: found {len(words)}")
    numbers = dict(zip(names, words, strict=True))
    numbers |= {name: f"{column[row]:.7g}".encode() for name, column in columns.items()}
    return b" ".join(numbers.values()) + line[len(line.rstrip()) :]


def _header(data: bytes) -> tuple[bool, list[_Element], bytes]:
    """Return whether the numbers are text, the elements, and the bytes after the header."""
    first = re.match(rb"ply[ \t]*(\r\n|\n|\r)", data)
    last = first and re.compile(rb"[\r\n]end_header[ \t]*" + first[1]).search(data, 0, 2**20)
    if not first or not last:
        raise ValueError("it must begin with the header of a PLY file, from ply to end_header")
    order = ""
    elements: list[_Element] = []
    for line, row in enumerate(data[: last.start()].decode("latin-1").split(first[1].decode()), 1):
        match row.split():
            case ["format", form, _] if form in _ORDERS and not order:
                order = _ORDERS[form]
            case ["element", name, count] if order and count.isdecimal():
                elements.append(_Element(name, int(count)))
            case ["property", kind, name] if elements and kind in _TYPES:
                elements[-1].properties.append(_Property(name, np.dtype(order + _TYPES[kind])))
            case ["property", "list", count, kind, name] if elements and kind in _TYPES and count in _WHOLE:
                length = np.dtype(order + _TYPES[count])
                elements[-1].properties.append(_Property(name, np.dtype(order + _TYPES[kind]), length))
            case [] | ["ply" | "comment" | "obj_info", *_]:
                pass
            case _:
                raise ValueError(f"line {line} must belong to the header of a PLY file: found {row[:40]!r}")
    for element in elements:
        if len({each.name for each in element.properties}) < len(element.properties):
            raise ValueError(f"the properties of its element {element.name!r} must have different names")
    return order == "=", elements, data[last.end() :]


def _properties(elements: list[_Element], name: str) -> list[_Property]:
    return [each for element in elements if element.name == name for each in element.properties]


def _values(source: _Source, element: _Element) -> dict[str, Any]:
    """Return the properties of an element. Lists of equal length, the usual case, are the rows of a matrix."""
    names = [each.name for each in element.properties]
    if not element.properties or not element.count:
        return dict.fromkeys(names, np.empty(0))
    start = source.at
    lengths = [np.size(_next(source, each)) for each in element.properties]
    source.at = start
    columns = source.table(element.properties, lengths, element.count)
    if columns is None:
        source.at = start  # row by row: a file that is cut short ends this loop too
        rows = [[_next(source, each) for each in element.properties] for _ in range(element.count)]
        return dict(zip(names, map(list, zip(*rows, strict=True)), strict=True))
    return dict(zip(names, columns, strict=True))


def _next(source: _Source, each: _Property) -> Any:
    if each.count is None:
        return source.take(each.kind, 1)[0]
    return source.take(each.kind, int(source.take(each.count, 1)[0])).tolist()


class _Bytes:
    """Binary numbers."""

    def __init__(self, data: bytes) -> None:
        self.data, self.at = data, 0

    def take(self, kind: np.dtype, count: int) -> np.ndarray:
        size = self._checked(kind.itemsize * count)
        self.at += size
        return np.frombuffer(self.data, kind, count, self.at - size)

    def table(self, properties: list[_Property], lengths: list[int], count: int) -> list[np.ndarray] | None:
        self._checked(sum((each.count or each.kind).itemsize for each in properties) * count)
        record = np.dtype(
            [
                (str(k), [("length", each.count or "V0"), ("value", each.kind, (length,) if each.count else ())])
                for k, (each, length) in enumerate(zip(properties, lengths, strict=True))
            ]
        )
        if record.itemsize * count > len(self.data) - self.at:
            return None
        rows = self.take(record, count)
        for k, length in enumerate(lengths):
            if properties[k].count and (rows[str(k)]["length"] != length).any():
                return None
        return [rows[str(k)]["value"] for k in range(len(properties))]

    def _checked(self, size: int) -> int:
        if not 0 <= size <= len(self.data) - self.at:
            raise ValueError(f"it is cut short: {size:,} bytes must follow, {len(self.data) - self.at:,} do")
        return size


class _Words:
    """Numbers as text that begins after the first `lines` lines."""

    def __init__(self, data: bytes, lines: int) -> None:
        self.data, self.lines = data, lines
        self.words, self.at = data.split(), 0

    def take(self, kind: np.dtype, count: int) -> np.ndarray:
        self._check(count)
        words = self.words[self.at : self.at + count]
        self.at += count
        try:
            return np.array(words, np.float64 if kind.kind == "f" else np.int64)
        except (ValueError, OverflowError):
            raise self._wrong(words, float if kind.kind == "f" else int) from None

    def table(self, properties: list[_Property], lengths: list[int], count: int) -> list[np.ndarray] | None:
        self._check(len(properties) * count)
        ends = np.cumsum([length + (each.count is not None) for each, length in zip(properties, lengths, strict=True)])
        if ends[-1] * count > len(self.words) - self.at:
            return None
        rows = self.take(np.dtype("f8"), int(ends[-1]) * count).reshape(count, -1)
        columns = []
        for each, length, end in zip(properties, lengths, ends, strict=True):
            if each.count is not None and (rows[:, end - length - 1] != length).any():
                return None
            columns.append(rows[:, end - 1] if each.count is None else rows[:, end - length : end])
        return columns

    def _check(self, count: int) -> None:
        if not 0 <= count <= len(self.words) - self.at:
            raise ValueError(f"it is cut short: {count:,} numbers must follow, {len(self.words) - self.at:,} do")

    def _wrong(self, words: list[bytes], number: type) -> ValueError:
        """Return an error that gives the first of the words just read that is not a number, and its line."""
        bad = next((k for k, word in enumerate(words) if not is_number(word, number)), 0)
        line, left = self.lines, self.at - len(words) + bad
        for row in self.data.splitlines():
            line, left = line + 1, left - len(row.split())
            if left < 0:
                break
        what = "numbers" if number is float else "whole numbers"
        return ValueError(f"line {line} must hold {what}: found {words[bad][:20].decode('latin-1')!r}")
