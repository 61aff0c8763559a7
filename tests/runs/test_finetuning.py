"""A training that starts from a model keeps what both have, draws what is new, and resumes from that model only."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import torch

from edgecond.data.kinds import ReadOptions, Split
from edgecond.errors import CheckpointError, RecipeError
from edgecond.runs import ensemble, user_data
from edgecond.runs.finetuning import inputs_of, Start
from edgecond.runs.model import Model
from edgecond.runs.run import Interrupted, Trained
from tests.sentences import mentions

SETTINGS = {"network": "C(4)-C(4)-GAP-FC(4)-FC(2)", "hidden": [4], "train.epochs": 2, "train.batch_size": 4}


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EDGECOND_CACHE", str(tmp_path / "cache"))


def graphs(
    folder: Path, vertices: tuple[int, int], bonds: tuple[int, int], classes: tuple[int, int], scale=1.0
) -> Path:
    """Twelve pairs of vertices with these labels, edges and classes, and an attribute of each vertex."""
    folder.mkdir(parents=True)
    count = 12
    files = {
        "A": [f"{a}, {b}" for n in range(count) for a, b in ((2 * n + 1, 2 * n + 2), (2 * n + 2, 2 * n + 1))],
        "graph_indicator": [n + 1 for n in range(count) for _ in range(2)],
        "graph_labels": [classes[n % 2] for n in range(count)],
        "node_labels": [label for _ in range(count) for label in vertices],
        "edge_labels": [bonds[n % 2] for n in range(count) for _ in range(2)],
        "node_attributes": [scale * (n % 5) for n in range(2 * count)],
    }
    for name, lines in files.items():
        (folder / f"{folder.name}_{name}.txt").write_text("\n".join(map(str, lines)) + "\n")
    return folder


def train(path: Path, start: Start | None = None, directory: Path | None = None, **options) -> Trained:
    loaded = user_data.load(path, ReadOptions(), Split(folds=3))
    settings = dict(SETTINGS)
    if start is not None:
        loaded = loaded.starting_from(start)
        del settings["network"], settings["hidden"]
        settings = start.settings(len(loaded.data.examples.classes)) | settings
    dataset = loaded.split(Split(folds=3), settings=settings | options.pop("settings", {}))
    parts = (dataset.train, dataset.test)
    return ensemble.train(dataset.recipe, directory=directory, parts=parts, start=start, **options)


@pytest.fixture
def known(tmp_path: Path) -> Model:
    """A model of graphs with the vertex labels 5 and 7, the edge labels 1 and 3, and the classes 0 and 1."""
    return train(graphs(tmp_path / "A", (5, 7), (1, 3), (0, 1))).model


def columns(model: Model, name: str) -> torch.Tensor:
    """The weights of a column of the signal in the first convolution."""
    weight = model.network.layers[0].conv.filters[-1].weight.detach()
    return weight.view(4, model.widths[0], -1)[:, list(inputs_of(model).signal).index(name)]


def test_known_labels_keep_their_weights_and_new_ones_are_added(tmp_path: Path, known: Model):
    """A new vertex label 6 lies between the known ones, and the edge label 1 does not occur any more."""
    other = graphs(tmp_path / "B", (6, 7), (3, 4), (0, 1))
    start = Start(known)
    loaded = user_data.load(other, ReadOptions(), Split(folds=3)).starting_from(start)
    dataset = loaded.split(Split(folds=3), settings=start.settings(2))
    model = Model.new(dataset.recipe, dataset.train, 1, transient=True, start=known)

    start.begin(model)

    assert list(inputs_of(model).signal) == ["vertex label 5", "vertex label 6", "vertex label 7", "vertex attribute 0"]
    assert list(inputs_of(model).labels[0])[:4] == ["edge label 1", "edge label 3", "edge label 4", "self-connection"]
    assert torch.equal(columns(model, "vertex label 7"), columns(known, "vertex label 7"))
    assert torch.equal(columns(model, "vertex label 5"), columns(known, "vertex label 5"))
    assert torch.equal(columns(model, "vertex attribute 0"), columns(known, "vertex attribute 0"))
    assert torch.equal(model.network.layers[1].norm.running_mean, known.network.layers[1].norm.running_mean)


def test_the_model_predicts_its_own_and_the_former_data_when_it_is_read_again(tmp_path: Path, known: Model):
    trained = train(graphs(tmp_path / "B", (6, 7), (3, 4), (0, 1)), Start(known), tmp_path / "run")

    model = Model.load(tmp_path / "run")

    assert model.evaluate(trained.test) == trained.model.evaluate(trained.test)
    former = user_data.load(tmp_path / "A", ReadOptions(), Split()).data.examples
    assert len(model.outputs(model.kind.extended(former, model.learned))) == 12
    assert model.about["start"]["name"] == "A"


def test_the_units_of_attributes_are_kept(tmp_path: Path, known: Model):
    """Weights are in these units: the same number means the same, whatever the mean of the new data is."""
    other = graphs(tmp_path / "B", (5, 7), (1, 3), (0, 1), scale=100.0)

    model = train(other, Start(known)).model

    for name in ("vertex_attributes.mean", "vertex_attributes.scale"):
        assert torch.equal(model.preparation.tensors[name], known.preparation.tensors[name])


def test_frozen_layers_are_those_of_the_start_after_training(tmp_path: Path, known: Model):
    other = graphs(tmp_path / "B", (7, 5), (3, 1), (0, 1))

    model = train(other, Start(known, freeze=2)).model

    before, after = known.network.state_dict(), model.network.state_dict()
    changed = {int(name.split(".")[1]) for name in after if not torch.equal(after[name], before[name])}
    assert changed == {3, 4}


def test_what_is_taken_over_and_what_is_new_is_reported(tmp_path: Path, known: Model):
    sentences: list[str] = []

    train(graphs(tmp_path / "B", (6, 7), (1, 3), (1, 2)), Start(known, report=sentences.append))

    text = "\n".join(sentences)
    assert "start: A, 2 convolutions and 2 FC" in text
    assert "signal: 3 kept, 1 new (vertex label 6)" in text
    assert "edge labels: 3 kept" in text
    assert "outputs of the last FC: kept for 1, new for 2" in text
    assert "units: those of known features and attributes are kept" in text


def test_a_run_is_resumed_from_the_same_model_only(tmp_path: Path, known: Model):
    other, directory = graphs(tmp_path / "B", (5, 7), (1, 3), (0, 1)), tmp_path / "run"
    with pytest.raises(Interrupted):
        train(other, Start(known), directory, observe=lambda step, *_: False)

    changed = replace(known, network=known.network)
    with torch.no_grad():
        next(changed.network.parameters()).add_(1.0)
    for start in (Start(changed), Start(known, freeze=1), None):
        settings = {} if start else {"settings": {"attributes": True}}
        with mentions("same settings", "start", kind=CheckpointError):
            train(other, start, directory, **settings)


def test_an_interrupted_run_ends_in_the_same_bits(tmp_path: Path, known: Model):
    other = graphs(tmp_path / "B", (5, 7), (1, 3), (0, 1))
    whole = train(other, Start(known, freeze=1), tmp_path / "whole").model
    with pytest.raises(Interrupted):
        train(other, Start(known, freeze=1), tmp_path / "run", observe=lambda step, *_: step.epoch < 1)

    resumed = train(other, Start(known, freeze=1), tmp_path / "run").model

    for one, two in zip(whole.network.state_dict().values(), resumed.network.state_dict().values(), strict=True):
        assert torch.equal(one, two)


def test_layers_with_something_new_cannot_be_frozen(tmp_path: Path, known: Model):
    with mentions("nothing in them is new", "layer 1, C(4)", "Freeze fewer", kind=RecipeError):
        train(graphs(tmp_path / "B", (6, 7), (1, 3), (0, 1)), Start(known, freeze=1))


@pytest.mark.parametrize(
    ("settings", "freeze", "words"),
    [
        ({"network": "C(8)-GAP-FC(2)"}, 0, ["network of the model", "C(8)-GAP-FC(2)", "--set network"]),
        ({"hidden": [5]}, 0, ["hidden is [5] instead of [4]"]),
        ({}, 4, ["--freeze", "4 layers with weights"]),
    ],
)
def test_another_network_is_refused(tmp_path: Path, known: Model, settings, freeze, words):
    with mentions(*words, kind=RecipeError):
        train(graphs(tmp_path / "B", (5, 7), (1, 3), (0, 1)), Start(known, freeze), settings=settings)


def test_a_model_of_another_kind_of_data_is_refused(tmp_path: Path, known: Model):
    pytest.importorskip("rdkit")
    (tmp_path / "t.csv").write_text("smiles,y\nCCO,0.1\nCCN,0.2\nCCC,0.3\n")
    loaded = user_data.load(tmp_path / "t.csv", ReadOptions(target=("y",)), Split())

    with mentions("must be one of molecules", "A is a model of graphs", kind=RecipeError):
        loaded.starting_from(Start(known))


def test_the_units_of_a_target_are_kept_with_its_weights(tmp_path: Path):
    """Regression: the last FC predicts in standard deviations of the training set that it was trained on."""
    pytest.importorskip("rdkit")

    def model(name: str, target: str, start: Start | None) -> Model:
        rows = [f"{'C' * n}O,{10 * n if start is None else n}" for n in range(1, 13)]
        (tmp_path / name).write_text("\n".join([f"smiles,{target}", *rows]))
        loaded = user_data.load(tmp_path / name, ReadOptions(target=(target,)), Split(folds=3))
        loaded = loaded if start is None else loaded.starting_from(start)
        settings = SETTINGS | {"network": "C(4)-C(4)-GAP-FC(4)-FC(1)"}
        dataset = loaded.split(Split(folds=3), settings=(start.settings(1) if start else {}) | settings)
        return ensemble.train(dataset.recipe, directory=None, parts=(dataset.train, dataset.test), start=start).model

    first = model("a.csv", "length", None)
    same, other = (model(f"{target}.csv", target, Start(first)) for target in ("length", "width"))

    assert same.task.mean == first.task.mean
    assert other.task.mean[0] < first.task.mean[0] / 5
    assert inputs_of(same).features == inputs_of(first).features
    known = {column.name: column for column in first.preparation.encoder.descriptors}
    assert all(known[column.name] == column for column in other.preparation.encoder.descriptors if column.name in known)
