"""Point clouds (Section 3.4) and triangle meshes (Section 5 names meshes as future work)."""

from __future__ import annotations

from dataclasses import field

import torch
from jaxtyping import Float, Int
from torch import Tensor

from edgecond.graph.value import Movable, value


@value
class Cloud(Movable):
    """A point cloud $P$ with the features $X_P$ of its points (Section 3.4).

    Attributes:
        positions: Coordinates of the points.
        signal: Features of the points.
        y: Class of each point for segmentation, -1 where it is unknown.
    """

    positions: Float[Tensor, "n 3"]
    signal: Float[Tensor, "n d0"]
    y: Int[Tensor, " n"] | None = None

    def __post_init__(self) -> None:
        if self.positions.dim() != 2 or self.positions.shape[1] != 3 or self.signal.dim() != 2:
            raise ValueError(
                "a cloud needs positions of shape (n, 3) and a signal of shape (n, d): "
                f"got {tuple(self.positions.shape)} and {tuple(self.signal.shape)}."
            )
        for name, rows in (("signal", self.signal), ("class", self.y)):
            if rows is not None and len(rows) != len(self):
                raise ValueError(f"a cloud needs one {name} per point: got {len(rows)} for {len(self)} points.")

    def __len__(self) -> int:
        return len(self.positions)


@value
class Mesh(Cloud):
    """A triangle mesh: the cloud of its vertices, and the three corners of each face, counterclockwise."""

    faces: Int[Tensor, "f 3"] = field(kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.faces.dim() != 2 or self.faces.shape[1] != 3 or self.faces.dtype != torch.long:
            raise ValueError(
                "the faces of a mesh must be an int64 tensor of vertex numbers of shape (faces, 3): "
                f"got {tuple(self.faces.shape)} of {self.faces.dtype}. Cut larger polygons into triangles."
            )
        invalid = self.faces[(self.faces < 0) | (self.faces >= len(self))]
        if len(invalid):
            raise ValueError(
                f"the faces of a mesh of {len(self)} vertices must number them from 0 to {len(self) - 1}: "
                f"found {invalid[0]}."
            )
