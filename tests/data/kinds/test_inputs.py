"""Columns that enter a network have names, by which a model that starts from another keeps their weights."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from edgecond.data.kinds.inputs import numbered
from edgecond.runs import user_data
from edgecond.runs.finetuning import inputs_of
from edgecond.runs.model import Model


def inputs(path: Path, **settings):
    dataset = user_data.read(path, folds=2, settings=settings)
    model = Model.new(dataset.recipe, dataset.train, 0, transient=True)
    return model, inputs_of(model)


def test_columns_without_a_name_are_numbered():
    assert numbered([], 2, "signal") == ["signal 0", "signal 1"]
    assert numbered(["a", "b"], 1, "signal") == ["a"]


@pytest.fixture
def pairs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Four pairs of vertices with the labels 5 and 7, joined by edges with the labels 1 and 3."""
    monkeypatch.setenv("EDGECOND_CACHE", str(tmp_path / "cache"))
    folder = tmp_path / "G"
    folder.mkdir()
    edges = [(1, 2), (2, 1), (3, 4), (4, 3), (5, 6), (6, 5), (7, 8), (8, 7)]
    files = {
        "A": [f"{a}, {b}" for a, b in edges],
        "graph_indicator": [1, 1, 2, 2, 3, 3, 4, 4],
        "graph_labels": [0, 1, 0, 1],
        "node_labels": [5, 7] * 4,
        "edge_labels": [1, 1, 3, 3, 1, 1, 3, 3],
        "edge_attributes": list(range(8)),
    }
    for name, lines in files.items():
        (folder / f"G_{name}.txt").write_text("\n".join(map(str, lines)) + "\n")
    return folder


DEGREES = ["degree of source", "degree of target"]
FINEST = ["edge label 1", "edge label 3", "self-connection", "edge attribute 0"]


@pytest.mark.parametrize(
    ("labels", "levels"),
    [
        ("given", [FINEST, ["weight"]]),
        ("given+deg", [[*FINEST, *DEGREES], ["weight", *DEGREES]]),
        ("uniform", [["all edges"], ["all edges"]]),
    ],
)
def test_labels_of_graphs_are_named_by_their_values(pairs: Path, labels: str, levels: list[list[str]]):
    """In the order of their one-hot elements, followed by self-connections, attributes and degrees."""
    model, names = inputs(pairs, network="C(4)-MP-C(4)-GAP-FC(2)", labels=labels)

    assert names.signal == ["vertex label 5", "vertex label 7"]
    assert names.labels == levels
    assert model.widths == (2, tuple(map(len, levels)))


def test_columns_of_clouds_are_named_as_in_their_files(tmp_path: Path):
    for name in ("ball", "box"):
        (tmp_path / "shapes" / name).mkdir(parents=True)
        for number in range(3):
            rows = np.random.default_rng(number).random((12, 4))
            text = "\n".join(",".join(f"{value:.3f}" for value in row) for row in rows)
            (tmp_path / "shapes" / name / f"{number}.csv").write_text(f"x,y,z,intensity\n{text}\n")

    model, names = inputs(tmp_path / "shapes", network="C(4)-GAP-FC(2)")

    assert list(names.signal) == ["intensity"]
    assert tuple(map(len, names.labels)) == model.widths[1]
