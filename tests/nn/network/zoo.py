"""The networks of the paper, batches for them, and the gradients of one step."""

from copy import deepcopy

import torch
from torch import nn, Tensor

from edgecond import Graph, Network, Pyramid, Sample
from tests.paper.test_networks import NETWORKS
from tests.pyramids import random_batch

# Labels of molecules are categorical at first (three bonds and the self-loop) and scalar after Kron reduction; those of
# clouds have six elements. Filter networks are FC(16)-FC(32) for clouds and FC(64) for general graphs.
CLOUDS = {"d0": 1, "s": 6}
GENERAL = {
    name: {"d0": 7, "s": (4,) + (1,) * (NETWORKS[name].resolutions - 1)} for name in ("NCI1", "MUTAG", "ENZYMES", "D&D")
}
SIZES = (70, 90, 65, 80)  # 65 vertices can be halved six times


def widths_of(name: str) -> dict:
    return GENERAL.get(name, CLOUDS)


def paper_network(name: str, **options) -> Network:
    torch.manual_seed(0)
    hidden = (64,) if name in GENERAL else (16, 32)
    return Network(NETWORKS[name].written, **widths_of(name), hidden=hidden, **options)


def paper_batch(name: str, sizes: tuple[int, ...] = SIZES, seed: int = 0) -> Sample:
    return random_batch(NETWORKS[name].written, sizes, **widths_of(name), categorical=int(name in GENERAL), seed=seed)


def settled(network: Network, sample: Sample) -> Network:
    """The network in evaluation mode, with the statistics of this batch, so that its signals are of size 1."""
    for module in network.modules():
        if isinstance(module, nn.BatchNorm1d):
            module.momentum = None  # average over all batches, of which there is one
    network.train()(sample.x, sample.pyramid)
    return network.eval()


def renumber(sample: Sample) -> Sample:
    """The same sample with the vertices of each level in another order."""
    generator = torch.Generator().manual_seed(1)
    graphs, pool_maps, x = [], [], sample.x
    orders = [torch.randperm(graph.num_sources, generator=generator) for graph in sample.pyramid.graphs]
    for level, (graph, order) in enumerate(zip(sample.pyramid.graphs, orders, strict=True)):
        number = order.argsort()  # vertex order[i] is now called i
        bipartite = graph.source_membership is not None
        graphs.append(
            Graph.from_edges(
                number[graph.source],
                graph.target if bipartite else number[graph.target],
                graph.labels,
                num_vertices=graph.num_vertices,
                num_sources=graph.num_sources if bipartite else None,
            )
        )
        if level:
            pool_maps.append(number[sample.pyramid.pool_maps[level - 1]][orders[level - 1]])
    return Sample(x[orders[0]], Pyramid(tuple(graphs), tuple(pool_maps)), sample.y)


def learn(call, network: Network, sample: Sample) -> dict[str, Tensor]:
    """Return the scores and all gradients of a forward and a backward pass."""
    x = sample.x.clone().requires_grad_()
    network.zero_grad()
    scores = call(x, sample.pyramid)
    nn.functional.cross_entropy(scores, sample.y).backward()
    gradients = {name: parameter.grad for name, parameter in network.named_parameters()}
    return deepcopy({"scores": scores.detach(), "x": x.grad, **gradients})
