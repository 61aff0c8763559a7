"""The layers that are compared: PyG's `NNConv` and `ECConv` with the same weights on the same graph."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

import torch
from torch import nn, Tensor
from torch_geometric.nn import NNConv

from edgecond import ECConv, Graph, Labels

SEED = 0
RIVALS = ("NNConv", "ECConv", "ECConv, edge_index", "ECConv, low memory")


@dataclass(frozen=True)
class Case:
    """One layer on one random graph.

    Attributes:
        title: Name of the layer on the page.
        n: Number of vertices.
        m: Number of edges.
        widths: Widths of the labels and of the hidden layers of F.
        d_in: Width of the signal.
        d_out: Width of the output.
        categories: Number of distinct labels if they are categorical.
    """

    title: str
    n: int
    m: int
    widths: tuple[int, ...]
    d_in: int
    d_out: int
    categories: int | None = None

    @property
    def multiply_adds(self) -> int:
        """Multiply-adds of both passes, nothing counted twice: the backward pass costs twice the forward pass."""
        labels = self.categories or self.m
        layers = sum(a * b for a, b in pairwise(self.widths))
        k, theta = self.widths[-1], self.d_in * self.d_out
        if self.categories:
            return 3 * (labels * (layers + k * theta) + self.m * self.d_in + self.n * self.categories * theta)
        return 3 * (self.m * layers + self.m * k * self.d_in + self.n * k * theta)


CASES = {
    "cloud": Case("cloud layer, 16 to 32", 10_000, 100_000, (6, 16, 32), 16, 32),
    "cloud-wide": Case("cloud layer, 32 to 64", 10_000, 100_000, (6, 16, 32), 32, 64),
    "categorical": Case("NCI1-like batch, 4 labels, 48 to 48", 64 * 30, 64 * 30 + 64 * 2 * 32, (4, 64), 48, 48, 4),
    "molecules": Case("molecules, continuous labels, 64 to 64", 10_000, 32_000, (8, 64), 64, 64),
}


class Rivals:
    """The layers of a case, each as a function that runs forward and backward once."""

    def __init__(self, case: Case) -> None:
        torch.manual_seed(SEED)
        self.case = case
        self.x = torch.randn(case.n, case.d_in, requires_grad=True)
        edges = torch.randint(0, case.n, (2, case.m))
        if case.categories:
            index = torch.randint(0, case.categories, (case.m,))
            labels: Labels | Tensor = Labels.one_hot(index, case.categories)
            self.edge_attr = torch.eye(case.categories)[index]
        else:
            labels = self.edge_attr = torch.randn(case.m, case.widths[0])
        self.graph = Graph.from_edges(edges[0], edges[1], labels, num_vertices=case.n)
        order = torch.argsort(edges[1], stable=True)  # PyG gets its edges in the same, favourable order
        self.edge_index, self.edge_attr = edges[:, order].contiguous(), self.edge_attr[order].contiguous()
        layers: list[nn.Module] = []
        for fan_in, fan_out in pairwise(case.widths):
            layers += [nn.Linear(fan_in, fan_out), nn.ReLU()]
        network = nn.Sequential(*layers, nn.Linear(case.widths[-1], case.d_in * case.d_out))
        self.nnconv = NNConv(case.d_in, case.d_out, network, aggr="mean")
        self.ecconv = ECConv.from_nnconv(self.nnconv)
        self.low_memory = ECConv.from_nnconv(self.nnconv, low_memory=True)
        self.gradient = torch.randn(case.n, case.d_out)

    def step(self, layer: nn.Module, call: Callable[[], Tensor]) -> list[Tensor]:
        out = call()
        return [out, *torch.autograd.grad(out, [self.x, *layer.parameters()], self.gradient)]

    def runs(self) -> dict[str, Callable[[], list[Tensor]]]:
        x, graph, edge_index, edge_attr = self.x, self.graph, self.edge_index, self.edge_attr
        return {
            "NNConv": lambda: self.step(self.nnconv, lambda: self.nnconv(x, edge_index, edge_attr)),
            "ECConv": lambda: self.step(self.ecconv, lambda: self.ecconv(x, graph)),
            "ECConv, edge_index": lambda: self.step(self.ecconv, lambda: self.ecconv(x, edge_index, edge_attr)),
            "ECConv, low memory": lambda: self.step(self.low_memory, lambda: self.low_memory(x, graph)),
        }

    def check(self) -> None:
        """Raise an error unless every rival gives NNConv's output and gradient of the signal."""
        expected, *others = [run()[:2] for run in self.runs().values()]
        for rival in others:
            for a, b in zip(rival, expected, strict=True):
                torch.testing.assert_close(a, b, atol=1e-4 * float(b.detach().abs().max()), rtol=1e-4)
