"""ECConv explains what it cannot do."""

import pytest
import torch
from torch import nn, Tensor

from edgecond import ECConv, FilterNetwork, Graph
from tests.nn.layers.zoo import D_IN, D_OUT, M, N, random_graph, random_layer, S, Wave
from tests.sentences import refused


class TestSentences:
    """Wrong shapes, precisions, indices and widths: each is answered by a sentence."""

    @pytest.mark.parametrize(
        ("arguments", "options", "sentence"),
        [
            (
                (3, 5, nn.Linear(4, 14)),
                {},
                "a filter network for 3 to 5 channels must end in 15 numbers: this one ends in 14.",
            ),
            (
                (3, 3, nn.Linear(4, 9)),
                {"diagonal": True},
                "a filter network for 3 to 3 channels must end in 3 numbers: this one ends in 9.",
            ),
            (
                (3, 5, nn.Linear(4, 15)),
                {"reduce": "median"},
                "neighbours are reduced by one of mean, sum, max: got 'median'.",
            ),
            (
                (3, 5, nn.Linear(4, 3)),
                {"diagonal": True},
                "diagonal filters keep the width of the signal: got 3 to 5 channels.",
            ),
        ],
    )
    def test_a_layer_that_cannot_be_is_refused(self, arguments: tuple, options: dict, sentence: str):
        with refused(sentence):
            ECConv(*arguments, **options)

    def test_diagonal_filters_of_two_widths_are_refused(self):
        with refused("diagonal filters keep the width of the signal: got 3 to 5 channels."):
            FilterNetwork((4,), 3, 5, diagonal=True)

    @pytest.mark.parametrize(
        ("x", "sentence"),
        [
            (torch.randn(N, 4), "the signal must have shape (vertices, 3): got (9, 4)."),
            (torch.randn(N), "the signal must have shape (vertices, 3): got (9,)."),
            (torch.randn(2, N, D_IN), "the signal must have shape (vertices, 3): got (2, 9, 3)."),
            (torch.randn(8, D_IN), "the signal must have one row per source vertex: got 8 rows for 9 vertices."),
            (
                torch.randn(N, D_IN).double(),
                "signal and parameters must have one precision: got torch.float64 and torch.float32. "
                "Convert the one with .to(...), for a graph too, or the layer.",
            ),
            (
                torch.randn(N, D_IN, device="meta"),
                "signal and graph must be on one device: got meta and cpu.",
            ),
        ],
    )
    def test_a_signal_that_does_not_fit_is_refused(self, x: Tensor, sentence: str):
        with refused(sentence):
            random_layer()(x, random_graph())

    @pytest.mark.parametrize(
        ("graph", "sentence"),
        [
            (
                random_graph().with_labels(torch.randn(M, 6)),
                "the filter network takes labels of 4 numbers: got labels of 6.",
            ),
            (
                random_graph().to(torch.float64),
                "labels and parameters must have one precision: got torch.float64 and torch.float32. "
                "Convert the one with .to(...), for a graph too, or the layer.",
            ),
        ],
    )
    def test_labels_that_do_not_fit_are_refused(self, graph: Graph, sentence: str):
        with refused(sentence):
            random_layer()(torch.randn(N, D_IN), graph)

    @pytest.mark.parametrize(
        ("edges", "sentence"),
        [
            (
                (torch.zeros(2, M, dtype=torch.long),),
                "edge-conditioned convolution needs labels: pass edge_attr, one row per edge.",
            ),
            (
                (torch.zeros(M, 2, dtype=torch.long), torch.zeros(M, S)),
                "edges are a Graph or an edge_index of shape (2, edges): got (30, 2).",
            ),
            (
                (torch.zeros(M, dtype=torch.long), torch.zeros(M, S)),
                "edges are a Graph or an edge_index of shape (2, edges): got (30,).",
            ),
            (
                ([[0], [1]], torch.zeros(1, S)),
                "edges are a Graph or an edge_index of shape (2, edges): got list.",
            ),
            (
                (torch.zeros(2, M, dtype=torch.int32), torch.zeros(M, S)),
                "source must be a vector of int64 vertex numbers: got shape (30,) of torch.int32.",
            ),
            (
                (torch.full((2, M), N), torch.zeros(M, S)),
                "source must number vertices from 0 to 8: found 9. "
                "Count vertices without edges too, or set num_sources for a bipartite graph.",
            ),
            (
                (torch.zeros(2, M, dtype=torch.long), torch.zeros(M - 1, S)),
                "a graph needs one label per edge: got 29 labels for 30 edges. "
                "Self-loops are edges too; add them before labelling.",
            ),
            (
                (torch.zeros(2, M, dtype=torch.long), torch.zeros(M)),
                "labels must be a floating-point tensor of shape (edges, s): "
                "got (30,) of torch.float32. A scalar per edge needs values[:, None].",
            ),
            (
                (torch.zeros(2, M, dtype=torch.long), torch.full((M, S), torch.nan)),
                "labels must be finite: found [nan, nan, nan, nan] in row 0. "
                "The usual cause is the angle of a zero offset in spherical coordinates; set it to 0.",
            ),
        ],
    )
    def test_edges_that_do_not_fit_are_refused(self, edges: tuple, sentence: str):
        with refused(sentence):
            random_layer()(torch.randn(N, D_IN), *edges)

    def test_an_arbitrary_filter_network_of_the_wrong_width_is_refused_when_it_runs(self):
        conv = ECConv(D_IN, D_OUT, nn.Sequential(nn.Linear(S, 14), nn.Tanh()))

        with refused(
            "a filter network for 3 to 5 channels must give 15 numbers per label: this one gave (30, 14) for 30 labels."
        ):
            conv(torch.randn(N, D_IN), random_graph())

    def test_an_identity_connection_without_a_signal_of_targets_is_refused(self):
        graph = Graph.from_edges(
            *torch.tensor([[0, 1, 2], [0, 0, 1]]), torch.zeros(3, S), num_vertices=2, num_sources=3
        )

        with refused(
            "an identity connection adds the signal of the 2 targets: got 3. "
            "For a bipartite graph call the layer with (x_source, x_target)."
        ):
            random_layer(identity=True)(torch.randn(3, D_IN), graph)

    def test_an_unknown_algorithm_is_refused(self):
        with refused(
            "the algorithm is one of factored, piecewise, per_label, per_edge and reference, "
            "or none to let the plan pick: got 'fast'."
        ):
            random_layer(algorithm="fast")(torch.randn(N, D_IN), random_graph())

    def test_an_algorithm_that_the_filter_network_does_not_allow_is_refused(self):
        with refused("factored needs a filter network whose last layer is linear: use per_edge for others."):
            ECConv(D_IN, D_OUT, Wave(), algorithm="factored")(torch.randn(N, D_IN), random_graph())
