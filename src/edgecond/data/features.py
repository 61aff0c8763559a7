"""Columns beside the graph of an example: numbers are standardised and texts one-hot, both over the training set."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any

import numpy as np
import torch
from jaxtyping import Float, Int, Shaped
from numpy import ndarray as Array
from pydantic import BaseModel, ConfigDict, Field, PrivateAttr
from torch import Tensor

from edgecond.errors import DataError, DataWarning, listed

LIMIT = 5.0
"""Descriptors, counts and shapes are clipped to so many standard deviations: some, such as Ipc, grow exponentially with
the molecule."""
MOST_TEXTS = 100
"""Most distinct texts of a column."""


@dataclass(frozen=True, eq=False)
class Features:
    """The columns of all examples of a data set.

    Attributes:
        columns: Columns by name: numbers, NaN where unknown, or texts, empty where unknown.
        descriptors: Descriptors of molecules by name, NaN where RDKit has none.
        counts: Counts of vertices and edges by name; see `edgecond.data.graphs.Graphs.counts`.
        shapes: Shapes of clouds by name; see `edgecond.data.shape.shapes`.
    """

    columns: Mapping[str, Shaped[Array, " n"]] = field(default_factory=dict)
    descriptors: Mapping[str, Float[Array, " n"]] = field(default_factory=dict)
    counts: Mapping[str, Float[Array, " n"]] = field(default_factory=dict)
    shapes: Mapping[str, Float[Array, " n"]] = field(default_factory=dict)


class _Column(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)
    name: str


class Numbers(_Column):
    """A column of numbers, standardised by the mean and the standard deviation of the training set.

    Attributes:
        limit: Most standard deviations from the mean, to which numbers are clipped; none for columns of the user.
    """

    mean: float
    scale: float = Field(gt=0)
    limit: float | None = Field(default=None, gt=0)

    @property
    def width(self) -> int:
        return 1

    @staticmethod
    def fit(name: str, values: Float[Array, " n"], limit: float | None = None) -> Numbers | None:
        """Return the column as it is in the training set; None if all its numbers are equal, or none is known."""
        known = values[np.isfinite(values)]
        with np.errstate(over="ignore", invalid="ignore"):
            mean, scale = (float(known.mean()), float(known.std())) if len(known) else (0.0, 0.0)
        # Rounding alone gives equal numbers a deviation of some ulps of their mean.
        varies = np.isfinite(scale) and scale > 1e-12 * abs(mean)
        return Numbers(name=name, mean=mean, scale=scale, limit=limit) if varies else None

    def encode(self, values: Float[Array, " n"]) -> Float[Array, "n 1"]:
        """Standardise; unknown numbers become the mean, which is 0."""
        with np.errstate(over="ignore", invalid="ignore"):
            units = np.where(np.isfinite(values), (values - self.mean) / self.scale, 0.0)
        return (units if self.limit is None else np.clip(units, -self.limit, self.limit))[:, None]

    def remarks(self, values: Float[Array, " n"]) -> dict[str, str]:
        """Return a sentence on unknown numbers, if there are any; those of descriptors are no surprise."""
        if self.limit is not None or np.isfinite(values).all():
            return {}
        mean = f"the mean of the training set, {self.mean:.6g}, takes their place"
        return {"blanks": f"column {self.name!r} has blanks: {mean}."}


class Texts(_Column):
    """A column of texts, one-hot over those of the training set."""

    values: Annotated[tuple[str, ...], Field(min_length=2, max_length=MOST_TEXTS)]

    @property
    def width(self) -> int:
        return len(self.values)

    @staticmethod
    def fit(name: str, values: Shaped[Array, " n"]) -> Texts | None:
        """Return the column as it is in the training set; None if all its texts are equal, or all are blank."""
        known = sorted(set(values.tolist()) - {""})
        return Texts(name=name, values=tuple(known)) if len(known) > 1 else None

    def encode(self, values: Shaped[Array, " n"]) -> Float[Array, "n v"]:
        """Return one-hot rows; they are zero where a text is blank or not in the training set."""
        return (values[:, None] == np.array(self.values, object)).astype(np.float64)

    def remarks(self, values: Shaped[Array, " n"]) -> dict[str, str]:
        """Return sentences on blanks, and on texts that the training set does not have."""
        others = set(values.tolist()) - set(self.values)
        found = {"blanks": "blanks"} if "" in others else {}
        if unknown := others - {""}:
            found["texts"] = f"texts that are not in the training set, such as {min(unknown)[:60]!r}"
        then = f"they count as none of {listed(self.values, most=5)}"
        return {what: f"column {self.name!r} has {each}: {then}." for what, each in found.items()}


class Encoder(BaseModel):
    """Turns columns into numbers for a network, as those of the training set; a model file holds it as JSON.

    Attributes:
        columns: Columns of a table, in order.
        descriptors: Descriptors of molecules, without those that are constant over the training set.
        counts: Counts of vertices and edges, likewise.
        shapes: Shapes of clouds, likewise.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")
    columns: tuple[Numbers | Texts, ...] = ()
    descriptors: tuple[Numbers, ...] = ()
    counts: tuple[Numbers, ...] = ()
    shapes: tuple[Numbers, ...] = ()
    _remarked: set[tuple[str, str]] = PrivateAttr(default_factory=set)

    @staticmethod
    def fit(features: Features, training: Int[Array, " train"], start: Encoder | None = None) -> Encoder:
        """Return the encoder of some columns, from the rows of the training set.

        Args:
            features: The columns.
            training: Numbers of the rows of the training set.
            start: The encoder of a model to start from: columns that it has keep their units, and their texts.
        """
        known = {} if start is None else {column.name: column for column in start.columns}
        columns = []
        for name, values in features.columns.items():
            column = (Numbers if values.dtype.kind == "f" else Texts).fit(name, values[training])
            column = _continued(known.get(name), column)
            if column is None:
                raise DataError(
                    f"column {name!r} must have different values in the training set to be a feature: all "
                    f"{len(training)} rows are the same or blank. Leave it out of the features."
                )
            columns.append(column)
        return Encoder(
            columns=tuple(columns),
            descriptors=_fitted(features.descriptors, training, () if start is None else start.descriptors),
            counts=_fitted(features.counts, training, () if start is None else start.counts),
            shapes=_fitted(features.shapes, training, () if start is None else start.shapes),
        )

    @property
    def _all(self) -> tuple[Numbers | Texts, ...]:
        return (*self.columns, *self.descriptors, *self.counts, *self.shapes)

    @property
    def width(self) -> int:
        return sum(column.width for column in self._all)

    @property
    def named_columns(self) -> tuple[str, ...]:
        """Column of each number of `encode`."""
        return tuple(column.name for column in self._all for _ in range(column.width))

    @property
    def names(self) -> list[str]:
        """Names of what `encode` returns: of columns of numbers, and of each text of the others."""
        return [
            name
            for column in self._all
            for name in (
                [f"{column.name}={value}" for value in column.values] if isinstance(column, Texts) else [column.name]
            )
        ]

    @property
    def described(self) -> tuple[str, ...]:
        """Names of the descriptors of molecules."""
        return tuple(column.name for column in self.descriptors)

    @property
    def numeric(self) -> dict[str, bool]:
        """Names of the columns of a table, each with whether it holds numbers."""
        return {column.name: isinstance(column, Numbers) for column in self.columns}

    def encode(self, features: Features | None) -> Float[Tensor, "n f"] | None:
        """Return the features of each example; None if there are no columns. What is unknown is remarked on once."""
        if not self.width:
            return None
        given = Features() if features is None else features
        parts = []
        for group in Features.__dataclass_fields__:
            columns, values = getattr(self, group), getattr(given, group)
            for column in columns:
                if column.name not in values:
                    raise DataError(
                        f"examples must have the features of the training set: column {column.name!r} is missing."
                    )
                for what, sentence in column.remarks(values[column.name]).items():
                    if (column.name, what) not in self._remarked:
                        self._remarked.add((column.name, what))
                        warnings.warn(sentence, DataWarning, stacklevel=2)
                parts.append(column.encode(values[column.name]))
        return torch.from_numpy(np.concatenate(parts, 1)).float()


def _fitted(
    values: Mapping[str, Float[Array, " n"]], training: Int[Array, " train"], start: Sequence[Numbers]
) -> tuple[Numbers, ...]:
    """Return the numbers that differ over the training set; those of a model to start from keep their units."""
    known = {column.name: column for column in start}
    found = [known.get(name) or Numbers.fit(name, column[training], LIMIT) for name, column in values.items()]
    return tuple(filter(None, found))


def _continued(before: Numbers | Texts | None, column: Numbers | Texts | None) -> Numbers | Texts | None:
    """Return a column in the units of a model to start from, followed by texts that are new."""
    if isinstance(before, Texts) and isinstance(column, Texts):
        return Texts(name=before.name, values=tuple(dict.fromkeys([*before.values, *column.values])))
    return before if before is not None and type(before) is type(column or before) else column


def features_of(columns: Any, encoder: Encoder | None, count: int) -> dict[str, Shaped[Array, " n"]]:
    """Return columns in memory, by name: numbers, NaN where unknown, or texts, empty where unknown.

    Args:
        columns: A mapping from names to sequences, or a table such as a `DataFrame`.
        encoder: The encoder of the training set, which decides what is a number; none for the training set itself.
        count: Number of examples.
    """
    if not hasattr(columns, "keys") or not hasattr(columns, "__getitem__"):
        raise DataError(
            f"features must be columns by name, as {{'temperature': [298.0, 310.0]}} or a DataFrame: got a "
            f"{type(columns).__name__}."
        )
    known = None if encoder is None else encoder.numeric
    if known is not None and not known:
        raise DataError("features must be left out: the model was trained without any.")
    if known is not None and (missing := [name for name in known if name not in columns]):
        raise DataError(f"features must have the columns of the training set: {missing[0]!r} is missing.")
    return {
        str(name): _column(str(name), columns[name], count, None if known is None else known[name])
        for name in (columns.keys() if known is None else known)
    }


def _column(name: str, column: Any, count: int, numbers: bool | None) -> Shaped[Array, " n"]:
    if isinstance(column, str) or not hasattr(column, "__iter__"):
        raise DataError(
            f"features must have a value for each row: {name!r} is a single value, {str(column)[:60]}. Put a list in "
            "its place."
        )
    values = list(column)
    if len(values) != count:
        raise DataError(f"features must have a value for each row: {name!r} has {len(values)} for {count} rows.")
    blank = [value is None or value != value or value == "" for value in values]
    is_text = [isinstance(value, str) for value in values]
    wanted = not any(t and not b for t, b in zip(is_text, blank, strict=True)) if numbers is None else numbers
    try:
        if wanted:
            return np.array([np.nan if b else float(v) for v, b in zip(values, blank, strict=True)])
    except (TypeError, ValueError):
        raise DataError(f"column {name!r} of the features must hold numbers: found something else.") from None
    return np.array(["" if b else str(v) for v, b in zip(values, blank, strict=True)], object)
