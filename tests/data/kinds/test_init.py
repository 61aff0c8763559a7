"""The kind of data follows from a recipe, a path or rows in memory, and options of another kind are refused."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from edgecond.data.kinds import (
    check_options,
    check_rows,
    kind_of,
    kind_of_path,
    kind_of_rows,
    KINDS,
    listed,
    ReadOptions,
)
from edgecond.errors import DataError
from edgecond.graph import Cloud
from tests.data.datasets import tiny


@pytest.mark.parametrize(
    ("dataset", "edges", "name"),
    [
        ("sydney", "radius", "clouds"),
        ("folder", "radius", "clouds"),
        ("folder", "mesh", "meshes"),
        ("nci1", None, "graphs"),
        ("tu", None, "graphs"),
        ("batch", None, "graphs"),
        ("smiles", None, "molecules"),
    ],
)
def test_the_kind_of_a_recipe_follows_from_its_data_set_and_input_graph(dataset, edges, name):
    assert kind_of(dataset, edges) is KINDS[name]


def test_the_kind_of_a_path_follows_from_what_is_there(tmp_path: Path):
    (tmp_path / "clouds").mkdir()
    (tmp_path / "table.csv").write_text("smiles,y\nC,1\n")
    (tmp_path / "batch.safetensors").touch()
    graphs = tiny.write(tmp_path)

    def kind(path: Path, **options: object) -> str:
        return kind_of_path(path, ReadOptions(**options)).name

    assert kind(tmp_path / "clouds") == "clouds"
    assert kind(tmp_path / "clouds", meshes=True) == "meshes"
    assert kind(tmp_path / "table.csv") == "molecules"
    assert kind(tmp_path / "batch.safetensors") == "graphs"
    assert kind(graphs) == "graphs"


def test_a_path_of_no_kind_is_refused(tmp_path: Path):
    (tmp_path / "notes.txt").touch()

    with pytest.raises(DataError, match=r"missing must be a folder, .*: it does not exist"):
        kind_of_path(tmp_path / "missing", ReadOptions())
    with pytest.raises(DataError, match=r"notes.txt must be a folder, .* Save a table as CSV"):
        kind_of_path(tmp_path / "notes.txt", ReadOptions())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"target": ("logS",)}, "--target is an option for molecules: .* holds clouds"),
        ({"smiles": "S"}, "--smiles is an option for molecules: .* holds clouds"),
        ({"group": "series"}, "--group is an option for molecules: .* holds clouds"),
        ({"meshes": True, "vertices": "label"}, "--vertices is an option for graphs and clouds: .* holds meshes"),
    ],
)
def test_an_option_of_another_kind_is_refused(tmp_path: Path, options, message):
    kind = kind_of_path(tmp_path, ReadOptions(**options))

    with pytest.raises(DataError, match=message):
        check_options(kind, tmp_path, ReadOptions(**options))


def test_the_kind_of_rows_follows_from_their_type(tmp_path: Path):
    graph = SimpleNamespace(edge_index=np.zeros((2, 0), int), num_nodes=1)

    assert kind_of_rows(["CCO", "C"]).name == "molecules"
    assert kind_of_rows([graph]).name == "graphs"
    for row in (np.zeros((5, 3)), [[0.0, 0.0, 0.0]], tmp_path / "a.npy", Cloud.__new__(Cloud)):
        assert kind_of_rows([row]).name == "clouds"


def test_rows_of_several_kinds_are_refused():
    with pytest.raises(ValueError, match="row 1 is one of the clouds"):
        kind_of_rows(["CCO", np.zeros((5, 3))])
    with pytest.raises(ValueError, match="must be graphs, as the model was trained on graphs: row 0 is one of the mol"):
        check_rows(["CCO"], KINDS["graphs"])


@pytest.mark.parametrize("single", ["CCO", {"a": 1}, 5, SimpleNamespace(edge_index=[])])
def test_a_single_example_must_be_put_into_a_list(single):
    with pytest.raises(ValueError, match="X must be a sequence"):
        listed(single)


def test_a_column_of_texts_is_a_list():
    """Steps of a scikit-learn pipeline return columns of shape (n, 1)."""
    assert listed(np.array([["C"], ["CC"]])) == ["C", "CC"]
