"""Training step of a row's network and of the same network on `NNConv`: `python -m benchmarks.network ROW`.

ROW is one that `edgecond list` shows: of point clouds, sydney/ecc by default, or of general graphs, whose pyramids are
computed first. Its data are needed.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from statistics import median
from typing import Any

import torch

from benchmarks import page, records
from benchmarks.cases import SEED
from benchmarks.memory import peak_above
from benchmarks.pyg import as_pyg_takes_it, check, PyGNetwork
from benchmarks.timing import clocked, seconds
from edgecond.data import datasets
from edgecond.errors import DataError, RecipeError
from edgecond.graph import Sample
from edgecond.nn.training import Step, Training
from edgecond.runs import recipe
from edgecond.runs.ahead import Ahead
from edgecond.runs.model import Model
from edgecond.runs.recipe import Recipe

ROW = "sydney/ecc"
ROWS = (ROW, "nci1/ecc")  # rows on the page
RIVALS = ("NNConv", "ECConv")
BATCHES = 20  # number of batches that are built, with a step of each rival on each
LOOP = 60  # number of batches of the loop with a worker


@dataclass(frozen=True)
class One:
    """A single batch of an epoch of `count`, for a single step."""

    sample: Sample
    count: int

    def __len__(self) -> int:
        return self.count

    def run(self, epoch: int, batch: int, epochs: int) -> Iterator[Sample]:
        return iter([self.sample])


class Rivals:
    """The trainings of a row, both from the same parameters, and the batches that both learn from."""

    def __init__(self, row: Recipe) -> None:
        train, _ = datasets.load(row.dataset, 0, **row.options)
        model = Model.new(row, train, SEED)
        self.digest = train.digest
        self.batches = model.batches(train, SEED)
        self.small = self.batches.source.sample(range(4), 0)
        ours = model.network
        schedule = row.train.make_schedule()
        self.trainings = {
            "NNConv": Training(PyGNetwork(ours), schedule, SEED),
            "ECConv": Training(ours, schedule, SEED),
        }

    def built(self, workers: int) -> Iterator[Sample]:
        """Iterate over the batches in the order of training, built on demand or ahead by workers."""
        return Ahead(self.batches, workers).run(0, 0, self.trainings["ECConv"].schedule.epochs)

    def step(self, rival: str, sample: Sample) -> Step:
        """Run forward, loss, backward and an optimizer step on a sample that `suited` has converted."""
        return next(self.trainings[rival].steps(One(sample, len(self.batches))))

    def suited(self, rival: str, sample: Sample) -> Sample:
        """Return the sample in the form that a rival's network takes."""
        return as_pyg_takes_it(sample) if rival == "NNConv" else sample

    def check(self, sample: Sample) -> None:
        """Raise an error unless both networks give the same scores and gradients."""
        check(self.trainings["ECConv"].network, self.trainings["NNConv"].network, sample)


def interleaved(row: Recipe, threads: int) -> dict[str, Any]:
    """Time a step of each rival on every batch, in alternating order; each batch is built once.

    PyG gets its edge_index before the clock starts; what our convolutions derive from a graph counts in our time.
    """
    torch.set_num_threads(threads)
    rivals = Rivals(row)
    rivals.check(rivals.batches.batch(0, 0))  # on other copies of batch and networks; it also warms up
    samples = rivals.built(workers=0)
    build: list[float] = []
    step: dict[str, list[float]] = {rival: [] for rival in RIVALS}
    losses: dict[str, list[float]] = {rival: [] for rival in RIVALS}
    sizes = []
    for number in range(min(BATCHES, row.train.epochs * len(rivals.batches))):
        sample, time = clocked(lambda: next(samples))
        build.append(time)
        sizes.append([(graph.num_sources, graph.num_edges) for graph in sample.pyramid.graphs])
        for rival in RIVALS if number % 2 else RIVALS[::-1]:
            suited = rivals.suited(rival, sample)
            done, time = clocked(partial(rivals.step, rival, suited))
            step[rival].append(time)
            losses[rival].append(done.loss)
    theirs, ours = step["NNConv"], step["ECConv"]
    return {
        "batches": len(build),
        "vertices": [median(n for n, _ in level) for level in zip(*sizes, strict=True)],
        "edges": [median(m for _, m in level) for level in zip(*sizes, strict=True)],
        "first_loss": {rival: values[0] for rival, values in losses.items()},
        "build_milliseconds": 1e3 * median(build),
        "step_milliseconds": {rival: 1e3 * median(times) for rival, times in step.items()},
        "step_times_faster": median(p / t for p, t in zip(theirs, ours, strict=True)),
        "times_faster": median((b + p) / (b + t) for b, p, t in zip(build, theirs, ours, strict=True)),
        "build_share": median(b / (b + t) for b, t in zip(build, ours, strict=True)),
    }


def waiting_share(row: Recipe, threads: int, workers: int = 1) -> float:
    """Return the share of our training loop's time spent waiting for batches that workers build ahead.

    The first batch, for which the workers start, is not counted.
    """
    torch.set_num_threads(threads)
    rivals = Rivals(row)
    samples = rivals.built(workers)
    wait, step = [], []
    for _ in range(min(LOOP, row.train.epochs * len(rivals.batches))):
        sample, time = clocked(lambda: next(samples))
        wait.append(time)
        step.append(seconds(partial(rivals.step, "ECConv", sample)))
    return sum(wait[1:]) / (sum(wait[1:]) + sum(step[1:]))


def memory(name: str, rival: str) -> int:
    """Return the peak bytes of a step above its inputs, measured in a fresh process."""
    command = [sys.executable, "-m", "benchmarks.network", name, rival]
    return int(json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout))


def print_memory(name: str, rival: str) -> None:
    torch.set_num_threads(1)
    rivals = Rivals(recipe.find(name))
    rivals.step(rival, rivals.suited(rival, rivals.small))  # loads code, and makes the momenta
    sample = rivals.suited(rival, rivals.batches.batch(0, 0))
    print(peak_above(partial(rivals.step, rival, sample)))


def record(name: str = ROW) -> dict[str, Any]:
    """Measure a row, and return the measurements with what is needed to repeat them."""
    row = recipe.find(name)
    digest = Rivals(row).digest  # missing data are noticed before anything is measured
    print(f"training step of {name} ...", flush=True)
    return {
        **records.circumstances(),
        "data": digest,
        "network": str(row.network),
        "batch": row.train.batch_size,
        "time": {
            str(threads): {**interleaved(row, threads), "waiting_share": waiting_share(row, threads)}
            for threads in (1, 2)
        },
        "memory": {rival: memory(name, rival) for rival in RIVALS},
    }


def main(name: str = ROW) -> None:
    """Measure a row and add it to the record."""
    records.write(records.NETWORK, {**records.read(records.NETWORK), name: record(name)})


if __name__ == "__main__":
    try:
        if len(sys.argv) > 2:
            print_memory(*sys.argv[1:])
        else:
            main(*sys.argv[1:])
            page.write()
    except (DataError, RecipeError) as error:
        sys.exit(str(error))
