"""A mesh: vertices and the triangles between them, which the paper would take as a graph in future work (Section 5)."""

from __future__ import annotations

from dataclasses import field

import torch
from jaxtyping import Int
from torch import Tensor

from edgecond.graph import Cloud
from edgecond.graph.value import value


@value
class Mesh(Cloud):
    """A surface of triangles: the cloud of its vertices, and the three corners of each face, counterclockwise."""

    faces: Int[Tensor, "f 3"] = field(kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.faces.dim() != 2 or self.faces.shape[1] != 3 or self.faces.dtype != torch.long:
            raise ValueError(
                "the faces of a mesh are int64 numbers of vertices, a tensor of shape (faces, 3): "
                f"got {tuple(self.faces.shape)} of {self.faces.dtype}. Cut larger polygons into triangles."
            )
        wrong = self.faces[(self.faces < 0) | (self.faces >= len(self))]
        if len(wrong):
            raise ValueError(f"the faces of a mesh of {len(self)} vertices have corners below that: got {wrong[0]}.")
