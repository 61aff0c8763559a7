"""Tables in CSV files as people save them, and the interpretation of their columns as numbers or classes."""

from __future__ import annotations

import codecs
import csv
import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from jaxtyping import Float, Shaped
from numpy import ndarray as Array

from edgecond.data.archives import decompressed
from edgecond.data.features import MOST_TEXTS
from edgecond.errors import DataError, did_you_mean
from edgecond.files import reading

# Not "none", which may be the name of a class.
BLANKS = frozenset({"", "na", "n/a", "#n/a", "<na>", "nan", "+nan", "-nan", "null"})
MOST_CLASSES = 10  # a column with more distinct whole numbers is a regression target
MOST_NAMES = 100  # a column with more distinct texts cannot be a target
_BLOCK = 2**20  # bytes


@dataclass(frozen=True, eq=False)
class Table:
    """The rows of a CSV file that have a field for each column.

    Attributes:
        path: The file.
        header: Name of each column.
        rows: Fields of each row, without surrounding spaces.
        numbers: Number of each row as a spreadsheet shows it: the header is row 1.
        uneven: Number of each row that was left out because it has fewer or more fields, with the reason.
        comma: Whether numbers may be written 3,14, as is usual where semicolons separate the fields.
    """

    path: Path
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    numbers: tuple[int, ...]
    uneven: tuple[tuple[int, str], ...]
    comma: bool = False

    def column(self, name: str) -> tuple[str, ...]:
        """Return the field of each row in the column of this name."""
        indices = [index for index, known in enumerate(self.header) if known == name]
        if not indices:
            raise DataError(f"{self.path} has no column {name!r}.{did_you_mean(name, filter(None, self.header))}")
        if len(indices) > 1:
            raise DataError(f"{self.path} must name each column once: {len(indices)} columns are called {name!r}.")
        return tuple(row[indices[0]] for row in self.rows)

    def feature(self, name: str, numeric: bool) -> Shaped[Array, " n"]:
        """Return a column as it was in the training set: numbers, NaN where blank, or texts, empty where blank."""
        fields = self.column(name)
        if numeric:
            found = [None if is_blank(text) else number(text, comma=self.comma) for text in fields]
            return np.array([np.nan if value is None else value for value in found], np.float64)
        return np.array(["" if is_blank(text) else text for text in fields], object)

    def numeric(self) -> list[str]:
        """Return the names of the columns in which every field is a number or blank, and not all are blank."""
        names = []
        for index, name in enumerate(self.header):
            filled = [row[index] for row in self.rows if not is_blank(row[index])]
            if name and filled and all(number(text, comma=self.comma) is not None for text in filled):
                names.append(name)
        return names


@dataclass(frozen=True)
class Form:
    """The dialect of a CSV file: the encoding of its text, the delimiter, and the names of its columns."""

    path: Path
    encoding: str
    delimiter: str
    header: tuple[str, ...]

    def uneven(self, record: Sequence[str]) -> str | None:
        """Return the reason to leave out a row that has fewer or more fields than there are columns."""
        width = len(self.header)
        if len(record) == width:
            return None
        return f"the row must have {width} fields, one for each column: found {len(record)}."

    def unusable(self, record: Sequence[str], numeric: Sequence[str]) -> str | None:
        """Return the reason to leave out a row that is uneven, or that has a text in a column of numbers."""
        if reason := self.uneven(record):
            return reason
        for name in numeric:
            text = record[self.header.index(name)]
            value = number(text, comma=self.comma)
            if not is_blank(text) and (value is None or not np.isfinite(value)):
                return f"column {name!r} must hold a finite number, as in the training set: found {text[:60]!r}."
        return None

    @property
    def comma(self) -> bool:
        """Whether numbers may be written 3,14."""
        return self.delimiter == ";"


def read_csv(path: Path) -> Table:
    """Read a table from a text file, plain or compressed (.gz), whose first line names the columns.

    Fields are separated by commas, semicolons or tabs, whichever gives most columns. Of equals, commas are rather part
    of the names, as in `smiles;logS, mol/L`, unless quotes would be too, as in `smiles,"x;y"`. (`csv.Sniffer` fails on
    tables of one column, and guesses that quotes within a field are not doubled.) The encoding is UTF-8, UTF-16 with a
    byte order mark, or Latin-1, which old spreadsheets use.
    """
    form = form_of(path)
    numbered = [(number, record, form.uneven(record)) for number, record in records(form)]
    return Table(
        path,
        form.header,
        tuple(record for _, record, wrong in numbered if not wrong),
        tuple(number for number, _, wrong in numbered if not wrong),
        tuple((number, wrong) for number, _, wrong in numbered if wrong),
        comma=form.comma,
    )


def form_of(path: Path) -> Form:
    """Find the dialect of a CSV file, which is read once, in blocks."""
    with reading(path):
        is_folder = path.is_dir()
    if is_folder:
        raise DataError(f"{path} must be a CSV file: it is a folder.")
    encoding = _encoding(path)

    def first(delimiter: str) -> tuple[str, ...]:
        try:
            return next(_rows(path, encoding, delimiter), (0, ()))[1]
        except DataError:
            return ()

    def likeliness(delimiter: str) -> tuple[int, bool]:
        names = first(delimiter)
        return len(names), len(names) > 1 and delimiter != "," and not any('"' in name for name in names)

    delimiter = max(",;\t", key=likeliness)
    _, header = next(_rows(path, encoding, delimiter), (0, ()))
    if not any(header):
        raise DataError(f"{path} must name its columns in the first line: the line is empty.")
    return Form(path, encoding, delimiter, header)


def records(form: Form) -> Iterator[tuple[int, tuple[str, ...]]]:
    """Yield the rows below the header that are not blank, each with its number in a spreadsheet."""
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
        decoder, encoding = codecs.getincrementaldecoder("utf-8")(), "utf-8-sig"
        while block:
            if b"\0" in block:
                raise DataError(f"{path} must be text: found binary data. Save the table as CSV.")
            try:
                if encoding != "latin-1":
                    decoder.decode(block)
            except UnicodeDecodeError:
                encoding = "latin-1"
            block = stream.read(_BLOCK)
        try:
            decoder.decode(b"", final=True)
        except UnicodeDecodeError:
            encoding = "latin-1"
    return encoding


def parse_names(text: str) -> tuple[str, ...]:
    """Parse names of columns, separated by commas; a name with a comma is in quotes, as in CSV.

    >>> parse_names('temperature,"yield, %"')
    ('temperature', 'yield, %')
    """
    names = next(csv.reader([text], skipinitialspace=True), [])
    return tuple(dict.fromkeys(name.strip() for name in names if name.strip()))


def is_blank(text: str) -> bool:
    """Whether a field is a missing value."""
    return text.strip().lower() in BLANKS


def number(text: str, *, comma: bool = False) -> float | None:
    """Return the number in a field, or None if it is not a number.

    >>> number("-1e3"), number("3,14"), number("3,14", comma=True), number("<5")
    (-1000.0, None, 3.14, None)
    """
    try:
        return None if "_" in text else float(text.replace(",", ".") if comma else text)  # Python would accept 1_000
    except ValueError:
        return None


def interpret_feature(
    where: str, texts: Sequence[str], rows: Sequence[int], *, comma: bool = False
) -> Shaped[Array, " n"]:
    """Interpret a column beside the graphs: numbers, NaN where blank, if all its fields are; else texts.

    Args:
        where: Description of the column for messages.
        texts: Fields of the column.
        rows: Number of the row of each field.
        comma: Whether numbers may be written 3,14.
    """
    filled = [text for text in texts if not is_blank(text)]
    if not filled:
        raise DataError(
            f"{where} must hold numbers or texts: all of its {len(texts)} fields are blank. "
            "Leave it out of the features."
        )
    if any(number(text, comma=comma) is not None for text in filled):
        is_numeric = all(number(text, comma=comma) is not None for text in filled)
        return interpret(where, texts, rows, numbers=is_numeric, comma=comma)[0]  # which refuses a mixture
    if (count := len(set(filled))) > MOST_TEXTS:
        raise DataError(
            f"{where} must hold at most {MOST_TEXTS} different texts to be a feature: found {count}. "
            "Leave it out of the features."
        )
    return np.array(["" if is_blank(text) else text for text in texts], object)


def interpret(
    where: str, texts: Sequence[str], rows: Sequence[int], *, numbers: bool = False, comma: bool = False
) -> tuple[Float[Array, " n"], tuple[str, ...]]:
    """Interpret a column as a target: return its values, NaN where blank, and its classes, none for regression.

    The fields decide, unless `numbers` are asked for. Zeros and ones are the classes 0 and 1; at most `MOST_CLASSES`
    distinct whole numbers are classes, and so are at most `MOST_NAMES` distinct texts. Other numbers are regression
    targets. The value of a class is its index among the sorted classes.

    Args:
        where: Description of the column for messages.
        texts: Fields of the column.
        rows: Number of the row of each field.
        numbers: Whether the column holds numbers to predict, even if they are few and whole.
        comma: Whether numbers may be written 3,14.
    """
    filled = [index for index, text in enumerate(texts) if not is_blank(text)]
    parsed = [number(texts[index], comma=comma) for index in filled]
    words = [index for index, value in zip(filled, parsed, strict=True) if value is None]
    if not filled:
        raise DataError(f"{where} must hold values to predict: all of its {len(texts)} fields are blank.")
    if words and (numbers or len(words) < len(filled)):
        must = "numbers" if numbers else "either numbers or names of classes"
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
        values[filled] = parsed
        infinite = np.flatnonzero(np.isinf(values))
        if len(infinite):
            at = infinite[0]
            raise DataError(f"{where} must hold finite numbers: found {values[at]} in row {rows[at]}.")
        kinds = np.unique(values[filled])
        if np.isin(kinds, (0, 1)).all():
            kinds = np.array([0.0, 1.0])
        whole = bool((kinds == np.round(kinds)).all())
        if numbers or not (whole and len(kinds) <= MOST_CLASSES):
            return values, ()
        names = [f"{kind:.0f}" if whole else str(kind) for kind in kinds.tolist()]
        values[filled] = np.searchsorted(kinds, values[filled])
    if len(names) > MOST_NAMES:
        raise DataError(
            f"{where} must hold at most {MOST_NAMES} classes: found {len(names)}. Choose another column to predict."
        )
    return values, tuple(names)
