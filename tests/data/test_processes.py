"""A process notices that its parent has ended, and signals that ask to stop are known."""

from __future__ import annotations

import multiprocessing
import os
import select
import signal

from edgecond.data.processes import end_with_parent, ignore_stop_signals, stop_signals

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
