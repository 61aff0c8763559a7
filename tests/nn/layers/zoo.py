"""Filter networks of every kind, and layers and graphs for them."""

from collections.abc import Callable
from copy import deepcopy
from functools import partial

import pytest
import torch
from torch import nn, Tensor

from edgecond import ECConv, FilterNetwork, Graph, Labels
from edgecond.nn import swap

pyg = pytest.importorskip("torch_geometric.nn")

N, M, S, D_IN, D_OUT = 9, 30, 4, 3, 5
THETA = D_IN * D_OUT


class Wave(nn.Module):
    """A filter network that is no sequence of layers."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.randn(S, THETA))

    def forward(self, labels: Tensor) -> Tensor:
        return torch.sin(labels @ self.weight)


class Bumps(nn.Module):
    """Radial basis functions, which widen each label before the first layer."""

    def forward(self, labels: Tensor) -> Tensor:
        centres = torch.linspace(-2, 2, 6).to(labels)
        return torch.exp(-(labels[:, :, None] - centres).square()).flatten(1)


FILTERS: dict[str, Callable[[], nn.Module]] = {
    "a linear layer": lambda: nn.Linear(S, THETA),
    "a perceptron": lambda: nn.Sequential(nn.Linear(S, 8), nn.ReLU(), nn.Linear(8, THETA)),
    "without biases": lambda: nn.Sequential(nn.Linear(S, 8, bias=False), nn.ReLU(), nn.Linear(8, THETA, bias=False)),
    "three layers, the last without bias": lambda: nn.Sequential(
        nn.Linear(S, 8), nn.ReLU(), nn.Linear(8, 6), nn.ReLU(), nn.Linear(6, THETA, bias=False)
    ),
    "nested": lambda: nn.Sequential(
        nn.Sequential(nn.Linear(S, 8), nn.ReLU()), nn.Sequential(nn.Linear(8, 7), nn.Tanh()), nn.Linear(7, THETA)
    ),
    "no linear layer at the end": lambda: nn.Sequential(nn.Linear(S, THETA), nn.Tanh()),
    "any module": Wave,
    "an MLP of PyG": lambda: pyg.MLP([S, 8, THETA], norm=None),
    "an MLP of PyG with batch norm": lambda: pyg.MLP([S, 8, 6, THETA], act="tanh", act_first=True),
    "an MLP of PyG, not linear at the end": lambda: pyg.MLP([S, 8, THETA], norm="layer_norm", plain_last=False),
    "an MLP of PyG inside, without biases": lambda: nn.Sequential(pyg.MLP([S, 8], bias=False), pyg.Linear(8, THETA)),
    "a parametrised layer": lambda: nn.Sequential(
        nn.Linear(S, 8), nn.ReLU(), nn.utils.parametrizations.orthogonal(nn.Linear(8, THETA))
    ),
    "batch normalisation": lambda: nn.Sequential(nn.Linear(S, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, THETA)),
    "a norm over all labels": lambda: nn.Sequential(nn.Linear(S, 8), pyg.GraphNorm(8), nn.ReLU(), nn.Linear(8, THETA)),
    "a norm over all labels, not linear at the end": lambda: pyg.MLP([S, 8, THETA], norm="GraphNorm"),
    "a norm of sizes": lambda: nn.Sequential(nn.Linear(S, 8), pyg.GraphSizeNorm(), nn.Linear(8, THETA)),
    "basis functions": lambda: nn.Sequential(Bumps(), nn.Linear(6 * S, 8), nn.ReLU(), nn.Linear(8, THETA)),
    "spectral norm": lambda: nn.Sequential(
        nn.Linear(S, 8), nn.ReLU(), nn.utils.parametrizations.spectral_norm(nn.Linear(8, THETA))
    ),
    "spectral norm in the first layer": lambda: nn.Sequential(
        nn.utils.parametrizations.spectral_norm(nn.Linear(S, 8)), nn.ReLU(), nn.Linear(8, THETA)
    ),
    "batch normalisation at the end": lambda: nn.Sequential(nn.Linear(S, THETA), nn.BatchNorm1d(THETA)),
}
every_filter_network = pytest.mark.parametrize("filters", FILTERS.values(), ids=FILTERS)
every_aggregation = pytest.mark.parametrize("aggr", ["add", "mean", "max"])
LABELS: dict[str, Callable[[int], Tensor]] = {
    "continuous": lambda m: torch.randn(m, S).double(),
    "one-hot": lambda m: torch.eye(S).double()[torch.randint(S, (m,))],
    "multi-hot": lambda m: torch.cat([torch.eye(2).double()[torch.randint(2, (m,))] for _ in range(S // 2)], 1),
}
close = partial(torch.testing.assert_close, rtol=1e-5, atol=1e-5)


def random_edges(*, n: int = N, sources: int | None = None) -> tuple[Tensor, Tensor]:
    """Unsorted edges with duplicates; the last two targets are isolated."""
    ends = torch.stack([torch.randint(sources or n, (M,)), torch.randint(n - 2, (M,))])
    return ends, torch.randn(M, S)


def random_graph(labels: Labels | None = None, **options: int) -> Graph:
    (source, target), edge_attr = random_edges()
    return Graph.from_edges(source, target, edge_attr if labels is None else labels, num_vertices=N, **options)


def random_layer(**options) -> ECConv:
    return ECConv(D_IN, D_OUT, FilterNetwork((S, 8), D_IN, D_OUT), **options)


def nnconv(filters: nn.Module, *, d_in: int | tuple[int, int] = D_IN, **options) -> nn.Module:
    """A layer of PyG with a bias that is not zero."""
    layer = pyg.NNConv(d_in, D_OUT, filters, **options)
    if layer.bias is not None:
        nn.init.normal_(layer.bias)
    return layer


def step(layer: nn.Module, x: Tensor, edge_index: Tensor, edge_attr: Tensor, cotangent: Tensor) -> tuple[Tensor, ...]:
    """A step of gradient descent; returns the output and the gradients of signal and labels."""
    x, edge_attr = x.clone().requires_grad_(), edge_attr.clone().requires_grad_()
    out = layer(x, edge_index, edge_attr)
    out.backward(cotangent)
    torch.optim.SGD(layer.parameters(), lr=1.0).step()
    return out, x.grad, edge_attr.grad


def agree(theirs: nn.Module, ours: nn.Module, call: Callable[..., Tensor], *tensors: Tensor) -> Tensor:
    """Assert that a model of NNConv and ours, in double precision, have the same output and the same gradients.

    Args:
        theirs: An NNConv, or a model with some inside.
        ours: What `from_nnconv` or `swap` makes of it.
        call: Computes the output of a model from the tensors.
        tensors: Tensors whose gradients are compared, too.

    Returns:
        Our output.
    """
    results = []
    for model in (theirs, ours):
        inputs = [tensor.detach().clone().requires_grad_() for tensor in tensors]
        out = call(model, *inputs)
        (out * torch.linspace(-1, 1, out.numel()).view_as(out)).sum().backward()
        torch.optim.SGD(model.parameters(), lr=1.0).step()  # parameters differ by their gradients now
        results.append([out, *(tensor.grad for tensor in inputs)])
    exactly = partial(torch.testing.assert_close, rtol=1e-9, atol=1e-9)
    for found, expected in zip(results[1], results[0], strict=True):
        exactly(found, expected)
    expected = converted(theirs).state_dict()
    assert list(expected) == list(ours.state_dict())
    for name, value in ours.state_dict().items():
        exactly(value, expected[name], msg=lambda difference, name=name: f"{name}: {difference}")
    return results[1][0].detach()


def converted(model: nn.Module) -> nn.Module:
    """Return a copy of a model in which every NNConv is an ECConv; the model itself may be one."""
    if isinstance(model, pyg.NNConv):
        return ECConv.from_nnconv(model)
    model = deepcopy(model)
    swap(model)
    return model
