"""Drawings show all points and edges or an even sample, in space where there is depth."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from edgecond.data.kinds.pictures import GraphPicture, MoleculePicture
from edgecond.data.pyramid import cloud_pyramid
from edgecond.graph import Cloud, Graph, Labels, Pyramid
from edgecond.report import drawings
from tests.meshes import mesh_of, sheet, SPHERE
from tests.pyramids import random_graphs


def cloud(n, depth=1.0):
    positions = torch.rand(n, 3, generator=torch.Generator().manual_seed(0)) * torch.tensor([1, 1, depth])
    return Cloud(positions, torch.arange(n).float()[:, None])


def test_a_cloud_with_depth_is_drawn_in_space_and_a_flat_one_in_the_plane():
    deep, flat = (drawings.cloud(cloud(10, depth))["data"][0] for depth in (1.0, 0.0))

    assert (deep["type"], flat["type"]) == ("scatter3d", "scatter")
    assert "z" in deep
    assert "z" not in flat


def test_points_have_the_colour_of_their_signal_or_of_their_height():
    plain = Cloud(cloud(10).positions, torch.ones(10, 1))

    by_signal, by_height = (drawings.cloud(one)["data"][0] for one in (cloud(10), plain))

    assert by_signal["marker"]["color"] == list(range(10))
    assert by_height["marker"]["color"] == by_height["z"]


def test_the_sides_of_a_drawing_are_in_the_proportion_of_those_of_the_cloud():
    """Sides 1, 2 and 4: a quarter and a half of the longest."""
    box = Cloud(torch.tensor([[0.0, 0, 0], [1, 2, 4]]), torch.ones(2, 1))

    ratio = drawings.cloud(box)["layout"]["scene"]["aspectratio"]

    assert [ratio[axis] / ratio["z"] for axis in "xyz"] == pytest.approx([0.25, 0.5, 1], rel=1e-3)


def test_of_a_large_cloud_2000_points_are_drawn():
    assert len(drawings.cloud(cloud(5000))["data"][0]["x"]) == 2000


def test_a_mesh_is_drawn_as_its_faces_unless_they_are_too_many(monkeypatch):
    drawn = drawings.cloud(mesh_of(SPHERE))["data"][0]

    assert drawn["type"] == "mesh3d"
    assert np.stack([drawn[corner] for corner in "ijk"], 1).tolist() == SPHERE.faces.tolist()
    monkeypatch.setattr(drawings, "FACES", 100)
    assert drawings.cloud(mesh_of(SPHERE))["data"][0]["mode"] == "markers"


def test_the_levels_of_a_cloud_have_its_points_and_each_edge_once():
    """Four points of a square with sides 1 and a radius of 1.1: four edges; then one point and none."""
    square = Cloud(torch.tensor([[0.0, 0, 0], [1, 0, 0], [0, 1, 0], [1, 1, 0]]), torch.ones(4, 1))

    panels = drawings.cloud_levels(cloud_pyramid([square], [(0.5, 1.1), (4, 5)]))

    assert [panel.caption for panel in panels] == ["Level 0: 4 points and 4 edges.", "Level 1: 1 point and 0 edges."]
    lines, points = panels[0].figure["data"]
    assert len(points["x"]) == 4
    assert len(lines["x"]) == 3 * 4  # two ends and a gap
    steps = [np.hypot(lines["x"][k] - lines["x"][k + 1], lines["y"][k] - lines["y"][k + 1]) for k in range(0, 12, 3)]
    assert steps == pytest.approx([1] * 4)


def test_the_edges_of_a_strided_level_end_at_the_centroid():
    square = Cloud(torch.tensor([[0.0, 0, 0], [1, 0, 0], [0, 1, 0], [1, 1, 0]]), torch.ones(4, 1))

    (panel,) = drawings.cloud_levels(cloud_pyramid([square], [(0.5, 1.1)], strided=True))

    assert panel.caption == "Level 0: 4 points and 4 edges, all of them to the centroid."
    assert panel.figure["data"][0]["x"][1::3] == [0.5] * 4


def test_vertices_have_their_labels_and_edges_their_dashes():
    """Every edge of the graph is drawn once, in the line style of its label."""
    graphs = random_graphs([12])

    *lines, vertices = drawings.graph(graphs, 0)["data"]

    assert vertices["text"] == [str(label) for label in graphs.vertex_labels]
    drawn = {line["line"]["dash"]: len(line["x"]) // 3 for line in lines}
    once = graphs.edge_labels[graphs.source < graphs.target]
    assert drawn == {drawings.DASHES[label]: int((once == label).sum()) for label in np.unique(once)}


def test_of_a_large_graph_300_vertices_are_drawn():
    graphs = random_graphs([700])

    vertices = drawings.graph(graphs, 0)["data"][-1]

    assert len(vertices["x"]) == 300
    assert vertices["mode"] == "markers"


def test_a_coarse_vertex_is_at_the_mean_of_those_that_pool_into_it():
    """A path of four vertices, of which two and two become one; a weight of 5 between them."""
    source, target = torch.tensor([0, 1, 1, 2, 2, 3]), torch.tensor([1, 0, 2, 1, 3, 2])
    fine = Graph.from_edges(source, target, Labels(torch.ones(6, 1)), num_vertices=4)
    coarse = Graph.from_edges(
        torch.tensor([0, 1]), torch.tensor([1, 0]), Labels(torch.full((2, 1), 5.0)), num_vertices=2
    )

    panels = drawings.graph_levels(Pyramid((fine, coarse), (torch.tensor([0, 0, 1, 1]),)))

    assert [panel.caption for panel in panels] == [
        "Level 0: 4 vertices and 3 edges.",
        "Level 1: 2 vertices and 1 edge.",
    ]
    first, second = (panel.figure["data"][-1] for panel in panels)
    for axis in "xy":
        places = np.array(first[axis]).reshape(2, 2).mean(1)
        np.testing.assert_allclose(second[axis], places, atol=2e-3)


def test_the_legend_names_the_line_of_each_edge_label():
    graphs = random_graphs([9])
    without = replace(graphs, edge_values=np.zeros(0, np.int64))

    assert drawings.legend(GraphPicture(graphs, 0)).endswith(" Edge labels: 0 solid, 1 dashed, 2 dotted.")
    assert "Edge labels" not in drawings.legend(GraphPicture(without, 0))


def test_the_legend_explains_each_kind_of_picture():
    texts = [drawings.legend(picture) for picture in (cloud(9), mesh_of(SPHERE), MoleculePicture("CCO"))]

    assert ["Colour" in texts[0], "rotated" in texts[1], "carbon" in texts[2]] == [True] * 3


@pytest.mark.parametrize(
    "figure",
    [
        drawings.cloud(cloud(9)),
        drawings.cloud(cloud(9, 0)),
        drawings.cloud(mesh_of(SPHERE)),
        drawings.cloud(mesh_of(sheet(0.0))),
        drawings.graph(random_graphs([9]), 0),
    ],
)
def test_plotly_accepts_the_drawings(figure):
    go = pytest.importorskip("plotly.graph_objects")

    assert go.Figure(figure).to_dict()["data"]
