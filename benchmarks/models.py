"""Models called as PyG calls them, with unsorted edges: `python -m benchmarks.models [NAME ...]`.

Each model is built on `NNConv`, and every layer is replaced by `ECConv.from_nnconv`; nothing else changes. A step is
forward and backward, with gradients of all parameters.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from itertools import pairwise
from statistics import median
from typing import Any

import torch
from torch import nn, Tensor
from torch_geometric.nn import NNConv

from benchmarks import records
from benchmarks.cases import SEED
from benchmarks.timing import seconds
from edgecond import ECConv
from edgecond.nn.edge_index import graph_of

ROUNDS = 9
GROUPS = (4, 3, 2)  # widths of the one-hot groups of multi-hot labels, as bond type, stereo and ring membership


@dataclass(frozen=True)
class Case:
    """A stack of convolutions on a batch of random graphs.

    Attributes:
        title: Name of the model on the page.
        layers: Number of convolutions.
        graphs: Number of graphs of the batch.
        vertices: Number of vertices of a graph.
        edges: Number of directed edges of a graph.
        widths: Widths of the labels and of the hidden layers of F.
        d_in: Width of the signal.
        width: Width of every layer.
        labels: "continuous", "one-hot", or "multi-hot" for groups of one-hot columns side by side.
    """

    title: str
    layers: int
    graphs: int
    vertices: int
    edges: int
    widths: tuple[int, ...]
    d_in: int
    width: int
    labels: str

    def edge_attr(self) -> Tensor:
        """Draw the labels of all edges."""
        m, s = self.graphs * self.edges, self.widths[0]
        if self.labels == "continuous":
            return torch.randn(m, s)
        groups = (s,) if self.labels == "one-hot" else GROUPS
        drawn = [torch.eye(count)[torch.randint(0, count, (m,))] for count in groups]
        if self.labels == "multi-hot":  # 12 of the 24 combinations occur: stereo only on double bonds
            drawn[1][drawn[0][:, 1] == 0] = torch.eye(GROUPS[1])[0]
        return torch.cat(drawn, 1)

    def edge_index(self) -> Tensor:
        """Draw the edges of all graphs, in no order."""
        within = torch.randint(0, self.vertices, (2, self.graphs, self.edges))
        edges = (within + self.vertices * torch.arange(self.graphs)[:, None]).flatten(1)
        return edges[:, torch.randperm(edges.shape[1])].contiguous()


CASES = {
    "cloud-layer": Case("one cloud layer, 16 to 32", 1, 1, 10_000, 100_000, (6, 16, 32), 16, 32, "continuous"),
    "clouds": Case("three layers on clouds", 3, 16, 700, 7_000, (6, 16, 32), 32, 32, "continuous"),
    "bonds": Case("three layers on molecules, 12 distinct bonds", 3, 128, 25, 54, (9, 64), 48, 48, "multi-hot"),
    "one-hot": Case("three layers on molecules, one-hot bonds", 3, 128, 25, 54, (4, 64), 48, 48, "one-hot"),
    "continuous": Case("three layers on molecules, continuous labels", 3, 128, 25, 54, (11, 64), 48, 48, "continuous"),
}


class Stack(nn.Module):
    """Convolutions with a ReLU after each."""

    def __init__(self, layers: list[nn.Module]) -> None:
        super().__init__()
        self.layers = nn.ModuleList(layers)

    def forward(self, x: Tensor, edge_index: Tensor, edge_attr: Tensor) -> Tensor:
        for layer in self.layers:
            x = torch.relu(layer(x, edge_index, edge_attr))
        return x


def nnconv(widths: tuple[int, ...], d_in: int, d_out: int) -> NNConv:
    """Build a layer of PyG whose filter network has these widths."""
    parts: list[nn.Module] = []
    for fan_in, fan_out in pairwise(widths):
        parts += [nn.Linear(fan_in, fan_out), nn.ReLU()]
    return NNConv(d_in, d_out, nn.Sequential(*parts, nn.Linear(widths[-1], d_in * d_out)), aggr="mean")


class Rivals:
    """The two models of a case, with the same weights."""

    def __init__(self, case: Case) -> None:
        torch.manual_seed(SEED)
        self.x = torch.randn(case.graphs * case.vertices, case.d_in)
        self.edge_index, self.edge_attr = case.edge_index(), case.edge_attr()
        widths = [case.d_in, *[case.width] * case.layers]
        theirs = [nnconv(case.widths, *pair) for pair in pairwise(widths)]
        self.models = {"NNConv": Stack(theirs), "ECConv": Stack([ECConv.from_nnconv(layer) for layer in theirs])}
        self.gradient = torch.randn(len(self.x), case.width)

    def step(self, rival: str) -> tuple[Tensor, tuple[Tensor, ...]]:
        """Return the output and the gradients of the parameters; the tensors of the graph are new, as from a loader."""
        model, edge_index, edge_attr = self.models[rival], self.edge_index.clone(), self.edge_attr.clone()
        out = model(self.x, edge_index, edge_attr)
        return out, torch.autograd.grad(out, list(model.parameters()), self.gradient)

    def check(self) -> None:
        """Raise an error unless both models give the same output and the same gradients of their biases."""
        (expected, theirs), (found, ours) = (self.step(rival) for rival in self.models)
        biases = [
            name.endswith("bias") and "filters" not in name for name, _ in self.models["ECConv"].named_parameters()
        ]
        named = dict(zip([name for name, _ in self.models["NNConv"].named_parameters()], theirs, strict=True))
        pairs = [(found, expected)]
        for (name, _), gradient, bias in zip(self.models["ECConv"].named_parameters(), ours, biases, strict=True):
            pairs += [(gradient, named[name])] if bias else []
        for a, b in pairs:
            torch.testing.assert_close(a, b, atol=1e-3 * float(b.detach().abs().max()), rtol=1e-3)


def measure(case: Case, threads: int) -> dict[str, Any]:
    """Return median milliseconds of each model, the median ratio within a round, and what later layers spend on graphs.

    The last is the time to recognise a graph that the first layer has sorted, as a share of the step of a layer.
    """
    rivals = Rivals(case)
    torch.set_num_threads(threads)
    rivals.check()
    graph = rivals.edge_index.clone(), rivals.edge_attr.clone()
    times: dict[str, list[float]] = {name: [] for name in (*rivals.models, "graph")}
    for _ in range(ROUNDS):
        times["NNConv"].append(seconds(lambda: rivals.step("NNConv")))
        times["ECConv"].append(median(seconds(lambda: rivals.step("ECConv")) for _ in range(5)))
        times["graph"].append(median(seconds(lambda: graph_of(*graph, num_vertices=len(rivals.x))) for _ in range(5)))
    theirs, ours, graphs = times.values()
    return {
        "milliseconds": {rival: 1e3 * median(times[rival]) for rival in rivals.models},
        "times_faster": median(a / b for a, b in zip(theirs, ours, strict=True)),
        "graph_share": median(case.layers * a / b for a, b in zip(graphs, ours, strict=True)),
    }


def main(names: list[str]) -> None:
    """Measure the models of these names, or all, and add them to the record."""
    record = records.read(records.MODELS)
    for name in names or CASES:
        found = {str(threads): measure(CASES[name], threads) for threads in (1, 2)}
        record[name] = {**records.circumstances(), "time": found}
        ratios = ", ".join(f"{row['times_faster']:.1f}x with {threads} thread(s)" for threads, row in found.items())
        print(f"{CASES[name].title}: {ratios}", flush=True)
    records.write(records.MODELS, record)


if __name__ == "__main__":
    main(sys.argv[1:])
