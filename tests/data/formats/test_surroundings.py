"""Lines, planes and balls of points are told apart by the shape of their surroundings."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pytest

from edgecond.data.formats import parse_columns, read_points
from edgecond.data.formats.surroundings import NAMES, surroundings
from edgecond.errors import DataError
from tests.sentences import mentions

RNG = np.random.default_rng(0)
LINE = np.outer(np.arange(40.0), [1.0, 0, 0])
GRID = np.stack([*np.meshgrid(np.arange(12.0), np.arange(12.0)), np.zeros((12, 12))], -1).reshape(-1, 3)


def means(points: np.ndarray) -> dict[str, float]:
    return {name: float(column.mean()) for name, column in surroundings(points).items()}


def test_a_line_is_linear():
    found = means(LINE)

    assert (found["linearity"], found["planarity"], found["scattering"]) == pytest.approx((1, 0, 0))


def test_the_inner_points_of_a_horizontal_plane_are_planar_and_not_vertical():
    """Away from the border, the 16 nearest points of a grid are spread about equally along both axes."""
    columns = surroundings(GRID)
    inner = (np.abs(GRID[:, :2] - 5.5) < 3).all(1)

    assert columns["planarity"][inner].min() > 0.5
    assert columns["scattering"] == pytest.approx(0)
    assert columns["verticality"] == pytest.approx(0)
    assert columns["curvature"] == pytest.approx(0)


def test_a_wall_is_vertical_and_a_slope_of_45_degrees_is_in_between():
    """The normal of the slope has n_z = 1 / sqrt(2)."""
    slope = GRID @ np.array([[1, 0, 0], [0, 0.5**0.5, 0.5**0.5], [0, 0, 0]])

    assert surroundings(GRID[:, [0, 2, 1]])["verticality"] == pytest.approx(1)
    assert surroundings(slope)["verticality"] == pytest.approx(1 - 0.5**0.5)


def test_points_in_a_ball_are_scattered():
    ball = means(RNG.standard_normal((400, 3)))

    assert ball["scattering"] > max(0.2, means(GRID)["scattering"] + 0.2)
    assert ball["curvature"] <= 1 / 3


def test_the_columns_are_those_of_the_covariance_of_all_points_where_there_are_few():
    """NumPy's covariance of ten points, all of which are among the nearest of each."""
    points = RNG.standard_normal((10, 3))
    third, second, first = np.linalg.eigvalsh(np.cov(points.T))

    found = means(points)

    assert found["linearity"] == pytest.approx((first - second) / first)
    assert found["planarity"] == pytest.approx((second - third) / first)
    assert found["scattering"] == pytest.approx(third / first)
    assert found["curvature"] == pytest.approx(third / (first + second + third))


def test_rotating_about_z_mirroring_moving_and_scaling_change_nothing():
    points, angle = RNG.standard_normal((60, 3)), 0.7
    turn = np.array([[np.cos(angle), -np.sin(angle), 0], [np.sin(angle), np.cos(angle), 0], [0, 0, 1]])

    moved = (points @ turn * [1, -1, 1]) * 1e-3 + [400_000, 5_000_000, 100]

    for name, column in surroundings(moved).items():
        np.testing.assert_allclose(column, surroundings(points)[name], atol=1e-4, err_msg=name)


@pytest.mark.parametrize("points", [np.zeros((1, 3)), np.ones((30, 3)), np.full((3, 3), np.nan), np.zeros((0, 3))])
def test_points_at_one_place_or_without_a_position_have_no_shape(points: np.ndarray):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        columns = surroundings(points)

    assert set(columns) == set(NAMES)
    assert all(len(column) == len(points) and not column.any() for column in columns.values())


def test_columns_are_added_to_the_signal_if_they_are_named(tmp_path: Path):
    path = tmp_path / "wall.csv"
    rows = [f"{x},{z},{y},7" for x, y, z in GRID.tolist()]  # y points up in the file
    path.write_text("x,y,z,intensity\n" + "\n".join(rows) + "\n")

    plain = read_points(path)
    named = read_points(path, columns=parse_columns("verticality,flat=planarity"), up="y")

    assert plain.names == ("intensity",)
    assert named.names == ("intensity", "verticality", "flat")
    assert named.signal[:, 1] == pytest.approx(0)
    with mentions("no column 'planrity'", "Did you mean planarity", kind=DataError):
        read_points(path, columns={"planrity": "planrity"})
