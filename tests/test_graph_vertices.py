"""Segmentation of general graphs, from graphs in memory or the tensors of a PyG batch to rows of a table."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import save_file
from torch import Tensor
from typer.testing import CliRunner

from edgecond.cli import app
from edgecond.data.graphs import GraphExamples, Graphs
from edgecond.errors import DataError
from edgecond.notation import Architecture
from edgecond.runs import user_data
from edgecond.runs.model import Model
from edgecond.runs.recipe import Recipe, Train
from edgecond.runs.run import train
from tests.data.datasets import tiny
from tests.pyramids import random_graphs
from tests.sentences import mentions


def has_neighbour_of_label_0(graphs: Graphs) -> np.ndarray:
    """1 for vertices that have a neighbour of label 0, which does not follow from their own label."""
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
        task="segmentation",
        labels="given",
        hidden=(),
        sparsifications=2,
        train=Train(epochs=30, batch_size=20, learning_rate=0.1, drops=(20,)),
    )

    @pytest.fixture
    def parts(self, tmp_path, monkeypatch) -> tuple[GraphExamples, GraphExamples]:
        monkeypatch.setenv("EDGECOND_CACHE", str(tmp_path / "cache"))
        graphs = random_graphs([12 + i % 9 for i in range(50)])
        ys = has_neighbour_of_label_0(graphs)
        assert 0.2 < ys.mean() < 0.8
        whole = GraphExamples(graphs, np.arange(50), outcomes=("no", "yes"), vertex_ys=ys)
        return whole.take(range(40)), whole.take(range(40, 50))

    def test_vertices_of_test_graphs_are_classified(self, parts, tmp_path):
        trained = train(self.recipe, directory=tmp_path / "run", parts=parts)

        assert trained.metrics()["accuracy"] > 0.95
        restored = Model.load(tmp_path / "run")
        assert restored.classes == ("no", "yes")
        assert restored.outputs_per_view(parts[1])[0].shape == (int(parts[1].graphs.sizes[40:].sum()), 2)
        np.testing.assert_array_equal(restored.outputs_per_view(parts[1]), trained.model.outputs_per_view(parts[1]))

    def test_some_vertices_of_a_graph_may_be_trained_on_and_others_tested(self, parts, tmp_path):
        """The same graphs are in both sets; a class that is known in one is unknown in the other."""
        graphs, ys = parts[0].graphs, parts[0].vertex_ys
        chosen = np.random.default_rng(0).random(len(ys)) < 0.7
        training, test = (
            GraphExamples(graphs, np.arange(50), outcomes=("no", "yes"), vertex_ys=np.where(mask, ys, -1))
            for mask in (chosen, ~chosen)
        )

        trained = train(self.recipe, directory=tmp_path / "run", parts=(training, test))

        assert trained.metrics()["accuracy"] > 0.95


def tensors(graphs: Graphs, **more: np.ndarray) -> dict[str, Tensor]:
    """Return the tensors of graphs as a PyG batch has them."""
    first = np.repeat(graphs.vertex_pointer[:-1], np.diff(graphs.edge_pointer))
    arrays = {
        "edge_index": np.stack([graphs.source + first, graphs.target + first]),
        "ptr": graphs.vertex_pointer,
        "x": np.eye(len(graphs.vertex_values), dtype=np.float32)[graphs.vertex_labels],
        **more,
    }
    return {name: torch.tensor(array) for name, array in arrays.items()}


GRAPHS = random_graphs([12 + i % 9 for i in range(50)])
KINDS = np.where(has_neighbour_of_label_0(GRAPHS), 7, 3)  # the classes in the file


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("EDGECOND_CACHE", str(tmp_path / "cache"))
    save_file(tensors(GRAPHS, kind=KINDS), tmp_path / "graphs.safetensors")
    return tmp_path / "graphs.safetensors"


class TestUserData:
    def test_a_tensor_holds_the_classes_of_vertices(self, file: Path):
        """The network is that of NCI1 with V in place of GAP; a fold is a tenth of the graphs."""
        dataset = user_data.read(file, vertices="kind", folds=10)

        assert [type(layer).__name__ for layer in dataset.recipe.network] == [
            *("C", "C", "C", "MP", "C", "C", "MP", "C", "V", "FC", "D", "FC")
        ]
        assert (dataset.recipe.task, dataset.train.classes) == ("segmentation", ("3", "7"))
        assert (len(dataset.train), len(dataset.test)) == (45, 5)
        counts = [int((kind == KINDS).sum()) for kind in (3, 7)]
        assert dataset.notes[1] == f"target: kind of {GRAPHS.num_vertices:,} vertices: 3 ({counts[0]}), 7 ({counts[1]})"

    def test_predictions_for_vertices_are_rows_of_a_table(self, file: Path, tmp_path: Path):
        run = str(tmp_path / "run")
        words = ["--set", "network=C(16)-MP-C(16)-V-FC(16)-FC(2)", "--set", "train.batch_size=20", "--epochs", "30"]
        new = tmp_path / "new.safetensors"
        save_file(tensors(GRAPHS.take([3, 4])), new)  # without classes

        trained = CliRunner().invoke(app, ["train", str(file), "--vertices", "kind", *words, "--out", run])
        evaluated = CliRunner().invoke(app, ["evaluate", run])
        rows = CliRunner().invoke(app, ["predict", run, str(new)])
        page = CliRunner().invoke(app, ["report", run])

        assert trained.exit_code == 0, trained.output
        assert trained.output.splitlines()[-2] == evaluated.output.splitlines()[-1]
        assert float(evaluated.output.split("accuracy ")[1].split(",")[0]) > 90
        assert page.exit_code == 0, page.output
        assert "Test vertices by class" in (tmp_path / "run" / "report.html").read_text(encoding="utf-8")
        predictions = list(csv.DictReader(io.StringIO(rows.stdout)))
        assert list(predictions[0]) == ["file", "graph", "vertex", "class", "probability"]
        sizes = np.diff(GRAPHS.vertex_pointer)[[3, 4]]
        assert [int(row["graph"]) for row in predictions] == [1] * sizes[0] + [2] * sizes[1]
        assert [int(row["vertex"]) for row in predictions] == [*range(sizes[0]), *range(sizes[1])]
        begin, end = GRAPHS.vertex_pointer[[3, 5]]
        assert np.mean([int(row["class"]) for row in predictions] == KINDS[begin:end]) > 0.9

    def test_a_file_with_classes_is_predicted_too(self, file: Path, tmp_path: Path):
        """y has a number for each vertex, and is not read as one for each graph."""
        dataset = user_data.read(file, vertices="kind")
        Model.new(dataset.recipe, dataset.train, 0).save(tmp_path / "model.safetensors")
        save_file(tensors(GRAPHS, y=KINDS), tmp_path / "known.safetensors")

        rows = CliRunner().invoke(app, ["predict", str(tmp_path), str(tmp_path / "known.safetensors"), "--views", "1"])

        assert rows.exit_code == 0, rows.output
        assert len(rows.stdout.splitlines()) == 1 + GRAPHS.num_vertices

    def test_a_negative_class_is_unknown(self, tmp_path: Path):
        kinds = KINDS.copy()
        kinds[:100] = -1
        save_file(tensors(GRAPHS, y=kinds), tmp_path / "some.safetensors")

        dataset = user_data.read(tmp_path / "some.safetensors", vertices="y")

        found = np.full(GRAPHS.num_vertices, -2)
        for part in (dataset.train, dataset.test):
            for number in part.numbers:
                inside = slice(*GRAPHS.vertex_pointer[number : number + 2])
                found[inside] = part.take([list(part.numbers).index(number)]).ys
        np.testing.assert_array_equal(found, np.where(kinds < 0, -1, kinds == 7))

    @pytest.mark.parametrize(
        ("more", "facts"),
        [
            ({}, ["kind", "target of each vertex", "edge_index, ptr, x"]),
            ({"kind": np.zeros(3, int)}, ["kind", f"{GRAPHS.num_vertices} vertices", "3"]),
            ({"kind": np.full((len(KINDS), 2), 7)}, ["kind", "one dimension", "int64", (len(KINDS), 2)]),
            ({"kind": np.full(len(KINDS), 7)}, ["kind", "2 to 1,000 classes", "1"]),
        ],
        ids=["missing", "short", "columns", "one class"],
    )
    def test_a_tensor_without_classes_is_an_error(self, tmp_path: Path, more: dict[str, np.ndarray], facts: list):
        path = tmp_path / "graphs.safetensors"
        save_file(tensors(GRAPHS, **more), path)

        with mentions(path, *facts, kind=DataError):
            user_data.read(path, vertices="kind")

    def test_the_error_for_a_y_of_vertices_names_the_option(self, tmp_path: Path):
        path = tmp_path / "graphs.safetensors"
        save_file(tensors(GRAPHS, y=KINDS), path)

        with mentions(path, "y", "each of 50 graphs", KINDS.shape, "--vertices y", kind=DataError):
            user_data.read(path)

    def test_tu_files_have_no_targets_of_vertices(self, tmp_path: Path):
        path = tiny.write(tmp_path)

        with mentions(path, "--vertices", "TU files", "PyG batch", kind=DataError):
            user_data.read(path, vertices="y")
