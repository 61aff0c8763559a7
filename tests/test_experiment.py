"""A row is rerun from recipe to record, and a run that was stopped ends in the same bits."""

import json
import os
import signal
import subprocess
import sys
import time

import pytest
import torch

from edgecond.checkpoint import load_checkpoint
from edgecond.experiment import Interrupted, reproduce
from edgecond.recipe import read

RECIPE = """
[base]
dataset = "synthetic"
network = "C(8)-MP(0.5,1)-C(8)-GMP-FC(8)-D(0.2)-FC(6)"
input = { resolution = 0.2, radius = 0.5 }
train = { epochs = 6, batch = 16, rate = 0.05, drops = [4] }
augment = { rotate = true, drop = 0.1 }
orientations = 2
[rows.ecc]
paper = [{ table = 1, row = "ECC", f1 = 0.9 }]
options = { train = 48, test = 24, points = 60 }
"""


@pytest.fixture(autouse=True)
def one_thread():
    """Torch's own sums depend on the number of threads; bits are compared for one."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.fixture
def recipe():
    return read(RECIPE, "synthetic.toml")["synthetic/ecc"]


def rerun(recipe, directory, **options):
    return reproduce(recipe, 0, 0, runs=directory / "runs", results=directory / "results", **options)


def weights(directory):
    tensors, about = load_checkpoint(directory / "runs" / "synthetic/ecc" / "fold0-seed0" / "checkpoint.safetensors")
    return tensors, about["position"]


def test_a_record_says_what_was_measured_and_with_what(recipe, tmp_path):
    record = rerun(recipe, tmp_path, epochs=2, workers=0)

    path = tmp_path / "results" / "synthetic" / "ecc" / "fold0-seed0.json"
    assert json.loads(path.read_text()) == record
    assert record["epochs"] == 2
    assert {"f1", "accuracy", "class_accuracy", "accuracy_votes", "train_accuracy"} <= record["metrics"].keys()
    assert record["paper"] == [{"table": 1, "row": "ECC", "f1": 0.9}]
    assert {"torch", "python"} <= record["versions"].keys()
    assert record["data"]


@pytest.mark.parametrize("workers", [0, 2])
def test_a_run_that_was_asked_to_stop_ends_in_the_same_bits(recipe, tmp_path, workers):
    """Stopped in the middle of the third epoch, in which every batch differs."""
    rerun(recipe, tmp_path / "whole", workers=0)

    with pytest.raises(Interrupted, match="stopped in epoch 3"):
        rerun(recipe, tmp_path, workers=workers, observe=lambda step, *_: (step.epoch, step.batch) != (2, 1))
    assert weights(tmp_path)[1] == {"epoch": 2, "batch": 2, "seed": 0}
    record = rerun(recipe, tmp_path, workers=workers)

    expected, found = weights(tmp_path / "whole")[0], weights(tmp_path)[0]
    assert expected.keys() == found.keys()
    assert [name for name in expected if not torch.equal(expected[name], found[name])] == []
    assert record["epochs"] == 6


def test_a_checkpoint_of_other_settings_is_not_taken_up(recipe, tmp_path):
    rerun(recipe, tmp_path, epochs=1, workers=0)
    other = recipe.model_copy(update={"radius_scale": 1.2})

    steps = []
    rerun(other, tmp_path, epochs=1, workers=0, observe=lambda step, *_: steps.append(step) or True)

    assert len(steps) == 3  # all of them, from the beginning


def test_the_network_learns_shapes(recipe, tmp_path):
    """Six shapes: guessing hits one in six."""
    record = rerun(recipe, tmp_path, epochs=25, workers=0)

    assert record["metrics"]["accuracy"] > 0.4


def start(directory):
    """The run in a process of its own, with a checkpoint after every step; it prints the epoch of each."""
    directory.mkdir(exist_ok=True)
    (directory / "recipe.toml").write_text(RECIPE)
    code = (
        "import sys; from pathlib import Path; from edgecond import experiment; from edgecond.recipe import read;"
        "experiment.SAVE_EVERY = 0.0; d = Path(sys.argv[1]); r = read((d / 'recipe.toml').read_text(), 'r');"
        "experiment.reproduce(r['synthetic/ecc'], 0, 0, runs=d / 'runs', results=d / 'results', workers=0,"
        " observe=lambda step, *_: print(step.epoch, flush=True) or True)"
    )
    one_thread = {**os.environ, "OMP_NUM_THREADS": "1"}
    return subprocess.Popen([sys.executable, "-c", code, directory], stdout=subprocess.PIPE, text=True, env=one_thread)


def test_a_killed_process_goes_on_to_the_same_bits(tmp_path):
    """kill -9 at some moment of the third epoch or later; every part runs in a fresh process, as it would."""
    whole, killed = start(tmp_path / "whole"), start(tmp_path / "killed")
    with whole, killed:
        next(line for line in killed.stdout if line.strip() == "2")
        time.sleep(0.05)
        os.kill(killed.pid, signal.SIGKILL)
        whole.communicate()
    assert weights(tmp_path / "killed")[1]["epoch"] >= 2
    with start(tmp_path / "killed") as resumed:
        steps = resumed.communicate()[0].split()

    expected, found = weights(tmp_path / "whole")[0], weights(tmp_path / "killed")[0]
    assert [name for name in expected if not torch.equal(expected[name], found[name])] == []
    assert len(steps) < 18  # it did not begin anew
