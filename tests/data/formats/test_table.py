"""Columns have their usual names, and polygons are cut into triangles."""

from __future__ import annotations

import numpy as np
import pytest

from edgecond.data.formats.table import fans, named, numbers
from tests.sentences import mentions, refused


@pytest.mark.parametrize("title", ["red", "Red", "r", "diffuse_red", "scalar_Red", ' "R" '])
def test_a_column_has_one_name_however_a_file_calls_it(title: str):
    assert list(named([(title, np.zeros(1))])) == ["red"]


def test_a_polygon_is_a_fan_around_its_first_corner():
    pentagon = [4, 3, 2, 1, 0]

    assert fans([pentagon, [0, 1], []]).tolist() == [[4, 3, 2], [4, 2, 1], [4, 1, 0]]
    assert fans(np.array([pentagon])).tolist() == [[4, 3, 2], [4, 2, 1], [4, 1, 0]]
    assert fans(np.array([[0, 1]])).tolist() == []


@pytest.mark.parametrize("corner", [0.5, np.nan, np.inf])
def test_corners_are_whole_numbers(corner: float):
    with refused("the corners of its faces must be whole numbers"):
        fans(np.array([[0, 1, corner]]))


def test_a_blank_line_is_not_skipped():
    with mentions("line 8 must hold numbers ... none"):
        numbers({7: "1 2", 8: " "})
