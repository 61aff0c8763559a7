"""ECConv refuses arguments that do not fit, with an error that states what must hold and what was found."""

from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import nn, Tensor

from edgecond import ECConv, FilterNetwork, Graph
from tests.nn.layers.zoo import D_IN, D_OUT, M, N, random_graph, random_layer, S, Wave


@pytest.mark.parametrize(
    ("arguments", "options", "facts"),
    [
        ((3, 5, nn.Linear(4, 14)), {}, r"3 to 5 channels must end in 15 numbers: .* 14\."),
        ((3, 3, nn.Linear(4, 9)), {"diagonal": True}, r"3 to 3 channels must end in 3 numbers: .* 9\."),
        ((3, 5, nn.Linear(4, 15)), {"reduce": "median"}, r"one of mean, sum, max\b.*: got 'median'\."),
        (
            (3, 5, nn.Linear(4, 3)),
            {"diagonal": True},
            r"diagonal filters .* width of the signal: got 3 to 5 channels\.",
        ),
    ],
    ids=["too narrow", "diagonal, too wide", "an unknown aggregation", "diagonal, of two widths"],
)
def test_a_layer_whose_parts_do_not_fit_is_refused(arguments: tuple, options: dict, facts: str):
    with pytest.raises(ValueError, match=facts):
        ECConv(*arguments, **options)


def test_diagonal_filters_of_two_widths_are_refused():
    with pytest.raises(ValueError, match=r"diagonal filters .* width of the signal: got 3 to 5 channels\."):
        FilterNetwork((4,), 3, 5, diagonal=True)


PRECISION = r"must have the same precision: got torch\.float64 and torch\.float32\. .*\.to\("


@pytest.mark.parametrize(
    ("x", "facts"),
    [
        (torch.randn(N, 4), r"must have shape \(vertices, 3\): got \(9, 4\)\."),
        (torch.randn(N), r"must have shape \(vertices, 3\): got \(9,\)\."),
        (torch.randn(2, N, D_IN), r"must have shape \(vertices, 3\): got \(2, 9, 3\)\."),
        (torch.randn(8, D_IN), r"one row per source vertex: got 8 rows for 9 vertices\."),
        (torch.randn(N, D_IN).double(), rf"signal and parameters {PRECISION}"),
        (torch.randn(N, D_IN, device="meta"), r"must be on the same device: got meta and cpu\."),
    ],
    ids=["width", "a vector", "three dimensions", "rows", "precision", "device"],
)
def test_a_signal_that_does_not_fit_is_refused(x: Tensor, facts: str):
    with pytest.raises(ValueError, match=facts):
        random_layer()(x, random_graph())


@pytest.mark.parametrize("name", ["source", "target", "pointer", "labels"])
def test_a_graph_on_two_devices_is_refused(name: str):
    """With one tensor on the meta device, torch asks for shapes alone, and would pass on memory as it was."""
    graph = random_graph()
    mixed = replace(graph, **{name: getattr(graph, name).to("meta")})

    with pytest.raises(ValueError, match=r"signal and graph must be on the same device: got cpu and meta\."):
        random_layer()(torch.randn(N, D_IN), mixed)


@pytest.mark.parametrize(
    ("graph", "facts"),
    [
        (random_graph().with_labels(torch.randn(M, 6)), r"labels of width 4: got labels of width 6\."),
        (random_graph().to(torch.float64), rf"labels and parameters {PRECISION}"),
    ],
    ids=["width", "precision"],
)
def test_labels_that_do_not_fit_are_refused(graph: Graph, facts: str):
    with pytest.raises(ValueError, match=facts):
        random_layer()(torch.randn(N, D_IN), graph)


@pytest.mark.parametrize(
    ("edges", "facts"),
    [
        ((torch.zeros(2, M, dtype=torch.long),), r"needs labels: pass edge_attr, one row per edge\."),
        (
            (torch.zeros(M, 2, dtype=torch.long), torch.zeros(M, S)),
            r"edge_index of shape \(2, edges\): got \(30, 2\)\.",
        ),
        ((torch.zeros(M, dtype=torch.long), torch.zeros(M, S)), r"edge_index of shape \(2, edges\): got \(30,\)\."),
        (([[0], [1]], torch.zeros(1, S)), r"edge_index of shape \(2, edges\): got list\."),
        ((torch.zeros(2, M), torch.zeros(M, S)), r"edge_index must hold .* int64 or int32: got torch\.float32\."),
        ((torch.full((2, M), N), torch.zeros(M, S)), r"source .* 0 to 8: .*\b9\b.*num_sources"),
        ((torch.zeros(2, M, dtype=torch.long), torch.zeros(M - 1, S)), r"one label per edge: .*29 .*30"),
        ((torch.zeros(2, M, dtype=torch.long), torch.zeros(M)), r"labels of width 4: got labels of width 1\."),
        (
            (torch.zeros(2, M, dtype=torch.long), torch.zeros(M, S), (N + 1, N)),
            r"size .*: got \(10, 9\) for \(9, None\)\.",
        ),
        (
            (torch.zeros(2, M, dtype=torch.long), torch.zeros(M, S), 9),
            r"size must be a pair, the numbers of sources and targets: got 9\.",
        ),
        ((torch.zeros(2, M, dtype=torch.long), [[0.0] * S] * M), r"edge_attr must be a tensor .*: got a list\."),
        ((torch.eye(2).to_sparse(), torch.zeros(2, S)), r"edge_index of shape \(2, edges\): got a sparse Tensor\."),
        ((torch.zeros(2, M, dtype=torch.long), torch.full((M, S), torch.nan)), r"finite: .*nan.* row 0"),
    ],
    ids=[
        "no labels",
        "transposed",
        "a vector",
        "a list",
        "numbers with a fraction",
        "a vertex",
        "too few labels",
        "a scalar",
        "size",
        "a size of one number",
        "labels in a list",
        "sparse",
        "nan",
    ],
)
def test_edges_that_do_not_fit_are_refused(edges: tuple, facts: str):
    with pytest.raises(ValueError, match=facts):
        random_layer()(torch.randn(N, D_IN), *edges)


@pytest.mark.parametrize(
    ("x", "found"), [(torch.zeros(N, D_IN).numpy(), "a ndarray"), ((torch.zeros(N, D_IN),) * 3, "3 signals")]
)
def test_a_signal_that_is_neither_a_tensor_nor_a_pair_is_refused(x: Any, found: str):
    with pytest.raises(ValueError, match=f"must be a tensor, or a pair of those of sources and targets: got {found}"):
        random_layer()(x, random_graph())


def test_an_arbitrary_filter_network_of_the_wrong_width_is_refused_when_it_runs():
    """Only its output shows how wide it is."""
    conv = ECConv(D_IN, D_OUT, nn.Sequential(nn.Linear(S, 14), nn.Tanh()))

    with pytest.raises(
        ValueError, match=r"3 to 5 channels must give 15 numbers per label: .* \(30, 14\) for 30 labels"
    ):
        conv(torch.randn(N, D_IN), random_graph())


def test_an_identity_connection_without_a_signal_of_targets_is_refused():
    graph = Graph.from_edges(*torch.tensor([[0, 1, 2], [0, 0, 1]]), torch.zeros(3, S), num_vertices=2, num_sources=3)

    with pytest.raises(ValueError, match=r"identity connection .* 2 targets: got 3.*\(x_source, x_target\)"):
        random_layer(identity=True)(torch.randn(3, D_IN), graph)


def test_an_unknown_algorithm_is_refused():
    with pytest.raises(ValueError, match=r"one of .*factored.*, or none to let the plan pick: got 'fast'\."):
        random_layer(algorithm="fast")(torch.randn(N, D_IN), random_graph())


def test_an_algorithm_that_the_filter_network_does_not_allow_is_refused():
    with pytest.raises(ValueError, match=r"factored needs .* last layer is linear: .* Use per_edge"):
        ECConv(D_IN, D_OUT, Wave(), algorithm="factored")(torch.randn(N, D_IN), random_graph())
