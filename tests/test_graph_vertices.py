"""Vertices of general graphs are classified, from data in memory or the tensors of a PyG batch to rows of a table."""

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
from tests.sentences import refused


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
        ys = neighbours_of_a_kind(graphs)
        assert 0.2 < ys.mean() < 0.8
        whole = GraphExamples(graphs, np.arange(50), outcomes=("no", "yes"), vertex_ys=ys)
        return whole.take(range(40)), whole.take(range(40, 50))

    def test_vertices_of_graphs_that_were_not_learned_are_told_apart(self, parts, tmp_path):
        found = train(self.recipe, directory=tmp_path / "run", parts=parts)

        assert found.metrics()["accuracy"] > 0.95
        restored = Model.load(tmp_path / "run")
        assert restored.classes == ("no", "yes")
        assert restored.outputs_per_view(parts[1])[0].shape == (int(parts[1].graphs.sizes[40:].sum()), 2)
        np.testing.assert_array_equal(restored.outputs_per_view(parts[1]), found.model.outputs_per_view(parts[1]))

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


def tensors(graphs: Graphs, **more: np.ndarray) -> dict[str, Tensor]:
    """As PyG's Batch has them."""
    first = np.repeat(graphs.vertex_pointer[:-1], np.diff(graphs.edge_pointer))
    arrays = {
        "edge_index": np.stack([graphs.source + first, graphs.target + first]),
        "ptr": graphs.vertex_pointer,
        "x": np.eye(len(graphs.vertex_values), dtype=np.float32)[graphs.vertex_labels],
        **more,
    }
    return {name: torch.tensor(array) for name, array in arrays.items()}


GRAPHS = random_graphs([12 + i % 9 for i in range(50)])
KINDS = np.where(neighbours_of_a_kind(GRAPHS), 7, 3)  # what the file calls the classes


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("EDGECOND_CACHE", str(tmp_path / "cache"))
    save_file(tensors(GRAPHS, kind=KINDS), tmp_path / "graphs.safetensors")
    return tmp_path / "graphs.safetensors"


class TestOwnData:
    def test_a_tensor_tells_the_classes(self, file: Path):
        """The network is that of NCI1 with V in place of GAP; a fold is a tenth of the graphs."""
        found = user_data.read(file, vertices="kind", folds=10)

        assert [type(layer).__name__ for layer in found.recipe.network] == [
            *("C", "C", "C", "MP", "C", "C", "MP", "C", "V", "FC", "D", "FC")
        ]
        train, test = found.parts
        assert (found.recipe.task, train.classes) == ("segmentation", ("3", "7"))
        assert (len(train), len(test)) == (45, 5)
        counts = [int((kind == KINDS).sum()) for kind in (3, 7)]
        assert found.notes[1] == f"predicts kind of {GRAPHS.num_vertices:,} vertices: 3 ({counts[0]}), 7 ({counts[1]})"

    def test_vertices_go_from_a_file_to_rows(self, file: Path, tmp_path: Path):
        run = str(tmp_path / "run")
        words = ["--set", "network=C(16)-MP-C(16)-V-FC(16)-FC(2)", "--set", "train.batch_size=20", "--epochs", "30"]
        new = tmp_path / "new.safetensors"
        save_file(tensors(GRAPHS.take([3, 4])), new)  # which tells no classes

        trained = CliRunner().invoke(app, ["train", str(file), "--vertices", "kind", *words, "--out", run])
        evaluated = CliRunner().invoke(app, ["evaluate", run])
        rows = CliRunner().invoke(app, ["predict", run, str(new)])
        page = CliRunner().invoke(app, ["report", run])

        assert trained.exit_code == 0, trained.output
        assert trained.output.splitlines()[-2] == evaluated.output.splitlines()[-1]
        assert float(evaluated.output.split("accuracy ")[1].split(",")[0]) > 90
        assert page.exit_code == 0, page.output
        assert "Test vertices by true class" in (tmp_path / "run" / "report.html").read_text(encoding="utf-8")
        told = list(csv.DictReader(io.StringIO(rows.stdout)))
        assert list(told[0]) == ["file", "graph", "vertex", "class", "probability"]
        sizes = np.diff(GRAPHS.vertex_pointer)[[3, 4]]
        assert [int(row["graph"]) for row in told] == [1] * sizes[0] + [2] * sizes[1]
        assert [int(row["vertex"]) for row in told] == [*range(sizes[0]), *range(sizes[1])]
        begin, end = GRAPHS.vertex_pointer[[3, 5]]
        assert np.mean([int(row["class"]) for row in told] == KINDS[begin:end]) > 0.9

    def test_a_file_with_the_classes_is_predicted_too(self, file: Path, tmp_path: Path):
        """Here y has a number for each vertex, which would not be one for each graph."""
        found = user_data.read(file, vertices="kind")
        Model.new(found.recipe, found.train, 0).save(tmp_path / "model.safetensors")
        save_file(tensors(GRAPHS, y=KINDS), tmp_path / "known.safetensors")

        rows = CliRunner().invoke(app, ["predict", str(tmp_path), str(tmp_path / "known.safetensors"), "--views", "1"])

        assert rows.exit_code == 0, rows.output
        assert len(rows.stdout.splitlines()) == 1 + GRAPHS.num_vertices

    def test_vertices_of_unknown_class_are_below_zero(self, tmp_path: Path):
        kinds = KINDS.copy()
        kinds[:100] = -1
        save_file(tensors(GRAPHS, y=kinds), tmp_path / "some.safetensors")

        train, test = user_data.read(tmp_path / "some.safetensors", vertices="y").parts

        found = np.full(GRAPHS.num_vertices, -2)
        for part in (train, test):
            for number in part.numbers:
                inside = slice(*GRAPHS.vertex_pointer[number : number + 2])
                found[inside] = part.take([list(part.numbers).index(number)]).ys
        np.testing.assert_array_equal(found, np.where(kinds < 0, -1, kinds == 7))

    @pytest.mark.parametrize(
        ("more", "sentence"),
        [
            ({}, "must hold kind, the class of each vertex: found edge_index, ptr, x."),
            (
                {"kind": np.zeros(3, int)},
                f"kind must have a class for each of the {GRAPHS.num_vertices} vertices: it has 3.",
            ),
            ({"kind": KINDS / 2}, f"kind must be whole numbers in one dimension: it is float64 of {KINDS.shape}."),
            ({"kind": np.full(len(KINDS), 7)}, "kind must have 2 to 1,000 classes: found 1."),
        ],
        ids=["missing", "short", "numbers", "one class"],
    )
    def test_what_tells_no_classes_is_a_sentence(self, tmp_path: Path, more: dict[str, np.ndarray], sentence: str):
        path = tmp_path / "graphs.safetensors"
        save_file(tensors(GRAPHS, **more), path)
        joint = " " if not more else ", "

        with refused(f"{path}{joint}{sentence}", DataError):
            user_data.read(path, vertices="kind")

    def test_a_y_of_vertices_says_how_it_is_learned(self, tmp_path: Path):
        path = tmp_path / "graphs.safetensors"
        save_file(tensors(GRAPHS, y=KINDS), path)

        with refused(
            f"{path}, y must be a number or a row of numbers for each of 50 graphs: it has {KINDS.shape}. "
            "To predict the class of each vertex, pass --vertices y; several targets of a graph are a row of a table.",
            DataError,
        ):
            user_data.read(path)

    def test_tu_files_have_no_classes_of_vertices(self, tmp_path: Path):
        path = tiny.write(tmp_path)

        with refused(
            f"{path} must be a folder of clouds or the tensors of a PyG batch to tell the classes of vertices: it is a "
            "folder of TU files, which have labels that are known and no classes to learn.",
            DataError,
        ):
            user_data.read(path, vertices="y")
