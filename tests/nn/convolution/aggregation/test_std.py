"""The standard deviation over the neighbours is that of torch and of PyG, and its gradient is finite everywhere."""

import pytest
import torch
from torch import nn, Tensor

from edgecond import ECConv
from edgecond.graph import Graph
from edgecond.graph.segment import segment_sum
from edgecond.nn.convolution import ALGORITHMS
from edgecond.nn.convolution.aggregation.std import STD
from tests.nn.convolution.zoo import numbers

N, M, D_IN, D_OUT = 8, 40, 3, 5


def deviations(messages: list[float], target: list[int], n: int, dtype: torch.dtype = torch.float64) -> Tensor:
    """The aggregation of messages of one channel; targets ascend."""
    values = torch.tensor(messages, dtype=dtype)[:, None]
    labels = torch.zeros(len(target), 1, dtype=dtype)
    graph = Graph.from_edges(torch.zeros(len(target)).long(), torch.tensor(target), labels, num_vertices=n)
    return STD.aggregate(graph, lambda edges: segment_sum(values, edges.target, edges.num_vertices))[:, 0]


def test_three_neighbourhoods_have_the_deviations_of_arithmetic_by_hand():
    """1, 3: mean 2, variance (1 + 1) / 2 = 1. 2, 4, 4, 6: mean 4, variance (4 + 4) / 4 = 2. One message: 0; none: 0."""
    found = deviations([1, 3, 2, 4, 4, 6, 7], [0, 0, 1, 1, 1, 1, 3], 4)

    torch.testing.assert_close(found, torch.tensor([1.0, 2.0**0.5, 0.0, 0.0]).double())


def test_a_neighbourhood_has_the_deviation_that_torch_computes():
    messages = numbers(9)

    found = deviations(messages.tolist(), [0] * 9, 1)

    torch.testing.assert_close(found[0], torch.std(messages, correction=0))


def test_a_large_mean_costs_no_digits():
    """4096, 4097, 4098 in single precision, whose squares are not exact: the variance is (1 + 0 + 1) / 3."""
    found = deviations([4096.0, 4097.0, 4098.0], [0, 0, 0], 1, torch.float32)

    torch.testing.assert_close(found[0], torch.tensor(2 / 3).sqrt())


def layers(s: int, algorithm: str | None) -> tuple[nn.Module, ECConv]:
    """A layer of PyG in double precision, and ours with its parameters."""
    pyg = pytest.importorskip("torch_geometric.nn")
    torch.manual_seed(0)
    filters = nn.Sequential(nn.Linear(s, 6), nn.ReLU(), nn.Linear(6, D_IN * D_OUT))
    layer = pyg.NNConv(D_IN, D_OUT, filters, aggr="std").double()
    return layer, ECConv.from_nnconv(layer, algorithm=algorithm)


def step(layer: nn.Module, x: Tensor, edges: tuple[Tensor, Tensor]) -> list[Tensor]:
    """The output, and the gradients of the signal and of the first layer of F."""
    x = x.clone().requires_grad_()
    out = layer(x, *edges)
    filters = layer.filters if isinstance(layer, ECConv) else layer.nn
    return [out, *torch.autograd.grad(out, [x, filters[0].weight], numbers(*out.shape, seed=5))]


@pytest.mark.parametrize("low_memory", [False, True], ids=["", "low memory"])
@pytest.mark.parametrize("algorithm", [None, *[algorithm.name for algorithm in ALGORITHMS]])
def test_values_and_gradients_are_those_of_nnconv(algorithm: str | None, low_memory: bool):
    """In double precision, every algorithm, on labels that it applies to."""
    labels = {
        "per_label": torch.eye(4)[torch.arange(M) % 4].double(),
        "piecewise": numbers(M, 1, seed=1),
    }
    edge_attr = labels.get(algorithm or "", numbers(M, 4, seed=1))
    layer, conv = layers(edge_attr.shape[1], algorithm)
    conv.low_memory = low_memory
    generator = torch.Generator().manual_seed(3)
    edges = torch.stack([torch.randint(N, (M,), generator=generator), torch.randint(N - 2, (M,), generator=generator)])

    ours, theirs = (step(module, numbers(N, D_IN, seed=2), (edges, edge_attr)) for module in (conv, layer))

    assert conv.reduce == "std"
    for mine, other in zip(ours, theirs, strict=True):
        torch.testing.assert_close(mine, other, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("edges", [[(0, 1)], [(0, 1), (0, 1)], []], ids=["one message", "equal messages", "no edge"])
def test_the_gradient_is_zero_where_the_deviation_is(edges: list[tuple[int, int]]):
    """The root has no derivative at 0; PyG gives 0 there, too."""
    source, target = torch.tensor(edges, dtype=torch.long).reshape(-1, 2).T
    graph = Graph.from_edges(source, target, torch.ones(len(edges), 2), num_vertices=2)
    conv = ECConv(3, 4, nn.Linear(2, 12), reduce="std", bias=False)
    x = torch.ones(2, 3, requires_grad=True)

    out = conv(x, graph)
    out.sum().backward()

    assert out.equal(torch.zeros(2, 4))
    assert x.grad is not None
    assert x.grad.equal(torch.zeros(2, 3))
