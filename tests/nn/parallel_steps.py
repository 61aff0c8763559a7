"""Training steps of a process, or of one of several under torchrun: `parallel_steps.py FILE TRAINING ...`.

A training is OPTIMIZER[,STEPS...]: the numbers of steps are those before a checkpoint from which it resumes. It is in
double precision, so that only rounding can tell one process from two, and has odd batches, so that the shares differ in
size. The first process writes the steps and the weights of each training.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import torch

from edgecond.data import datasets
from edgecond.nn import parallel
from edgecond.nn.checkpoint import load_checkpoint, save_checkpoint
from edgecond.nn.optimizers import OPTIMIZERS
from edgecond.nn.schedules import Steps
from edgecond.nn.training import Training
from edgecond.runs.ahead import Ahead
from edgecond.runs.model import Model
from edgecond.runs.recipe import find

RECIPE = find("synthetic/ecc").model_copy(update={"dropout": 0.1})


class Double:
    """Batches in double precision."""

    def __init__(self, batches: Ahead) -> None:
        self.batches = batches

    def __len__(self) -> int:
        return len(self.batches)

    def run(self, *where: Any) -> Iterator[Any]:
        return (sample.to(torch.float64) for sample in self.batches.run(*where))


def trained(examples: Any, optimizer: str, interrupted: list[int], checkpoint: Path) -> list[Any]:
    """Return loss, metric and count of each step, and the weights at the end."""

    def started() -> Training:
        network, method = Model.new(RECIPE, examples, 3).network, OPTIMIZERS[optimizer]()
        return Training(network.double(), Steps(3, method.default_learning_rate / 2, (2,)), 3, optimizer=method)

    batches = Model.new(RECIPE, examples, 3).batches(examples, 3, (parallel.rank(), parallel.ranks()))
    double, training, steps = Double(Ahead(batches, 0)), started(), []
    for done in interrupted:
        steps += islice(training.steps(double), done)
        if parallel.rank() == 0:
            save_checkpoint(checkpoint, *training.state())
        parallel.agreed(True)  # it is written
        training = started()
        training.restore(*load_checkpoint(checkpoint))
    steps += training.steps(double)
    weights = {name: value.double().flatten().tolist() for name, value in training.state()[0].items()}
    return [[(step.loss, step.metric, step.count) for step in steps], weights]


def main(file: str, *trainings: str) -> None:
    examples, _ = datasets.load("synthetic", train=45, test=6, points=50)
    with parallel.processes():
        found = {}
        for training in trainings:
            optimizer, *interrupted = training.split(",")
            found[training] = trained(examples, optimizer, list(map(int, interrupted)), Path(f"{file}.checkpoint"))
        if parallel.rank() == 0:
            Path(file).write_text(json.dumps(found))


if __name__ == "__main__":
    main(*sys.argv[1:])
