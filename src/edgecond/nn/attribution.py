r"""Attributions: how much each vertex signal, edge label and feature adds to an output of a network.

Inputs $z$ fade in from zero, all together, and the gradient is followed through the convolutions and through their
filter networks $F$ (integrated gradients, Sundararajan et al. 2017). Attributions add up to the difference of outputs:

$$a_k = z_k \int_0^1 \frac{\partial f(\alpha z)}{\partial z_k}\, d\alpha, \qquad \sum_k a_k = f(z) - f(0).$$

With a factor for each input, $f(\alpha \odot z)$, the gradient by the factor of a row is that sum over its channels.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Bool, Float
from torch import nn, Tensor

from edgecond.graph import collate, Graph, Labels, Pyramid, Sample

Score = Callable[[Float[Tensor, "v k r t"]], Float[Tensor, " k"]]
"""An output of each of k inputs, from the scores of all networks and views for the rows of each input."""

FEWEST, MOST = 16, 16 * 3**5
"""Number of steps at first, and at most."""
TOLERANCE = 0.01
"""Steps are added until attributions add up to the difference of outputs within this share of it."""
EDGES = 2**18
"""Number of edges in memory at a time, unless a single example has more."""


@dataclass(frozen=True, eq=False)
class Parts:
    """A number for each input of a view of an example, or a row of them for each of its copies.

    Attributes:
        vertices: For the signal of each vertex of level 0.
        edges: For the label of each edge, at each level.
        features: For each feature beside the graph; none if there are no features.
    """

    vertices: Float[Tensor, "*k n"]
    edges: tuple[Float[Tensor, "*k m"], ...]
    features: Float[Tensor, "*k f"]

    @property
    def tensors(self) -> list[Tensor]:
        """All parts, in a fixed order."""
        return [self.vertices, *self.edges, self.features]

    @staticmethod
    def of(tensors: Sequence[Tensor]) -> Parts:
        """Return the parts of `tensors`."""
        return Parts(tensors[0], tuple(tensors[1:-1]), tensors[-1])


@dataclass(frozen=True, eq=False)
class Attribution:
    """The attributions of an example.

    Attributes:
        views: Those of the inputs of each view.
        output: The output.
        baseline: The output for inputs of zero.
        steps: Number of steps of the integral.
    """

    views: tuple[Parts, ...]
    output: float
    baseline: float
    steps: int

    @property
    def error(self) -> float:
        """How far the sum of attributions is from the difference of outputs, as a share of it."""
        total = sum(float(part.sum()) for view in self.views for part in view.tensors)
        gap = abs(total - (self.output - self.baseline))
        return gap / max(abs(self.output - self.baseline), 1e-30) if gap else 0.0


def integrated_gradients(
    networks: Sequence[nn.Module],
    views: Sequence[Sample],
    score: Score,
    *,
    tolerance: float = TOLERANCE,
    most: int = MOST,
) -> Attribution:
    """Return the attributions of one example, with as many steps as the tolerance needs.

    A step is a midpoint of the path. Three times as many have the former ones among them, which are not computed again.

    Args:
        networks: The networks, whose scores the output combines.
        views: The example in each view.
        score: The output.
        tolerance: Largest `Attribution.error`, as far as `most` steps reach it.
        most: Number of steps, at most.
    """
    with torch.no_grad():
        ends = torch.tensor([0.0, 1.0])
        baseline, output = score(scores(networks, views, [_faded(view, ends) for view in views])).tolist()
    steps, new = FEWEST, (np.arange(FEWEST) + 0.5) / FEWEST
    sums = [[torch.zeros_like(part[0]) for part in _faded(view, ends).tensors] for view in views]
    while True:
        for some in chunks(len(new), views):
            factors = [_faded(view, torch.from_numpy(new[some]), requires_grad=True) for view in views]
            leaves = [leaf for each in factors for leaf in each.tensors]
            with torch.enable_grad():
                total = score(scores(networks, views, factors)).sum()
            gradients = iter(torch.autograd.grad(total, leaves, allow_unused=True))
            for parts in sums:
                for part in parts:
                    if (gradient := next(gradients)) is not None:  # no layer sees the labels of its level
                        part += gradient.double().sum(0)
        found = tuple(Parts.of([part / steps for part in parts]) for parts in sums)
        attribution = Attribution(found, output, baseline, steps)
        if attribution.error <= tolerance or 3 * steps > most:
            return attribution
        steps *= 3
        new = ((np.arange(steps) + 0.5) / steps)[np.arange(steps) % 3 != 1]


def occlusion(
    networks: Sequence[nn.Module], views: Sequence[Sample], score: Score, hidden: Sequence[Bool[Tensor, "u n"]]
) -> Float[np.ndarray, " u"]:
    """Return by how much an output falls if the signal of some vertices and the labels of their edges become zero.

    Labels of coarser levels stay.

    Args:
        networks: The networks.
        views: The example in each view.
        score: The output.
        hidden: For each view, the vertices of level 0 that are hidden at a time.
    """
    found = []
    with torch.no_grad():
        (output,) = score(scores(networks, views, [_faded(view, torch.ones(1)) for view in views]))
        for some in chunks(len(hidden[0]), views):
            factors = [_seen(view, ~mask[some]) for view, mask in zip(views, hidden, strict=True)]
            found.append(output - score(scores(networks, views, factors)))
    return torch.cat(found).numpy()


def scores(
    networks: Sequence[nn.Module], views: Sequence[Sample], factors: Sequence[Parts]
) -> Float[Tensor, "v k r t"]:
    """Return the scores of all networks in all views for copies of an example, whose inputs are multiplied by factors.

    Args:
        networks: The networks.
        views: The example in each view.
        factors: Those of the copies, for each view.
    """
    for network in networks:
        network.eval()
    found = []
    for sample, each in zip(views, factors, strict=True):
        copies = _multiplied(sample, each).to(next(networks[0].parameters()).device)
        for network in networks:
            rows = network(*copies.inputs)
            rows = rows if copies.voxel is None else rows[copies.voxel]
            found.append(rows.double().cpu().view(len(each.vertices), -1, rows.shape[1]))
    return torch.stack(found)


def chunks(count: int, views: Sequence[Sample]) -> Iterator[slice]:
    """Yield slices of some copies of an example, such that the edges of a slice fit into memory."""
    edges = sum(graph.num_edges for view in views for graph in view.pyramid.graphs)
    size = max(1, EDGES // max(edges, 1))
    return (slice(start, min(start + size, count)) for start in range(0, count, size))


def _multiplied(sample: Sample, factors: Parts) -> Sample:
    """Return a batch of copies of a sample."""
    copies = collate([sample] * len(factors.vertices))

    def rows(factor: Float[Tensor, "k n"], values: Float[Tensor, "n d"]) -> Float[Tensor, "kn d"]:
        return (factor[:, :, None] * values).to(values.dtype).flatten(0, 1)

    def labelled(graph: Graph, factor: Float[Tensor, "k m"], labels: Labels) -> Graph:
        return graph.with_labels(rows(factor, labels.per_edge(labels.values)), check=False)

    parts = zip(copies.pyramid.graphs, factors.edges, sample.pyramid.graphs, strict=True)
    graphs = tuple(labelled(graph, factor, one.labels) for graph, factor, one in parts)
    features = None if sample.features is None else (factors.features * sample.features).to(sample.features.dtype)
    pyramid = Pyramid(graphs, copies.pyramid.pool_maps)
    return Sample(rows(factors.vertices, sample.x), pyramid, copies.y, copies.voxel, features)


def _faded(sample: Sample, alphas: Float[Tensor, " k"], requires_grad: bool = False) -> Parts:
    """Return the same factor for all inputs of a copy."""
    widths = [len(sample.x), *(graph.num_edges for graph in sample.pyramid.graphs)]
    widths.append(0 if sample.features is None else sample.features.shape[1])
    column = alphas.double()[:, None]
    return Parts.of([column.repeat(1, width).requires_grad_(requires_grad) for width in widths])


def _seen(sample: Sample, seen: Bool[Tensor, "k n"]) -> Parts:
    """Return factors of zero for the vertices that are not seen and for their edges of level 0, and of one else."""
    whole, graph = _faded(sample, torch.ones(len(seen))), sample.pyramid.graphs[0]
    edges = seen[:, graph.source]
    if graph.source_membership is None:
        edges = edges & seen[:, graph.target]
    return Parts(seen.double(), (edges.double(), *whole.edges[1:]), whole.features)
