"""Points as lines of text: .xyz, .txt, .csv and .pts, a point per line."""

from __future__ import annotations

import re

from edgecond.data.formats.table import is_number, named, numbers, Table, unnamed

_COUNTED = {4: "x y z intensity", 6: "x y z red green blue", 7: "x y z intensity red green blue"}  # the usual .pts


def read(data: bytes) -> Table:
    """Numbers with blanks, commas or semicolons between them; among semicolons, a comma is a decimal point.

    What follows `#` or `//` is a comment. The first line, or a comment before the points, may name the columns, x, y
    and z among them. A first line with a single whole number counts the points, as in .pts.
    """
    titles: list[str] = []
    rows: dict[int, str] = {}  # by the number of the line
    for line, text in enumerate(_decoded(data).splitlines(), 1):
        row, _, comment = text.replace("//", "#").partition("#")
        if row.strip():
            rows[line] = row.strip()
        elif not rows:
            titles = _titles(comment) or titles
    first = next(iter(rows), 0)
    if rows and (header := _titles(rows[first])):
        titles = header
        del rows[first]
    elif rows and not all(map(is_number, _blanks(rows[first]).split()[:1])):
        raise ValueError(
            f"line {first} must hold numbers, or the names of the columns with x, y and z among them, "
            f"and holds {rows[first][:40]!r}"
        )
    counted = len(rows) > 1 and first in rows and rows[first].isdecimal()
    if counted and (count := int(rows.pop(first))) != len(rows):
        raise ValueError(f"it must hold the {count} points that line {first} announces, and holds {len(rows)}")
    if not rows:
        raise ValueError("it must hold at least one point, and is an empty cloud")
    points = numbers({line: _blanks(row) for line, row in rows.items()})
    if counted and not titles:
        titles = _COUNTED.get(points.shape[1], "").split()
    if not titles:
        return Table(unnamed(points))
    if len(titles) != points.shape[1]:
        raise ValueError(
            f"line {next(iter(rows))} must hold a number for each of {', '.join(titles)}, and holds {points.shape[1]}"
        )
    return Table(named(zip(titles, points.T, strict=True)))


def _decoded(data: bytes) -> str:
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ValueError(f"it must be text in UTF-8, and its byte {error.start} is {data[error.start]:#04x}") from None


def _titles(text: str) -> list[str]:
    """The names of columns, if this is a list of such."""
    parts = re.split("[,;\t]", text) if re.search("[,;\t]", text) else text.split()
    names = [part.strip(" \"'") for part in parts]
    return names if {"x", "y", "z"} <= {name.casefold() for name in names} else []


def _blanks(row: str) -> str:
    """The row with blanks between its numbers."""
    return row.replace(",", ".").replace(";", " ") if ";" in row else row.replace(",", " ")
