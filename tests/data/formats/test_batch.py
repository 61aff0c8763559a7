"""Graphs of PyTorch Geometric, from lists and from files of plain tensors."""

from __future__ import annotations

import re
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from safetensors.torch import save_file

from edgecond.data.formats import batch
from edgecond.errors import DataError

pytest.importorskip("torch_geometric")
from torch_geometric.data import Batch, Data
from torch_geometric.transforms import ToUndirected


def triangle(**parts: torch.Tensor) -> Data:
    edges = torch.tensor([[0, 1, 1, 2, 2, 0], [1, 0, 2, 1, 0, 2]])
    return Data(edge_index=edges, num_nodes=3, **parts)


def pair(**parts: torch.Tensor) -> Data:
    return Data(edge_index=torch.tensor([[0, 1], [1, 0]]), num_nodes=2, **parts)


def labelled() -> list[Data]:
    """A triangle and a pair with real attributes, which name their vertices and edges."""
    one = triangle(x=torch.tensor([[0.5], [1.5], [2.5]]), edge_attr=torch.tensor([0.1, 1.0, 1.2, 2.1, 2.0, 0.2]))
    two = pair(x=torch.tensor([[3.5], [4.5]]), edge_attr=torch.tensor([3.4, 4.3]))
    one.y, two.y = torch.tensor([1]), torch.tensor([0])
    return [one, two]


def test_edges_are_sorted_by_target_and_keep_their_attributes():
    """The attribute of the edge from j to i reads j.i, here by hand."""
    graphs = batch.packed(labelled()).graphs

    assert len(graphs) == 2
    for g, first in ((0, 0), (1, 3)):
        single = graphs[g]
        names = [float(f"{j + first}.{i + first}") for j, i in zip(single.source, single.target, strict=True)]
        assert single.edge_attributes[:, 0] == pytest.approx(names)
        assert (np.diff(single.target) >= 0).all()
        assert single.vertex_attributes[:, 0] == pytest.approx(np.arange(single.n) + first + 0.5)


def test_a_file_of_plain_tensors_holds_the_same_as_the_list(tmp_path: Path):
    """The docstring of the module: `Batch.from_data_list(...).to_dict()` in safetensors."""
    tensors = Batch.from_data_list(labelled()).to_dict()
    save_file(
        {name: t.contiguous() for name, t in tensors.items() if isinstance(t, torch.Tensor)}, tmp_path / "g.safetensors"
    )

    read, packed = batch.read(tmp_path / "g.safetensors"), batch.packed(labelled())

    for name in ("source", "target", "vertex_pointer", "edge_pointer", "vertex_attributes", "edge_attributes"):
        np.testing.assert_array_equal(getattr(read.graphs, name), getattr(packed.graphs, name))
    np.testing.assert_array_equal(read.targets, [[1], [0]])


def test_one_hot_rows_and_whole_numbers_are_categories():
    one = triangle(x=torch.eye(4)[[3, 0, 0]], edge_attr=torch.tensor([7, 7, 9, 9, 7, 7]))

    graphs = batch.packed([one]).graphs

    assert graphs.vertex_labels.tolist() == [3, 0, 0]
    assert graphs.vertex_values.tolist() == [0, 1, 2, 3]
    assert graphs.edge_values.tolist() == [7, 9]
    assert graphs.vertex_attributes.shape == (3, 0)
    by_ends = dict(zip(zip(graphs.source, graphs.target, strict=True), graphs.edge_labels, strict=True))
    assert by_ends == {(0, 1): 0, (1, 0): 0, (1, 2): 1, (2, 1): 1, (2, 0): 0, (0, 2): 0}


def test_the_numbers_decide_whether_targets_are_classes_or_real():
    graphs = [pair(), pair(), triangle()]

    classes = batch.packed(graphs, ys=np.array([4, 2, 4]))
    binary = batch.packed(graphs, ys=np.array([[1.0, np.nan], [0.0, 1.0], [1.0, 0.0]]))
    real = batch.packed(graphs, ys=np.array([0.5, 2.0, 1.0]))

    assert (classes.classes, classes.targets.tolist()) == ((("2", "4"),), [[1], [0], [1]])
    assert all(binary.classes)
    assert real.classes == ((),)


def test_several_numbers_of_each_graph_are_rows_of_a_table():
    """As a vector they would be as many as the vertices, and would be refused."""
    found = batch.packed([pair(), pair()], ys=np.array([[0.5, 1.5], [2.5, 3.5]]))

    assert found.targets.tolist() == [[0.5, 1.5], [2.5, 3.5]]


def test_given_targets_replace_those_of_the_graphs():
    """As needed where `y` belongs to the vertices and not to the graphs."""
    graphs = [pair(y=torch.tensor([1, 2, 3])), triangle()]

    found = batch.packed(graphs, ys=np.array([0.5, 2.5]))

    assert found.targets.tolist() == [[0.5], [2.5]]


def test_self_loops_are_left_out_since_the_graph_has_its_own():
    edges = torch.tensor([[0, 0, 1], [0, 1, 0]])

    graphs = batch.packed([Data(edge_index=edges, num_nodes=2, edge_attr=torch.tensor([0.5, 1.0, 2.0]))]).graphs

    assert graphs.source.tolist() == [1, 0]
    assert graphs.edge_attributes[:, 0].tolist() == [2.0, 1.0]


def test_labels_of_new_graphs_are_numbered_as_in_the_training_set():
    learned = batch.packed([pair(edge_attr=torch.tensor([5, 5])), pair(edge_attr=torch.tensor([8, 8]))]).graphs

    new = batch.packed([pair(edge_attr=torch.tensor([8, 8]))], like=learned).graphs

    assert new.edge_labels.tolist() == [1, 1]
    with pytest.raises(DataError, match=r"edge_attr must have the labels of the training set: found 6\.$"):
        batch.packed([pair(edge_attr=torch.tensor([6, 6]))], like=learned)


def test_attributes_that_happen_to_be_one_hot_stay_attributes_if_the_training_set_has_attributes():
    learned = batch.packed([pair(x=torch.tensor([[0.5, 2.0], [1.0, 0.0]]))]).graphs

    new = batch.packed([pair(x=torch.eye(2))], like=learned).graphs

    np.testing.assert_array_equal(new.vertex_attributes, np.eye(2))


BROKEN = {
    "no edges": ({"ptr": np.array([0, 1])}, "must hold edge_index, and batch or ptr"),
    "an edge between graphs": (
        {"ptr": np.array([0, 1, 2]), "edge_index": np.array([[0], [1]])},
        "must have no edge between two graphs: edge 0 joins two",
    ),
    "an unknown vertex": (
        {"ptr": np.array([0, 2]), "edge_index": np.array([[0], [2]])},
        "two rows of vertices, numbered from 0 to 1",
    ),
    "an edge twice": (
        {"ptr": np.array([0, 2]), "edge_index": np.array([[0, 0, 1], [1, 1, 0]])},
        "must have each edge once: that from 0 to 1 occurs twice",
    ),
    "one direction": (
        {"ptr": np.array([0, 2]), "edge_index": np.array([[0], [1]])},
        "that from 0 to 1 has no reverse. Apply torch_geometric.transforms.ToUndirected",
    ),
    "too few rows": (
        {"ptr": np.array([0, 2]), "edge_index": np.zeros((2, 0), int), "x": np.ones((3, 1))},
        "x must have a row for each of the 2 vertices: it has 3",
    ),
    "no number": (
        {"ptr": np.array([0, 1]), "edge_index": np.zeros((2, 0), int), "x": np.array([[np.nan]])},
        "row 0 does not",
    ),
    "a y of vertices in graphs of one size": (
        {"ptr": np.array([0, 2, 4]), "edge_index": np.zeros((2, 0), int), "y": np.array([0, 1, 1, 0])},
        "y must be a number or a row of numbers for each of 2 graphs: it has (4,). To predict the class of each vertex",
    ),
    "an empty graph": ({"ptr": np.array([0, 0]), "edge_index": np.zeros((2, 0), int)}, "at least one vertex"),
}


@pytest.mark.parametrize("case", BROKEN)
def test_inconsistent_arrays_are_reported(case: str):
    arrays, sentence = BROKEN[case]
    with pytest.raises(DataError) as caught:
        batch.unpacked(arrays, "graphs")
    assert sentence in str(caught.value)
    assert str(caught.value).endswith(".")


def test_the_advice_for_single_directions_helps():
    one_way = Data(edge_index=torch.tensor([[0], [1]]), num_nodes=2)
    assert len(batch.packed([ToUndirected()(one_way)]).graphs) == 1


def test_a_pickle_is_not_read(tmp_path: Path):
    torch.save({"x": torch.ones(2)}, tmp_path / "graphs.safetensors")
    with pytest.raises(DataError, match=r"must be a safetensors file: .* Pickles are not read\.$"):
        batch.read(tmp_path / "graphs.safetensors")


def test_graphs_need_the_same_parts():
    with pytest.raises(DataError, match=r"graph 1 has no x\.$"):
        batch.packed([SimpleNamespace(edge_index=np.zeros((2, 0), int), x=np.ones((1, 1)), num_nodes=1), pair()])
    with pytest.raises(DataError, match=r"it is empty\.$"):
        batch.packed([])


@pytest.mark.parametrize(
    ("graph", "sentence"),
    [
        (Data(edge_index=torch.tensor([[2, 3], [3, 2]]), num_nodes=2), "between its vertices, 0 to 1: found vertex 3."),
        (Data(edge_index=torch.tensor([[-1, 0], [0, -1]]), num_nodes=2), "vertices, 0 to 1: found vertex -1."),
        (pair(x=torch.ones(3, 1)), "a row of x for each of its 2 vertices: it has 3."),
        (pair(edge_attr=torch.ones(4, 1)), "a row of edge_attr for each of its 2 edges: it has 4."),
    ],
    ids=["a vertex that it does not have", "a negative vertex", "too many vertices", "too many labels"],
)
def test_a_graph_that_would_spill_into_its_neighbour_is_named(graph: Data, sentence: str):
    """Joined to a batch, its edges and rows would be those of the next graph."""
    parts = {name: torch.ones(2, 1) for name in ("x", "edge_attr") if graph.get(name) is not None}

    with pytest.raises(DataError, match=f"^graph 1 must have .*{re.escape(sentence)}$"):
        batch.packed([pair(**parts), graph, pair(**parts)])


def test_a_graph_without_edges_can_be_read_alone():
    """A single atom, beside a training set whose bonds are categories."""
    learned = batch.packed([pair(edge_attr=torch.tensor([5, 5])), pair(edge_attr=torch.tensor([8, 8]))]).graphs
    alone = Data(edge_index=torch.zeros(2, 0).long(), edge_attr=torch.zeros(0).long(), num_nodes=1)

    new = batch.packed([alone], like=learned).graphs

    assert (new.edge_labels.tolist(), new.edge_values.tolist()) == ([], [5, 8])


def test_one_hot_rows_of_another_width_are_refused():
    """They number other categories."""
    learned = batch.packed([pair(x=torch.eye(4)[:2])]).graphs

    with pytest.raises(DataError, match=r"x must have one-hot rows of width 4, .* found width 3\.$"):
        batch.packed([pair(x=torch.eye(3)[:2])], like=learned)


def test_tensors_that_need_gradients_or_are_bfloat16_are_read():
    x = torch.tensor([[0.5], [1.25]])

    for given in (x.clone().requires_grad_(), x.bfloat16()):
        assert batch.packed([pair(x=given)]).graphs.vertex_attributes.tolist() == [[0.5], [1.25]]


def test_bfloat16_is_read_in_single_precision(tmp_path: Path):
    """NumPy has no such type; its numbers are those of single precision with fewer digits."""
    edges, pointer = torch.tensor([[0, 1], [1, 0]]), torch.tensor([0, 2])
    x = torch.tensor([[0.5], [1.25]]).bfloat16()
    save_file({"edge_index": edges, "ptr": pointer, "x": x}, tmp_path / "a.safetensors")

    assert batch.read(tmp_path / "a.safetensors").graphs.vertex_attributes.tolist() == [[0.5], [1.25]]
