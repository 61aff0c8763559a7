"""Points spread evenly over the surface of a mesh (Section 4.2)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from edgecond.errors import DataError


@dataclass(frozen=True, eq=False)
class Sample:
    """Points on triangles: with the corners $a, b, c$ of its triangle, a point is $a + u (b - a) + w (c - a)$."""

    corners: Int[np.ndarray, "n 3"]
    u: Float[np.ndarray, "n 1"]
    w: Float[np.ndarray, "n 1"]

    def of(self, values: Float[np.ndarray, "v k"]) -> Float[np.ndarray, "n k"]:
        """Interpolate values of the vertices at the points."""
        a, b, c = (values[self.corners[:, corner]] for corner in range(3))
        return a + self.u * (b - a) + self.w * (c - a)


def draw(
    vertices: Float[np.ndarray, "v 3"], triangles: Int[np.ndarray, "f 3"], count: int, generator: np.random.Generator
) -> Sample:
    """Draw a triangle with probability proportional to its area, then a point of it, `count` times."""
    area = areas(vertices, triangles)
    if not area.sum() > 0:
        raise DataError(f"a mesh needs faces with an area to sample points from: {len(triangles)} faces have none.")
    face = generator.choice(len(area), count, p=area / area.sum())
    u, w = generator.random((2, count, 1))
    folded = u + w > 1  # the other half of the parallelogram
    return Sample(triangles[face], np.where(folded, 1 - u, u), np.where(folded, 1 - w, w))


def areas(vertices: Float[np.ndarray, "v 3"], triangles: Int[np.ndarray, "f 3"]) -> Float[np.ndarray, " f"]:
    """Return the area of each triangle: half the parallelogram of two sides."""
    a, b, c = (vertices[triangles[:, corner]] for corner in range(3))
    return np.linalg.norm(np.cross(b - a, c - a), axis=1) / 2


def sample_surface(
    vertices: Float[np.ndarray, "v 3"], triangles: Int[np.ndarray, "f 3"], count: int, generator: np.random.Generator
) -> Float[np.ndarray, "n 3"]:
    """Sample points evenly over a mesh."""
    return draw(vertices, triangles, count, generator).of(vertices)
