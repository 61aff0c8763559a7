"""What vertices stand for: shares of points, and descriptions of edges."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import edgecond.data.kinds.elements
from edgecond.data.kinds.elements import NamedElements, PointElements
from edgecond.graph import Graph, Labels, Pyramid


def pyramid() -> Pyramid:
    """Three vertices, of which the last two pool into the second of two."""
    fine = Graph.from_edges(torch.tensor([0, 1]), torch.tensor([1, 2]), Labels(torch.ones(2, 1)), num_vertices=3)
    coarse = Graph.from_edges(torch.tensor([0]), torch.tensor([1]), Labels(torch.ones(1, 1)), num_vertices=2)
    return Pyramid((fine, coarse), (torch.tensor([0, 1, 1]),))


def test_the_number_of_a_vertex_is_divided_among_its_units():
    """By hand: points 0 and 1 share the 6 of vertex 0; point 2 has vertex 1, and all of vertex 2."""
    positions = np.array([[0.0, 0, 0], [2, 0, 0], [5, 0, 0]])
    elements = PointElements(3, np.array([0, 1, 2, 2]), np.array([0, 0, 1, 2]), positions)

    assert elements.shared(np.array([6.0, 1.0, 2.0])).tolist() == [3.0, 3.0, 3.0]
    assert elements.columns == {"x": [0, 2, 5], "y": [0, 0, 0], "z": [0, 0, 0]}


def test_what_is_around_a_point_is_added_up_with_the_point_itself(monkeypatch: pytest.MonkeyPatch):
    """By hand: points at 0, 1 and 5 and a radius of 1; named vertices have no positions."""
    monkeypatch.setattr(edgecond.data.kinds.elements, "NEAR", 2)
    positions, every = np.array([[0.0, 0, 0], [1, 0, 0], [5, 0, 0]]), np.arange(3)
    values = np.array([1.0, -3.0, 4.0])

    assert PointElements(3, every, every, positions, 1.0).around(values).tolist() == [-2.0, -2.0, 4.0]
    assert NamedElements(3, every, every, ["C", "C", "O"], {}).around(values) is None


def test_an_edge_between_points_is_described_by_its_middle_at_every_level():
    """By hand: vertices at 1, 5 and 9; the last two pool into one at 7."""
    positions = np.array([[0.0, 0, 0], [2, 0, 0], [5, 0, 0], [9, 0, 0]])
    elements = PointElements(4, np.arange(4), np.array([0, 0, 1, 2]), positions)

    fine = elements.edge_columns(pyramid(), 0, np.array([0, 1]), np.array([1, 2]))
    coarse = elements.edge_columns(pyramid(), 1, np.array([0]), np.array([1]))

    assert (fine["x"], coarse["x"]) == ([3.0, 7.0], [4.0])


def test_edges_between_named_vertices_have_names_at_the_first_level_alone():
    every = np.arange(3)
    elements = NamedElements(3, every, every, ["C", "C", "O"], {(0, 1): "C-C", (1, 2): "C=O"})

    assert elements.edge_columns(pyramid(), 0, np.array([2, 0]), np.array([1, 2])) == {"name": ["C=O", ""]}
    assert elements.edge_columns(pyramid(), 1, np.array([0]), np.array([1])) == {"name": [""]}
