"""Kill commands at random moments, two hundred times: `python -m benchmarks.kills --kills 200`.

Each command is started, killed and started again until it ends, in a directory of its own and with a checkpoint after
every step. SIGKILL, SIGTERM, SIGINT and SIGHUP go to the first process or, as from a terminal, to all. After every kill
each file must be whole, no step that was saved may be lost, and no process may be left after five seconds; in the end
every file must have the bytes that it has without a kill. Commands run in forked processes that need not import torch
again; one in ten is started from nothing.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing.context import ForkProcess
from pathlib import Path
from random import Random

KINDS = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
FRESH = 0.1  # share of commands that are started from nothing
PATIENCE = 5.0  # seconds until no process may be left


@dataclass(frozen=True)
class Scenario:
    """A command that is killed.

    Attributes:
        words: The arguments of `edgecond`.
        share: Its share of all kills.
        prepare: Writes what the command reads into its directory.
    """

    words: tuple[str, ...]
    share: float
    prepare: Callable[[Path], None] = lambda directory: None


def write_graphs(directory: Path) -> None:
    """Write forty random graphs of 30 vertices."""
    import torch
    from safetensors.torch import save_file

    generator = torch.Generator().manual_seed(0)
    n, count = 30, 40
    ends = torch.randint(n, (count, 2, 3 * n), generator=generator) + n * torch.arange(count)[:, None, None]
    pairs = ends.transpose(0, 1).reshape(2, -1)
    pairs = pairs[:, pairs[0] != pairs[1]]
    edge_index = torch.cat([pairs, pairs.flip(0)], 1).unique(dim=1).contiguous()
    ptr, y = torch.arange(0, n * count + 1, n), torch.arange(count) % 2
    save_file({"edge_index": edge_index, "ptr": ptr, "y": y}, directory / "graphs.safetensors")


def write_clouds(directory: Path) -> None:
    """Write the model of some clouds, and sixty clouds to predict."""
    import numpy as np

    from edgecond import EdgeCondClassifier

    rng = np.random.default_rng(0)
    clouds = [rng.random((200, 3), np.float32) for _ in range(60)]
    network = "C(4)-MP(0.3,0.6)-C(4)-GAP-FC(2)"
    estimator = EdgeCondClassifier(epochs=1, batch_size=4, network=network, random_state=0)
    estimator.fit(clouds[:4], [0, 1, 0, 1]).save(directory / "model.safetensors")
    (directory / "clouds").mkdir()
    for number, cloud in enumerate(clouds):
        np.save(directory / "clouds" / f"{number}.npy", cloud)


_SMALL = ("--set=options={train=24,test=6,points=60}", "--set=train.batch_size=4")
_TRAIN = ("train", "synthetic", "--epochs=2", *_SMALL)
SCENARIOS = {
    "pyramids": Scenario(
        ("train", "graphs.safetensors", "--epochs=2", "--set=network=C(4)-MP-C(4)-MP-C(4)-GAP-FC(2)", "--out=run"),
        0.3,
        write_graphs,
    ),
    "training": Scenario((*_TRAIN, "--out=run"), 0.2),
    "workers": Scenario((*_TRAIN, "--workers=2", "--out=run"), 0.2),
    "predicting": Scenario(
        ("predict", "model.safetensors", "clouds", "--views=3", "--probabilities", "--out=predictions.csv"),
        0.2,
        write_clouds,
    ),
    "folds": Scenario(("reproduce", "synthetic/ecc", "--jobs=2", "--seed=0", "--seed=1", "--epochs=1", *_SMALL), 0.1),
}


def start(words: tuple[str, ...], directory: Path, fresh: bool) -> ForkProcess:
    """Start a command in a session of its own."""
    process = multiprocessing.get_context("fork").Process(target=_run, args=(words, directory, fresh))
    process.start()
    return process


def _run(words: tuple[str, ...], directory: Path, fresh: bool) -> None:
    os.setsid()
    os.chdir(directory)
    output = os.open("../output", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.dup2(output, 1)
    os.dup2(output, 2)
    os.environ["EDGECOND_CACHE"] = str(directory / "cache")
    signal.signal(signal.SIGINT, signal.default_int_handler)
    if fresh:
        os.execv(sys.executable, [sys.executable, "-m", "edgecond", *words])
    from edgecond.cli import main
    from edgecond.data.samples import store
    from edgecond.files import _remove_leftovers
    from edgecond.runs import run

    _remove_leftovers.cache_clear()  # as in a new process
    run.SAVE_EVERY, store.FEW = 0.0, 0  # pyramids are computed by several processes
    sys.argv = ["edgecond", *words]
    main()


def processes_of(session: int) -> list[str]:
    """Return the processes of a session that have not ended, as Linux lists them."""
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            name, _, rest = path.read_text().rpartition(")")
        except (FileNotFoundError, ProcessLookupError):
            continue
        state, _, _, number = rest.split()[:4]
        if int(number) == session and state != "Z":
            found.append(f"{name})")
    return found


def left_after(session: int, seconds: float = PATIENCE) -> list[str]:
    """Return the processes of a session that are left after some seconds."""
    end = time.monotonic() + seconds
    while (found := processes_of(session)) and time.monotonic() < end:
        time.sleep(0.02)
    return found


def files(directory: Path, pattern: str) -> list[Path]:
    """Return the files of a directory, without those that are being written."""
    return [path for path in directory.rglob(pattern) if not path.parent.name.startswith(".") and path.is_file()]


def positions(directory: Path) -> dict[str, tuple[int, int]]:
    """Return epoch and batch of every checkpoint, which must be whole, and so must the other files be."""
    from edgecond.nn.checkpoint import load_checkpoint
    from edgecond.report import history
    from edgecond.runs.model import Model

    found = {}
    for path in files(directory, "checkpoint.safetensors"):
        where = load_checkpoint(path)[1]["position"]
        found[str(path)] = (where["epoch"], where["batch"])
    for path in files(directory, "model.safetensors"):
        Model.load(path)
    for path in files(directory, "log.jsonl"):
        if path.stat().st_size:
            history(path.parent)
    for path in files(directory, "fold*.json"):
        json.loads(path.read_bytes())
    return found


def contents(directory: Path) -> dict[str, object]:
    """Return every file of a directory with what it holds, apart from times."""
    from edgecond.nn.checkpoint import load_checkpoint

    found: dict[str, object] = {}
    for path in sorted(path for path in directory.rglob("*") if path.is_file()):
        name = str(path.relative_to(directory))
        match path.name:
            case "checkpoint.safetensors":
                tensors, about = load_checkpoint(path)
                bits = {key: tensor.numpy().tobytes() for key, tensor in tensors.items()}
                found[name] = bits, _without_times(about)
            case "log.jsonl":
                found[name] = [_without_times(json.loads(line)) for line in path.read_text().splitlines()]
            case file if file.endswith(".json"):
                found[name] = _without_times(json.loads(path.read_bytes()))
            case _:
                found[name] = path.read_bytes()
    return found


def _without_times(value: object) -> object:
    if isinstance(value, dict):
        return {key: _without_times(each) for key, each in value.items() if key not in ("seconds", "date")}
    return [_without_times(each) for each in value] if isinstance(value, list) else value


@dataclass
class Kills:
    """Kills of one command, and what went wrong."""

    scenario: Scenario
    directory: Path
    random: Random

    def __post_init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self.faults: list[str] = []
        (self.directory / "template").mkdir()
        self.scenario.prepare(self.directory / "template")
        whole, began = self._fresh_directory(), time.monotonic()
        process = start(self.scenario.words, whole, fresh=False)
        process.join()
        self.seconds = time.monotonic() - began
        if process.exitcode:
            raise SystemExit(f"{self.scenario.words} failed:\n{(self.directory / 'output').read_text()}")
        self.expected = contents(whole)
        self.runs = 0

    def run(self, kills: int) -> None:
        """Kill the command so many times; it is started in a new directory whenever it has ended."""
        while self.counts.total() < kills:
            name = f"run {self.runs}"
            self.runs += 1
            directory = self._fresh_directory()
            before: dict[str, tuple[int, int]] = {}
            while self.counts.total() < kills and self._killed(directory, name):
                now = positions(directory)
                if lost := [path for path in before if path not in now or now[path] < before[path]]:
                    self.faults.append(f"{name}: lost steps of {lost}")
                before = now
            self._finish(directory, name)

    def _fresh_directory(self) -> Path:
        """Return the directory of the command, in which is only what it reads: its path is in some files."""
        directory = self.directory / "command"
        shutil.rmtree(directory, ignore_errors=True)
        shutil.copytree(self.directory / "template", directory)
        (self.directory / "output").write_text("")
        return directory

    def _killed(self, directory: Path, name: str) -> bool:
        """Start the command and kill it; return False if it ended before."""
        kind, to_all = self.random.choice(KINDS), self.random.random() < 0.5
        fresh = self.random.random() < FRESH
        process = start(self.scenario.words, directory, fresh)
        assert process.pid is not None
        process.join(self.random.uniform(0.0, 1.1 * self.seconds) + 3.0 * fresh * self.random.random())
        if process.exitcode is not None:
            self._check_end(process, name, "nothing", (0,))
            return False
        what = f"{kind.name} to {'all' if to_all else 'the first process'}{' of a fresh start' if fresh else ''}"
        try:
            (os.killpg if to_all else os.kill)(process.pid, kind)
        except ProcessLookupError:  # it has no session yet, or has ended
            os.kill(process.pid, kind)
        self.counts[what] += 1
        process.join(60)
        self._check_end(process, name, what, (0, 1, 130, -kind))
        return process.exitcode != 0

    def _check_end(self, process: ForkProcess, name: str, what: str, statuses: tuple[int, ...]) -> None:
        assert process.pid is not None
        if process.exitcode not in statuses:
            self.faults.append(f"{name}: status {process.exitcode} after {what}")
        if left := left_after(process.pid):
            self.faults.append(f"{name}: {left} left after {what}")
            for number in left:
                os.kill(int(number.split()[0]), signal.SIGKILL)
        output = self.directory / "output"
        # After SIGKILL a thread of multiprocessing in a worker may print one, as nobody answers it any more.
        if "Traceback" in (text := output.read_text()) and "SIGKILL" not in what:
            self.faults.append(f"{name}: a traceback after {what}:\n{text}")
        output.write_text("")

    def _finish(self, directory: Path, name: str) -> None:
        """Run the command to its end, and compare every file."""
        process = start(self.scenario.words, directory, fresh=False)
        process.join()
        self._check_end(process, name, "its last start", (0,))
        found = contents(directory)
        if different := [path for path in {**self.expected, **found} if found.get(path) != self.expected.get(path)]:
            self.faults.append(f"{name}: other contents of {different}")


def warm_up(scenario: Scenario) -> None:
    """Run a command in this process, so that the forked ones need not import its modules again."""
    from typer.testing import CliRunner

    from edgecond.cli import app

    before = Path.cwd()
    with tempfile.TemporaryDirectory() as directory:
        os.environ["EDGECOND_CACHE"] = f"{directory}/cache"
        scenario.prepare(Path(directory))
        os.chdir(directory)
        result = CliRunner().invoke(app, scenario.words)
        os.chdir(before)
    if result.exit_code:
        raise SystemExit(f"{scenario.words} failed:\n{result.output}") from result.exception


def main() -> None:
    os.environ["OMP_NUM_THREADS"] = "1"  # before torch is imported: a process of several threads must not be forked
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=200, help="number of all kills")
    parser.add_argument("--scenario", action="append", choices=SCENARIOS, help="a scenario; all by default")
    parser.add_argument("--seed", type=int, default=0, help="random seed of the moments")
    options = parser.parse_args()
    for name in ("training", "pyramids", "predicting"):
        warm_up(SCENARIOS[name])
    names = options.scenario or list(SCENARIOS)
    total, faults = 0, 0
    share = sum(SCENARIOS[name].share for name in names)
    for name in names:
        count = max(1, round(options.kills * SCENARIOS[name].share / share))
        with tempfile.TemporaryDirectory() as directory:
            kills = Kills(SCENARIOS[name], Path(directory), Random(f"{options.seed} {name}"))
            kills.run(count)
        total, faults = total + kills.counts.total(), faults + len(kills.faults)
        print(f"{name}, {kills.seconds:.1f} s: {kills.counts.total()} kills in {kills.runs} runs", flush=True)
        print("".join(f"  {what}: {times}\n" for what, times in sorted(kills.counts.items())), end="")
        print("".join(f"  FAULT {fault}\n" for fault in kills.faults), end="", flush=True)
    print(f"{total} kills: {faults} faults")
    sys.exit(bool(faults))


if __name__ == "__main__":
    main()
