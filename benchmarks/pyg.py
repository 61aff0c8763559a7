"""A network of the paper's notation built on PyG: `NNConv` for every convolution, PyG's scatter for every pooling."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from copy import deepcopy
from dataclasses import dataclass

import torch
from torch import nn, Tensor
from torch_geometric.nn import global_max_pool, global_mean_pool, NNConv
from torch_geometric.utils import scatter

from edgecond.graph import Graph, Pyramid, Sample
from edgecond.nn.layers import ECConv
from edgecond.nn.network import Convolution, Network
from edgecond.nn.pooling import AveragePooling, GlobalAveragePooling, GlobalMaxPooling, MaxPooling


@dataclass(frozen=True)
class Edges:
    """A graph as PyG takes it, in the favourable order by target; `size` counts sources and targets if they differ."""

    edge_index: Tensor
    edge_attr: Tensor
    size: tuple[int, int] | None

    @staticmethod
    def of(graph: Graph) -> Edges:
        size = None if graph.source_membership is None else (graph.num_sources, graph.num_vertices)
        return Edges(torch.stack([graph.source, graph.target]), graph.labels.per_edge(graph.labels.values), size)


@dataclass(frozen=True)
class Levels:
    """A pyramid as PyG takes it: edges of each level, maps between vertices, and the sample of each last vertex."""

    edges: tuple[Edges, ...]
    pool_maps: tuple[Tensor, ...]
    counts: tuple[int, ...]
    batch: Tensor
    samples: int

    @staticmethod
    def of(pyramid: Pyramid) -> Levels:
        last = pyramid.graphs[-1]
        counts = tuple(graph.num_sources for graph in pyramid.graphs)
        return Levels(tuple(map(Edges.of, pyramid.graphs)), pyramid.pool_maps, counts, last.membership, last.num_graphs)


def as_pyg_takes_it(sample: Sample) -> Sample:
    """The same batch with `Levels` for its pyramid."""
    return Sample(sample.x, Levels.of(sample.pyramid), sample.y)  # type: ignore[arg-type]


class PyGConvolution(nn.Module):
    """C(c) of `edgecond.nn.network` with `NNConv`: no root weight, the same F, bias, normalisation and dropout."""

    def __init__(self, ours: Convolution) -> None:
        super().__init__()
        conv: ECConv = ours.conv
        if conv.degree_factor is not None:
            raise ValueError("NNConv has no degree factor: choose a row without one, such as sydney/ecc.")
        filters = nn.Sequential(*deepcopy(list(conv.filters)))
        self.conv = NNConv(conv.d_in, conv.d_out, filters, aggr="mean", root_weight=False, bias=conv.bias is not None)
        self.identity = deepcopy(conv.identity)
        self.norm, self.dropout = deepcopy(ours.norm), deepcopy(ours.dropout)

    def forward(self, x: Tensor, edges: Edges) -> Tensor:
        signal = x if edges.size is None else (x, None)
        out = self.conv(signal, edges.edge_index, edges.edge_attr, edges.size)
        if self.identity is not None:
            out = out + self.identity(x)
        return self.dropout(torch.relu(self.norm(out)))


class PyGNetwork(nn.Module):
    """The network that computes what one of `edgecond.nn.network` computes, with a copy of its parameters."""

    def __init__(self, ours: Network) -> None:
        super().__init__()
        self.architecture = ours.architecture
        self.layers = nn.ModuleList(
            PyGConvolution(layer) if isinstance(layer, Convolution) else deepcopy(layer) for layer in ours.layers
        )
        with torch.no_grad():
            values = as_pyg_orders_them(ours, ours.parameters())
            for parameter, value in zip(self.parameters(), values, strict=True):
                parameter.copy_(value)

    def forward(self, x: Tensor, pyramid: Levels) -> Tensor:
        for module, level in zip(self.layers, self.architecture.levels, strict=True):
            match module:
                case PyGConvolution():
                    x = module(x, pyramid.edges[level])
                case MaxPooling() | AveragePooling():
                    reduce = "max" if isinstance(module, MaxPooling) else "mean"
                    x = scatter(x, pyramid.pool_maps[level], 0, pyramid.counts[level + 1], reduce)
                case GlobalAveragePooling():
                    x = global_mean_pool(x, pyramid.batch, pyramid.samples)
                case GlobalMaxPooling():
                    x = global_max_pool(x, pyramid.batch, pyramid.samples)
                case _:
                    x = module(x, pyramid, level)
        return x


def as_pyg_orders_them(ours: Network, values: Iterable[Tensor]) -> Iterator[Tensor]:
    """Values for the parameters of our network, such as their gradients, as the parameters of PyG's hold them.

    The order is the same, but the filters of PyG are (d_in, d_out) and ours (d_out, d_in).
    """
    layers = [layer.conv for layer in ours.layers if isinstance(layer, Convolution)]
    filters = {p: (conv.d_out, conv.d_in) for conv in layers for p in conv.filters[-1].parameters()}
    for parameter, value in zip(ours.parameters(), values, strict=True):
        if parameter in filters:
            yield value.view(*filters[parameter], -1).transpose(0, 1).reshape(value.shape)
        else:
            yield value


def check(ours: Network, theirs: PyGNetwork, sample: Sample, *, tolerance: float = 1e-4) -> None:
    """Both networks give the same scores and the same gradients, to rounding; neither is changed."""
    expected, gradients = _pass(ours, sample)
    found, their_gradients = _pass(theirs, as_pyg_takes_it(sample))
    pairs = [(found, expected), *zip(their_gradients, as_pyg_orders_them(ours, gradients), strict=True)]
    # Before a batch normalisation the gradient of a bias is nothing but rounding, so gradients share one scale.
    scale = max(float(gradient.abs().max()) for gradient in gradients)
    for position, (a, b) in enumerate(pairs):
        largest = scale if position else float(b.abs().max())
        torch.testing.assert_close(a, b, rtol=tolerance, atol=tolerance * largest)


def _pass(network: nn.Module, sample: Sample, seed: int = 0) -> tuple[Tensor, tuple[Tensor, ...]]:
    """Scores, and gradients of the loss, in training mode with the dropout of the seed."""
    network = deepcopy(network).train()
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        scores = network(sample.x, sample.pyramid)
    loss = nn.functional.cross_entropy(scores, sample.y)
    return scores.detach(), torch.autograd.grad(loss, list(network.parameters()))
