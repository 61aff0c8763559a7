"""Targets of an estimator as numbers: a class of each row, several labels, or numbers; and parameters as JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import column_or_1d

from edgecond.errors import listed
from edgecond.notation import Architecture

LONGEST = 1024  # characters of a class in memory, if no name of a class is longer


def encode_classes(y: Any, count: int) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Return the classes in their own type, sorted, and the number of the class of each row.

    Args:
        y: Texts, whole numbers or whatever can be sorted.
        count: Number of rows of X.
    """
    given = column_or_1d(_given(y, count), warn=True)
    values = y if isinstance(y, list | tuple) else given.tolist()  # beside texts, NumPy makes a text of NaN
    if blank := [row for row, value in enumerate(values) if value is None or value != value]:
        raise ValueError(
            f"y must have a class for every row: that of row {blank[0]} is {values[blank[0]]}. Remove such rows."
        )
    if given.dtype.kind == "f" and (part := given != given.round()).any():
        raise ValueError(
            f"Unknown label type: y must hold classes, texts or whole numbers, and row {part.argmax()} has "
            f"{given[part.argmax()]}. Use EdgeCondRegressor for numbers."
        )
    try:
        classes, numbers = np.unique(given, return_inverse=True)
    except TypeError as error:
        raise ValueError(f"y must hold classes of one type: {error}.") from error
    if len(classes) < 2:
        raise ValueError(f"y must hold two classes or more: there is only one class, {classes[0]!r}.")
    return classes, numbers.astype(np.int64)


def restore_classes(classes: Sequence[Any] | None, dtype: str | None, names: Sequence[str]) -> NDArray[Any]:
    """Return the classes that a file holds, in their own type.

    Args:
        classes: The classes.
        dtype: Their type, as NumPy writes it: it must not take more memory than texts of `LONGEST` characters.
        names: The classes as texts, from the rest of the file.
    """
    if classes is None or dtype is None or [str(each) for each in classes] != list(names):
        raise ValueError(f"its classes must be those of the model, {listed(names, most=5)}, and have a type.")
    try:
        kind = np.dtype(dtype)
        if kind.kind not in "biufUO" or kind.itemsize > 4 * max(LONGEST, *map(len, names)):
            raise ValueError
        array = np.array(classes, kind)
        if array.tolist() != classes:
            raise ValueError
    except (TypeError, ValueError, OverflowError, SyntaxError):
        raise ValueError(f"the type of its classes must be one that holds them: found {dtype[:60]!r}.") from None
    return array


def encode_numbers(y: Any, count: int, columns: int | None = None) -> NDArray[np.float64]:
    """Return the numbers of each row, (count, t), NaN where unknown.

    Args:
        y: Numbers, one for each row or several.
        count: Number of rows of X.
        columns: Number of columns that y must have, if it is known.
    """
    given = _given(y, count)
    try:
        table = given.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"y must hold numbers, NaN where one is unknown: {error}.") from error
    table = table[:, None] if table.ndim == 1 else table
    if table.ndim != 2 or not table.shape[1]:
        raise ValueError(f"y must hold a number or a row of numbers for each row of X: its shape is {given.shape}.")
    if (infinite := np.isinf(table).any(1)).any():
        raise ValueError(f"y must hold finite numbers, NaN where one is unknown: row {infinite.argmax()} is infinite.")
    if columns not in (None, table.shape[1]):
        raise ValueError(f"y must have {columns} columns, as in training: it has {table.shape[1]}.")
    unknown = np.isnan(table).all(0)
    if unknown.all() or (columns is None and unknown.any()):
        raise ValueError(f"every column of y must have a known value: all of column {unknown.argmax()} is NaN.")
    return table


def has_several_columns(y: Any) -> bool:
    """Return whether y has several columns, one for each label."""
    given = np.asarray(y)
    return given.ndim == 2 and given.shape[1] > 1


def encode_labels(y: Any, count: int, columns: int | None = None) -> NDArray[np.float64]:
    """Return the labels of each row, (count, t): 1 for yes, 0 for no, NaN where unknown.

    Args:
        y: Zeros and ones, or truth values, a row of several for each row of X.
        count: Number of rows of X.
        columns: Number of columns that y must have, if it is known.
    """
    table = encode_numbers(y, count, columns)
    if (other := ~(np.isnan(table) | np.isin(table, (0, 1)))).any():
        row, column = np.argwhere(other)[0]
        raise ValueError(
            "y must hold a class for each row, or a row of zeros and ones, NaN where one is unknown: "
            f"row {row} has {table[row, column]:g}."
        )
    return table


def column_names(y: Any, count: int) -> list[str]:
    """Return the names of the columns of a table, or numbered names."""
    return [str(name) for name in y.columns] if hasattr(y, "columns") else [f"y{number}" for number in range(count)]


def _given(y: Any, count: int) -> NDArray[Any]:
    given = np.asarray(y)
    if given.ndim == 0 or len(given) != count:
        found = "a single value" if given.ndim == 0 else len(given)
        raise ValueError(f"y must have a target for each row: X has {count} rows, and y has {found}.")
    return given


def plain(value: Any) -> Any:
    """Return a parameter as JSON: numbers of NumPy as numbers, a notation or a device as its text."""
    match value:
        case Architecture():  # a tuple of layers
            return str(value)
        case np.generic():
            return value.item()
        case Mapping():
            return {name: plain(each) for name, each in value.items()}
        case list() | tuple():
            return [plain(each) for each in value]
        case None | bool() | int() | float() | str():
            return value
        case np.random.RandomState():
            return None  # the state of a generator is not saved
    return str(value)
