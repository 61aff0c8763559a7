"""Points of clouds and vertices of graphs are classified, from data to a model in a file."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from typer.testing import CliRunner

from edgecond import datasets
from edgecond.cli import app
from edgecond.datasets.graphs import GraphExamples, Graphs
from edgecond.experiment import train, Trained
from edgecond.graph import Cloud
from edgecond.model import Model
from edgecond.notation import Architecture
from edgecond.recipe import find, Recipe, Train
from tests.pyramids import random_graphs


@pytest.fixture(autouse=True, scope="module")
def one_thread():
    """Small networks are slow with more."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.fixture(scope="module")
def scenes(tmp_path_factory) -> tuple[Trained, Path]:
    directory = tmp_path_factory.mktemp("scenes")
    return train(find("scenes/ecc"), directory=directory), directory


class TestClouds:
    def test_the_points_of_scenes_that_were_not_learned_are_told_apart(self, scenes):
        """Spheres and cubes of equal density: of 100 points, more than 95 are right."""
        figures = scenes[0].metrics()

        assert figures["accuracy"] > 0.95
        assert figures["mean_iou"] > 0.9
        assert figures["train_accuracy"] > 0.9

    def test_every_point_has_scores_which_the_file_restores(self, scenes):
        trained, directory = scenes
        test = trained.test
        expected = trained.model.scores(test)[0]

        found = Model.load(directory)

        assert expected.shape == (sum(len(cloud) for cloud in test.clouds), 2)
        np.testing.assert_array_equal(found.scores(test)[0], expected)
        assert found.figures(test) == {
            name: value for name, value in trained.metrics().items() if name != "train_accuracy"
        }

    def test_the_order_of_points_is_the_order_of_scores(self, scenes):
        """Centroids do not depend on the order of points, and neither do the scores of a point."""
        model, cloud = scenes[0].model, scenes[0].test.clouds[0]
        order = torch.randperm(len(cloud), generator=torch.Generator().manual_seed(0))
        shuffled = Cloud(cloud.positions[order], cloud.signal[order])

        (one,), (other,) = (model.scores([(found, 0)]) for found in (cloud, shuffled))

        np.testing.assert_allclose(other, one[order], atol=1e-6)

    def test_several_looks_are_averaged(self, scenes):
        model, test = scenes[0].model, scenes[0].test.take(range(4))

        looks = model.scores(test, looks=3)

        assert len(looks) == 3
        right = np.mean(looks, axis=0).argmax(1) == test.ys.numpy()
        assert model.figures(test, looks=3)["accuracy"] == pytest.approx(right.mean())

    def test_the_command_line_evaluates_it_and_writes_a_page(self, scenes):
        directory = str(scenes[1])

        told = CliRunner().invoke(app, ["evaluate", directory])
        page = CliRunner().invoke(app, ["report", directory])

        accuracy = 100 * scenes[0].metrics()["accuracy"]
        assert f"16 test examples: accuracy {accuracy:.2f}" in told.output
        assert sum(map(int, told.output.splitlines()[3].replace("·", "0").split()[2:4])) == int(
            (scenes[0].test.ys == 0).sum()
        )
        assert page.exit_code == 0, page.output
        assert "Mean intersection over union" in (scenes[1] / "report.html").read_text(encoding="utf-8")


def test_points_of_unknown_class_are_not_learned(tmp_path):
    """A cloud whose cubes are all unknown leaves spheres alone to learn: nothing is taken for a cube."""
    learned, test = datasets.load("scenes", train=8, test=2)
    clouds = [Cloud(c.positions, c.signal, torch.where(c.y == 1, -1, c.y)) for c in learned.clouds]
    recipe = find("scenes/ecc").model_copy(update={"balanced": True})
    parts = datasets.PointExamples("some", learned.classes, clouds, "0"), test

    found = train(recipe, directory=tmp_path, parts=parts, epochs=6)

    log = [json.loads(line) for line in (tmp_path / "log.jsonl").read_text().splitlines()]
    assert log[-1]["accuracy"] > 0.99
    assert found.model.scores(test)[0].argmax(1).max() == 0


def neighbours_of_a_kind(graphs: Graphs) -> np.ndarray:
    """1 for vertices that have a neighbour of label 0: what a vertex cannot know of itself."""
    first = np.repeat(graphs.vertex_pointer[:-1], np.diff(graphs.edge_pointer))
    y = np.zeros(graphs.num_vertices, np.int64)
    y[(graphs.target + first)[graphs.vertex_labels[graphs.source + first] == 0]] = 1
    return y


class TestGraphs:
    recipe = Recipe(
        name="vertices",
        paper=(),
        dataset="random",
        network=Architecture("C(16)-MP-C(16)-V-FC(16)-FC(2)"),
        task="vertices",
        labels="given",
        hidden=(),
        sparsifications=2,
        train=Train(epochs=30, batch=20, rate=0.1, drops=(20,)),
    )

    @pytest.fixture
    def parts(self, tmp_path, monkeypatch) -> tuple[GraphExamples, GraphExamples]:
        monkeypatch.setenv("EDGECOND_CACHE", str(tmp_path / "cache"))
        graphs = random_graphs([12 + i % 9 for i in range(50)])
        ys = neighbours_of_a_kind(graphs)
        assert 0.2 < ys.mean() < 0.8
        whole = GraphExamples(graphs, np.arange(50), outcomes=("no", "yes"), vertex_ys=ys)
        return whole.take(range(40)), whole.take(range(40, 50))

    def test_vertices_of_graphs_that_were_not_learned_are_told_apart(self, parts, tmp_path):
        found = train(self.recipe, directory=tmp_path / "run", parts=parts)

        assert found.metrics()["accuracy"] > 0.95
        restored = Model.load(tmp_path / "run")
        assert restored.classes == ("no", "yes")
        assert restored.scores(parts[1])[0].shape == (int(parts[1].graphs.sizes[40:].sum()), 2)
        np.testing.assert_array_equal(restored.scores(parts[1]), found.model.scores(parts[1]))

    def test_some_vertices_of_a_graph_may_be_learned_and_others_tested(self, parts, tmp_path):
        """The same graphs in both parts; what one part learns is unknown in the other."""
        graphs, ys = parts[0].graphs, parts[0].vertex_ys
        chosen = np.random.default_rng(0).random(len(ys)) < 0.7
        learned, tested = (
            GraphExamples(graphs, np.arange(50), outcomes=("no", "yes"), vertex_ys=np.where(mask, ys, -1))
            for mask in (chosen, ~chosen)
        )

        found = train(self.recipe, directory=tmp_path / "run", parts=(learned, tested))

        assert found.metrics()["accuracy"] > 0.95
