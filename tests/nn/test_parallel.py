"""Two processes train as one: the same batches, the same learning curve, and only the first one writes (torchrun)."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from edgecond.nn.checkpoint import load_checkpoint

TORCHRUN = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", "2"]
ONE_THREAD = {**os.environ, "OMP_NUM_THREADS": "1"}

# Double precision, so that only rounding can tell the two apart; odd batches, so that the shares differ in size.
STEPS = """
import json, sys, torch
from pathlib import Path
from edgecond.data import datasets
from edgecond.nn import parallel
from edgecond.runs.run import Ahead
from edgecond.runs.model import Model
from edgecond.runs.recipe import find
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
with parallel.processes():
    model = Model.new(recipe, examples, 3)
    batches = model.batches(examples, 3, (parallel.rank(), parallel.ranks()))
    training = Training(model.network.double(), Steps(3, 0.05, (2,)), 3)
    steps = [(step.loss, step.metric, step.count) for step in training.steps(Double(Ahead(batches, 0)))]
    if parallel.rank() == 0:
        weights = {name: value.double().flatten().tolist() for name, value in training.state()[0].items()}
        Path(sys.argv[1]).write_text(json.dumps([steps, weights]))
"""


def run(command: list[str], directory: Path) -> str:
    done = subprocess.run(command, capture_output=True, text=True, env=ONE_THREAD, cwd=directory, timeout=300)
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


def test_two_processes_take_the_steps_that_one_would(tmp_path):
    """Batch normalisation and dropout see the whole batch, and gradients are weighted by the shares."""
    (tmp_path / "steps.py").write_text(STEPS)

    run([sys.executable, "steps.py", "one.json"], tmp_path)
    run([*TORCHRUN, "steps.py", "two.json"], tmp_path)

    one, two = (json.loads((tmp_path / name).read_text()) for name in ("one.json", "two.json"))
    assert len(one[0]) == 9
    torch.testing.assert_close(torch.tensor(two[0]), torch.tensor(one[0]), rtol=1e-8, atol=1e-8)
    assert one[1].keys() == two[1].keys()
    for name, values in one[1].items():
        torch.testing.assert_close(torch.tensor(two[1][name]), torch.tensor(values), rtol=1e-6, atol=1e-8)


def test_the_same_command_trains_under_torchrun_and_the_first_process_writes(tmp_path):
    train = ["-m", "edgecond", "train", "synthetic", "--epochs", "1"]

    alone = run([sys.executable, *train, "--out", "one"], tmp_path)
    together = run([*TORCHRUN, *train, "--out", "two"], tmp_path)

    assert {path.name for path in (tmp_path / "two").iterdir()} == {path.name for path in (tmp_path / "one").iterdir()}
    losses = [json.loads((tmp_path / name / "log.jsonl").read_text())["loss"] for name in ("one", "two")]
    assert losses[1] == pytest.approx(losses[0], rel=1e-2)  # in single precision rounding grows from step to step
    assert alone.count("test examples") == together.count("test examples") == 1


def test_processes_that_are_asked_to_stop_agree_on_the_step_and_go_on_from_it(tmp_path):
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
