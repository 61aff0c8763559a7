"""Predictions and fits are the same from eight threads at once as from one alone.

Two seconds each by default; EDGECOND_STRESS=600 takes ten minutes for each test.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch

from edgecond import EdgeCondClassifier, EdgeCondRegressor
from edgecond.runs.model import Model
from tests.threads import compared

SECONDS = float(os.environ.get("EDGECOND_STRESS", "2"))
SMILES = ["CCO", "c1ccccc1", "C[C@H](O)N", "CC(=O)Oc1ccccc1C(=O)O", "[Na+].[Cl-]", "CCCCCCCC", "C/C=C/C", "N#N"]


def clouds(seed: int, count: int = 4) -> list[np.ndarray]:
    rng = np.random.default_rng(seed)
    return [rng.random((rng.integers(5, 60), 3), np.float32) for _ in range(count)]


def images(seed: int, count: int = 4) -> np.ndarray:
    """Clouds with the same positions, whose pyramid is kept."""
    rng, side = np.random.default_rng(seed), 4 + seed % 3
    grid = np.stack(np.meshgrid(range(side), range(side), [0]), -1).reshape(-1, 3)
    return np.stack([np.concatenate([grid, rng.random((len(grid), 1))], 1) for _ in range(count)]).astype(np.float32)


def graphs(seed: int, count: int = 4) -> list[Any]:
    """Paths of random length with some more edges."""
    from torch_geometric.data import Data

    rng, found = np.random.default_rng(seed), []
    for _ in range(count):
        n = int(rng.integers(4, 20))
        ends = np.concatenate([[np.arange(n - 1), np.arange(1, n)], rng.integers(n, size=(2, 5))], 1)
        ends = np.unique(np.sort(ends[:, ends[0] != ends[1]], 0), axis=1)
        both = torch.from_numpy(np.concatenate([ends, ends[::-1]], 1))
        labels = torch.nn.functional.one_hot(torch.from_numpy(rng.integers(3, size=n)), 3).float()
        found.append(Data(x=labels, edge_index=both, edge_attr=torch.ones(both.shape[1], 1)))
    return found


def molecules(seed: int, count: int = 4) -> list[str]:
    return np.random.default_rng(seed).choice(SMILES, count).tolist()


KINDS = {
    "clouds": (EdgeCondClassifier, clouds, "C(8)-MP(0.3,0.6)-C(8)-GAP-FC(8)-D(0.5)-FC(2)"),
    "images": (EdgeCondClassifier, images, "C(8)-MP(2,3.4)-C(8)-GAP-FC(8)-D(0.5)-FC(2)"),
    "graphs": (EdgeCondClassifier, graphs, "C(8)-MP-C(8)-GAP-FC(8)-D(0.5)-FC(2)"),
    "molecules": (EdgeCondRegressor, molecules, "C(8)-C(8)-GAP-FC(8)-D(0.5)-FC(1)"),
}


def fitted(kind: str, seed: int = 0) -> Any:
    estimator, rows, network = KINDS[kind]
    y = np.arange(8) % 2 if estimator is EdgeCondClassifier else np.linspace(0, 1, 8)
    return estimator(network=network, epochs=2, batch_size=4, random_state=seed).fit(rows(seed, 8), y)


def weights(kind: str, seed: int) -> bytes:
    """Fit an estimator, and return all numbers of its network."""
    state = fitted(kind, seed).model_.network.state_dict()
    return b"".join(tensor.numpy().tobytes() for tensor in state.values())


def outputs(predict: Callable[[Any], np.ndarray], rows: Any) -> bytes:
    return np.ascontiguousarray(predict(rows)).tobytes()


def loaded(path: Path, rows: Any) -> bytes:
    return outputs(Model.load(path).predict, rows)


def test_predictions_of_eight_threads_are_those_of_one(tmp_path: Path):
    """Through models, estimators, and a model that each thread loads; the threads share what is kept in memory."""
    work: dict[str, Callable[[], bytes]] = {}
    for kind, (_, rows, _) in KINDS.items():
        estimator, path, parts = fitted(kind), tmp_path / f"{kind}.safetensors", [rows(seed) for seed in range(6)]
        estimator.save(path)
        model, score = Model.load(path), getattr(estimator, "predict_proba", estimator.predict)
        for number, part in enumerate(parts):
            work[f"model of {kind} {number}"] = partial(outputs, model.predict, part)
            work[f"estimator of {kind} {number}"] = partial(outputs, score, part)
        work[f"loaded model of {kind}"] = partial(loaded, path, parts[0])

    calls, different = compared(work, SECONDS)

    print(f"{calls:,} predictions")
    assert not different


def test_fits_of_eight_threads_are_those_of_one():
    """The parameters, the order of examples and dropout are drawn from the random seed of the estimator alone."""
    work = {f"{kind} {seed}": partial(weights, kind, seed) for kind in KINDS for seed in (0, 1)}

    calls, different = compared(work, SECONDS)

    print(f"{calls:,} fits")
    assert not different


COLD = """
import sys
from concurrent.futures import ThreadPoolExecutor
import numpy as np
import edgecond

def predict(number):
    kind, path = (("Classifier", sys.argv[1]), ("Regressor", sys.argv[2]))[number % 2]
    rows = ["CCO", "c1ccccc1"] if number % 2 else [np.linspace(0, 1, 30).reshape(10, 3)]
    return getattr(edgecond, f"EdgeCond{kind}").load(path).predict(rows).tolist()

sys.setswitchinterval(1e-6)
with ThreadPoolExecutor(8) as pool:
    first = list(pool.map(predict, range(8)))
assert first == [predict(number) for number in range(8)], first
"""


def test_the_first_predictions_of_a_program_may_come_from_eight_threads(tmp_path: Path):
    """Modules are imported, and kernels loaded, when they are first used."""
    paths = [tmp_path / "clouds.safetensors", tmp_path / "molecules.safetensors"]
    for path in paths:
        fitted(path.stem).save(path)

    done = subprocess.run([sys.executable, "-c", COLD, *map(str, paths)], capture_output=True, text=True, timeout=300)

    assert done.returncode == 0, done.stderr


def test_fits_leave_the_random_numbers_of_torch_as_they_were():
    """Otherwise a fit in one thread would change what the program draws in another."""
    torch.manual_seed(7)
    before = torch.get_rng_state()

    fitted("clouds")

    assert torch.equal(torch.get_rng_state(), before)
