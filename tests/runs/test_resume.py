"""A run ends in the same bits however it was interrupted: killed, asked to stop, or by a disk it cannot write to."""

import errno
import hashlib
import json
import multiprocessing
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from itertools import count
from pathlib import Path

import pytest
import torch
from typer.testing import CliRunner

from edgecond.cli import app
from edgecond.nn.checkpoint import load_checkpoint, save_checkpoint
from edgecond.nn.training import Training
from edgecond.runs.recipe import find, Train
from edgecond.runs.run import Interrupted, train

ROW = find("synthetic/ecc")
SIX_EPOCHS = ROW.model_copy(  # three batches each, large enough for torch to divide a sum among threads
    update={
        "options": {"train": 48, "test": 12, "points": 256},
        "train": Train(epochs=6, batch_size=16, learning_rate=0.05, drops=(4,)),
    }
)
COMMAND = ["train", "synthetic", "--epochs", "1"]  # fifteen batches
CHECKPOINT, MODEL = "checkpoint.safetensors", "model.safetensors"

# A run in its own process, with a checkpoint after every step; it prints the epoch of each step.
TRAIN = """
import json, sys
from pathlib import Path
from edgecond.runs import run as experiment
from edgecond.runs.recipe import Recipe

experiment.SAVE_EVERY = 0.0
recipe, directory, workers = Recipe(paper=(), **json.loads(sys.argv[1])), Path(sys.argv[2]), int(sys.argv[3])
experiment.train(
    recipe, directory=directory, workers=workers, observe=lambda step, *_: print(step.epoch, flush=True) or True
)
"""


def start(directory: Path, workers: int = 0, threads: int = 1) -> subprocess.Popen[str]:
    # Threads that spin while they wait for each other take half as long again on a busy machine.
    environment = {**os.environ, "OMP_NUM_THREADS": str(threads), "OMP_WAIT_POLICY": "passive"}
    command = [sys.executable, "-c", TRAIN, json.dumps(SIX_EPOCHS.settings()), str(directory), str(workers)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)


def edgecond(*command: str):
    return CliRunner().invoke(app, command)


def position(directory: Path) -> tuple[int, int]:
    """Return the epoch and the batch of the next step."""
    where = load_checkpoint(directory / CHECKPOINT)[1]["position"]
    return where["epoch"], where["batch"]


def outcome(directory: Path) -> dict[str, object]:
    """Return everything that a run has written except its times, each tensor by the digest of its bytes."""
    files = {name: load_checkpoint(directory / name) for name in (CHECKPOINT, MODEL)}
    about = {name: files[CHECKPOINT][1][name] for name in ("settings", "position", "sums")}
    log = [json.loads(line) for line in (directory / "log.jsonl").read_text().splitlines()]
    assert log == files[CHECKPOINT][1]["history"]
    history = [{name: value for name, value in epoch.items() if name != "seconds"} for epoch in log]
    bits = {
        (file, name): (tensor.dtype, tensor.shape, hashlib.sha256(tensor.numpy().tobytes()).hexdigest())
        for file, (tensors, _) in files.items()
        for name, tensor in tensors.items()
    }
    return {**about, "history": history, **bits}


@pytest.fixture(scope="module")
def six_epochs(tmp_path_factory):
    """The outcome of six epochs without interruption, in a fresh process."""
    directory = tmp_path_factory.mktemp("whole")
    with start(directory) as process:
        process.communicate()
    return outcome(directory)


@pytest.fixture(scope="module")
def stopped(tmp_path_factory):
    """A run of the command that was stopped after six batches; tests resume a copy of it."""
    directory = tmp_path_factory.mktemp("stopped")
    with pytest.raises(Interrupted):
        train(ROW, directory=directory, epochs=1, observe=lambda step, *_: step.batch < 5)
    assert position(directory) == (0, 6)
    return directory


@pytest.fixture(scope="module")
def one_epoch(tmp_path_factory):
    """The outcome of the command without interruption."""
    directory = tmp_path_factory.mktemp("whole")
    train(ROW, directory=directory, epochs=1)
    return outcome(directory)


# Killed


def kill_and_resume(directory: Path, *how: int) -> None:
    """Kill a run (-9) at some moment in or after the third epoch, and resume it in a fresh process."""
    with start(directory, *how) as killed:
        next(line for line in killed.stdout if line == "2\n")
        time.sleep(random.Random(sum(how)).uniform(0, 0.1))
        killed.kill()
        killed.wait()
        epoch, batch = position(directory)
        with start(directory, *how) as resumed:
            steps = resumed.communicate()[0].split()
        killed.communicate(timeout=300)  # the workers hold the other end: it closes when the last of them has ended
    assert resumed.returncode == 0
    assert epoch >= 2
    assert len(steps) == 18 - (3 * epoch + batch)


@pytest.mark.slow
@pytest.mark.parametrize("workers", [0, 2])
def test_six_epochs_are_three_and_a_kill_and_three(six_epochs, tmp_path, workers):
    """The whole, the killed and the resumed run each have a fresh process, as in practice."""
    kill_and_resume(tmp_path, workers)

    assert outcome(tmp_path) == six_epochs


@pytest.mark.slow
def test_six_epochs_are_three_and_a_kill_and_three_with_two_threads(tmp_path):
    """How a sum is divided depends on the number of threads alone, not on which of them is first."""
    with start(tmp_path / "whole", 0, 2) as whole:
        whole.communicate()
    kill_and_resume(tmp_path / "killed", 0, 2)

    assert outcome(tmp_path / "killed") == outcome(tmp_path / "whole")


def save_forever(path: Path, first: int, said: int) -> None:
    """Save checkpoints of 4 MB that are filled with their number, and print each number when it is saved."""
    torch.set_num_threads(1)
    for number in count(first):
        tensors = {name: torch.full((500_000,), number, dtype=torch.int32) for name in ("a", "b")}
        save_checkpoint(path, tensors, {"number": number})
        os.write(said, f"{number}\n".encode())


@pytest.mark.slow
def test_a_hundred_kills_at_random_moments_of_saving_leave_a_whole_checkpoint(tmp_path):
    """The last checkpoint that was reported as saved is there, or the next one, and it is complete."""
    path, chance = tmp_path / "c", random.Random(0)
    number, unfinished, fork = 0, 0, multiprocessing.get_context("fork")
    for _ in range(100):
        ours, theirs = os.pipe()
        process = fork.Process(target=save_forever, args=(path, number + 1, theirs))
        process.start()
        os.close(theirs)
        with os.fdopen(ours) as said:
            said.readline()
            began = time.monotonic()
            last = int(said.readline())
            time.sleep(chance.uniform(0, 1.5 * (time.monotonic() - began)))  # in units of the time for one checkpoint
            process.kill()
            process.join()
            last = max([last, *map(int, said.read().split())])
        left = {name for name in os.listdir(tmp_path) if name.startswith(".c.")}
        unfinished += bool(left)

        tensors, about = load_checkpoint(path)

        number = about["number"]
        assert number in (last, last + 1)
        assert all(bool((tensor == number).all()) and len(tensor) == 500_000 for tensor in tensors.values())
        assert set(os.listdir(tmp_path)) == {"c"} | left
        assert len(left) <= 1
    assert unfinished > 0
    save_checkpoint(path, {}, {})
    assert os.listdir(tmp_path) == ["c"]  # an incomplete file is overwritten


# Asked to stop


@pytest.mark.parametrize("workers", [0, 2])
def test_a_run_that_was_asked_to_stop_ends_in_the_same_bits(six_epochs, tmp_path, workers):
    """Stopped in the middle of the third epoch."""
    with pytest.raises(Interrupted) as stopped:
        train(
            SIX_EPOCHS,
            directory=tmp_path,
            workers=workers,
            observe=lambda step, *_: (step.epoch, step.batch) != (2, 1),
        )
    assert f"stopped in epoch 3; saved in {tmp_path}" in str(stopped.value)
    assert position(tmp_path) == (2, 2)

    train(SIX_EPOCHS, directory=tmp_path, workers=workers)

    assert outcome(tmp_path) == six_epochs


@pytest.mark.parametrize("kind", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_lets_the_step_end_and_the_same_command_resumes(one_epoch, tmp_path, monkeypatch, kind):
    """The signal comes in the middle of the sixth step."""
    take_step = Training._step

    def interrupted_step(training, *given):
        if training.batch == 5:
            os.kill(os.getpid(), kind)
        return take_step(training, *given)

    with monkeypatch.context() as patch:
        patch.setattr(Training, "_step", interrupted_step)
        first = edgecond(*COMMAND, "--out", str(tmp_path))
    assert first.exit_code == 130
    assert f"synthetic: stopped in epoch 1; saved in {tmp_path}" in first.output
    assert position(tmp_path) == (0, 6)

    assert edgecond(*COMMAND, "--out", str(tmp_path)).exit_code == 0

    assert outcome(tmp_path) == one_epoch


@pytest.mark.slow
def test_folds_side_by_side_are_stopped_and_resumed_together(tmp_path):
    """A terminal interrupts all processes at once; a signal to the first process alone must reach the others too."""
    command = [sys.executable, "-m", "edgecond", "reproduce", "synthetic/ecc", "--jobs", "2", "--epochs", "10000"]
    command += ["--fold", "0", "--seed", "0", "--seed", "1"]
    runs = [tmp_path / "runs" / "synthetic" / "ecc" / f"fold0-seed{seed}" for seed in (0, 1)]
    been = [(0, 0), (0, 0)]
    for stop in (lambda pid: os.killpg(pid, signal.SIGINT), lambda pid: os.kill(pid, signal.SIGTERM)):
        process = subprocess.Popen(
            command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
        )
        try:
            while not all((run / "log.jsonl").exists() for run in runs):  # until they train
                assert process.poll() is None, process.stderr.read()
                time.sleep(0.02)
            stop(process.pid)
            said, errors = process.communicate(timeout=300)
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)

        assert (process.returncode, errors) == (130, "")
        assert all(f"saved in {run.relative_to(tmp_path)}" in said for run in runs)
        now = [position(run) for run in runs]
        assert all(later > earlier for later, earlier in zip(now, been, strict=True))
        been = now
        for run in runs:
            (run / "log.jsonl").unlink()


# Nowhere to write


def must_be_written(path: Path, reason: str) -> str:
    return f"{path} must be written: {reason}. "


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="needs the names of open files")
@pytest.mark.parametrize("file", [CHECKPOINT, MODEL])
def test_a_full_disk_gives_a_sentence_and_loses_nothing(stopped, one_epoch, tmp_path, monkeypatch, file):
    """The file is written beside its place first, and the disk is full when it is flushed."""
    run = shutil.copytree(stopped, tmp_path / "run")
    sync = os.fsync

    def full(descriptor: int) -> None:
        if Path(os.readlink(f"/proc/self/fd/{descriptor}")).name == file:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        sync(descriptor)

    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", full)
        failed = edgecond(*COMMAND, "--out", str(run))

    assert failed.exit_code == 2
    assert must_be_written(run / file, "No space left on device") in failed.stderr
    assert position(run) == ((0, 6) if file == CHECKPOINT else (1, 0))
    assert not (run / MODEL).exists()
    assert edgecond(*COMMAND, "--out", str(run)).exit_code == 0
    assert outcome(run) == one_epoch


@contextmanager
def nobody():
    """Drop the rights of root, who may read and write everything."""
    if os.geteuid() != 0:
        yield
        return
    try:
        os.seteuid(65534)
    except OSError:
        pytest.skip("root cannot become nobody here")
    try:
        yield
    finally:
        os.seteuid(0)


def test_a_read_only_directory_gives_a_sentence_before_the_first_step(stopped, one_epoch, tmp_path, monkeypatch):
    """The run in it is kept, and resumes when the directory can be written again."""
    monkeypatch.chdir(tmp_path)  # nobody may not traverse pytest's directories, but may be in one
    tmp_path.chmod(0o755)
    run = shutil.copytree(stopped, "run")
    before = {path.name: path.read_bytes() for path in Path(run).iterdir()}
    os.chmod(run, 0o555)
    with monkeypatch.context() as patch, nobody():
        patch.setattr(Training, "_step", None)
        failed = edgecond(*COMMAND, "--out", "run")
    os.chmod(run, 0o755)

    assert failed.exit_code == 2
    assert must_be_written(Path("run/log.jsonl"), "Permission denied") in failed.stderr
    assert {path.name: path.read_bytes() for path in Path(run).iterdir()} == before
    assert edgecond(*COMMAND, "--out", "run").exit_code == 0
    assert outcome(Path(run)) == one_epoch


@pytest.mark.usefixtures("stopped")  # imports modules that nobody may not be able to read
def test_a_directory_that_cannot_be_entered_gives_a_sentence(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    tmp_path.chmod(0o755)
    Path("closed").mkdir(mode=0)
    with nobody():
        failed = edgecond(*COMMAND, "--out", "closed/run")
    os.chmod("closed", 0o755)

    assert failed.exit_code == 2
    assert "closed/run must be readable: Permission denied." in failed.stderr


def test_a_directory_below_a_file_gives_a_sentence(tmp_path):
    (tmp_path / "taken").write_text("")

    failed = edgecond(*COMMAND, "--out", str(tmp_path / "taken" / "run"))

    assert failed.exit_code == 2
    assert must_be_written(tmp_path / "taken" / "run" / "log.jsonl", "Not a directory") in failed.stderr
