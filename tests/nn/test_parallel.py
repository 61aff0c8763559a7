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
from typer.testing import CliRunner

from edgecond.cli import app
from edgecond.nn.checkpoint import load_checkpoint
from edgecond.nn.optimizers import OPTIMIZERS
from edgecond.runs.lock import locked
from tests.nn import parallel_steps

TORCHRUN = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", "2"]
ONE_THREAD = {**os.environ, "OMP_NUM_THREADS": "1"}
INTERRUPTED = "adamw,2,4"

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


@pytest.fixture(scope="module")
def steps(tmp_path_factory) -> tuple[dict, dict]:
    """The steps and weights of trainings by one process and by two, which are started once for all of them."""
    folder = tmp_path_factory.mktemp("steps")
    one, two = folder / "one.json", folder / "two.json"
    parallel_steps.main(str(one), *OPTIMIZERS)
    run([*TORCHRUN, parallel_steps.__file__, str(two), *OPTIMIZERS, INTERRUPTED], folder)
    return json.loads(one.read_text()), json.loads(two.read_text())


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_two_processes_take_the_steps_that_one_would(steps, optimizer):
    """Batch normalisation and dropout see the whole batch, and gradients are weighted by the shares."""
    one, two = (found[optimizer] for found in steps)

    assert len(one[0]) == 9
    torch.testing.assert_close(torch.tensor(two[0]), torch.tensor(one[0]), rtol=1e-8, atol=1e-8)
    assert one[1].keys() == two[1].keys()
    for name, values in one[1].items():
        torch.testing.assert_close(torch.tensor(two[1][name]), torch.tensor(values), rtol=1e-6, atol=1e-8)


def test_two_processes_resume_adamw_in_the_same_bits(steps):
    """Interrupted after two steps of nine, within the first epoch, and four steps later, at the end of the second."""
    assert steps[1][INTERRUPTED] == steps[1]["adamw"]


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

    alone = CliRunner().invoke(app, [*train[2:], "--out", str(tmp_path / "one")]).stdout
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
            time.sleep(0.02)
        started.send_signal(signal.SIGTERM)
        started.communicate(timeout=120)
    position = load_checkpoint(tmp_path / "run" / "checkpoint.safetensors")[1]["position"]
    epochs = position["epoch"] + 1

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
