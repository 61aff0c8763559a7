"""What y of an estimator holds: a class of each row, answers of yes or no, or quantities, and how a file says it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import column_or_1d

from edgecond.notation import Architecture


def classes_of(y: Any, count: int) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """The classes in their own type, sorted, and the number of the class of each row.

    Args:
        y: Texts, whole numbers or whatever can be sorted.
        count: Rows of X.
    """
    given = column_or_1d(_given(y, count), warn=True)
    values = y if isinstance(y, list | tuple) else given.tolist()  # beside texts, NumPy makes a text of NaN
    if blank := [row for row, value in enumerate(values) if value is None or value != value]:
        raise ValueError(
            f"y must tell the class of every row: that of row {blank[0]} is {values[blank[0]]}. Remove such rows."
        )
    if given.dtype.kind == "f" and (part := given != given.round()).any():
        raise ValueError(
            f"Unknown label type: y must hold classes, texts or whole numbers, and row {part.argmax()} has "
            f"{given[part.argmax()]}. EdgeCondRegressor predicts quantities."
        )
    try:
        classes, numbers = np.unique(given, return_inverse=True)
    except TypeError as error:
        raise ValueError(f"y must hold classes of one type: {error}.") from error
    if len(classes) < 2:
        raise ValueError(f"y must hold two classes or more: there is only one class, {classes[0]!r}.")
    return classes, numbers.astype(np.int64)


def quantities_of(y: Any, count: int, learned: int | None = None) -> NDArray[np.float64]:
    """The quantities of each row, (count, t), NaN where unknown.

    Args:
        y: Numbers, one for each row or several.
        count: Rows of X.
        learned: How many quantities there are, if they were learned before.
    """
    given = _given(y, count)
    try:
        table = given.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"y must hold numbers, NaN where nothing is known: {error}.") from error
    table = table[:, None] if table.ndim == 1 else table
    if table.ndim != 2 or not table.shape[1]:
        raise ValueError(f"y must hold a number or a row of numbers for each row of X: its shape is {given.shape}.")
    if (infinite := np.isinf(table).any(1)).any():
        raise ValueError(
            f"y must hold finite numbers, NaN where nothing is known: row {infinite.argmax()} is infinite."
        )
    if learned not in (None, table.shape[1]):
        raise ValueError(f"y must have a column for each of {learned} that were learned: it has {table.shape[1]}.")
    unknown = np.isnan(table).all(0)
    if unknown.all() or (learned is None and unknown.any()):
        raise ValueError(f"every column of y must be known of some row: all of column {unknown.argmax()} is NaN.")
    return table


def asks_several(y: Any) -> bool:
    """Whether y has several columns, each with the answers to a question."""
    given = np.asarray(y)
    return given.ndim == 2 and given.shape[1] > 1


def answers_of(y: Any, count: int, learned: int | None = None) -> NDArray[np.float64]:
    """The answers to each question, (count, t): 1 for yes, 0 for no, NaN where unknown.

    Args:
        y: Zeros and ones, or truth values, a row of several for each row of X.
        count: Rows of X.
        learned: How many questions there are, if they were learned before.
    """
    table = quantities_of(y, count, learned)
    if (other := ~(np.isnan(table) | np.isin(table, (0, 1)))).any():
        row, column = np.argwhere(other)[0]
        raise ValueError(
            "y must hold a class for each row, or a row of zeros and ones, NaN where nothing is known: "
            f"row {row} has {table[row, column]:g}."
        )
    return table


def columns_of(y: Any, count: int) -> list[str]:
    """The names that a table has for its columns, or numbers."""
    return [str(name) for name in y.columns] if hasattr(y, "columns") else [f"y{number}" for number in range(count)]


def _given(y: Any, count: int) -> NDArray[Any]:
    given = np.asarray(y)
    if given.ndim == 0 or len(given) != count:
        found = "a single value" if given.ndim == 0 else len(given)
        raise ValueError(f"y must tell what is true of each row: X has {count} rows, and y has {found}.")
    return given


def plain(value: Any) -> Any:
    """A parameter as JSON says it: numbers of NumPy are numbers, a notation or a device is its text."""
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
            return None  # chance that goes on where it stood cannot be said
    return str(value)
