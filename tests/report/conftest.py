"""Untrained runs on each kind of data, which is all that a report needs."""

import json
from dataclasses import dataclass

import numpy as np
import pytest
import torch

from edgecond.data import datasets
from edgecond.data.graphs import GraphExamples
from edgecond.notation import Architecture
from edgecond.runs import user_data
from edgecond.runs.model import FILE, Model
from edgecond.runs.recipe import find, with_settings
from tests.meshes import BOX, mesh_of, SPHERE, TORUS
from tests.pyramids import random_graphs

EPOCHS = [
    {"epoch": 1, "loss": 1.5, "accuracy": 0.25, "learning_rate": 0.1, "seconds": 2.0},
    {"epoch": 2, "loss": 1.25, "accuracy": 0.5, "learning_rate": 0.01, "seconds": 4.1},
]


@dataclass(frozen=True)
class Made:
    """The directory of a run, its model and its test set."""

    directory: object
    model: Model
    test: object


def made(directory, recipe, train, test, epochs=EPOCHS):
    """Write the files that `edgecond train` writes."""
    model = Model.new(recipe, train, 0)
    model.about.update(fold=0, epochs=len(epochs))
    model.save(directory / FILE)
    (directory / "log.jsonl").write_text("".join(json.dumps(epoch) + "\n" for epoch in epochs))
    return Made(directory, model, test)


def of_clouds(directory, row="synthetic/ecc", **changes):
    options = {"train": 6, "test": 18, "points": 80} if row == "synthetic/ecc" else {}
    recipe = find(row).model_copy(update={"options": options, **changes})
    return made(directory, recipe, *datasets.load(recipe.dataset, **options))


def of_graphs(directory, network="C(4)-MP-C(5)-GAP-FC(2)", targets=None, **changes):
    recipe = find("nci1/ecc").model_copy(update={"network": Architecture(network), **changes})
    outcomes = ("logS",) if targets is not None else ()
    examples = GraphExamples(random_graphs([9, 12, 1, 20, 7, 15]), np.arange(6), targets, outcomes)
    metric = "accuracy" if targets is None else "mse"
    epochs = [{metric if name == "accuracy" else name: value for name, value in epoch.items()} for epoch in EPOCHS]
    return made(directory, recipe, examples, examples, epochs)


def of_meshes(directory):
    """A sphere, a box and a torus, six times each, as meshes."""
    network = Architecture("C(4)-MP(0.5,1)-C(4)-MP(1,2)-C(4)-GMP-FC(3)")
    recipe = with_settings(find("synthetic/ecc"), {"input.edges": "mesh", "input.resolution": 0.2, "input.radius": 0.4})
    shapes = [mesh_of(shape) for shape in (BOX, SPHERE, TORUS)] * 6
    ys = torch.arange(len(shapes)) % 3
    examples = datasets.Examples("solids", ("box", "sphere", "torus"), shapes, ys, "solids")
    return made(directory, recipe.model_copy(update={"network": network}), examples, examples)


SMILES = ["CCO", "c1ccccc1O", "CC(=O)Nc1ccc(O)cc1", "[Na+].[O-]S(=O)(=O)c1ccc(Cl)cc1", "FC(Br)(I)CP", "C[C@H](N)C(=O)O"]


def of_molecules(directory, task):
    """A table of molecules with targets for a task: a class, labels with a blank, or a number."""
    columns = {"classification": ["kind"], "multilabel": ["toxic", "soluble"], "regression": ["logS"]}[task]
    rows = []
    for number, text in enumerate(SMILES * 4):
        even = number % 2 == 0
        rows.append(
            [text, "odd" if even else "<b>even</b>", number % 3 // 2, "" if number == 0 else int(even), number / 4]
        )
    header = ["smiles", "kind", "toxic", "soluble", "logS"]
    (directory / "table.csv").write_text("".join(",".join(map(str, row)) + "\n" for row in [header, *rows]))
    dataset = user_data.read(directory / "table.csv", target=columns, folds=2)
    changes = {"sparsifications": 1, "network": Architecture(f"C(4)-MP-C(5)-GAP-FC({len(dataset.train.classes)})")}
    metric = "mse" if task == "regression" else "accuracy"
    epochs = [{metric if name == "accuracy" else name: value for name, value in epoch.items()} for epoch in EPOCHS]
    return made(directory, dataset.recipe.model_copy(update=changes), dataset.train, dataset.test, epochs)


@pytest.fixture(scope="module")
def cache(tmp_path_factory):
    """A new cache for the pyramids of graphs."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("EDGECOND_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture(scope="module")
def clouds(tmp_path_factory):
    return of_clouds(tmp_path_factory.mktemp("clouds"))


@pytest.fixture(scope="module")
def meshes(tmp_path_factory):
    return of_meshes(tmp_path_factory.mktemp("meshes"))


@pytest.fixture(scope="module")
def images(tmp_path_factory):
    return of_clouds(tmp_path_factory.mktemp("images"), "digits/ecc")


@pytest.fixture(scope="module")
def graphs(tmp_path_factory, cache):
    return of_graphs(tmp_path_factory.mktemp("graphs"))


@pytest.fixture(scope="module")
def molecules(tmp_path_factory, cache):
    return of_molecules(tmp_path_factory.mktemp("molecules"), "classification")


@pytest.fixture(scope="module")
def multilabel(tmp_path_factory, cache):
    return of_molecules(tmp_path_factory.mktemp("multilabel"), "multilabel")


@pytest.fixture(scope="module")
def regression(tmp_path_factory, cache):
    return of_molecules(tmp_path_factory.mktemp("regression"), "regression")
