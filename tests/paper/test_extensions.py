r"""The extensions of the appendix by hand: identity connections (ECC-resnet) and the degree factor (ECC-Z).

The graph is 0 -> 1 with self-loops, all labels are 1 and F is linear without bias, so that Theta is F's weight:

    X = (1, 2), (3, 4);   Theta = (0, 1; 1, 0);   mean over N(0) = (1, 2), over N(1) = (2, 3).
"""

import torch
from torch import nn

from edgecond import ECConv, Graph

X = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
GRAPH = Graph.from_edges(torch.tensor([0, 0, 1]), torch.tensor([0, 1, 1]), torch.ones(3, 1), num_vertices=2)


def layer(theta: list[list[float]], **options) -> ECConv:
    filters = nn.Linear(1, sum(map(len, theta)), bias=False)
    conv = ECConv(len(theta[0]), len(theta), filters, **options)
    with torch.no_grad():
        filters.weight.copy_(torch.tensor(theta).view(-1, 1))
        conv.bias.copy_(torch.arange(1.0, 1.0 + len(theta)))
    return conv


def test_an_identity_connection_adds_the_signal_itself_where_widths_agree():
    """Appendix E: (2, 1) + b + (1, 2) and (3, 2) + b + (3, 4) with b = (1, 2)."""
    conv = layer([[0, 1], [1, 0]], identity=True)

    out = conv(X, GRAPH)

    assert isinstance(conv.identity, nn.Identity)
    torch.testing.assert_close(out, torch.tensor([[4.0, 5.0], [7.0, 8.0]]))


def test_an_identity_connection_is_a_linear_map_where_widths_differ():
    """Appendix E: Theta = (1, 1), id(x) = 10 x_1 - x_2 and b = 1: 3 + 1 + 8 and 5 + 1 + 26."""
    conv = layer([[1, 1]], identity=True)
    with torch.no_grad():
        conv.identity.weight.copy_(torch.tensor([[10.0, -1.0]]))

    out = conv(X, GRAPH)

    assert [name for name, _ in conv.identity.named_parameters()] == ["weight"]  # b is bias enough
    torch.testing.assert_close(out, torch.tensor([[12.0], [32.0]]))


def test_an_identity_connection_of_a_bipartite_graph_adds_the_signal_of_the_targets():
    graph = Graph.from_edges(*torch.tensor([[0, 1], [0, 0]]), torch.ones(2, 1), num_vertices=1, num_sources=2)

    out = layer([[0, 1], [1, 0]], identity=True)((X, torch.tensor([[100.0, 200.0]])), graph)

    torch.testing.assert_close(out, torch.tensor([[3 + 1 + 100.0, 2 + 2 + 200.0]]))


def test_the_degree_factor_multiplies_the_mean_and_not_the_bias():
    """Appendix G: Z(d) = 10 relu(d - 1/2) + 1 gives 6 for |N(0)| = 1 and 16 for |N(1)| = 2."""
    conv = layer([[0, 1], [1, 0]], degree_factor=True)
    first, relu, last = conv.degree_factor
    with torch.no_grad():
        for parameter in conv.degree_factor.parameters():
            parameter.zero_()
        first.weight[0, 0], first.bias[0], last.weight[0, 0], last.bias[0] = 1.0, -0.5, 10.0, 1.0

    out = conv(X, GRAPH)

    assert (first.out_features, type(relu), last.out_features) == (32, nn.ReLU, 1)  # FC(32)-FC(1), ReLU in between
    torch.testing.assert_close(out, torch.tensor([[6 * 2 + 1.0, 6 * 1 + 2], [16 * 3 + 1, 16 * 2 + 2]]))


def test_the_degree_factor_is_initialised_orthogonally():
    """Appendix G: orthogonal weights. A single row or column of gain g has norm g."""
    first, _, last = layer([[1, 1]], degree_factor=True).degree_factor

    torch.testing.assert_close(first.weight.norm(), torch.tensor(2.0).sqrt())
    torch.testing.assert_close(last.weight.norm(), torch.tensor(1.0))
