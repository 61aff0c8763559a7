"""Clouds need one signal and one class per point; meshes need faces whose corners are vertices."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from edgecond.graph import Cloud, Mesh
from tests.sentences import refused

CORNERS, ONES = torch.eye(3), torch.ones(3, 1)


@pytest.mark.parametrize(
    ("positions", "signal", "message"),
    [
        (
            torch.zeros(4, 2),
            torch.zeros(4, 1),
            "a cloud needs positions of shape (n, 3) and a signal of shape (n, d): got (4, 2) and (4, 1).",
        ),
        (
            torch.zeros(4, 3),
            torch.zeros(4),
            "a cloud needs positions of shape (n, 3) and a signal of shape (n, d): got (4, 3) and (4,).",
        ),
        (torch.zeros(4, 3), torch.zeros(5, 1), "a cloud needs one signal per point: got 5 for 4 points."),
    ],
    ids=["flat positions", "no channels", "a signal too many"],
)
def test_a_cloud_with_wrong_shapes_is_an_error(positions: Tensor, signal: Tensor, message: str):
    with refused(message):
        Cloud(positions, signal)


def test_the_length_of_a_cloud_is_its_number_of_points():
    assert len(Cloud(torch.zeros(4, 3), torch.zeros(4, 0))) == 4


def test_a_cloud_has_one_target_per_point_or_none():
    with pytest.raises(ValueError, match="one target per point: got 2 for 4 points"):
        Cloud(torch.zeros(4, 3), torch.zeros(4, 1), torch.zeros(2, dtype=torch.long))


def test_a_mesh_is_a_cloud_that_moves_with_its_faces():
    mesh = Mesh(CORNERS, ONES, faces=torch.tensor([[0, 1, 2]]))

    moved = mesh.to(torch.float64)

    assert isinstance(moved, Mesh)
    assert isinstance(moved, Cloud)
    assert (moved.positions.dtype, moved.faces.dtype) == (torch.float64, torch.int64)
    assert len(moved) == 3


@pytest.mark.parametrize("faces", [torch.tensor([0, 1, 2]), torch.tensor([[0, 1]]), torch.tensor([[0.0, 1.0, 2.0]])])
def test_faces_must_be_triples_of_integers(faces: Tensor):
    with refused(
        "the faces of a mesh must be an int64 tensor of vertex numbers of shape (faces, 3): "
        f"got {tuple(faces.shape)} of {faces.dtype}. Cut larger polygons into triangles."
    ):
        Mesh(CORNERS, ONES, faces=faces)


@pytest.mark.parametrize("corner", [-1, 3])
def test_the_corners_of_a_face_must_be_vertices(corner: int):
    with pytest.raises(ValueError, match=rf"mesh of 3 vertices .* from 0 to 2: found {corner}\."):
        Mesh(CORNERS, ONES, faces=torch.tensor([[0, 1, corner]]))
