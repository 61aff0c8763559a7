"""The images show the filters that the convolution applies."""

import numpy as np
import pytest
import torch

from edgecond.data.kinds.graphs import label_name
from edgecond.data.pyramid import cloud_pyramid
from edgecond.nn.layers import ECConv
from edgecond.report import filters
from tests.report.conftest import Made, of_clouds


def panels(run: Made):
    """The panels of a run, as a report has them."""
    labels = run.model.kind.filter_labels(run.test, run.model.preparation)
    return filters.panels(run.model, labels)[1]


def test_a_sampled_filter_is_the_response_to_an_impulse(images):
    """Equation 1: a signal of one at j alone gives the filter of (j, i) over |N(i)|, and the bias."""
    model, builder = images.model, images.model.preparation.builder
    sample = model.preparation.view(images.test, 0, 1).sample([0], 0)
    graph, conv = sample.pyramid.graphs[0], next(m for m in model.network.modules() if isinstance(m, ECConv))
    edge = 40
    j, i = int(graph.source[edge]), int(graph.target[edge])
    impulse = torch.zeros_like(sample.x)
    impulse[j] = 1

    with torch.no_grad():
        response = (conv(impulse, graph)[i] - conv.bias) * graph.degree[i]

    points = cloud_pyramid([images.test.clouds[0]], builder.resolutions, strided=True).levels[0].positions
    shown = filters.sampled(model, builder, (points[j] - points[i])[None])[0, :, 0]
    np.testing.assert_allclose(shown, response.numpy(), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    ("resolution", "radius", "expected"),
    [(1, 2.9, 2), (0.1, 0.2, 0.2), (0.1, 0.25, 0.2), (1, 0.5, 1), (None, 0.3, 0.3)],
)
def test_whole_steps_reach_as_far_as_the_radius_allows(resolution, radius, expected):
    """MNIST (Section 4.4): offsets from -2 to 2 for a radius of 2.9."""
    assert filters.reach(resolution, radius) == pytest.approx(expected)


def test_the_fine_grid_passes_through_the_points_of_the_coarse_one(images):
    """Steps of 0.1 instead of 1 (Section 4.4): every tenth point is one of the 5 x 5."""
    builder = images.model.preparation.builder
    coarse, fine = (
        filters.sampled(images.model, builder, filters.slice_of(builder, side)[1]).reshape(side, side, -1)
        for side in (5, 41)
    )

    np.testing.assert_allclose(fine[::10, ::10], coarse, rtol=1e-4, atol=1e-5)


def test_beyond_the_radius_there_is_no_filter(clouds):
    """Radius 0.25: the corner of the grid at (0.2, 0.2) is 0.28 away."""
    builder = clouds.model.preparation.builder

    corner, edge = filters.sampled(clouds.model, builder, torch.tensor([[0.2, 0.2, 0.0], [0.2, 0.1, 0.0]]))

    assert np.isnan(corner).all()
    assert np.isfinite(edge).all()


def test_one_hot_filters_are_the_columns_of_a_single_layer(tmp_path):
    """Section 3.2: F has one column for each offset that occurs, and none for one between them."""
    run = of_clouds(tmp_path, "digits/ecc", labels="one-hot", hidden=())
    builder = run.model.preparation.builder
    weight = run.model.network.layers[0].conv.filters[0].weight.detach().numpy()  # (16, offsets)

    thetas = filters.sampled(run.model, builder, torch.cat([builder.known[0], torch.tensor([[1.0, 0.0, 0.0]])]))

    np.testing.assert_allclose(thetas[:-1, :, 0], weight.T)
    assert np.isnan(thetas[-1]).all()
    assert len(panels(run)) == 1


def test_the_strongest_pairs_are_shown_in_their_order(monkeypatch):
    monkeypatch.setattr(filters, "SHOWN", 2)
    theta = np.zeros((1, 3, 2))
    theta[0, 2, 0], theta[0, 0, 1], theta[0, 1, 1] = 3, -2, 1

    assert filters.strongest(theta) == [(0, 1), (2, 0)]


def test_each_common_label_has_its_matrix(graphs):
    """Three edge labels and the self-connection, s = 4; C(4) of 4 vertex labels: matrices of 4 x 4."""
    shown = panels(graphs)

    names = {panel.caption.split(":")[0] for panel in shown}
    assert names == {"Edge label 0", "Edge label 1", "Edge label 2", "Self-connection"}
    weights = graphs.model.network.layers[0].conv.filters
    for panel in shown:
        row = ["Edge label 0", "Edge label 1", "Edge label 2", "Self-connection"].index(panel.caption.split(":")[0])
        expected = weights(torch.eye(4)[row]).reshape(4, 4).detach().numpy()
        np.testing.assert_allclose(panel.figure["data"][0]["z"], expected, rtol=1e-3)


def test_labels_are_shown_by_falling_share_of_the_edges(graphs):
    """By hand: edges of each label, and a self-connection of each vertex."""
    data = graphs.test.graphs
    counts = {f"Edge label {label}": int((data.edge_labels == label).sum()) for label in range(3)}
    counts["Self-connection"] = data.num_vertices
    total = sum(counts.values())

    labels = graphs.model.kind.filter_labels(graphs.test, graphs.model.preparation)

    assert labels.shares.tolist() == pytest.approx(sorted((count / total for count in counts.values()), reverse=True))
    assert dict(zip(labels.names, labels.shares.tolist(), strict=True)) == pytest.approx(
        {name: count / total for name, count in counts.items()}
    )


def test_labels_with_degrees_are_named_by_category_and_degree(graphs):
    data = graphs.test.graphs

    assert label_name([0, 1, 0, 0, 0.5, 2], data, "Edge label {}".format) == "Edge label 1 with L_deg 0.5 and 2"
    assert label_name([1], data, "Edge label {}".format) == "All edges"
