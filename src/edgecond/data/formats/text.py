"""Points as lines of text: .xyz, .txt, .csv and .pts, one point per line."""

from __future__ import annotations

import re

from edgecond.data.formats.axes import AXES, recognized
from edgecond.data.formats.table import is_number, named, numbers, Table, unnamed, usual

_COUNTED = {4: "x y z intensity", 6: "x y z red green blue", 7: "x y z intensity red green blue"}  # the usual .pts
_SIGNS = {",": "comma", ";": "semicolon"}
_EMPTY = {sign: re.compile(rf"^{sign}|{sign}\s*{sign}") for sign in _SIGNS}
_MIXED = {sign: re.compile(rf"[^\s{sign}]\s+[^\s{sign}]") for sign in _SIGNS}


def read(data: bytes) -> Table:
    """Read numbers separated by blanks, commas or semicolons; between semicolons, a comma is a decimal point.

    The rest of a line after `#` or `//` is a comment. The first line may name the columns; so may a comment before the
    points, if it has x, y and z. Columns without a name, such as the numbers of rows that pandas writes, are left out.
    A first line with a single whole number is the number of points, as in .pts.
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
    elif rows and not is_number(re.split(r"[\s,;]", rows[first])[0] or "0"):
        raise ValueError(f"line {first} must hold numbers or the names of the columns: found {rows[first][:40]!r}")
    counted = len(rows) > 1 and first in rows and rows[first].isdecimal()
    if counted and (count := int(rows.pop(first))) != len(rows):
        raise ValueError(f"line {first} announces {count} points: found {len(rows)}")
    if not rows:
        raise ValueError("it must hold at least one point: it is empty")
    points = numbers({line: _blanks(row, line) for line, row in rows.items()}, len(titles))
    if counted and not titles:
        titles = _COUNTED.get(points.shape[1], "").split()
    if not titles:
        return Table(unnamed(points))
    while not titles[-1] and len(titles) > points.shape[1]:
        titles.pop()
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


def _blanks(row: str, line: int) -> str:
    """Return the row with blanks between its numbers; those at its end may be missing, and are counted later."""
    if ";" in row:
        return _unmixed(row, line, ";").replace(",", ".").replace(";", " ")
    return _unmixed(row, line, ",").replace(",", " ") if "," in row else row


def _unmixed(row: str, line: int, sign: str) -> str:
    """Return the row without separators at its end, if it has numbers between all others and no other separators."""
    name, kept = _SIGNS[sign], row.rstrip(f"{sign} \t")
    if sign * 2 not in kept and " " not in kept and "\t" not in kept and not kept.startswith(sign):
        return kept  # nearly all rows, without a regular expression
    if _EMPTY[sign].search(kept):
        where = f"before its first {name}" if kept.startswith(sign) else f"between two {name}s"
        raise ValueError(f"line {line} must hold a number {where}: found none in {row[:40]!r}")
    if _MIXED[sign].search(kept):
        advice = "; write 1.5 or 1,5;2,5 instead of 1,5 2,5" if sign == "," else ""
        raise ValueError(
            f"line {line} must have {name}s or blanks between its numbers, not both: found {row[:40]!r}{advice}"
        )
    return kept
