"""A table from a CSV file as people save it, and what a column of it holds: numbers, or the names of classes."""

from __future__ import annotations

import codecs
import csv
import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
from jaxtyping import Float
from numpy import ndarray as Array

from edgecond.data.archives import decompressed
from edgecond.errors import DataError, did_you_mean

Task = Literal["classification", "regression"]

BLANKS = frozenset({"", "na", "n/a", "#n/a", "<na>", "nan", "null"})  # not "none", which may be the name of a class
MOST_CLASSES = 10  # whole numbers of more kinds than these are quantities
MOST_NAMES = 100  # ... and texts of more kinds are no names of classes
_BLOCK = 2**20  # bytes


@dataclass(frozen=True, eq=False)
class Table:
    """The rows of a CSV file that have a field for each column.

    Attributes:
        path: The file.
        header: Name of each column.
        rows: Fields of each row, without the spaces around them.
        numbers: Number of each row as a spreadsheet shows it: the header is row 1.
        uneven: Number of each row that was left out for having fewer or more fields, with a sentence that says so.
        comma: Whether numbers may be written 3,14, as they are where semicolons part the fields.
    """

    path: Path
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    numbers: tuple[int, ...]
    uneven: tuple[tuple[int, str], ...]
    comma: bool = False

    def column(self, name: str) -> tuple[str, ...]:
        """The field of each row in the column of this name."""
        found = [index for index, known in enumerate(self.header) if known == name]
        if not found:
            raise DataError(f"{self.path} has no column {name!r}.{did_you_mean(name, filter(None, self.header))}")
        if len(found) > 1:
            raise DataError(f"{self.path} must name each column once: {len(found)} of them are called {name!r}.")
        return tuple(row[found[0]] for row in self.rows)

    def numeric(self) -> list[str]:
        """Names of the columns in which every field is a number or blank, and not all are blank."""
        found = []
        for index, name in enumerate(self.header):
            filled = [row[index] for row in self.rows if not is_blank(row[index])]
            if name and filled and all(number(text, comma=self.comma) is not None for text in filled):
                found.append(name)
        return found


@dataclass(frozen=True)
class Form:
    """How a CSV file is written: the encoding of its text, what parts its fields, and the names of its columns."""

    path: Path
    encoding: str
    delimiter: str
    header: tuple[str, ...]

    def uneven(self, record: Sequence[str]) -> str | None:
        """A sentence if a row has fewer or more fields than there are columns."""
        width = len(self.header)
        if len(record) == width:
            return None
        return f"the row must have {width} fields, one for each column: it has {len(record)}."


def read_csv(path: Path) -> Table:
    """The table in a text, plain or compressed (.gz), whose first line names the columns.

    Commas, semicolons or tabs part the fields: whichever cuts the first line into most. (`csv.Sniffer` gives up on a
    table of one column, and guesses that quotes within a field are not doubled.) Texts are UTF-8, UTF-16 with its
    mark in front, or Latin-1, as old spreadsheets save them.
    """
    form = form_of(path)
    numbered = [(number, record, form.uneven(record)) for number, record in records(form)]
    return Table(
        path,
        form.header,
        tuple(record for _, record, wrong in numbered if not wrong),
        tuple(number for number, _, wrong in numbered if not wrong),
        tuple((number, wrong) for number, _, wrong in numbered if wrong),
        comma=form.delimiter == ";",
    )


def form_of(path: Path) -> Form:
    """How a CSV file is written, which takes one look at all of its bytes and memory for a few of them."""
    if path.is_dir():
        raise DataError(f"{path} must be a table in a file, as CSV: it is a folder.")
    encoding = _encoding(path)

    def first(delimiter: str) -> tuple[str, ...]:
        try:
            return next(_rows(path, encoding, delimiter), (0, ()))[1]
        except DataError:
            return ()

    delimiter = max(",;\t", key=lambda sign: len(first(sign)))
    _, header = next(_rows(path, encoding, delimiter), (0, ()))
    if not any(header):
        raise DataError(f"{path} must name its columns in the first line: there is nothing.")
    return Form(path, encoding, delimiter, header)


def records(form: Form) -> Iterator[tuple[int, tuple[str, ...]]]:
    """The rows below the header that are not blank one after the other, each with its number in a spreadsheet."""
    for number, record in _rows(form.path, form.encoding, form.delimiter):
        if number > 1 and any(record):
            yield number, record


def _rows(path: Path, encoding: str, delimiter: str) -> Iterator[tuple[int, tuple[str, ...]]]:
    number = 0
    with decompressed(path) as stream, io.TextIOWrapper(stream, encoding, "replace", newline="") as text:
        try:
            for number, record in enumerate(csv.reader(text, delimiter=delimiter, strict=True), 1):
                yield number, tuple(field.strip() for field in record)
        except csv.Error as error:  # an open quote, or a field beyond csv.field_size_limit()
            raise DataError(
                f"{path}, row {number + 1} must be a row of a table: {error}. Close its quotes, or shorten its fields."
            ) from error


def _encoding(path: Path) -> str:
    with decompressed(path) as stream:
        block = stream.read(_BLOCK)
        if block.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
            return "utf-16"
        decoder, found = codecs.getincrementaldecoder("utf-8")(), "utf-8-sig"
        while block:
            if b"\0" in block:
                raise DataError(f"{path} must be a text: found something else. Save the table as CSV.")
            try:
                if found != "latin-1":
                    decoder.decode(block)
            except UnicodeDecodeError:
                found = "latin-1"
            block = stream.read(_BLOCK)
        try:
            decoder.decode(b"", final=True)
        except UnicodeDecodeError:
            found = "latin-1"
    return found


def is_blank(text: str) -> bool:
    """Whether a field stands for a missing value."""
    return text.strip().lower() in BLANKS


def number(text: str, *, comma: bool = False) -> float | None:
    """The number that a field holds, if it holds one.

    >>> number("-1e3"), number("3,14"), number("3,14", comma=True), number("<5")
    (-1000.0, None, 3.14, None)
    """
    try:
        return None if "_" in text else float(text.replace(",", ".") if comma else text)  # 1_000 is Python, not data
    except ValueError:
        return None


def interpret(
    where: str, texts: Sequence[str], rows: Sequence[int], *, task: Task | None = None, comma: bool = False
) -> tuple[Float[Array, " n"], tuple[str, ...]]:
    """What to predict in a column: its values with NaN where blank, and its classes, of which regression has none.

    The fields decide, unless `task` does. Zeros and ones are the classes 0 and 1; whole numbers of at most
    `MOST_CLASSES` kinds are classes, and so are texts of at most `MOST_NAMES` kinds. Other numbers are quantities.
    The value of a class is its place among the classes, which ascend.

    Args:
        where: The column, for sentences.
        texts: Its fields.
        rows: The number of the row of each.
        task: What the column must be.
        comma: Whether numbers may be written 3,14.
    """
    filled = [index for index, text in enumerate(texts) if not is_blank(text)]
    found = [number(texts[index], comma=comma) for index in filled]
    words = [index for index, value in zip(filled, found, strict=True) if value is None]
    if not filled:
        raise DataError(f"{where} must hold something to predict: all of its {len(texts)} fields are blank.")
    if words and (task == "regression" or len(words) < len(filled)):
        must = "numbers" if task == "regression" else "either numbers or names of classes"
        raise DataError(
            f"{where} must hold {must}: found {texts[words[0]][:60]!r} in row {rows[words[0]]}. "
            "Blank it, or write a number."
        )
    values = np.full(len(texts), np.nan)
    if words:
        names = sorted({texts[index] for index in filled})
        place = {name: float(index) for index, name in enumerate(names)}
        values[filled] = [place[texts[index]] for index in filled]
    else:
        values[filled] = found
        endless = np.flatnonzero(np.isinf(values))
        if len(endless):
            raise DataError(f"{where} must hold finite numbers: found {values[endless[0]]} in row {rows[endless[0]]}.")
        kinds = np.unique(values[filled])
        if np.isin(kinds, (0, 1)).all():
            kinds = np.array([0.0, 1.0])
        whole = bool((kinds == np.round(kinds)).all())
        if task == "regression" or (task is None and not (whole and len(kinds) <= MOST_CLASSES)):
            return values, ()
        names = [f"{kind:.0f}" if whole else str(kind) for kind in kinds.tolist()]
        values[filled] = np.searchsorted(kinds, values[filled])
    if len(names) > MOST_NAMES:
        raise DataError(
            f"{where} must hold the names of at most {MOST_NAMES} classes: found {len(names)}. "
            "Name another column to predict."
        )
    return values, tuple(names)
