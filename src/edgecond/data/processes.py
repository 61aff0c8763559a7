"""Worker processes end with the process that started them, even if that one was killed."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable

PERIOD = 1.0
"""Seconds between two checks whether the parent still runs."""


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
