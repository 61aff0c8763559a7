"""Section 3.2: with uninformative labels ECC reduces to the convolution of Duvenaud et al., up to scaling."""

import pytest
import torch

from edgecond import ECConv, FilterNetwork, Graph, Labels

N, M, D_IN, D_OUT = 12, 40, 3, 5


@pytest.mark.parametrize("compact", [False, True], ids=["a label per edge", "one distinct label"])
@pytest.mark.parametrize("reduce", ["sum", "mean"])
def test_constant_labels_give_one_filter_for_the_sum_of_neighbours(reduce: str, compact: bool):
    """If Theta_ji = Theta for all edges, sum_j Theta_ji X(j) = Theta sum_j X(j)."""
    source, target = torch.randint(N, (2, M))
    constant = torch.tensor([[0.3, -1.2]])
    labels = Labels(constant, torch.zeros(M, dtype=torch.long)) if compact else Labels(constant.repeat(M, 1))
    graph = Graph.from_edges(source, target, labels, num_vertices=N).to(torch.float64)
    conv = ECConv(D_IN, D_OUT, FilterNetwork((2, 16, 32), D_IN, D_OUT), reduce=reduce, bias=False).double()
    x = torch.randn(N, D_IN, dtype=torch.float64)

    out = conv(x, graph)

    adjacency = torch.zeros(N, N, dtype=torch.float64).index_put_(
        (target, source), torch.ones(M, dtype=torch.float64), accumulate=True
    )
    theta = conv.filters(constant.double()).view(D_OUT, D_IN)
    scale = 1 if reduce == "sum" else adjacency.sum(1, keepdim=True).clamp(min=1)
    torch.testing.assert_close(out, adjacency @ x @ theta.T / scale)
