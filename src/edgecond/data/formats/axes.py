"""Which columns of a point file are x, y and z, and which axis points up."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace

import numpy as np

from edgecond.data.formats.surroundings import NAMES as COMPUTED
from edgecond.data.formats.surroundings import surroundings
from edgecond.data.formats.table import Table, usual
from edgecond.errors import did_you_mean, listed, RecipeError

AXES = ("x", "y", "z")
_GEOGRAPHIC = {"x": ("x", "easting"), "y": ("y", "northing"), "z": ("z", "elevation", "height", "altitude")}
_NO_POSITIONS = {"n", "normal", "normals", "v", "vel", "velocity", "acc", "acceleration", "rotation", "scale"}
_VECTORS = (AXES, ("nx", "ny", "nz"), ("normal_x", "normal_y", "normal_z"))
# Proper rotations, which keep handedness: the sign and the axis that become the new x, y and z.
_ROTATIONS = {"x": ((-1, 2), (1, 1), (1, 0)), "y": ((1, 0), (-1, 2), (1, 1))}


def parse_columns(text: str) -> dict[str, str]:
    """Parse a list of columns into a mapping from our name of each column to the file's name.

    A column other than x, y and z may be named alone, if it keeps its name.

    >>> parse_columns("x=relative_x,y=relative_z,z=relative_y,planarity")
    {'x': 'relative_x', 'y': 'relative_z', 'z': 'relative_y', 'planarity': 'planarity'}
    """
    columns: dict[str, str] = {}
    for part in text.split(","):
        name, equals, column = (word.strip() for word in part.partition("="))
        if not equals and usual(name) not in AXES:
            equals, column = "=", name
        if not (name and equals and column):
            raise RecipeError(
                f"columns must be written as x=NAME,y=NAME,z=NAME: got {part.strip()[:60]!r} in {text[:60]!r}."
            )
        if name in columns:
            raise RecipeError(f"columns must name each of x, y and z once: {name!r} is in {text[:60]!r} twice.")
        columns[name] = column
    check_axes(columns, "z")
    return columns


def check_axes(columns: Mapping[str, str] | None, up: str) -> None:
    """Raise a `RecipeError` unless each column is used once and `up` is one of the axes."""
    if up not in AXES:
        raise RecipeError(f"the axis that points up must be x, y or z: got {str(up)[:60]!r}.")
    for names in ((columns or {}).keys(), (columns or {}).values()):
        seen: set[str] = set()
        for name in map(usual, names):
            if name in seen:
                raise RecipeError(f"columns must use each column once: {name!r} is used twice.")
            seen.add(name)


def arrange(table: Table, columns: Mapping[str, str] | None, up: str, *, compute: bool = True) -> Table:
    """Name the columns x, y and z of a table, and rotate its points so that z points up.

    If x, y and z are missing, a triple with a common prefix or suffix replaces them, as in `relative_x, relative_y,
    relative_z` or `X_m, Y_m, Z_m`, or easting, northing and one of elevation, height and altitude. Normals (nx, ny, nz)
    are rotated too. Columns that are optional in the file, and those of `surroundings`, are added if they are named.

    Args:
        table: Table with columns by the names that `usual` gives them.
        columns: The table's name of each column to rename, by the new name, as in `{"x": "relative_x"}`. A column whose
            name another one takes is dropped.
        up: Axis of the table that points up, which becomes z.
        compute: Whether the columns of `surroundings` are added, for which all points must be in the table.
    """
    chosen = {usual(theirs): usual(ours) for ours, theirs in (columns or {}).items()}
    known = table.columns | {name: column for name, column in table.optional.items() if name in chosen}
    computed = {name: chosen.pop(name) for name in list(chosen) if name in COMPUTED and name not in known}
    for name, ours in chosen.items():
        if name not in known:
            possible = [*table.columns, *table.optional, *COMPUTED]
            raise ValueError(
                f"it has no column {name!r} to use as {ours}.{did_you_mean(name, possible)}".removesuffix(".")
            )
    if not set(chosen.values()) & set(AXES) and not table.columns.keys() >= set(AXES):
        chosen |= recognized(table.columns)
    renamed = _renamed(known, chosen)
    if not renamed.keys() >= set(AXES):
        advice = "; name them with --columns x=NAME,y=NAME,z=NAME, or columns={'x': NAME, ...} in Python"
        raise ValueError(
            f"it must have columns x, y and z: found {listed(list(table.columns)) or 'none'}"
            + advice * (len(table.columns) >= len(AXES))
        )
    columns_now = _rotated(renamed, up)
    if computed and compute:
        shapes = surroundings(np.stack([columns_now[axis] for axis in AXES], 1).astype(np.float64))
        columns_now |= {ours: shapes[name] for name, ours in computed.items()}
    return replace(table, columns=columns_now)


def vectors(names: Collection[str]) -> list[tuple[str, str]]:
    """Return the names of the components along x and y of each vector among some columns, such as nx and ny."""
    return [(x, y) for x, y, _ in _VECTORS[1:] if x in names and y in names]


def _renamed(columns: Mapping[str, np.ndarray], names: Mapping[str, str]) -> dict[str, np.ndarray]:
    taken = set(names.values())
    return {names.get(name, name): column for name, column in columns.items() if name in names or name not in taken}


def recognized(names: Collection[str]) -> dict[str, str]:
    """Return the axis of each of three columns, if exactly one triple fits; an empty mapping otherwise."""
    triples = [] if set(AXES) & set(names) else list(_similar(names))
    synonyms = [[name for name in _GEOGRAPHIC[axis] if name in names] for axis in AXES]
    if all(len(found) == 1 for found in synonyms):
        triples.append({found[0]: axis for found, axis in zip(synonyms, AXES, strict=True)})
    return triples[0] if len(triples) == 1 else {}


def _similar(names: Collection[str]) -> Iterable[dict[str, str]]:
    """Yield the triples of names that differ in one letter, x, y or z."""
    for name in names:
        for letter in re.finditer("x", name):
            before, after = name[: letter.start()], name[letter.end() :]
            triple = {f"{before}{axis}{after}": axis for axis in AXES}
            words = set(re.split(r"[\W_]+", f"{before} {after}"))
            # px and x1 may be anything; pos.x, posx and x_m are positions.
            clear = all(len(part) > 2 or not part[edge:][:1].isalnum() for part, edge in ((before, -1), (after, 0)))
            if triple.keys() <= set(names) and clear and not words & _NO_POSITIONS:
                yield triple


def _rotated(columns: dict[str, np.ndarray], up: str) -> dict[str, np.ndarray]:
    if up not in _ROTATIONS:
        return columns
    rotated = dict(columns)
    for vector in _VECTORS:
        if columns.keys() >= set(vector):
            for name, (sign, axis) in zip(vector, _ROTATIONS[up], strict=True):
                rotated[name] = sign * columns[vector[axis]].astype(np.float64)
    return rotated
