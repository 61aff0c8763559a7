"""Worker processes compute in order and end with their parent, and signals that ask to stop are known."""

from __future__ import annotations

import itertools
import multiprocessing
import os
import select
import signal
import time
from contextlib import suppress

import pytest

from edgecond.data.processes import AHEAD, end_with_parent, ignore_stop_signals, mapped, stop_signals

fork = multiprocessing.get_context("fork")


def wait_forever(ready: int) -> None:
    ignore_stop_signals()
    end_with_parent()
    os.write(ready, b"x")
    while True:
        signal.pause()


def start_a_worker(ready: int) -> None:
    fork.Process(target=wait_forever, args=(ready,)).start()
    signal.pause()


def test_a_process_ends_with_its_killed_parent():
    """Both hold the pipe open; it closes when the last of them has ended."""
    ours, theirs = os.pipe()
    parent = fork.Process(target=start_a_worker, args=(theirs,))
    parent.start()
    os.close(theirs)
    assert os.read(ours, 1) == b"x"

    parent.kill()
    parent.join()

    assert select.select([ours], [], [], 5)[0]
    assert os.read(ours, 1) == b""
    os.close(ours)


def test_a_terminal_that_is_closed_asks_to_stop_unless_that_is_ignored():
    """nohup(1) ignores SIGHUP."""
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    try:
        assert stop_signals() == [signal.SIGINT, signal.SIGTERM, signal.SIGHUP]
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        assert stop_signals() == [signal.SIGINT, signal.SIGTERM]
    finally:
        signal.signal(signal.SIGHUP, before)


def late(number: int) -> int:
    """Return the square, the later the smaller the number is."""
    time.sleep(0.01 * (5 - number))
    return number**2


def test_results_come_in_the_order_of_the_items():
    assert list(mapped(late, range(6), 3)) == [0, 1, 4, 9, 16, 25]
    assert list(mapped(late, [], 3)) == []


def fail(number: int) -> int:
    if number == 2:
        raise KeyError(number)
    if number == 3:
        os.kill(os.getpid(), signal.SIGKILL)
    return number


def nested(number: int) -> list[int]:
    return list(mapped(abs, range(number), 2))


def test_a_process_that_works_for_another_computes_items_itself():
    """Python lets no such process start others."""
    assert list(mapped(nested, range(4), 2)) == [[], [0], [0, 1], [0, 1, 2]]


def test_items_are_taken_a_few_at_a_time():
    """However many there are: a million rows of a table are never in memory at once."""
    taken = itertools.count()
    results = mapped(abs, (next(taken) for _ in range(10**9)), 2)

    assert list(itertools.islice(results, 50)) == list(range(50))
    assert next(taken) <= 50 + AHEAD * 2
    results.close()


def test_an_exception_in_a_process_is_raised_here():
    with pytest.raises(KeyError):
        list(mapped(fail, range(3), 2))


def test_a_process_that_is_killed_is_taken_for_a_lack_of_memory():
    """The kernel kills with SIGKILL when memory is short."""
    with pytest.raises(MemoryError):
        list(mapped(fail, [0, 1, 3], 2))


class Stopped(Exception):
    pass


@pytest.mark.parametrize("repeated", [1, 3])
def test_a_signal_whose_handler_raises_ends_the_processes_at_any_moment(repeated: int):
    """Also if it comes while they are started, and again while they are ended.

    Python drops what a handler raises within a destructor: the processes then finish their work.
    """

    def stop(*_: object) -> None:
        raise Stopped

    before, lost = signal.signal(signal.SIGTERM, stop), 0
    try:
        for delay in range(20):
            killer = fork.Process(target=send, args=(os.getpid(), 0.002 * delay, repeated))
            killer.start()
            with suppress(Stopped):
                list(mapped(time.sleep, [2] * 4, 2))
                lost += 1
            while killer.is_alive():
                try:
                    killer.join()
                except Stopped:
                    continue
            assert multiprocessing.active_children() == []
    finally:
        signal.signal(signal.SIGTERM, before)
    assert lost <= 2


def send(process: int, delay: float, times: int) -> None:
    time.sleep(delay)
    for _ in range(times):
        os.kill(process, signal.SIGTERM)
