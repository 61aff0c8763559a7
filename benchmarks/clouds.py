"""Trains VoxNet and PointNet on the folds of Sydney Urban Objects, beside `edgecond reproduce sydney/ecc`: Section 4.1.

    python -m benchmarks.clouds --method voxnet --fold 0 --seeds 1

Each method, fold and seed writes a record, results/clouds/sydney/METHOD/foldK-seedS.json; where there is one already,
nothing is done. All networks have the folds and the augmentation of the paper's row, and one view of a test object.
The peers are trained by Adam on a cosine schedule for as many epochs as the row, not as in their papers.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterator
from datetime import datetime, UTC
from typing import Any

import numpy as np
import torch
from torch import nn, Tensor

from benchmarks.peers_clouds import occupancy, PointNet, VoxNet
from benchmarks.processes import measured
from benchmarks.records import processor, ROOT
from edgecond.data.augment import augment
from edgecond.data.datasets import sydney
from edgecond.data.examples import Examples
from edgecond.files import write_atomic
from edgecond.graph import Cloud
from edgecond.nn.tasks import TASKS
from edgecond.runs.model import versions

RECORDS = ROOT / "results" / "clouds" / "sydney"
EPOCHS, BATCH_SIZE, LEARNING_RATE = 250, 32, 1e-3
POINTS = 512  # of a cloud for PointNet, drawn with replacement

Input = Callable[[Cloud, np.random.Generator], Tensor]


def grid(cloud: Cloud, rng: np.random.Generator) -> Tensor:
    """Return the occupancy grid of a cloud."""
    return occupancy(cloud.positions)


def points(cloud: Cloud, rng: np.random.Generator) -> Tensor:
    """Return a fixed number of points about the centre of the cloud, in metres: their scale is a clue to the class."""
    centred = cloud.positions - cloud.positions.mean(0)
    return centred[torch.from_numpy(rng.integers(len(centred), size=POINTS))]


METHODS: dict[str, tuple[Callable[[int], nn.Module], Input]] = {
    "voxnet": (VoxNet, grid),
    "pointnet": (PointNet, points),
}


def batches(examples: Examples, prepare: Input, rng: np.random.Generator) -> Iterator[tuple[Tensor, Tensor]]:
    """Yield the inputs and classes of an epoch, all examples in random order and augmented.

    A last batch of one example is left out, which batch normalisation cannot take.
    """
    order = rng.permutation(len(examples))
    for chosen in np.split(order, range(BATCH_SIZE, len(order), BATCH_SIZE)):
        if len(chosen) > 1:
            inputs = [prepare(augment(examples.clouds[index], rng), rng) for index in chosen.tolist()]
            yield torch.stack(inputs), examples.ys[chosen]


def train(method: str, parts: tuple[Examples, Examples], seed: int, epochs: int = EPOCHS) -> dict[str, Any]:
    """Train the network of a method, and return the metrics on the test set."""
    examples, test = parts
    build, prepare = METHODS[method]
    torch.manual_seed(seed)
    rng, network = np.random.default_rng(seed), build(len(examples.classes))
    optimizer = torch.optim.Adam(network.parameters(), LEARNING_RATE)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, epochs)
    for _ in range(epochs):
        for x, y in batches(examples, prepare, rng):
            optimizer.zero_grad()
            nn.functional.cross_entropy(network(x), y).backward()
            optimizer.step()
        schedule.step()
    network.eval()
    with torch.no_grad():
        scores = torch.cat([network(prepare(cloud, rng)[None]) for cloud, _ in test])
    task = TASKS["classification"].fit(examples.ys, len(examples.classes))
    metrics = task.evaluate(test.ys.numpy(), scores.softmax(1).numpy()[None])
    return {"metrics": metrics, "epochs": epochs, "data": test.digest, "versions": versions()}


def train_fold(method: str, fold: int, seed: int, epochs: int) -> dict[str, Any]:
    """Train and test a method on a fold of Sydney."""
    return train(method, sydney.load(fold), seed, epochs)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--method", choices=METHODS, action="append", help="all by default; may be repeated")
    parser.add_argument("--fold", type=int, choices=range(sydney.FOLDS), action="append", help="all by default")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--epochs", type=int, default=EPOCHS, help="other than the default: nothing is recorded")
    given = parser.parse_args()
    for method in given.method or METHODS:
        for fold in given.fold or range(sydney.FOLDS):
            for seed in range(given.seeds):
                path = RECORDS / method / f"fold{fold}-seed{seed}.json"
                if path.exists() and given.epochs == EPOCHS:
                    continue
                record = {
                    **measured(train_fold, method, fold, seed, given.epochs),
                    "row": f"clouds/sydney/{method}",
                    "fold": fold,
                    "seed": seed,
                    "date": datetime.now(UTC).date().isoformat(),
                    "threads": 1,
                    "processor": processor(),
                }
                if given.epochs == EPOCHS:
                    write_atomic(path, (json.dumps(record, indent=1) + "\n").encode())
                metrics = {name: round(value, 3) for name, value in record["metrics"].items()}
                print(method, fold, seed, metrics, f"{record['processor_seconds']} s", flush=True)


if __name__ == "__main__":
    main()
