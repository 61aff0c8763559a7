"""Attributions of functions with a known integral, and of networks, where they add up to the difference of outputs."""

from __future__ import annotations

import pytest
import torch
from torch import nn, Tensor

from edgecond.graph import Graph, Pyramid, Sample
from edgecond.nn.attribution import FEWEST, integrated_gradients, occlusion, Parts, scores
from edgecond.nn.network import Network
from edgecond.nn.tasks import Classification
from tests.pyramids import random_samples


class Messages(nn.Module):
    """The sum over edges of a power of the label times the signal of the source, for each graph."""

    def __init__(self, power: int = 1) -> None:
        super().__init__()
        self.power, self.unused = power, nn.Parameter(torch.zeros(1))

    def forward(self, x: Tensor, pyramid: Pyramid, features: Tensor | None = None) -> Tensor:
        graph = pyramid.graphs[0]
        messages = graph.labels.per_edge(graph.labels.values) ** self.power * x[graph.source]
        total = torch.zeros(graph.num_graphs, 1).index_add(0, graph.membership[graph.target], messages)
        return total if features is None else total + features.sum(1, keepdim=True)


def path(features: Tensor | None = None) -> Sample:
    """Three vertices in a row: edges from 0 to 1 and from 1 to 2, with the labels 2 and 3."""
    graph = Graph.from_edges(torch.tensor([0, 1]), torch.tensor([1, 2]), torch.tensor([[2.0], [3.0]]), num_vertices=3)
    return Sample(torch.tensor([[1.0], [5.0], [7.0]]), Pyramid((graph,)), torch.zeros(1), features=features)


def first(outputs: Tensor) -> Tensor:
    """The mean over networks and views of the first output of the first row."""
    return outputs[:, :, 0, 0].mean(0)


def _factors(sample: Sample) -> Parts:
    """Factors of 1 for one copy of a sample."""
    edges = tuple(torch.ones(1, graph.num_edges) for graph in sample.pyramid.graphs)
    return Parts(torch.ones(1, len(sample.x)), edges, torch.ones(1, 0))


def test_a_product_of_signal_and_label_is_attributed_half_to_each():
    """By hand: d/da of (a l)(a x) is 2 a l x, of which each factor has half; its integral is l x / 2."""
    found = integrated_gradients([Messages()], [path(torch.tensor([[0.5, -1.5]]))], first)

    (parts,) = found.views
    torch.testing.assert_close(parts.vertices, torch.tensor([1.0, 7.5, 0.0]).double())
    torch.testing.assert_close(parts.edges[0], torch.tensor([1.0, 7.5]).double())
    torch.testing.assert_close(parts.features, torch.tensor([0.5, -1.5]).double())
    assert (found.output, found.baseline, found.steps) == (16.0, 0.0, FEWEST)


def test_steps_are_added_until_the_tolerance_is_met():
    """By hand: f(a) = a^21 (2^20 + 5 * 3^20), whose midpoint sum with 16 steps is 1.7 per cent too small."""
    network, views = Messages(20), [path()]

    rough = integrated_gradients([network], views, first, tolerance=0.1)
    fine = integrated_gradients([network], views, first)
    exact = 2.0**20 + 5 * 3.0**20

    sums = {n: sum(21 * ((i + 0.5) / n) ** 20 / n for i in range(n)) for n in (16, 48)}
    assert (rough.steps, fine.steps) == (16, 48)
    assert rough.error == pytest.approx(1 - sums[16], rel=1e-4)
    assert fine.error == pytest.approx(1 - sums[48], rel=1e-4)
    assert fine.output == pytest.approx(exact)
    assert float(fine.views[0].edges[0].sum() / fine.views[0].vertices.sum()) == pytest.approx(20)  # d log f / d log l


@pytest.mark.parametrize(
    "written", ["C(6)-MP-C(6)-GAP-FC(5)-FC(3)", "C(6)-AP-C(6)-FC(3)", "C(6)-MP-C(6)-V-FC(3)", "C(6)-GMP-FC(3)"]
)
def test_attributions_of_a_network_add_up_to_the_difference_of_outputs(written: str):
    """Sundararajan et al. 2017, Proposition 1, for an ensemble, two views, a pyramid, and one-hot labels."""
    torch.manual_seed(0)
    networks = [Network(written, 2, 3, hidden=(4,)) for _ in range(2)]
    views = random_samples(written, [9, 9], d0=2, s=3, categorical=1)

    def score(outputs: Tensor) -> Tensor:
        return Classification().explained(outputs.flatten(1, 2), 1).view(*outputs.shape[1:3]).mean(1)

    found = integrated_gradients(networks, views, score)

    ones = [_factors(view) for view in views]
    with torch.no_grad():
        probabilities = torch.stack([network.eval()(v.x, v.pyramid).softmax(1) for v in views for network in networks])
        p = probabilities.mean(0)[:, 1]
        assert found.output == pytest.approx(float((p / (1 - p)).log().mean()), rel=1e-4)
        assert score(scores(networks, views, ones)).item() == pytest.approx(found.output, rel=1e-5)
    assert found.error <= 0.01
    assert len(found.views) == 2
    assert all(float(part.abs().sum()) > 0 for parts in found.views for part in (parts.vertices, *parts.edges))


def test_the_attribution_of_a_label_is_the_integral_of_finite_differences():
    """Another method: the slope of the output by the factor of one edge, measured at each midpoint in double."""
    written = "C(4)-C(4)-GAP-FC(2)"
    torch.manual_seed(1)
    network = Network(written, 2, 3, hidden=(4,)).double()
    (sample,) = (each.to(torch.double) for each in random_samples(written, [6], d0=2, s=3))

    found = integrated_gradients([network], [sample], first, tolerance=1.0)

    midpoints, edge, step = (torch.arange(FEWEST) + 0.5).double() / FEWEST, 4, 1e-6
    slopes = []
    for sign in (1, -1):
        rows = [midpoints[:, None].repeat(1, n) for n in (6, sample.pyramid.graphs[0].num_edges)]
        rows[1][:, edge] += sign * step
        with torch.no_grad():
            parts = Parts(rows[0], (rows[1],), torch.ones(FEWEST, 0))
            slopes.append(first(scores([network], [sample], [parts])))
    expected = ((slopes[0] - slopes[1]) / (2 * step)).mean()
    torch.testing.assert_close(found.views[0].edges[0][edge], expected, rtol=1e-5, atol=1e-8)


@pytest.mark.parametrize("method", ["riemann_middle", "gausslegendre"])
def test_captum_finds_the_same_attributions(method: str):
    """Captum's integrated gradients by signal and labels: the same midpoints, or another rule of integration."""
    captum = pytest.importorskip("captum.attr")
    written = "C(6)-MP-C(6)-GAP-FC(5)-FC(3)"
    torch.manual_seed(0)
    network = Network(written, 2, 3, hidden=(4,)).double().eval()
    (sample,) = (each.to(torch.double) for each in random_samples(written, [9], d0=2, s=3))
    graphs, pool_maps = sample.pyramid.graphs, sample.pyramid.pool_maps

    def forward(x: Tensor, *labels: Tensor) -> Tensor:
        labelled = tuple(graph.with_labels(each[0]) for graph, each in zip(graphs, labels, strict=True))
        return network(x[0], Pyramid(labelled, pool_maps))

    found = integrated_gradients([network], [sample], first, tolerance=1e-3)

    inputs = [each[None] for each in (sample.x, *(graph.labels.per_edge(graph.labels.values) for graph in graphs))]
    options = {"target": 0, "n_steps": found.steps, "method": method, "internal_batch_size": 1}
    theirs = captum.IntegratedGradients(forward).attribute(tuple(inputs), **options)
    expected = [each[0].sum(1) for each in theirs]
    largest = max(float(each.abs().max()) for each in expected)
    near = 1e-6 if method == "riemann_middle" else 0.02
    for our, their in zip(found.views[0].tensors, expected, strict=False):  # there are no features
        torch.testing.assert_close(our, their, rtol=0, atol=near * largest)


def test_occlusion_is_the_fall_of_the_output_without_a_vertex_and_its_edges():
    """By hand: the messages are 2 and 15; vertex 1 takes part in both, as their target and as their source."""
    hidden = torch.eye(3, dtype=torch.bool)

    assert occlusion([Messages()], [path()], first, [hidden]).tolist() == [2.0, 17.0, 15.0]
