"""Points sorted by cell in a file, and tiles with a margin: compared with a search through all points."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from edgecond.data.tiles import CellFile, Cells, tiles

KIND = np.dtype([("position", "<f8", (3,)), ("number", "<i8")])


def sorted_points(positions: np.ndarray, margin: float, directory: Path) -> tuple[CellFile, Cells]:
    """Write points with their numbers, some at a time."""
    cells = Cells(positions.min(0), positions.max(0), margin)
    counts = np.bincount(cells.of(positions), minlength=cells.shape[0] * cells.shape[1])
    file, rows = CellFile(directory, counts, KIND), np.empty(len(positions), KIND)
    rows["position"], rows["number"] = positions, np.arange(len(positions))
    for part in np.array_split(rows, 7):
        file.put(cells.of(part["position"]), part)
    return file, cells


@pytest.fixture
def positions() -> np.ndarray:
    """Points in a plane of 100 by 40, dense at one end, with a gap and a stray point."""
    rng = np.random.default_rng(0)
    points = rng.random((3000, 3)) ** [3, 1, 1] * [100, 40, 5]
    points[-1] = 5000.25, 10, 0
    return points[np.abs(points[:, 0] - 60) > 8] + [4e5, 5e6, 0]


@pytest.mark.parametrize("margin", [0.0, 0.7, 5.0, 300.0])
@pytest.mark.parametrize("most", [1, 400, 10_000])
def test_cores_cover_all_points_once_and_margins_hold_all_neighbours(
    positions: np.ndarray, tmp_path: Path, margin: float, most: int
):
    file, cells = sorted_points(positions[:-1], margin, tmp_path)

    seen = []
    for tile in tiles(file, cells, most, lambda rows: True):
        core = np.concatenate([tile.rows["number"][part] for part, _ in tile.core])
        seen.append(core)
        low, high = positions[core, :2].min(0) - margin, positions[core, :2].max(0) + margin
        near = ((positions[:-1, :2] >= low) & (positions[:-1, :2] <= high)).all(1)
        assert {*np.flatnonzero(near)} <= {*tile.rows["number"].tolist()}

    assert sorted(np.concatenate(seen)) == list(range(len(positions) - 1))
    assert len(seen) == 1 or most < 10_000


def test_tiles_have_at_most_so_many_points_or_a_single_core_cell(positions: np.ndarray, tmp_path: Path):
    file, cells = sorted_points(positions, 1.0, tmp_path)

    found = list(tiles(file, cells, 10**9, lambda rows: len(rows) <= 500))

    large = [tile for tile in found if len(tile.rows) > 500]
    for tile in large:
        core = np.concatenate([tile.rows["position"][part] for part, _ in tile.core])
        assert len({*cells.of(core).tolist()}) == 1
    assert len(large) < len(found) / 2
    assert cells.shape[0] == 1025


def test_records_are_taken_in_the_order_of_the_points(positions: np.ndarray, tmp_path: Path):
    """As if the file were read again in other parts, after predictions were written tile by tile."""
    file, cells = sorted_points(positions, 2.0, tmp_path)
    order = np.array_split(np.arange(len(positions)), 4)

    file.rewind()
    taken = [file.take(cells.of(positions[part]))["number"] for part in order]

    np.testing.assert_array_equal(np.concatenate(taken), np.arange(len(positions)))
    assert list(tmp_path.iterdir()) == []  # the file has no name


def test_predictions_written_at_the_places_of_a_core_come_back_in_order(positions: np.ndarray, tmp_path: Path):
    file, cells = sorted_points(positions, 2.0, tmp_path)
    results = CellFile(tmp_path, np.diff(file.starts), np.dtype([("value", "<f8")]))

    for tile in tiles(file, cells, 300, lambda rows: True):
        for part, place in tile.core:
            rows = np.empty(part.stop - part.start, results.kind)
            rows["value"] = tile.rows["position"][part, 0] * 2
            results.write(place, rows)

    values = [results.take(cells.of(part))["value"] for part in np.array_split(positions, 3)]
    np.testing.assert_array_equal(np.concatenate(values), 2 * positions[:, 0])
