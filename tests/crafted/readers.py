"""What people do with a file that somebody sent them, as functions of its path."""

from __future__ import annotations

import os
import shutil
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from edgecond import EdgeCondClassifier
from edgecond.cli.running import load_parts
from edgecond.data import archives
from edgecond.data.formats import batch, read_points, read_surface, smiles, tu
from edgecond.data.points import to_mesh
from edgecond.data.samples.clouds import Builder, CloudSource
from edgecond.data.samples.store import pyramids
from edgecond.errors import DataError
from edgecond.paper import fair, tables
from edgecond.report import history
from edgecond.runs import run, user_data
from edgecond.runs.model import Model
from edgecond.runs.prediction import predictions
from edgecond.runs.source import Source
from tests.crafted.bases import model_of, RECIPE, write_graphs


def mesh(path: Path) -> Any:
    builder = Builder(((0.01, 0.02), (0.05, 0.1)), meshes=True)
    return CloudSource([(to_mesh(read_surface(path), (), path), 0)], builder).sample([0], 0)


def graphs(path: Path) -> Any:
    found = tu.read(path)
    return found.graph(), found.signal(attributes=True)


def tensors(path: Path) -> Any:
    found = batch.read(path).graphs
    return found.graph(), found.signal(attributes=True)


def pyramid(path: Path) -> Any:
    return pyramids(batch.read(path).graphs, 3, jobs=1, alone=True)


def cached(path: Path) -> Any:
    """Read pyramids from the cache, in which they were replaced by this file."""
    os.environ["EDGECOND_CACHE"] = tempfile.mkdtemp(dir=examples())
    graphs = batch.read(examples() / "graphs.safetensors").graphs
    before = pyramids(graphs, 3, jobs=1)
    (file,) = Path(os.environ["EDGECOND_CACHE"]).glob("*.safetensors")
    shutil.copy(path, file)
    assert pyramids(graphs, 3, jobs=1).digest == before.digest


def table(path: Path) -> Any:
    found = smiles.read(path, target=())
    pieces = [smiles.read_chunk(chunk) for chunk in smiles.chunks(path)]
    return found.graphs.graph(), found.graphs.signal(attributes=True), pieces


def data(path: Path) -> Any:
    """Read user data as `edgecond train` does, up to the first batch of an untrained network."""
    found = user_data.read(path, folds=2)
    model = Model.new(found.recipe, found.train, 0, transient=True)
    return model.batches(found.train, 0).batch(0, 0)


def predict(path: Path) -> Any:
    """Predict a cloud or a batch of graphs with a model."""
    model = Model.load(path)
    files = [examples() / ("cloud.npy" if model.kind.name == "clouds" else "graphs.safetensors")]
    return _predicted(model, files)


def predicted(path: Path) -> Any:
    """Predict the class of a cloud or of graphs by a model of ours."""
    return _predicted(Model.load(model_of("graphs" if path.suffix in (".zip", ".safetensors") else "clouds")), [path])


def _predicted(model: Model, files: list[Path]) -> Any:
    sentences: list[str] = []
    rows = list(predictions(model, files, report=sentences.append))
    if sentences:
        raise DataError(sentences[0])
    return rows


def evaluate(path: Path) -> Any:
    model = Model.load(path)
    _, test = load_parts(path, model)
    return model.evaluate(test)


def checkpoint(path: Path) -> Any:
    """Resume a run whose directory holds this checkpoint."""
    directory = Path(tempfile.mkdtemp(dir=examples()))
    shutil.copy(path, directory / "checkpoint.safetensors")
    return run.train(RECIPE, directory=directory)


def records(path: Path) -> Any:
    """Make every table from a directory of records."""
    return [tables.entries(number, path) for number in tables.tables()], tables.experiments(path), tables.gains(path)


READERS = {
    "points": read_points,
    "mesh": mesh,
    "arrays": archives.read_npz,
    "archive": archives.read_archive,
    "graphs": graphs,
    "tensors": tensors,
    "pyramid": pyramid,
    "cached": cached,
    "table": table,
    "data": data,
    "model": Model.load,
    "estimator": EdgeCondClassifier.load,
    "predict": predict,
    "predicted": predicted,
    "evaluate": evaluate,
    "checkpoint": checkpoint,
    "log": history,
    "source": Source.load,
    "records": records,
    "fair records": fair.assessments,
}

COARSENERS = {"pyramid", "data", "predict", "predicted"}
"""Those that make pyramids of graphs."""


@cache
def examples() -> Path:
    """A directory with a cloud and a batch of graphs."""
    folder = Path(tempfile.mkdtemp())
    np.save(folder / "cloud.npy", np.random.default_rng(0).random((50, 4), np.float32))
    write_graphs(folder / "graphs.safetensors")
    return folder


def warm_up() -> None:
    """Import what is imported on first use, so that no file is charged for it."""
    predict(model_of("clouds"))
    evaluate(model_of("clouds"))
    predict(model_of("graphs"))
    run.train(RECIPE, directory=None)
    (examples() / "table.csv").write_text("smiles\nCCO\nC[C@H](O)N\n")
    table(examples() / "table.csv")
