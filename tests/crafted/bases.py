"""Good files that the crafted ones are made of: models, an estimator, a checkpoint, and the examples they are for."""

from __future__ import annotations

import json
from collections.abc import Callable
from copy import deepcopy
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace
from typing import Any

import numpy as np
import torch
from safetensors import safe_open
from safetensors.torch import save, save_file
from torch import Tensor

from edgecond import EdgeCondClassifier
from edgecond.nn.checkpoint import KEY
from edgecond.runs.recipe import find
from edgecond.runs.run import train
from edgecond.runs.train import Train

CLOUDS = Path(__file__).parents[1] / "fixtures" / "clouds-1.safetensors"
RECIPE = find("synthetic/ecc").model_copy(
    update={
        "options": {"train": 6, "test": 6, "points": 16},
        "train": Train(epochs=1, batch_size=6, learning_rate=0.05),
    }
)

Change = Callable[[dict[str, Any], dict[str, Tensor]], object]


@cache
def _folder() -> TemporaryDirectory[str]:
    return TemporaryDirectory()  # removed when the process ends


@cache
def model_of(kind: str) -> Path:
    """Return the file of a model of clouds, of graphs, or of rows that an estimator was fitted to; or a checkpoint."""
    file = Path(_folder().name) / f"{kind}.safetensors"
    if kind == "clouds":
        return CLOUDS
    if kind == "checkpoint":
        train(RECIPE, directory=file.parent / "run")
        return file.parent / "run" / "checkpoint.safetensors"
    rows = graphs() if kind == "graphs" else [np.random.default_rng(i).normal(size=(9, 3)) for i in range(6)]
    network = "C(4)-MP-C(4)-GAP-FC(2)" if kind == "graphs" else "C(4)-MP(1,2)-C(4)-GAP-FC(2)"
    estimator = EdgeCondClassifier(epochs=1, batch_size=6, network=network, random_state=0)
    estimator.fit(rows, np.array(list("ababab"))).save(file)
    return file


def graphs() -> list[SimpleNamespace]:
    """Return six paths of three vertices, with one-hot signals."""
    ends = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]])
    return [SimpleNamespace(edge_index=ends, num_nodes=3, x=torch.eye(3)) for _ in range(6)]


def write_graphs(file: Path) -> None:
    """Write two of these graphs as the tensors of a batch."""
    ends = graphs()[0].edge_index
    tensors = {"edge_index": torch.cat([ends, ends + 3], 1), "ptr": torch.tensor([0, 3, 6])}
    save_file(tensors | {"x": torch.eye(3).repeat(2, 1)}, file)


@cache
def _parts(kind: str) -> tuple[dict[str, Any], dict[str, Tensor]]:
    with safe_open(model_of(kind), "pt") as file:
        return json.loads(file.metadata()[KEY]), {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118


def changed(kind: str, change: Change) -> bytes:
    """Return a good file with other JSON or other tensors in it."""
    about, tensors = deepcopy(_parts(kind))
    change(about, tensors)
    return save(tensors, {KEY: json.dumps(about)})
