"""MATLAB files of graphs are converted to the TU format with all their labels."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.io import savemat

from edgecond.data.datasets.matlab import rewrite
from edgecond.data.formats import tu
from edgecond.errors import DataError
from tests.data.datasets.tiny import plain

# A path 1-2-3 with a single and a double bond beside the isolated vertex 4; and one triple bond.
NEIGHBOURS = [[[2], [1, 3], [2], []], [[2], [1]]]
BESIDE = [[[1], [1, 2], [2], []], [[3], [3]]]  # labels parallel to the neighbours, as in NCI1
ROWS = [[[1, 2, 1], [2, 3, 2]], [[1, 2, 3]]]  # one row per edge with its label, as in MUTAG
ATOMS = [[6, 7, 6, 8], [6, 6]]


def any_file(path: Path) -> None:
    """Accept every file."""


def cells(lists: list[list[int]]) -> np.ndarray:
    column = np.empty((len(lists), 1), object)
    column[:, 0] = [np.array([row], np.uint8).reshape(1, -1) for row in lists]
    return column


def write(path: Path, labels: list[Any]) -> Path:
    graphs = np.empty((1, 2), [("nl", object), ("al", object), ("el", object)])
    for number in range(2):
        atoms = {"values": np.array(ATOMS[number], np.uint8)[:, None]}
        graphs[0, number] = (atoms, cells(NEIGHBOURS[number]), {"values": labels[number]})
    savemat(path, {"graphs": graphs, "classes": np.array([[1], [-1]], np.int16)})
    return path


@pytest.mark.parametrize("layout", ["beside the neighbours", "in rows"])
def test_both_layouts_of_edge_labels_give_the_same_graphs(tmp_path: Path, layout: str):
    """By hand, from the lists above: vertices are numbered from 0, and every edge has both directions."""
    labels = [cells(rows) for rows in BESIDE] if layout != "in rows" else [np.array(rows, np.uint8) for rows in ROWS]

    rewrite(write(tmp_path / "a.mat", labels), tmp_path / "TINY.zip", check=any_file)

    graphs = tu.read(tmp_path / "TINY.zip")
    assert graphs.name == "TINY"
    assert plain(graphs) == [
        {
            "vertices": [(6, []), (7, []), (6, []), (8, [])],
            "edges": {(0, 1): (1, []), (1, 0): (1, []), (1, 2): (2, []), (2, 1): (2, [])},
            "y": 1,
        },
        {"vertices": [(6, []), (6, [])], "edges": {(0, 1): (3, []), (1, 0): (3, [])}, "y": -1},
    ]


def test_edge_labels_can_be_renumbered_from_0(tmp_path: Path):
    codes = [np.array([[1, 2, 47], [2, 3, 135]], np.uint8), np.array([[1, 2, 50]], np.uint8)]

    rewrite(write(tmp_path / "a.mat", codes), tmp_path / "TINY.zip", check=any_file, renumber=True)

    graphs = tu.read(tmp_path / "TINY.zip")
    assert graphs.edge_values.tolist() == [0, 1, 2]
    assert [graphs[number].edge_labels.tolist() for number in range(2)] == [[0, 0, 2, 2], [1, 1]]


def test_a_file_that_is_not_matlab_is_an_error_and_nothing_is_written(tmp_path: Path):
    path = tmp_path / "a.mat"
    path.write_bytes(b"<html>not found</html>" * 20)

    with pytest.raises(DataError, match=rf"^{path} is damaged or cut short \(.+\)\. Remove it and fetch it again\.$"):
        rewrite(path, tmp_path / "TINY.zip", check=any_file)
    assert [file.name for file in tmp_path.iterdir()] == ["a.mat"]
