"""Points of other formats as LAS files, read by laspy."""

from __future__ import annotations

import io

import laspy
import numpy as np
import pytest

from edgecond.data.formats import las_copy
from edgecond.data.formats.las_new import NewScan
from edgecond.data.formats.table import Table


@pytest.mark.parametrize("compressed", [False, True])
@pytest.mark.parametrize("coloured", [False, True])
def test_laspy_reads_positions_intensities_colours_and_classes(compressed: bool, coloured: bool):
    """Coordinates of seven digits keep a millionth of the extent; an intensity that is no whole number is left out."""
    rng = np.random.default_rng(0)
    positions = rng.random((50, 3)) * [100, 10, 0] + [500_000, 5_000_000, -3]
    columns = dict(zip("xyz", positions.T, strict=True)) | {"intensity": rng.integers(0, 65536, 50)}
    if coloured:
        columns |= dict(zip(("red", "green", "blue"), rng.integers(0, 256, (3, 50)), strict=True))
    numbers, buffer = rng.integers(0, 7, 50), io.BytesIO()

    predicted = [{"class": numbers, "probability": numbers / 8}]
    classes = {number: str(number) for number in range(7)}
    source = NewScan(Table(columns))
    las_copy.write(source, buffer, predicted, compressed=compressed, classes=classes, extra=["probability"])

    buffer.seek(0)
    file = laspy.read(buffer)
    assert file.header.point_format.id == (7 if coloured else 6)
    np.testing.assert_allclose(file.xyz, positions, rtol=0, atol=1e-6)
    np.testing.assert_allclose(file.header.mins, positions.min(0))
    np.testing.assert_allclose(file.header.maxs, positions.max(0))
    assert file.intensity.tolist() == columns["intensity"].tolist()
    assert not coloured or file.green.tolist() == columns["green"].tolist()
    assert np.asarray(file.classification).tolist() == numbers.tolist()
    assert file["probability"].tolist() == (numbers / 8).tolist()
    assert {*np.asarray(file.return_number)} == {*np.asarray(file.number_of_returns)} == {1}
    assert file.header.number_of_points_by_return[0] == 50


@pytest.mark.parametrize("size", [1e-6, 0.9, 2.4, 3e9])
@pytest.mark.parametrize("low", [-0.75, 0.0, 12.999])
def test_coordinates_of_any_extent_fit_their_integers(size: float, low: float):
    """Integers have 32 bits: a step is at most ten times the extent from a whole number on, by 2e9."""
    positions = np.linspace(low, low + size, 30)
    columns, buffer = dict.fromkeys("xyz", positions), io.BytesIO()

    predicted = [{"class": np.ones(30, int)}]
    las_copy.write(NewScan(Table(columns)), buffer, predicted, compressed=False, classes={1: "1"})

    buffer.seek(0)
    np.testing.assert_allclose(laspy.read(buffer).x, positions, rtol=0, atol=(size + 1) * 5e-9)


def test_columns_that_are_no_whole_numbers_are_left_out():
    columns = dict(zip("xyz", np.eye(3), strict=True)) | {"intensity": np.array([0.5, 1, 2])}
    buffer = io.BytesIO()

    predicted = [{"class": np.array([1, 1, 2])}]
    las_copy.write(NewScan(Table(columns)), buffer, predicted, compressed=False, classes={1: "1", 2: "2"})

    buffer.seek(0)
    assert laspy.read(buffer).intensity.tolist() == [0, 0, 0]
