"""An exported network gives the scores of the network, in other programs and for batches of any size."""

import json
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn, Tensor
from typer.testing import CliRunner

import edgecond
from edgecond.cli import app
from edgecond.data import datasets
from edgecond.data.features import Features
from edgecond.data.graphs import GraphExamples
from edgecond.errors import CheckpointError
from edgecond.export import DOCUMENT, export, ExportError, flat
from edgecond.graph import collate, Graph, Labels, Pyramid, Sample
from edgecond.notation import Architecture
from edgecond.runs.model import Model
from edgecond.runs.recipe import find, Recipe
from tests.pyramids import random_batch, random_graphs
from tests.sentences import mentions

ort = pytest.importorskip("onnxruntime")
pytest.importorskip("onnxscript")

# The paper's networks, made small: a row of its tables, the network instead of its own, and other settings. Among
# them are a pooling of signals below zero, identity connections, filter networks of one layer, and degree factors.
KINDS = {
    "Sydney": ("sydney/ecc", "C(4)-C(4)-MP(0.25,0.5)-GAP-FC(7)-D(0.2)-FC(6)", {"identity": True}),
    "ModelNet": ("modelnet10/ecc", "MP(2.5/32,7.5/32)-C(4)-AP(7.5/32,22.5/32)-C(5)-GMP-FC(6)", {}),
    "MNIST": ("digits/ecc", "C(4)-MP(4,6.8)-C(5)-D(0.5)-FC(10)", {"hidden": ()}),
    "NCI1": ("nci1/ecc", "C(4)-MP-C(5)-GAP-FC(2)", {"degree_factor": True}),
    "features": ("nci1/ecc", "C(4)-MP-C(5)-GAP-FC(6)-FC(2)", {}),
}
SIZES = [(11, 14, 3), (7,), (1,), (30, 1, 1, 2, 5)]  # vertices of the samples of a batch


def new_model(kind: str, network: str | None = None) -> Model:
    """Untrained, with the statistics of a random batch, so that its signals are of size 1."""
    row, usual, changes = KINDS[kind]
    recipe = find(row).model_copy(update={"network": Architecture(network or usual), **changes})
    if recipe.input is None:
        beside = Features({"t": np.arange(4.0), "solvent": np.array(list("abca"), object)})
        features = beside if kind == "features" else None
        examples = GraphExamples(random_graphs([9, 12, 1, 20]), np.arange(4), features=features)
    else:
        small = {"train": 6, "test": 6, "points": 50}
        examples, _ = datasets.load("digits") if recipe.dataset == "digits" else datasets.load("synthetic", **small)
    model = Model.new(recipe, examples, 0)
    for module in model.network.modules():
        if isinstance(module, nn.BatchNorm1d):
            module.momentum = None  # average over all batches, of which there is one
    batch = batch_for(model, (40, 30, 50))
    model.network.train()(*batch.inputs)
    return model


def batch_for(model: Model, sizes: tuple[int, ...]) -> Sample:
    (d0, s), categorical = model.widths, int(model.recipe.input is None)
    batch = random_batch(str(model.recipe.network), sizes, d0=d0, s=s, categorical=categorical)
    count = model.network.features
    return replace(batch, features=torch.randn(len(sizes), count)) if count else batch


@torch.no_grad()
def expected(model: Model, batch: Sample) -> Tensor:
    return model.network.eval()(*batch.inputs)


@pytest.fixture(scope="module")
def directory(tmp_path_factory):
    directory = tmp_path_factory.mktemp("export")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("EDGECOND_CACHE", str(directory / "cache"))
        yield directory


@pytest.fixture(scope="module", params=KINDS)
def exported(request, directory) -> tuple[Model, Path]:
    """A model and its file."""
    model, path = new_model(request.param), directory / f"{request.param}.onnx"
    export(model, path, "onnx")
    return model, path


def run(path: Path, sample: Sample) -> Tensor:
    options = ort.SessionOptions()
    options.intra_op_num_threads = 1
    session = ort.InferenceSession(path, options)
    (logits,) = session.run(["logits"], {name: tensor.numpy() for name, tensor in flat(sample).items()})
    return torch.from_numpy(logits)


@pytest.mark.parametrize("to", ["onnx", "torch"])
@pytest.mark.parametrize("temperature", [(), (2.5,)], ids=["plain", "tempered"])
def test_an_ensemble_is_exported_as_its_mean_calibrated(directory, temperature, to):
    """The softmax of the exported scores is the tempered mean of the probabilities of the networks."""
    one, other = (new_model("NCI1", "C(4)-GAP-FC(2)") for _ in range(2))
    torch.nn.init.normal_(other.network.layers[-1][0].weight)
    task = replace(one.task, temperature=temperature)
    recipe = one.recipe.model_copy(update={"ensemble": 2})
    model, path = replace(one, recipe=recipe, members=(other.network,), task=task), directory / f"ensemble.{to}"
    batch = batch_for(model, SIZES[0])

    export(model, path, to)

    logits = run(path, batch) if to == "onnx" else torch.export.load(path).module()(flat(batch))
    mean = torch.stack([expected(each, batch).softmax(1) for each in (one, other)]).mean(0)
    powers = mean ** (1 / (temperature or (1.0,))[0])
    torch.testing.assert_close(logits.softmax(1), powers / powers.sum(1, keepdim=True), rtol=1e-4, atol=1e-5)


class TestOnnx:
    def test_it_gives_the_logits_of_the_network_for_batches_of_any_size(self, exported):
        """In onnxruntime, by other algorithms; a sample of one vertex and a batch of one sample are no special case."""
        model, path = exported

        for sizes in SIZES:
            batch = batch_for(model, sizes)
            logits = run(path, batch)
            assert logits.shape == (len(sizes), len(model.classes))
            assert len(sizes) == 1 or logits.std(0).max() > 0.01  # and samples do differ
            torch.testing.assert_close(logits, expected(model, batch), rtol=1e-4, atol=1e-4)

    def test_vertices_without_edges_and_pools_without_vertices_are_zero_in_both(self, exported):
        """Every second vertex loses its edges, and all but one of the pools of each level get nothing."""
        model, path = exported
        batch = batch_for(model, (9, 6))
        lonely = [without_edges(graph) for graph in batch.pyramid.graphs]
        crowded = [torch.zeros_like(pool_map) for pool_map in batch.pyramid.pool_maps]
        batch = replace(batch, pyramid=Pyramid(tuple(lonely), tuple(crowded)))

        logits = run(path, batch)

        assert logits.isfinite().all()
        torch.testing.assert_close(logits, expected(model, batch), rtol=1e-4, atol=1e-4)

    def test_its_inputs_are_those_of_its_metadata(self, exported):
        """Compared with what onnxruntime reads from the file."""
        model, path = exported
        session = ort.InferenceSession(path)
        about = json.loads(session.get_modelmeta().custom_metadata_map["edgecond"])

        types = {"float32": "tensor(float)", "int64": "tensor(int64)"}
        inputs = {part["name"]: (part["shape"], types[part["dtype"]]) for part in about["inputs"]}

        assert inputs == {part.name: (part.shape, part.type) for part in session.get_inputs()}
        assert list(inputs) == list(flat(batch_for(model, (4,))))
        assert [(part.name, part.shape) for part in session.get_outputs()] == [("logits", about["output"]["shape"])]

    def test_its_metadata_hold_recipe_classes_and_versions(self, exported):
        model, path = exported
        about = json.loads(ort.InferenceSession(path).get_modelmeta().custom_metadata_map["edgecond"])

        assert tuple(about["classes"]) == model.classes
        assert Recipe(paper=(), **about["recipe"]).settings() == model.recipe.settings()
        assert about["versions"]["torch"] == torch.__version__
        assert about["trained"]["data"] == model.about["data"]

    def test_it_does_not_contain_the_path_of_edgecond(self, exported):
        assert str(Path(edgecond.__file__).parent).encode() not in exported[1].read_bytes()


def without_edges(graph: Graph) -> Graph:
    """The graph without the edges into vertices of odd number."""
    kept = graph.target % 2 == 0
    sources = None if graph.source_membership is None else torch.bincount(graph.source_membership)
    return Graph.from_edges(
        graph.source[kept],
        graph.target[kept],
        graph.labels.at(kept),
        num_vertices=graph.num_vertices,
        sizes=graph.sizes,
        num_sources=sources,
    )


def test_a_program_of_torch_export_needs_torch_alone(directory):
    """In a process that does not import edgecond, for batches of any size."""
    model, path = new_model("MNIST"), directory / "model.pt2"
    export(model, path, "torch")
    batches = [batch_for(model, sizes) for sizes in SIZES]
    torch.save([(flat(batch), expected(model, batch)) for batch in batches], directory / "batches.pt")
    code = f"""
import json, sys, torch
about = {{"{DOCUMENT}": ""}}
network = torch.export.load("model.pt2", extra_files=about).module()
for inputs, expected in torch.load("batches.pt"):
    torch.testing.assert_close(network(inputs), expected, rtol=1e-4, atol=1e-4)
print(json.loads(about["{DOCUMENT}"])["classes"], "edgecond" in sys.modules)
"""

    answer = subprocess.run([sys.executable, "-c", code], cwd=directory, capture_output=True, text=True)

    assert answer.stdout == f"{list(model.classes)} False\n", answer.stderr
    assert str(Path(edgecond.__file__).parent).encode() not in path.read_bytes()


def test_the_inputs_of_two_samples_are_numbered_on_with_a_label_per_edge():
    """A path of two vertices and a single vertex, pooled into one vertex each; by hand."""
    table = torch.tensor([[1.0, 0.0], [0.0, 1.0]])

    def sample(x: list[float], source: list[int], target: list[int], index: list[int]) -> Sample:
        fine = Graph.from_edges(
            *map(torch.tensor, (source, target)), Labels(table, torch.tensor(index)), num_vertices=len(x)
        )
        loop = Graph.from_edges(torch.tensor([0]), torch.tensor([0]), torch.tensor([[5.0]]), num_vertices=1)
        pool_map = torch.zeros(len(x), dtype=torch.long)
        return Sample(torch.tensor(x)[:, None], Pyramid((fine, loop), (pool_map,)), torch.tensor([0]))

    found = flat(collate([sample([1.0, 2.0], [0, 1, 1], [0, 0, 1], [0, 1, 0]), sample([3.0], [0], [0], [0])]))

    assert {name: tensor.tolist() for name, tensor in found.items()} == {
        "x": [[1], [2], [3]],
        "source_0": [0, 1, 1, 2],
        "degree_0": [2, 1, 1],
        "labels_0": [[1, 0], [0, 1], [1, 0], [1, 0]],
        "pool_map_1": [0, 0, 1],
        "source_1": [0, 1],
        "degree_1": [1, 1],
        "labels_1": [[5], [5]],
        "sizes": [1, 1],
    }


def test_a_network_for_segmentation_has_scores_for_each_vertex(directory):
    """It has no input for sizes: the sample of a vertex does not matter."""
    recipe = find("scenes/ecc").model_copy(update={"network": Architecture("C(4)-MP(0.5,1)-C(5)-V-FC(6)-FC(2)")})
    model = Model.new(recipe, datasets.load("scenes", train=1, test=0)[0], 0)
    export(model, directory / "vertices.onnx", "onnx")
    session = ort.InferenceSession(directory / "vertices.onnx")
    about = json.loads(session.get_modelmeta().custom_metadata_map["edgecond"])

    assert about["output"]["shape"] == ["n_0", 2]
    for sizes in SIZES:
        batch = batch_for(model, sizes)
        inputs = flat(batch, per_vertex=True)
        (logits,) = session.run(["logits"], {name: tensor.numpy() for name, tensor in inputs.items()})
        assert logits.shape == (sum(sizes), 2)
        torch.testing.assert_close(torch.from_numpy(logits), expected(model, batch), rtol=1e-4, atol=1e-4)


class TestErrors:
    def test_an_unknown_format_is_an_error(self, directory):
        with mentions("onnx or torch", "got 'tflite'", kind=ExportError):
            export(new_model("MNIST"), directory / "model.tflite", "tflite")

    @pytest.mark.parametrize("package", ["onnx", "onnxscript"])
    def test_the_error_without_the_extra_names_it(self, package, directory, monkeypatch):
        monkeypatch.setitem(sys.modules, package, None)

        with mentions("onnx and onnxscript", "pip install 'edgecond[export]'", kind=ExportError):
            export(new_model("MNIST"), directory / "model.onnx", "onnx")

    def test_a_path_that_cannot_be_written_is_an_error(self, tmp_path, directory):
        (tmp_path / "file").write_text("")

        with pytest.raises(CheckpointError, match=r"^.*model\.pt2 .*name another directory\.$"):
            export(new_model("NCI1"), tmp_path / "file" / "model.pt2", "torch")


@pytest.fixture(scope="module")
def demo(directory) -> Path:
    """A directory with the model of `edgecond demo`."""
    new_model("MNIST").save(directory / "runs/demo/model.safetensors")
    return directory


class TestCommandLine:
    def test_the_code_of_the_documentation_runs_on_the_exported_file(self, demo, monkeypatch, capsys):
        """The block of docs/export.md prints the classes that edgecond predicts."""
        monkeypatch.chdir(demo)
        page = (Path(__file__).parent.parent / "docs" / "export.md").read_text(encoding="utf-8")
        (block,) = re.findall(r"```python\n(.*?)```", page, re.DOTALL)

        result = CliRunner().invoke(app, ["export", "runs/demo", "--to", "onnx"])
        exec(block, {})

        lines = result.output.splitlines()
        assert result.exit_code == 0, result.output
        assert lines[0] == "runs/demo/model.onnx"
        assert [line.split()[0] for line in lines[3:]] == list(flat(batch_for(new_model("MNIST"), (4,))))
        model, (_, test) = Model.load(demo / "runs/demo"), datasets.load("digits")
        named = [model.classes[best] for best in model.outputs_per_view(test.take(range(3)), views=1)[0].argmax(1)]
        assert capsys.readouterr().out == f"{named}\n"

    @pytest.mark.parametrize(
        ("arguments", "facts"),
        [
            (["runs/demo", "--to", "tflite"], ["onnx or torch", "got 'tflite'"]),
            (["nowhere"], ["nowhere", "model.safetensors", "`edgecond train`"]),
        ],
    )
    def test_a_wrong_word_is_an_error_of_one_sentence(self, arguments, facts, demo, monkeypatch):
        monkeypatch.chdir(demo)

        result = CliRunner().invoke(app, ["export", *arguments])

        assert (result.exit_code, result.output.count("\n")) == (2, 1)
        assert [fact for fact in facts if fact not in result.output] == []
