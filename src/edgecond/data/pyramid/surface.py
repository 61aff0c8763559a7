"""What a pyramid needs of the triangles of meshes: their edges, none too long, and the normals of their vertices."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float, Int
from numpy import ndarray as Array

FACES_AT_MOST = 20_000_000


def edges_of(faces: Int[Array, "f 3"], n: int) -> Int[Array, "e 2"]:
    """The sides of all faces, each once, the lower of its vertices first; a side from a vertex to itself is none."""
    return distinct(_sides(faces).reshape(-1, 2), n)


def distinct(pairs: Int[Array, "p 2"], n: int) -> Int[Array, "e 2"]:
    """Pairs of different vertices, each once, the lower first, in ascending order."""
    low, high = pairs.min(1), pairs.max(1)
    return np.stack(np.divmod(np.unique((low * n + high)[low < high]), max(n, 1)), 1)


def normals(positions: Float[Array, "n 3"], faces: Int[Array, "f 3"]) -> Float[Array, "n 3"]:
    """The direction of each vertex's surface: the sum over its faces, weighted by area; zero where that vanishes.

    Half the cross product of two sides is a face's area along its normal, so larger faces count for more.
    """
    a, b, c = (positions[faces[:, corner]] for corner in range(3))
    across = np.cross(b - a, c - a)
    sums = [np.bincount(faces.ravel(), np.repeat(part, 3), len(positions)) for part in across.T]
    summed = np.stack(sums, 1)
    length = np.linalg.norm(summed, axis=1, keepdims=True)
    least = 1e-9 * float(np.abs(across).max(initial=0))  # opposite faces cancel but for rounding
    return np.where(length > least, summed / np.where(length > least, length, 1), 0)


def split(
    positions: Float[Array, "n 3"], values: Float[Array, "n d"], faces: Int[Array, "f 3"], longest: float
) -> tuple[Float[Array, "v 3"], Float[Array, "v d"], Int[Array, "g 3"]]:
    """The same surface without edges longer than `longest`: these are halved, again and again.

    A face gives way to as many as its halved sides ask for, so faces that share a side still do. What is told of
    vertices is interpolated. New vertices come after the old ones.
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
        if len(faces) > FACES_AT_MOST:
            raise ValueError(
                f"a mesh without edges longer than {longest} has more than {FACES_AT_MOST:,} faces. "
                "Choose a larger radius."
            )


def _sides(faces: Int[Array, "f 3"]) -> Int[Array, "f 3 2"]:
    """From each corner to the next."""
    return np.stack([faces, np.roll(faces, -1, axis=1)], 2)


def _cut(positions: Array, faces: Int[Array, "f 3"], middle: Int[Array, "f 3"]) -> Int[Array, "g 3"]:
    """Faces cut at the middles of some of their sides, -1 standing for none; each new one turns as the old one did."""
    count = (middle >= 0).sum(1)
    parts = [faces[count == 0]]
    # Turned so that one cut side is the first, or of two cut sides the other one is.
    (a, b, c), (x, _, _) = _turned(faces, middle, count == 1, middle >= 0)
    parts += [np.stack(part, 1) for part in ((a, x, c), (x, b, c))]
    (a, b, c), (_, y, z) = _turned(faces, middle, count == 2, middle < 0)
    first = _shorter(positions, (a, y), (b, z))
    parts.append(np.stack([z, y, c], 1))
    parts.append(np.where(first[:, None], np.stack([a, b, y], 1), np.stack([a, b, z], 1)))
    parts.append(np.where(first[:, None], np.stack([a, y, z], 1), np.stack([b, y, z], 1)))
    (a, b, c), (x, y, z) = faces[count == 3].T, middle[count == 3].T
    parts += [np.stack(part, 1) for part in ((a, x, z), (x, b, y), (z, y, c), (x, y, z))]
    return np.concatenate(parts)


def _turned(faces: Array, middle: Array, chosen: Array, first: Array) -> tuple[Array, Array]:
    """Corners and middles of the chosen faces, begun at the side that `first` marks."""
    turn = (first[chosen].argmax(1)[:, None] + np.arange(3)) % 3
    return tuple(np.take_along_axis(rows[chosen], turn, axis=1).T for rows in (faces, middle))  # type: ignore[return-value]


def _shorter(positions: Array, one: tuple[Array, Array], other: tuple[Array, Array]) -> Array:
    """Whether the first of two diagonals is the shorter; of equal ones, that of the lower x, y and z.

    So the order of vertices and faces does not matter.
    """
    lengths = [((positions[start] - positions[end]) ** 2).sum(1) for start, end in (one, other)]
    apart = positions[one[0]] - positions[other[0]]
    axis = (apart != 0).argmax(1)[:, None]
    lower = np.take_along_axis(apart, axis, axis=1)[:, 0] < 0
    return np.where(lengths[0] == lengths[1], lower, lengths[0] < lengths[1])
