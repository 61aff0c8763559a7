"""A mesh is a cloud whose faces have corners among its points."""

import pytest
import torch

from edgecond.graph import Cloud
from edgecond.graph.mesh import Mesh
from tests.sentences import refused

CORNERS, ONES = torch.eye(3), torch.ones(3, 1)


def test_a_mesh_is_a_cloud_that_moves_with_its_faces():
    mesh = Mesh(CORNERS, ONES, faces=torch.tensor([[0, 1, 2]]))

    moved = mesh.to(torch.float64)

    assert isinstance(moved, Mesh)
    assert isinstance(moved, Cloud)
    assert (moved.positions.dtype, moved.faces.dtype) == (torch.float64, torch.int64)
    assert len(moved) == 3


@pytest.mark.parametrize("faces", [torch.tensor([0, 1, 2]), torch.tensor([[0, 1]]), torch.tensor([[0.0, 1.0, 2.0]])])
def test_faces_are_triples_of_whole_numbers(faces):
    with refused(
        "the faces of a mesh are int64 numbers of vertices, a tensor of shape (faces, 3): "
        f"got {tuple(faces.shape)} of {faces.dtype}. Cut larger polygons into triangles."
    ):
        Mesh(CORNERS, ONES, faces=faces)


@pytest.mark.parametrize("corner", [-1, 3])
def test_a_face_has_its_corners_among_the_vertices(corner):
    with refused(f"the faces of a mesh of 3 vertices have corners below that: got {corner}."):
        Mesh(CORNERS, ONES, faces=torch.tensor([[0, 1, corner]]))
