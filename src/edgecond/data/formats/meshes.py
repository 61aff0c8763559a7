"""Meshes in the formats OBJ and STL."""

from __future__ import annotations

import struct

import numpy as np

from edgecond.data.formats.table import fans, lines, numbers, Table, unnamed

_STL = np.dtype([("normal", "<f4", 3), ("corners", "<f4", (3, 3)), ("attributes", "<u2")])
_STL_HEAD = 84  # 80 bytes of anything, and the number of triangles


def read_obj(data: bytes) -> Table:
    """Read Wavefront text: a vertex is `v x y z` or `v x y z r g b`, a face `f 1 2 3` or `f 1/1/1 2/2/2 3/3/3`."""
    vertices: dict[int, str] = {}
    polygons = []
    for line, row in lines(data).items():
        kind, *words = row.partition("#")[0].split() or [""]
        if kind == "v":
            vertices[line] = " ".join(words[:6] if len(words) >= 6 else words[:3])
        elif kind == "f":
            try:
                corners = [int(word.partition("/")[0]) for word in words]
            except ValueError:
                raise ValueError(f"line {line} must hold numbers of vertices: found {row.strip()[:40]!r}") from None
            # Vertices are numbered from 1, or from -1 backwards; 0 is invalid and becomes -1.
            polygons.append([corner - 1 if corner >= 0 else len(vertices) + corner for corner in corners])
    if not vertices:
        raise ValueError("it must hold vertices, lines such as 'v 0 0 1': found none")
    columns = unnamed(numbers(vertices))
    if len(columns) == 6:
        columns = dict(zip(("x", "y", "z", "red", "green", "blue"), columns.values(), strict=True))
    return Table(columns, fans(polygons))


def read_stl(data: bytes) -> Table:
    """Read the triangles of an STL file, each with its own corners; binary, or text that begins with `solid`."""
    count = struct.unpack_from("<I", data, _STL_HEAD - 4)[0] if len(data) >= _STL_HEAD else 0
    size = _STL_HEAD + count * _STL.itemsize
    if data.lstrip()[:5].lower() == b"solid" and len(data) != size:
        corners = _stl_corners(data)
    elif _STL_HEAD <= size <= len(data):
        corners = np.frombuffer(data, _STL, count, _STL_HEAD)["corners"].reshape(-1, 3).astype(np.float64)
    else:
        raise ValueError(f"its {count} triangles need {size:,} bytes: found {len(data):,}")
    return Table(unnamed(corners), np.arange(len(corners)).reshape(-1, 3))


def _stl_corners(data: bytes) -> np.ndarray:
    corners: dict[int, str] = {}
    for line, row in lines(data).items():
        words = row.split()
        if words and words[0].lower() == "vertex":
            corners[line] = " ".join(words[1:])
    if not corners or len(corners) % 3:
        raise ValueError(f"it must hold three lines such as 'vertex 0 0 1' per triangle: found {len(corners)} in all")
    rows = numbers(corners)
    if rows.shape[1] != 3:
        raise ValueError(f"its corners must have three coordinates: found {rows.shape[1]}")
    return rows
