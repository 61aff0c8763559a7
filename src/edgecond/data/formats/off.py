"""Meshes in the Object File Format, including the variants in ModelNet."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from jaxtyping import Float

from edgecond.data.formats.table import Table, Triangles, unnamed
from edgecond.errors import DataError

Vertices = Float[np.ndarray, "v 3"]


def read(data: bytes) -> Table:
    """Read the vertices and triangles of a mesh."""
    vertices, triangles = parse(data)
    return Table(unnamed(vertices), triangles)


def parse(data: bytes, source: object = "the mesh") -> tuple[Vertices, Triangles]:
    """Return vertices and triangles of a mesh in the Object File Format; polygons are cut into triangles.

    In many files of ModelNet the first word and the first count are joined, as in `OFF490 518 0`.
    """
    lines = [line.partition(b"#")[0] for line in data.splitlines()]
    text = b"\n".join(line for line in lines if line.strip()).lstrip()
    if not text.startswith(b"OFF"):
        raise DataError(f"{source} must begin with OFF: it is not an OFF file.")
    head, *rows = text[3:].lstrip().split(b"\n")
    try:
        v, f = (int(count) for count in head.split()[:2])
        if v < 0 or f < 0:
            raise ValueError("a count of vertices or faces is negative")
        vertices = np.array([row.split()[:3] for row in rows[:v]], np.float64).reshape(-1, 3)
        triangles = _triangles(rows[v : v + f])
    except (ValueError, OverflowError) as error:  # the second: a corner beyond 64 bits
        raise DataError(f"{source} cannot be read as an OFF file: {error}.") from error
    if len(rows) < v + f:
        raise DataError(f"{source} is cut short: {v} vertices and {f} faces need {v + f} lines, found {len(rows)}.")
    if not np.isfinite(vertices).all():
        bad = int(np.flatnonzero(~np.isfinite(vertices).all(1))[0])
        raise DataError(f"{source} must hold finite numbers: vertex {bad} is at {vertices[bad].tolist()}.")
    if len(triangles) and not (triangles.min() >= 0 and triangles.max() < v):
        bad = int(triangles[(triangles < 0) | (triangles >= v)][0])
        raise DataError(f"{source} must number vertices from 0 to {v - 1}: found vertex {bad} in a face.")
    return vertices, triangles


def _triangles(rows: list[bytes]) -> Triangles:
    """Return the triangles of faces: the number of corners, the corners, and perhaps a colour. Polygons become fans."""
    words = b" ".join(rows).split()
    if len(words) == 4 * len(rows):  # triangles without colours, the usual case
        faces = np.array(words, dtype="S").astype(np.int64).reshape(-1, 4)
        if (faces[:, 0] == 3).all():
            return faces[:, 1:]
    triangles = []
    for row in rows:
        count, *rest = row.split()
        corners = [int(corner) for corner in rest[: int(count)]]
        if len(corners) != int(count):
            raise ValueError("a face has fewer corners than its count")
        triangles += [(corners[0], *pair) for pair in pairwise(corners[1:])]
    return np.array(triangles, np.int64).reshape(-1, 3)
