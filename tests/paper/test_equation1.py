r"""Equation 1 by hand, on the directed graph 0 -> 1, 0 -> 2, 1 -> 2 with the self-loops of Section 3.1.

One channel in, two out, s = 1, and F(w) = (w, 1 - w), a linear layer with bias: every number below fits in the head.

    edge (j,i)   (0,0)   (0,1)   (1,1)   (0,2)   (1,2)   (2,2)        vertex   0    1    2
    label           0       2       0       3       1       0        signal   1   10  100
    Theta        0, 1    2,-1    0, 1    3,-2    1, 0    0, 1
    Theta X(j)   0, 1    2,-1    0,10    3,-2   10, 0   0,100
"""

import pytest
import torch
from torch import nn

from edgecond import ECConv, FilterNetwork, Graph

X = torch.tensor([[1.0], [10.0], [100.0]])
EDGES = torch.tensor([[0, 0, 1, 0, 1, 2], [0, 1, 1, 2, 2, 2]])
LABELS = torch.tensor([[0.0], [2.0], [0.0], [3.0], [1.0], [0.0]])
GRAPH = Graph.from_edges(*EDGES, LABELS, num_vertices=3)

every_algorithm = pytest.mark.parametrize("algorithm", [None, "factored", "per_edge", "reference"])


def layer(**options) -> ECConv:
    filters = nn.Linear(1, 2)
    conv = ECConv(1, 2, filters, **options)
    with torch.no_grad():
        filters.weight.copy_(torch.tensor([[1.0], [-1.0]]))
        filters.bias.copy_(torch.tensor([0.0, 1.0]))
        conv.bias.copy_(torch.tensor([0.5, -0.5]))
    return conv


@every_algorithm
def test_the_mean_over_neighbours_plus_bias(algorithm: str | None):
    """N(0) has one vertex, N(1) two and N(2) three: (0, 1)/1, (2, 9)/2, (13, 98)/3, and b = (1/2, -1/2)."""
    out = layer(algorithm=algorithm)(X, GRAPH)

    torch.testing.assert_close(out, torch.tensor([[0.5, 0.5], [1.5, 4.0], [13 / 3 + 0.5, 98 / 3 - 0.5]]))


@every_algorithm
def test_the_sum_over_neighbours_is_not_normalised(algorithm: str | None):
    out = layer(algorithm=algorithm, reduce="sum")(X, GRAPH)

    torch.testing.assert_close(out, torch.tensor([[0.5, 0.5], [2.5, 8.5], [13.5, 97.5]]))


@every_algorithm
def test_the_maximum_over_neighbours_is_taken_in_each_channel(algorithm: str | None):
    out = layer(algorithm=algorithm, reduce="max")(X, GRAPH)

    torch.testing.assert_close(out, torch.tensor([[0.5, 0.5], [2.5, 9.5], [10.5, 99.5]]))


def test_the_gradient_of_the_signal_is_the_transposed_sum():
    """d(sum of the outputs)/dX(j) is the sum of all elements of Theta_ji / |N(i)|.

    F(w) = (w, 1 - w) adds up to 1, so vertex 0 gets 1 + 1/2 + 1/3, vertex 1 gets 1/2 + 1/3 and vertex 2 gets 1/3.
    """
    x = X.clone().requires_grad_()

    layer()(x, GRAPH).sum().backward()

    torch.testing.assert_close(x.grad, torch.tensor([[11 / 6], [5 / 6], [1 / 3]]))


def test_edges_are_directed():
    """N(i) are predecessors: turned around, only vertex 0 hears from the others."""
    turned = Graph.from_edges(EDGES[1], EDGES[0], LABELS, num_vertices=3)

    out = layer()(X, turned)

    # Into 0: (0, 1) of itself, (2, -1) * 10 of vertex 1, (3, -2) * 100 of vertex 2. Into 1: (0, 10) and (1, 0) * 100.
    torch.testing.assert_close(out, torch.tensor([[320 / 3 + 0.5, -209 / 3 - 0.5], [50.5, 4.5], [0.5, 99.5]]))


def test_filters_are_matrices_from_input_to_output_channels():
    """One edge with label e_1 of width 2: Theta is the first column of w^l, reshaped to d_l rows of d_{l-1}."""
    filters = FilterNetwork((2,), d_in=3, d_out=2)
    conv = ECConv(3, 2, filters, bias=False)
    with torch.no_grad():
        filters[0].weight[:, 0] = torch.tensor([1.0, 2.0, 3.0, 4.0, 5.0, 6.0])
    graph = Graph.from_edges(torch.tensor([0]), torch.tensor([0]), torch.tensor([[1.0, 0.0]]), num_vertices=1)

    out = conv(torch.tensor([[1.0, 10.0, 100.0]]), graph)

    torch.testing.assert_close(out, torch.tensor([[321.0, 654.0]]))  # (1, 2, 3) and (4, 5, 6) times (1, 10, 100)
