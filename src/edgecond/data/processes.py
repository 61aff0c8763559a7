"""Worker processes, which end with the process that started them, even if that one was killed."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any, TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

PARENT = "EDGECOND_PARENT"
"""Set in the environment of a command that runs for another process: the number of that one, with which it ends."""
PERIOD = 1.0
"""Seconds between two checks whether the parent still runs."""
AHEAD = 4
"""Number of items per process that are computed or kept ahead of the next result, at most."""
H = TypeVar("H")
I = TypeVar("I")
R = TypeVar("R")


def end_with_parent(parent: int | None = None, end: Callable[[], object] = lambda: os._exit(1)) -> None:
    """Call `end` when the parent of this process has ended, from a thread.

    Args:
        parent: Number of the parent; by default it is whoever is the parent now.
        end: What ends this process.
    """
    parent = os.getppid() if parent is None else parent

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(PERIOD)
        end()

    threading.Thread(target=watch, daemon=True).start()


def ignore_stop_signals() -> None:
    """Leave it to the parent to stop: a terminal sends its signals to all processes at once."""
    for kind in stop_signals():
        signal.signal(kind, signal.SIG_IGN)


def stop_signals() -> list[signal.Signals]:
    """Return the signals that ask a process to stop: of a terminal, of a scheduler, and of a terminal that is closed.

    A program that runs under nohup ignores the last and must go on.
    """
    kinds = [signal.SIGINT, signal.SIGTERM]
    return kinds if signal.getsignal(signal.SIGHUP) == signal.SIG_IGN else [*kinds, signal.SIGHUP]


@contextmanager
def signals_held() -> Iterator[None]:
    """Hold the signals that ask to stop until the block has ended; a handler that raises would leave it half done."""
    kinds, held, before = stop_signals(), set[int](), dict[signal.Signals, Any]()
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, [])
    try:
        signal.pthread_sigmask(signal.SIG_BLOCK, kinds)  # which may raise what the handler of an earlier signal does
        if threading.current_thread() is threading.main_thread():  # where handlers run, whichever thread is signalled
            for kind in kinds:
                if signal.getsignal(kind) is not None:
                    before[kind] = signal.signal(kind, lambda kind, _: held.add(kind))
        yield
    finally:
        try:
            for kind, handler in before.items():
                signal.signal(kind, handler)
            for number in held:
                signal.raise_signal(number)
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, mask)


def cores() -> int:
    """Return the number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def mapped(
    work: Callable[[I], R], items: Iterable[I], jobs: int, begin: Callable[[], object] = lambda: None
) -> Generator[R, None, None]:
    """Yield the results of a function for each item, in order, computed by several processes.

    A process that works for another one computes them itself. Few items are taken ahead of the results, so that memory
    is bounded however many there are. The processes end with this generator or with this process, whichever is first.
    An exception in one of them is raised here, and a `MemoryError` if one of them was killed, for which a lack of
    memory is the usual reason.

    Args:
        work: The function, to be pickled where processes cannot be forked.
        items: Its arguments, one after the other.
        jobs: Number of processes.
        begin: Called first in each process.
    """
    from multiprocessing import current_process, get_context
    from multiprocessing.connection import wait

    if current_process().daemon:  # one of several processes already, which may start no others
        yield from map(work, items)
        return
    # A forked process does not import the main script; a spawned one does, so the script must be importable.
    context: Any = get_context("fork" if sys.platform == "linux" else None)
    processes: list[Any] = []

    def started() -> Connection:
        with signals_held():
            ours, theirs = context.Pipe()
            process = context.Process(target=_serve, args=(work, begin, theirs, os.getpid()), daemon=True)
            process.start()
            processes.append(process)
            theirs.close()
            return ours

    idle: list[Connection] = []

    def send(item: I) -> Connection:
        connection = idle.pop() if idle else started()
        connection.send(item)
        return connection

    def receive(busy: list[Connection]) -> Iterator[tuple[Connection, R]]:
        ready: list[Any] = wait(busy)
        for connection in ready:
            yield connection, _received(connection)
            idle.append(connection)

    try:
        try:
            yield from in_order(items, jobs, send, receive)
        finally:
            _end(processes)
    finally:
        _end(processes)  # again: the handler of a signal may raise before the first of these lines is reached


def in_order(
    items: Iterable[I],
    jobs: int,
    send: Callable[[I], H],
    receive: Callable[[list[H]], Iterable[tuple[H, R]]],
) -> Generator[R, None, None]:
    """Yield the result of each item, in order; few items are taken ahead of the results.

    Args:
        items: The items, one after the other.
        jobs: Number of items that are computed at a time.
        send: Starts the computation of an item, and returns its handle.
        receive: Waits for some of the handles, and returns those that have a result, with it.
    """
    busy: dict[H, int] = {}
    results: dict[int, R] = {}
    left, number, more = enumerate(items), 0, True
    while True:
        while more and len(busy) < jobs and len(busy) + len(results) < AHEAD * jobs:
            if (entry := next(left, None)) is None:
                more = False
                break
            place, item = entry
            busy[send(item)] = place
        if number in results:
            yield results.pop(number)
            number += 1
        elif not busy:
            return
        else:
            for handle, result in receive(list(busy)):
                results[busy.pop(handle)] = result


def _end(processes: Sequence[Any]) -> None:
    """End processes, though the handlers of signals may raise meanwhile; what they raise is raised afterwards."""
    raised: BaseException | None = None
    while True:
        try:
            with signals_held():
                for process in processes:
                    process.kill()
                for process in processes:
                    process.join()
            break
        except BaseException as error:
            raised = error
    if raised is not None:
        raise raised


def _serve(work: Callable[[I], R], begin: Callable[[], object], connection: Connection, parent: int) -> None:
    """Answer each item with whether it could be computed, and with its result or the exception."""
    end_with_parent(parent)  # its number is given: it may have ended already
    ignore_stop_signals()
    begin()
    with suppress(EOFError, ConnectionError):  # the other process has ended
        while True:
            item = connection.recv()
            try:
                answer: tuple[bool, Any] = True, work(item)
            except Exception as error:
                answer = False, error
            connection.send(answer)


def _received(connection: Connection) -> Any:
    try:
        done, result = connection.recv()
    except (EOFError, ConnectionError):
        raise MemoryError("a process that works for this one was killed.") from None
    if not done:
        raise result
    return result
