"""Points as lines of text: .xyz, .txt, .csv and .pts, one point per line."""

from __future__ import annotations

import re

from edgecond.data.formats.axes import AXES, recognized
from edgecond.data.formats.table import is_number, named, numbers, Table, unnamed, usual

_COUNTED = {4: "x y z intensity", 6: "x y z red green blue", 7: "x y z intensity red green blue"}  # the usual .pts


def read(data: bytes) -> Table:
    """Read numbers separated by blanks, commas or semicolons; between semicolons, a comma is a decimal point.

    The rest of a line after `#` or `//` is a comment. The first line may name the columns; so may a comment before the
    points, if it has x, y and z. A first line with a single whole number is the number of points, as in .pts.
    """
    titles: list[str] = []
    rows: dict[int, str] = {}  # by the number of the line
    for line, text in enumerate(_decoded(data).splitlines(), 1):
        row, _, comment = text.replace("//", "#").partition("#")
        if row.strip():
            rows[line] = row.strip()
        elif not rows and comment and _has_axes(fields := _fields(comment)):
            titles = fields
    first = next(iter(rows), 0)
    if rows and _is_header(header := _fields(rows[first])):
        titles = header
        del rows[first]
    elif rows and not all(map(is_number, _blanks(rows[first]).split()[:1])):
        raise ValueError(f"line {first} must hold numbers or the names of the columns: found {rows[first][:40]!r}")
    counted = len(rows) > 1 and first in rows and rows[first].isdecimal()
    if counted and (count := int(rows.pop(first))) != len(rows):
        raise ValueError(f"line {first} announces {count} points: found {len(rows)}")
    if not rows:
        raise ValueError("it must hold at least one point: it is empty")
    points = numbers({line: _blanks(row) for line, row in rows.items()})
    if counted and not titles:
        titles = _COUNTED.get(points.shape[1], "").split()
    if not titles:
        return Table(unnamed(points))
    if len(titles) != points.shape[1]:
        raise ValueError(
            f"line {next(iter(rows))} must hold a number for each of {', '.join(titles)}: found {points.shape[1]}"
        )
    return Table(named(zip(titles, points.T, strict=True)))


def _decoded(data: bytes) -> str:
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ValueError(f"it must be text in UTF-8: byte {error.start} is {data[error.start]:#04x}") from None


def _fields(text: str) -> list[str]:
    parts = re.split("[,;\t]", text) if re.search("[,;\t]", text) else text.split()
    return [part.strip(" \"'") for part in parts]


def _has_axes(titles: list[str]) -> bool:
    names = {usual(title) for title in titles}
    return set(AXES) <= names or bool(recognized(names))


def _is_header(titles: list[str]) -> bool:
    return _has_axes(titles) or (len(titles) >= len(AXES) and not any(map(is_number, titles)))


def _blanks(row: str) -> str:
    """Return the row with blanks between its numbers."""
    return row.replace(",", ".").replace(";", " ") if ";" in row else row.replace(",", " ")
