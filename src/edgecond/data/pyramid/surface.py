"""Edges, vertex normals and subdivision of triangle meshes."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float, Int
from numpy import ndarray as Array


def edges_of(faces: Int[Array, "f 3"], n: int) -> Int[Array, "e 2"]:
    """Return the sides of all faces, each once, lower vertex first; sides from a vertex to itself are left out."""
    return distinct(_sides(faces).reshape(-1, 2), n)


def distinct(pairs: Int[Array, "p 2"], n: int) -> Int[Array, "e 2"]:
    """Return the pairs of different vertices, each once, lower vertex first, in ascending order."""
    low, high = pairs.min(1), pairs.max(1)
    return np.stack(np.divmod(np.unique((low * n + high)[low < high]), max(n, 1)), 1)


def normals(positions: Float[Array, "n 3"], faces: Int[Array, "f 3"]) -> Float[Array, "n 3"]:
    """Compute vertex normals: the mean of the normals of adjacent faces, weighted by area; zero if they cancel.

    The cross product of two sides of a face is its normal times twice its area.
    """
    a, b, c = (positions[faces[:, corner]] for corner in range(3))
    products = np.cross(b - a, c - a)
    sums = np.stack([np.bincount(faces.ravel(), np.repeat(part, 3), len(positions)) for part in products.T], 1)
    length = np.linalg.norm(sums, axis=1, keepdims=True)
    least = 1e-9 * float(np.abs(products).max(initial=0))  # opposite faces cancel up to rounding
    return np.where(length > least, sums / np.where(length > least, length, 1), 0)


def split(
    positions: Float[Array, "n 3"], values: Float[Array, "n d"], faces: Int[Array, "f 3"], longest: float
) -> tuple[Float[Array, "v 3"], Float[Array, "v d"], Int[Array, "g 3"]]:
    """Subdivide a surface until no edge is longer than `longest`, by halving longer edges repeatedly.

    A face is divided at each of its halved sides, so faces that share a side still do. The values of vertices are
    interpolated. New vertices come after the old ones.
    """
    while True:
        n, sides = len(positions), np.sort(_sides(faces), axis=2)  # (f, 3, 2)
        keys, side = np.unique(sides[..., 0] * n + sides[..., 1], return_inverse=True)
        one, other = np.divmod(keys, max(n, 1))
        long = ((positions[one] - positions[other]) ** 2).sum(1) > longest * longest
        if not long.any():
            return positions, values, faces
        middle = np.where(long, n + np.cumsum(long) - 1, -1)[side.reshape(-1, 3)]  # of each side of each face
        one, other = one[long], other[long]
        positions = np.concatenate([positions, (positions[one] + positions[other]) / 2])
        values = np.concatenate([values, (values[one] + values[other]) / 2])
        faces = _cut(positions, faces, middle)


def pieces(positions: Float[Array, "n 3"], faces: Int[Array, "f 3"], longest: float) -> Float[Array, " f"]:
    """Return about the number of faces that `split` divides each face into.

    The largest triangle with these sides is equilateral. Of a thin one, two sides are halved at a time, which makes
    three of it.
    """
    a, b, c = (positions[faces[:, corner]] for corner in range(3))
    area = np.linalg.norm(np.cross(b - a, c - a), axis=1) / 2
    side = np.max([np.linalg.norm(one - other, axis=1) for one, other in ((a, b), (b, c), (c, a))], axis=0)
    return 1 + np.maximum(area / (np.sqrt(3) / 4 * longest**2), (side / longest) ** np.log2(3))


def _sides(faces: Int[Array, "f 3"]) -> Int[Array, "f 3 2"]:
    """Return the sides of each face, from each corner to the next."""
    return np.stack([faces, np.roll(faces, -1, axis=1)], 2)


def _cut(positions: Array, faces: Int[Array, "f 3"], middle: Int[Array, "f 3"]) -> Int[Array, "g 3"]:
    """Divide faces at the middles of some of their sides (-1: not halved); new faces keep the orientation."""
    count = (middle >= 0).sum(1)
    parts = [faces[count == 0]]
    # Rotated such that the first side is the only halved one, or the only one that is not.
    (a, b, c), (x, _, _) = _rotated(faces, middle, count == 1, middle >= 0)
    parts += [np.stack(part, 1) for part in ((a, x, c), (x, b, c))]
    (a, b, c), (_, y, z) = _rotated(faces, middle, count == 2, middle < 0)
    first = _shorter(positions, (a, y), (b, z))
    parts.append(np.stack([z, y, c], 1))
    parts.append(np.where(first[:, None], np.stack([a, b, y], 1), np.stack([a, b, z], 1)))
    parts.append(np.where(first[:, None], np.stack([a, y, z], 1), np.stack([b, y, z], 1)))
    (a, b, c), (x, y, z) = faces[count == 3].T, middle[count == 3].T
    parts += [np.stack(part, 1) for part in ((a, x, z), (x, b, y), (z, y, c), (x, y, z))]
    return np.concatenate(parts)


def _rotated(faces: Array, middle: Array, chosen: Array, first: Array) -> tuple[Array, Array]:
    """Return corners and middles of the chosen faces, beginning with the side that `first` marks."""
    order = (first[chosen].argmax(1)[:, None] + np.arange(3)) % 3
    return tuple(np.take_along_axis(rows[chosen], order, axis=1).T for rows in (faces, middle))  # type: ignore[return-value]


def _shorter(positions: Array, one: tuple[Array, Array], other: tuple[Array, Array]) -> Array:
    """Whether the first of two diagonals is shorter or, if they are equal, has the lower x, y and z.

    So the result does not depend on the order of vertices and faces.
    """
    lengths = [((positions[start] - positions[end]) ** 2).sum(1) for start, end in (one, other)]
    difference = positions[one[0]] - positions[other[0]]
    axis = (difference != 0).argmax(1)[:, None]
    lower = np.take_along_axis(difference, axis, axis=1)[:, 0] < 0
    return np.where(lengths[0] == lengths[1], lower, lengths[0] < lengths[1])
