"""Meshes of known shape, by trimesh."""

import numpy as np
import torch
import trimesh

from edgecond.graph import Mesh

SPHERE = trimesh.creation.icosphere(subdivisions=3)
BOX = trimesh.creation.box()
TORUS = trimesh.creation.torus(major_radius=1.0, minor_radius=0.4, major_sections=24, minor_sections=12)


def mesh_of(shape: trimesh.Trimesh) -> Mesh:
    """Ours, of one of trimesh's, with the signal 1."""
    vertices = torch.tensor(np.asarray(shape.vertices), dtype=torch.float32)
    return Mesh(vertices, torch.ones(len(vertices), 1), faces=torch.tensor(np.asarray(shape.faces), dtype=torch.long))


def sheet(height: float, side: int = 9) -> trimesh.Trimesh:
    """A square of triangles with its corners at (0, 0) and (1, 1), parallel to the plane."""
    along = np.linspace(0, 1, side)
    x, y = np.meshgrid(along, along, indexing="ij")
    vertices = np.stack([x.ravel(), y.ravel(), np.full(side * side, height)], 1)
    at = np.arange(side * side).reshape(side, side)
    a, b, c, d = at[:-1, :-1].ravel(), at[1:, :-1].ravel(), at[1:, 1:].ravel(), at[:-1, 1:].ravel()
    faces = np.concatenate([np.stack([a, b, c], 1), np.stack([a, c, d], 1)])
    return trimesh.Trimesh(vertices, faces, process=False)
