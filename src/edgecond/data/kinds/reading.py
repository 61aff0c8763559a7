"""How user data are read, and what is read of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

Targets = tuple[tuple[str, ...], ...]
"""The class names of each target, none for a number."""


@dataclass(frozen=True)
class ReadOptions:
    """How to read user data; each kind takes some of these options.

    Attributes:
        smiles: Column of the SMILES in a table.
        target: Columns to predict.
        group: Column of a table whose equal values stay in one part of a split.
        time: Column of a table whose latest values are tested.
        split_column: Column of a table with the part of each row: train, validation or test.
        vertices: Column of the targets of points or vertices, if those are to be predicted.
        numbers: Whether targets are numbers to predict, even if they are few and whole.
        meshes: Whether meshes are graphs along their edges, instead of clouds of sampled points.
        features: Columns of a table beside the molecules, which the network sees too.
        descriptors: Whether the network sees all of RDKit's descriptors of molecules, or none; by default it sees those
            of size and polarity.
        weights: Column of a table with the weight of each row in the loss.
        columns: The file's column for x, y, z or a column of the signal, by our name.
        up: The axis that points up.
    """

    smiles: str | None = None
    target: tuple[str, ...] = ()
    group: str | None = None
    vertices: str | None = None
    meshes: bool = False
    columns: Mapping[str, str] = field(default_factory=dict)
    up: str = "z"
    numbers: bool = False
    features: tuple[str, ...] = ()
    descriptors: bool | None = None
    time: str | None = None
    split_column: str | None = None
    weights: str | None = None

    def given(self) -> list[str]:
        """Return the names of the options that differ from their defaults."""
        default = ReadOptions()
        return [item.name for item in fields(self) if getattr(self, item.name) != getattr(default, item.name)]


@dataclass(frozen=True, eq=False)
class UserData:
    """What a path holds.

    Attributes:
        name: Name of the data, after their path.
        examples: All examples.
        targets: What is to be predicted.
        per_vertex: Whether each vertex has a target of its own.
        dataset: Name of this form of user data in recipes.
        options: Options that recipes and model files keep, to read other files alike.
        notes: What was found, in sentences.
        parts: Part of each example, "train", "validation" or "test", or "" where it is not given; empty if none is.
        folders: The same by folders named after them, which another split may replace.
        columns: What examples can be split by, the "group" or the "time" of each, where a column of it was asked for.
        places: Where each example is from: the columns `Kind.place`.
        names: What `Kind.listed_by` names each example by, for files that list them.
    """

    name: str
    examples: Any
    targets: Targets
    per_vertex: bool
    dataset: str
    options: dict[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    parts: Sequence[str] = ()
    folders: Sequence[str] = ()
    columns: Mapping[str, Any] = field(default_factory=dict)
    places: Sequence[dict[str, Any]] = ()
    names: Sequence[str] = ()
