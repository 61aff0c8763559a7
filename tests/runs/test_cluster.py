"""Tasks of a Ray cluster have the results of one machine, and losing a node loses nothing."""

from __future__ import annotations

import _thread
import json
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from threading import Thread, Timer
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from benchmarks.cluster import two_nodes, VARY
from edgecond.cli import app
from edgecond.data.processes import AHEAD
from edgecond.errors import DataError
from edgecond.nn.checkpoint import load_checkpoint
from edgecond.runs import cluster

ROW = ["reproduce", "synthetic/ecc", "--fold=0"]


@pytest.fixture(scope="module")
def nodes() -> Iterator[tuple[Any, Any]]:
    """A cluster of two nodes, to which this process is attached, and the second node."""
    soon = {"health_check_initial_delay_ms": 0, "health_check_period_ms": 500, "health_check_failure_threshold": 4}
    with two_nodes(**soon) as (both, second), pytest.MonkeyPatch.context() as environment:
        environment.setenv("RAY_ADDRESS", both.address)
        with cluster.connected():
            yield both, second


@pytest.fixture
def apart(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Nodes that do not see the directories of this process: the token is in none of them."""

    @contextmanager
    def token(directory: Path) -> Iterator[Path]:
        yield tmp_path / "nowhere"

    monkeypatch.setattr(cluster, "_token", token)


def edgecond(*words: object) -> str:
    result = CliRunner().invoke(app, [*map(str, words)])
    assert result.exit_code == 0, result.output
    return result.output


def waited(command: cluster.Command) -> int:
    while command.poll() is None:
        time.sleep(0.05)
    assert command.returncode is not None
    return command.returncode


@pytest.mark.usefixtures("nodes")
def test_results_have_the_order_of_the_items_and_few_items_are_taken_ahead():
    """The first takes longest; a billion items are never held at once."""
    taken = count()
    results = cluster.mapped(
        lambda item: time.sleep(0.3 * (item == 0)) or item**2, (next(taken) for _ in range(10**9)), 2
    )

    first = [next(results) for _ in range(5)]
    results.close()

    assert first == [0, 1, 4, 9, 16]
    assert next(taken) <= 5 + AHEAD * 2 + 1


@pytest.mark.usefixtures("nodes")
def test_an_error_in_a_task_is_that_of_the_function():
    def fail(item: int) -> None:
        raise DataError(f"item {item} is wrong.")

    with pytest.raises(DataError) as raised:
        list(cluster.mapped(fail, [7], None))

    assert str(raised.value) == "item 7 is wrong."


@pytest.mark.usefixtures("nodes")
def test_predictions_are_those_of_the_plain_command_byte_for_byte(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Paths are relative to the directory of the command, and a file that cannot be read is reported as before."""
    monkeypatch.chdir(tmp_path)
    random = np.random.default_rng(0)
    for number in range(70):
        np.save(f"{number:02}.npy", random.normal(size=(30, 4)).astype(np.float32))
    Path("69.npy").write_bytes(b"no cloud")
    words = ["predict", "model/sydney", *sorted(path.name for path in tmp_path.iterdir()), "--views=1"]

    plain = CliRunner().invoke(app, [*words, "--jobs=1", "--out=plain.csv"])
    many = CliRunner().invoke(app, [*words, "--on=ray", "--out=many.csv"])

    assert many.exit_code == plain.exit_code == 1
    assert many.stderr.splitlines()[-1] == plain.stderr.splitlines()[-1]  # after lines of progress
    assert Path("many.csv").read_bytes() == Path("plain.csv").read_bytes()
    assert len(Path("many.csv").read_text().splitlines()) == 70  # and the names of the columns


@pytest.mark.usefixtures("nodes", "apart")
def test_a_fold_on_a_node_that_does_not_share_a_directory_gives_the_files_of_the_plain_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """Records are equal apart from seconds and date."""
    monkeypatch.chdir(tmp_path)
    for words in (["--runs=plain", "--results=plain"], ["--runs=many", "--results=many", "--on=ray"]):
        edgecond(*ROW, "--epochs=1", *words)

    plain, many = (
        {path.relative_to(folder): path for path in Path(folder).rglob("*.*")} for folder in ("plain", "many")
    )
    assert sorted(plain) == sorted(many)
    [record] = [name for name in plain if name.name == "fold0-seed0.json"]
    ours, theirs = json.loads(many[record].read_bytes()), json.loads(plain[record].read_bytes())
    assert [name for name in theirs if ours[name] != theirs[name] and name not in VARY] == []


@pytest.mark.usefixtures("nodes")
def test_a_command_that_is_asked_to_stop_is_saved_in_place(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    runs = tmp_path / "runs"
    with cluster.nodes(None, {"--runs": runs, "--results": tmp_path / "results"}) as nodes:
        command = nodes.start([*ROW, "--epochs=9999", f"--runs={runs}", f"--results={tmp_path / 'results'}"], False)
        log = runs / "synthetic/ecc/fold0-seed0/log.jsonl"
        while not log.exists() or not log.read_text():
            assert command.poll() is None, capsys.readouterr()
            time.sleep(0.05)
        command.send_signal(2)

        assert waited(command) == 130

    assert load_checkpoint(log.with_name("checkpoint.safetensors"))[1]["position"]["epoch"] >= 1
    assert "the same command goes on" in capsys.readouterr().out
    assert not (tmp_path / "results").exists() or not list((tmp_path / "results").iterdir())


@pytest.mark.usefixtures("nodes")
@pytest.mark.parametrize("shared", [False, True], ids=["data", "directory of a study"])
def test_what_a_node_cannot_reach_is_one_sentence(
    shared: bool, tmp_path: Path, request: pytest.FixtureRequest, capsys: pytest.CaptureFixture[str]
):
    if shared:
        request.getfixturevalue("apart")
    inputs = [] if shared else [tmp_path / "data.csv"]
    with cluster.nodes(1, {"--out": tmp_path / "out"}, inputs, shared) as nodes:
        assert waited(nodes.start(["train"], quiet=True)) == 2

    sentence = capsys.readouterr().err
    assert sentence.startswith(f"every node must have {tmp_path / ('out' if shared else 'data.csv')}: ")
    assert sentence.endswith("Use a file system that the nodes share, and the same path on each.\n")


def test_a_cancelled_task_ends_its_command_where_interrupts_are_ignored():
    """As in the background of a script: Ray interrupts the main thread, which Python drops if SIGINT is ignored."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        process = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(30)"])
        Timer(0.5, _thread.interrupt_main).start()

        assert cluster._waited(process) == -signal.SIGTERM
    finally:
        signal.signal(signal.SIGINT, before)


def test_the_absence_of_ray_is_one_sentence(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(sys.modules, "ray", None)

    result = CliRunner().invoke(app, [*ROW, "--on=ray"])

    expected = "--on ray needs Ray, which is not installed. Run `pip install 'edgecond[cluster]'`.\n"
    assert (result.exit_code, result.stderr) == (2, expected)
    assert list(tmp_path.iterdir()) == []


def test_an_address_without_a_cluster_is_one_sentence(monkeypatch: pytest.MonkeyPatch):
    """Port 1 is that of TCPMUX (RFC 1078), which nobody runs. Ray would try for minutes."""
    monkeypatch.setenv("RAY_ADDRESS", "127.0.0.1:1")

    with pytest.raises(cluster.ClusterError, match=r"127\.0\.0\.1:1 is not \(.*refused\)\. Name another"):
        cluster._attach(None)


def test_a_node_that_is_killed_loses_no_result(nodes: tuple[Any, Any], tmp_path: Path):
    """A task notes its item and its node when it begins. Last of all tests, as one node is left."""
    both, second = nodes

    def work(item: int) -> int:
        import ray

        Path(tmp_path, f"{item}-{ray.get_runtime_context().get_node_id()}").touch()
        time.sleep(1.0)
        return item + 1

    def kill() -> None:
        while not list(tmp_path.glob(f"*-{second.node_id}")):
            time.sleep(0.01)
        both.remove_node(second, allow_graceful=False)

    killer = Thread(target=kill)
    killer.start()
    results = list(cluster.mapped(work, range(3), 2))
    killer.join()

    begun = [path.name.split("-")[0] for path in tmp_path.iterdir()]
    assert results == [1, 2, 3]
    assert len(begun) > len(set(begun)) == 3  # one has begun on both nodes
