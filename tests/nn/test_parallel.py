"""Two processes under torchrun take the steps that one process takes, and only the first one writes."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch

from edgecond.nn.checkpoint import load_checkpoint
from edgecond.nn.optimizers import OPTIMIZERS
from edgecond.runs.lock import locked

TORCHRUN = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", "2"]
ONE_THREAD = {**os.environ, "OMP_NUM_THREADS": "1"}

# Double precision, so that only rounding can tell the two apart; odd batches, so that the shares differ in size.
# Arguments: the optimizer, the file to write, and perhaps the number of steps before a checkpoint to resume from.
STEPS = """
import json, sys, torch
from itertools import islice
from pathlib import Path
from edgecond.data import datasets
from edgecond.nn import parallel
from edgecond.runs.ahead import Ahead
from edgecond.runs.model import Model
from edgecond.runs.recipe import find
from edgecond.nn.checkpoint import load_checkpoint, save_checkpoint
from edgecond.nn.optimizers import OPTIMIZERS
from edgecond.nn.schedules import Steps
from edgecond.nn.training import Training

class Double:
    def __init__(self, batches):
        self.batches = batches
    def __len__(self):
        return len(self.batches)
    def run(self, *where):
        return (sample.to(torch.float64) for sample in self.batches.run(*where))

recipe = find("synthetic/ecc").model_copy(update={"dropout": 0.1})
examples, _ = datasets.load("synthetic", train=45, test=6, points=50)
name, file, *interrupted = sys.argv[1:]

def started():
    network, optimizer = Model.new(recipe, examples, 3).network, OPTIMIZERS[name]()
    return Training(network.double(), Steps(3, optimizer.default_learning_rate / 2, (2,)), 3, optimizer=optimizer)

with parallel.processes():
    batches = Model.new(recipe, examples, 3).batches(examples, 3, (parallel.rank(), parallel.ranks()))
    batches = Double(Ahead(batches, 0))
    training, steps = started(), []
    for done in map(int, interrupted):
        steps += islice(training.steps(batches), done)
        if parallel.rank() == 0:
            save_checkpoint(Path(file + ".checkpoint"), *training.state())
        parallel.agreed(True)  # it is written
        training = started()
        training.restore(*load_checkpoint(Path(file + ".checkpoint")))
    steps += training.steps(batches)
    if parallel.rank() == 0:
        weights = {name: value.double().flatten().tolist() for name, value in training.state()[0].items()}
        Path(file).write_text(json.dumps([[(step.loss, step.metric, step.count) for step in steps], weights]))
"""

FAILS = """
from edgecond.nn import parallel

with parallel.processes():
    assert parallel.agreed(True)
    if parallel.rank() == 1:
        raise ValueError("of one process alone")
    parallel.agreed(True)
"""


def run(command: list[str], directory: Path) -> str:
    done = subprocess.run(command, capture_output=True, text=True, env=ONE_THREAD, cwd=directory, timeout=300)
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_two_processes_take_the_steps_that_one_would(tmp_path, optimizer):
    """Batch normalisation and dropout see the whole batch, and gradients are weighted by the shares."""
    (tmp_path / "steps.py").write_text(STEPS)

    run([sys.executable, "steps.py", optimizer, "one.json"], tmp_path)
    run([*TORCHRUN, "steps.py", optimizer, "two.json"], tmp_path)

    one, two = (json.loads((tmp_path / name).read_text()) for name in ("one.json", "two.json"))
    assert len(one[0]) == 9
    torch.testing.assert_close(torch.tensor(two[0]), torch.tensor(one[0]), rtol=1e-8, atol=1e-8)
    assert one[1].keys() == two[1].keys()
    for name, values in one[1].items():
        torch.testing.assert_close(torch.tensor(two[1][name]), torch.tensor(values), rtol=1e-6, atol=1e-8)


def test_two_processes_resume_adamw_in_the_same_bits(tmp_path):
    """Interrupted after two steps of nine, within the first epoch, and four steps later, at the end of the second."""
    (tmp_path / "steps.py").write_text(STEPS)

    run([*TORCHRUN, "steps.py", "adamw", "whole.json"], tmp_path)
    run([*TORCHRUN, "steps.py", "adamw", "parts.json", "2", "4"], tmp_path)

    assert (tmp_path / "parts.json").read_text() == (tmp_path / "whole.json").read_text()


def test_a_process_that_fails_ends_the_others_at_once(tmp_path):
    """The first process waits for the second, which has failed; gloo alone would let it wait for half an hour."""
    (tmp_path / "fails.py").write_text(FAILS)
    began = time.monotonic()

    done = subprocess.run(
        [*TORCHRUN, "fails.py"], capture_output=True, text=True, env=ONE_THREAD, cwd=tmp_path, timeout=300
    )

    assert done.returncode == 1
    assert "ValueError: of one process alone" in done.stderr
    assert time.monotonic() - began < 120


def test_the_same_command_trains_under_torchrun_and_the_first_process_writes(tmp_path):
    train = ["-m", "edgecond", "train", "synthetic", "--epochs", "1"]

    alone = run([sys.executable, *train, "--out", "one"], tmp_path)
    together = run([*TORCHRUN, *train, "--out", "two"], tmp_path)

    assert {path.name for path in (tmp_path / "two").iterdir()} == {path.name for path in (tmp_path / "one").iterdir()}
    losses = [json.loads((tmp_path / name / "log.jsonl").read_text())["loss"] for name in ("one", "two")]
    assert losses[1] == pytest.approx(losses[0], rel=1e-2)  # in single precision rounding grows from step to step
    assert alone.count("test examples") == together.count("test examples") == 1
    assert alone.count("1 epoch, batch size 16, SGD, learning rate 0.05\n") == together.count("batch size") == 1


def test_processes_that_are_asked_to_stop_agree_on_the_step_and_resume_from_it(tmp_path):
    command = [*TORCHRUN, "-m", "edgecond", "train", "synthetic", "--set", "train.drops=[]", "--out", "run"]
    started = subprocess.Popen([*command, "--epochs", "500"], env=ONE_THREAD, cwd=tmp_path, stdout=subprocess.PIPE)
    with started:
        while not (tmp_path / "run" / "log.jsonl").exists() or not (tmp_path / "run" / "log.jsonl").read_text():
            assert started.poll() is None
        started.send_signal(signal.SIGTERM)
        started.communicate(timeout=120)
    position = load_checkpoint(tmp_path / "run" / "checkpoint.safetensors")[1]["position"]
    epochs = position["epoch"] + 2

    run([*command, "--epochs", str(epochs)], tmp_path)

    lines = (tmp_path / "run" / "log.jsonl").read_text().splitlines()
    assert [json.loads(line)["epoch"] for line in lines] == list(range(1, epochs + 1))


def test_one_process_alone_reports_that_the_directory_of_the_run_is_locked(tmp_path):
    """torchrun prints a traceback of its own whenever a process fails."""
    (tmp_path / "run").mkdir()
    with locked(tmp_path / "run"):
        done = subprocess.run(
            [*TORCHRUN, "-m", "edgecond", "train", "synthetic", "--epochs", "1", "--out", "run"],
            capture_output=True,
            text=True,
            env=ONE_THREAD,
            cwd=tmp_path,
            timeout=300,
        )

    assert done.returncode == 1
    assert done.stderr.count("must be used by one training at a time") == 1
    assert "edgecond/runs/run.py" not in done.stderr
    assert "exitcode  : 2" in done.stderr
