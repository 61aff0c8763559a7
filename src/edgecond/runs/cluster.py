"""Many machines: commands and shards of files as tasks of a Ray cluster, with the results of a single machine.

A task takes one CPU, and Ray starts it again on another node if its own is lost. A command runs in place, and resumes
what is there, where its node sees the directories to write to. Elsewhere it writes to a temporary directory, and the
task returns the files.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, ExitStack, suppress
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, TypeVar

from edgecond.data.processes import cores, in_order, PARENT
from edgecond.errors import DataError, EdgecondError
from edgecond.files import scratch_directory, walk, write_atomic
from edgecond.runs.lock import AGAIN

RETRIES = 10
"""Number of times that a task may lose its node."""
STORE = 2**30
"""Bytes of memory for results, of a cluster that is started here; Ray would take a third of the machine's."""
PERIOD = 0.1
"""Seconds between two looks at a command."""
STOPPED = 130
"""Status of a command that was asked to stop."""
I = TypeVar("I")
R = TypeVar("R")


class ClusterError(EdgecondError):
    """There is no cluster, or a node lacks what a task needs."""


@contextmanager
def connected() -> Iterator[Any]:
    """Yield Ray, attached to the cluster that runs, or to one that is started here and ends with the block."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    try:
        import ray
    except ImportError:
        raise ClusterError(
            "--on ray needs Ray, which is not installed. Run `pip install 'edgecond[cluster]'`."
        ) from None
    if ray.is_initialized():
        yield ray
        return
    _attach(ray)
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)  # Ray's own prints a stack
    try:
        yield ray
    finally:
        ray.shutdown()
        signal.signal(signal.SIGTERM, before)


def _attach(ray: Any) -> None:
    """Attach to the cluster of `RAY_ADDRESS`, or to one that runs on this machine, or start one."""
    quiet = {"logging_level": "ERROR", "log_to_driver": False}
    address = os.environ.get("RAY_ADDRESS", "auto")
    try:
        host, _, port = address.rpartition("://")[2].rpartition(":")
        if host:  # Ray itself would try for minutes
            socket.create_connection((host, int(port)), timeout=10).close()
        if address != "local":
            ray.init(address=address, **quiet)
            return
    except (OSError, RuntimeError, ValueError) as error:
        if address != "auto" or not isinstance(error, ConnectionError):
            raise ClusterError(
                f"RAY_ADDRESS must be the address of a Ray cluster with the same versions of Ray and Python: {address} "
                f"is not ({_first_line(error)}). Name another, or local to start a cluster on this machine."
            ) from error
    ray.init(address="local", num_cpus=cores(), include_dashboard=False, object_store_memory=STORE, **quiet)


def mapped(
    work: Callable[[I], R],
    items: Iterable[I],
    jobs: int | None,
    begin: Callable[[], object] = lambda: None,
    files: Sequence[Path] = (),
) -> Generator[R, None, None]:
    """Yield the results of a function for each item, in order, computed by tasks; see `processes.mapped`.

    Args:
        work: The function, which is pickled once.
        items: Its arguments, one after the other.
        jobs: Number of tasks at a time; by default that of the CPUs of the cluster.
        begin: Called before each item.
        files: Paths that every node must have.
    """
    with connected() as ray:
        task = _remote(ray, _applied)
        paths = tuple(str(path) for path in files if path.exists())
        shared = ray.put((work, begin, os.getcwd(), paths))

        def receive(busy: list[Any]) -> Iterator[tuple[Any, R]]:
            for handle in ray.wait(busy)[0]:
                try:
                    yield handle, ray.get(handle)
                except ray.exceptions.RayTaskError as error:
                    raise error.cause from None
                except ray.exceptions.RayError as error:
                    raise _lost(error) from error

        # Tasks that are left end with the connection.
        yield from in_order(items, jobs or _cpus(ray), partial(task.remote, shared), receive)


@contextmanager
def nodes(
    jobs: int | None, outputs: Mapping[str, Path], inputs: Sequence[Path] = (), shared: bool = False
) -> Iterator[Nodes]:
    """Yield the nodes of a cluster, to run commands on.

    Args:
        jobs: Number of commands at a time, at most; by default that of the CPUs of the cluster.
        outputs: The directories that the commands write to, by the options that name them.
        inputs: Paths that every node must have.
        shared: Whether every node must see the directories too, because the commands work together there.
    """
    with connected() as ray, ExitStack() as stack:
        tokens = [stack.enter_context(_token(output.absolute())) for output in outputs.values()]
        there = {"OMP_NUM_THREADS": "1"} | {
            name: value for name, value in os.environ.items() if name.startswith(("EDGECOND_", "OMP_"))
        }
        place = _Place(os.getcwd(), outputs, tokens, shared, tuple(str(path.absolute()) for path in inputs), there)
        yield Nodes(ray, jobs, place)


@contextmanager
def _token(directory: Path) -> Iterator[Path]:
    """Yield a new path in a directory, which is created."""
    directory.mkdir(parents=True, exist_ok=True)
    token, remove = scratch_directory(directory, "ray")
    try:
        yield token
    finally:
        remove()


class Nodes:
    """The nodes of a cluster."""

    def __init__(self, ray: Any, jobs: int | None, place: _Place) -> None:
        self._ray, self._most, self._place, self._started = ray, jobs, place, 0

    @property
    def jobs(self) -> int:
        """Number of commands to run at a time; nodes may have come or gone."""
        return self._most or _cpus(self._ray)

    def start(self, words: Sequence[str], quiet: bool) -> Command:
        """Start a command of `edgecond`, given by its words, and return it; `quiet` drops what it prints."""
        self._started += 1
        task = _remote(self._ray, _run).remote(self._place, self._started, list(words))
        return Command(self._ray, task, quiet)


class Command:
    """A command that runs as a task, used like a `subprocess.Popen`."""

    def __init__(self, ray: Any, task: Any, quiet: bool) -> None:
        self._ray, self._task, self._quiet, self._asked = ray, task, quiet, False
        self.returncode: int | None = None

    def send_signal(self, kind: int) -> None:
        """Ask the command to stop, whatever the signal is. Safe in the handler of a signal: `poll` does it."""
        self._asked = True

    def poll(self) -> int | None:
        """Return the status of the command if it has ended: then its files are written, and what it printed is."""
        if self._asked:
            self._asked = False
            self._ray.cancel(self._task)
        if self._ray.wait([self._task], timeout=0)[0]:
            ended = self._ended()
            for path, content in ended.files.items():
                write_atomic(Path(path), content)
            if not self._quiet:
                print(ended.printed, end="", flush=True)
            print(ended.errors, end="", file=sys.stderr, flush=True)
            self.returncode = ended.status
        return self.returncode

    def _ended(self) -> _Ended:
        try:
            return self._ray.get(self._task)
        except self._ray.exceptions.TaskCancelledError:  # before it began
            return _Ended(STOPPED)
        except self._ray.exceptions.RayError as error:
            return _Ended(1, errors=f"{_lost(error)}\n")


@dataclass(frozen=True)
class _Place:
    """Where a command runs.

    Attributes:
        directory: The directory that relative paths start from.
        outputs: The directories to write to, by the options that name them.
        tokens: A path in each of these, which exists only where they are the same directories.
        shared: Whether the command must run in place.
        inputs: Paths that the command reads.
        environment: What the environment must have.
    """

    directory: str
    outputs: Mapping[str, Path]
    tokens: Sequence[Path]
    shared: bool
    inputs: Sequence[str]
    environment: Mapping[str, str]


class _Ended(NamedTuple):
    """A command that has ended: its status, what it has printed, and the files that it did not write in place."""

    status: int
    printed: str = ""
    errors: str = ""
    files: Mapping[str, bytes] = {}


def _run(place: _Place, number: int, words: list[str]) -> _Ended:
    """Run a command on this node, and return when it has ended; a task that is cancelled asks it to stop."""
    node, in_place = socket.gethostname(), all(token.exists() for token in place.tokens)
    environment = {**os.environ, **place.environment, PARENT: str(os.getpid())}
    try:
        _check(place.inputs)
        if place.shared and not in_place:
            raise DataError(_unreachable([*map(str, place.outputs.values())]))
    except DataError as error:
        return _Ended(2, errors=f"{error}\n")
    if in_place and not _first_to_make(place.tokens[0] / str(number)):
        environment[AGAIN] = "1"
    with tempfile.TemporaryDirectory(prefix="edgecond") as folder:
        written = {} if in_place else {option: Path(folder, "files", option) for option in place.outputs}
        command = [sys.executable, "-m", "edgecond", *(_elsewhere(word, place.outputs, written) for word in words)]
        with Path(folder, "printed").open("w+b") as printed, Path(folder, "errors").open("w+b") as errors:
            process = subprocess.Popen(
                command,
                cwd=place.directory if os.path.isdir(place.directory) else folder,
                env=environment,
                stdout=printed,
                stderr=errors,
            )
            status = _waited(process)
            texts = [_text(printed), _text(errors)]
        if status not in (0, STOPPED):
            texts[1] += f"The command has ended with status {status} on node {node}.\n"
        files = {
            str(place.outputs[option] / path.relative_to(scratch)): path.read_bytes()
            for option, scratch in written.items()
            if scratch.is_dir()
            for path in walk(scratch)
        }
    return _Ended(status, texts[0], texts[1], files)


def _text(stream: BinaryIO) -> str:
    stream.seek(0)
    return stream.read().decode("utf-8", "backslashreplace")


def _waited(process: subprocess.Popen[bytes]) -> int:
    """Return the status of a process; asked to stop by a task that is cancelled, it saves what it has."""
    signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored if Ray was started in the background of a script
    while True:
        try:
            while process.poll() is None:
                time.sleep(PERIOD)
            return process.returncode
        except KeyboardInterrupt:
            process.send_signal(signal.SIGTERM)


def _elsewhere(word: str, outputs: Mapping[str, Path], written: Mapping[str, Path]) -> str:
    """Return an option of a command with another directory, if it names one that is written elsewhere."""
    option, _, value = word.partition("=")
    return f"{option}={written[option] / Path(value).relative_to(outputs[option])}" if option in written else word


def _first_to_make(mark: Path) -> bool:
    """Return whether no task has made this directory before."""
    with suppress(FileExistsError):
        mark.mkdir()
        return True
    return False


def _applied(shared: tuple[Callable[[I], R], Callable[[], object], str, tuple[str, ...]], item: I) -> R:
    """Return the result of the function for an item, in the directory of the process that asks for it."""
    work, begin, directory, paths = shared
    if os.path.isdir(directory):
        os.chdir(directory)
    _check(paths)
    begin()
    return work(item)


@lru_cache(maxsize=1)
def _check(paths: Sequence[str]) -> None:
    """Check that this node has the paths that a task reads."""
    if missing := [path for path in paths if not os.path.exists(path)]:
        raise DataError(_unreachable(missing))


def _unreachable(paths: Sequence[str]) -> str:
    return (
        f"every node must have {', '.join(paths[:3])}: {socket.gethostname()} has not. "
        "Use a file system that the nodes share, and the same path on each."
    )


def _remote(ray: Any, function: Callable[..., Any]) -> Any:
    return ray.remote(num_cpus=1, max_retries=RETRIES)(function)


def _cpus(ray: Any) -> int:
    return max(1, int(ray.cluster_resources().get("CPU", 1)))


def _lost(error: Exception) -> ClusterError:
    """Return the error of a task that could not run, or whose nodes were lost too often."""
    return ClusterError(
        f"a task must run on a node with edgecond and enough memory: it cannot ({_first_line(error)}). "
        "Run the same command again for what is left."
    )


def _first_line(error: Exception) -> str:
    return str(error).strip().split("\n")[0].rstrip(".")[:300]
