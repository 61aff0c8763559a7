"""The readers of models, checkpoints, logs, records, recipes and caches, for `tests.readers`."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors import safe_open
from safetensors.numpy import load as load_arrays
from safetensors.numpy import save as save_arrays
from safetensors.torch import load, save

from edgecond import EdgeCondClassifier, EdgeCondRegressor
from edgecond.data.samples import store
from edgecond.nn.checkpoint import KEY
from edgecond.nn.training import Training
from edgecond.paper import fair, tables
from edgecond.report import history
from edgecond.runs.model import Model
from edgecond.runs.recipe import find, read
from edgecond.runs.run import Run, train
from edgecond.runs.source import FILE, Source
from edgecond.runs.train import Train
from tests.fuzzing import damaged_json, Reader
from tests.pyramids import random_graphs

ROOT = Path(__file__).parents[1]
CLOUD = np.random.default_rng(0).normal(size=(9, 3)).astype(np.float32)


def written(write: Callable[[Path], object]) -> Callable[[], bytes]:
    """Return a function that returns what another one writes to a file, which is called once."""

    @cache
    def content() -> bytes:
        with tempfile.TemporaryDirectory() as directory:
            write(Path(directory) / "file")
            return (Path(directory) / "file").read_bytes()

    return content


def block(whole: Callable[[], bytes]) -> Callable[[], bytes]:
    """Return a function that returns the JSON in a safetensors file."""

    @cache
    def text() -> bytes:
        with tempfile.NamedTemporaryFile() as file:
            file.write(whole())
            file.flush()
            with safe_open(file.name, "pt") as opened:
                return opened.metadata()[KEY].encode()

    return text


def with_block(whole: Callable[[], bytes]) -> Callable[[bytes], bytes]:
    """Return a function that returns the safetensors file with other JSON."""
    tensors = cache(lambda: load(whole()))
    return lambda text: save(tensors(), {KEY: text.decode("utf-8", "replace")})


def both(name: str, file: str, whole: Callable[[], bytes], use: Callable[[Path], object]) -> dict[str, Reader]:
    """Damage the bytes of a safetensors file, or the JSON in it."""
    return {
        f"{name}, bytes": Reader(file, whole, use),
        f"{name}, JSON": Reader(file, block(whole), use, damaged_json, with_block(whole)),
    }


# Models


def predict(rows: Callable[[], Any], loaded: Callable[[Path], Any] = Model.load) -> Callable[[Path], object]:
    """Return a function that loads a model and predicts."""
    return lambda path: loaded(path).predict(rows())


def clouds() -> Any:
    return [CLOUD]


def molecules() -> Any:
    return ["CCO", "c1ccccc1"]


def four_columns() -> Any:
    return [np.pad(CLOUD, [(0, 0), (0, 1)])]


@cache
def graphs() -> Any:
    from torch_geometric.data import Data

    ends = torch.tensor([[0, 1, 1, 2, 2, 3], [1, 0, 2, 1, 3, 2]])
    return [
        Data(x=torch.eye(4)[order], edge_index=ends, edge_attr=torch.ones(6, 1)) for order in ([0, 1, 2, 3], [0] * 4)
    ]


def fixture(name: str) -> Callable[[], bytes]:
    return (ROOT / "tests/fixtures" / f"{name}.safetensors").read_bytes


def save_classifier(path: Path) -> None:
    estimator = EdgeCondClassifier(epochs=1, batch_size=4, random_state=0, network="C(4)-MP(0.5,1)-C(4)-GAP-FC(2)")
    estimator.fit([CLOUD + shift for shift in range(4)], np.array(["a", "b"] * 2)).save(path)


def save_regressor(path: Path) -> None:
    estimator = EdgeCondRegressor(epochs=1, batch_size=4, random_state=0, network="C(4)-C(4)-GAP-FC(1)")
    estimator.fit(["CCO", "CC", "c1ccccc1", "CN"], np.array([1.0, 2.0, 3.0, 4.0])).save(path)


def save_graph_classifier(path: Path) -> None:
    estimator = EdgeCondClassifier(epochs=1, batch_size=4, random_state=0, network="C(4)-MP-C(4)-GAP-FC(2)")
    estimator.fit(2 * graphs(), np.array(["a", "b"] * 2)).save(path)


def save_multilabel(path: Path) -> None:
    estimator = EdgeCondClassifier(epochs=1, batch_size=4, random_state=0, network="C(4)-GAP-FC(2)")
    estimator.fit([CLOUD + shift for shift in range(4)], np.array([[0, 1], [1, 0], [1, 1], [0, 0]])).save(path)


ESTIMATORS = {
    **both("classifier", "m.safetensors", written(save_classifier), predict(clouds, EdgeCondClassifier.load)),
    **both("regressor", "m.safetensors", written(save_regressor), predict(molecules, EdgeCondRegressor.load)),
    **both(
        "graph classifier", "m.safetensors", written(save_graph_classifier), predict(graphs, EdgeCondClassifier.load)
    ),
    **both("multilabel", "m.safetensors", written(save_multilabel), EdgeCondClassifier.load),
    **both("cloud model of format 1", "m.safetensors", fixture("clouds-1"), predict(four_columns)),
    **both("graph model of format 1", "m.safetensors", fixture("graphs-1"), Model.load),
}


# Runs


RECIPE = find("synthetic/ecc").model_copy(
    update={
        "options": {"train": 12, "test": 6, "points": 32},
        "train": Train(epochs=2, batch_size=6, learning_rate=0.05),
    }
)


@cache
def run() -> tuple[Model, dict[str, bytes]]:
    """A run that has ended: its model and its files."""
    with tempfile.TemporaryDirectory() as directory:
        trained = train(RECIPE, directory=Path(directory))
        return trained.model, {path.name: path.read_bytes() for path in Path(directory).iterdir()}


def resume(path: Path) -> None:
    model, files = run()
    network = load(files["model.safetensors"])
    model.network.load_state_dict({name.removeprefix("network."): tensor for name, tensor in network.items()})
    made_of = json.loads(block(checkpoint)())["settings"]
    training = Training(model.network, RECIPE.train.make_schedule(), task=model.task)
    again = Run(path.parent, made_of, training)
    again.resume(2)
    assert training.epoch == len(again.history)


def checkpoint() -> bytes:
    return run()[1]["checkpoint.safetensors"]


def log() -> bytes:
    return run()[1]["log.jsonl"]


SOURCE = {
    "path": "/data",
    "smiles": None,
    "target": ["logS"],
    "meshes": False,
    "vertices": None,
    "columns": {"x": "X"},
    "up": "z",
    "numbers": False,
    "method": None,
    "file": None,
    "test": None,
    "validation": None,
    "share": 0.1,
    "time": None,
    "split_column": None,
    "final": False,
    "scaffold": False,
    "group": None,
    "folds": 5,
    "fold": 0,
    "seed": 0,
}
RUNS = {
    **both("checkpoint", "checkpoint.safetensors", checkpoint, resume),
    "log": Reader("log.jsonl", log, lambda path: history(path.parent)),
    "log, JSON": Reader(
        "log.jsonl",
        lambda: json.dumps([json.loads(line) for line in log().splitlines()]).encode(),
        lambda path: history(path.parent),
        damaged_json,
        lambda text: text.strip(b"[]").replace(b"}, {", b"}\n{"),
    ),
    "source": Reader(FILE, lambda: json.dumps(SOURCE).encode(), lambda path: Source.load(path.parent), damaged_json),
}


# Recipes, records and caches


def recipe(path: Path) -> None:
    read(path.read_text("utf-8", "replace"), path.name)


RECIPES = {
    f"recipe of {name}": Reader(f"{name}.toml", (ROOT / f"src/edgecond/paper/recipes/{name}.toml").read_bytes, recipe)
    for name in ("sydney", "modelnet10", "nci1")
}
RECORD = "mutag/ecc/fold0-seed0.json"


def record(path: Path) -> None:
    results = path.parents[2]
    for entry in [*tables.entries(4, results), *tables.gains(results), *tables.experiments(results)]:
        _ = entry.cells if isinstance(entry, tables.Comparison) else (entry.rerun, entry.spread)


def assessment(path: Path) -> None:
    for found in fair.assessments(path.parents[3]):
        _ = found.rerun, found.choices


GRAPHS = random_graphs([12, 1, 30, 2, 7])
LEVELS, COPIES = 3, 2


@cache
def pyramids() -> dict[str, np.ndarray]:
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "cache"
        work = partial(store._pyramids_of, GRAPHS, LEVELS, COPIES, 0, 10, False)
        store._write(path, store._computed(GRAPHS, work, 1, lambda done, total: None))
        return load_arrays(path.read_bytes())


def cached_pyramids(path: Path) -> None:
    """Pyramids that are read from the cache can be used."""
    arrays = store._read(path, GRAPHS, LEVELS, COPIES)
    if arrays is not None:
        packed = store._packed_up(GRAPHS, LEVELS, COPIES, arrays)
        sample = packed.sample(np.arange(len(GRAPHS)), np.ones(len(GRAPHS), np.int64))
        for finer, coarser, pool_map in zip(
            sample.pyramid.graphs, sample.pyramid.graphs[1:], sample.pyramid.pool_maps, strict=False
        ):
            assert len(pool_map) == finer.num_vertices
            assert not len(pool_map) or 0 <= pool_map.min() <= pool_map.max() < coarser.num_vertices


def sealed(data: bytes) -> bytes:
    """Return a cache of these numbers with the digest that belongs to them."""
    arrays, at = {}, 0
    for name, array in pyramids().items():
        part = data[at : at + array.nbytes]
        arrays[name] = np.frombuffer(part[: len(part) // array.itemsize * array.itemsize], array.dtype)
        at += array.nbytes
    return save_arrays(arrays, {"digest": store._digest(arrays)})


CACHES = {
    "cache": Reader("c", lambda: save_arrays(pyramids(), {"digest": store._digest(pyramids())}), cached_pyramids),
    "cache with its digest": Reader(
        "c", lambda: b"".join(array.tobytes() for array in pyramids().values()), cached_pyramids, pack=sealed
    ),
}
RECORDS = {
    "record": Reader(RECORD, (ROOT / "results" / RECORD).read_bytes, record, damaged_json),
    "record of an assessment": Reader(
        "fair/enzymes/selected/fold0-seed0.json",
        (ROOT / "results/fair/enzymes/selected/fold0-seed0.json").read_bytes,
        assessment,
        damaged_json,
    ),
}

MODELS = {**ESTIMATORS, **RUNS, **RECIPES, **CACHES, **RECORDS}
