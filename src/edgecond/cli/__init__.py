"""The command line: one module per verb, each importing what it needs when it runs."""

from __future__ import annotations

import os
import signal
import sys
from contextlib import suppress
from errno import EBADF, EDQUOT, EFBIG, EIO, ENOSPC, EPIPE
from importlib import import_module
from itertools import chain

from edgecond.cli._app import app, PANELS
from edgecond.cli.console import echo
from edgecond.cli.running import stop_with_parent

__all__ = ["app", "main"]

for _verb in chain.from_iterable(PANELS.values()):
    import_module(f"edgecond.cli.{_verb}")

_UNWRITABLE = (EBADF, EDQUOT, EFBIG, EIO, ENOSPC, EPIPE)
"""Errors of standard output, which has no file name; those of files are sentences that name them."""


def main() -> None:
    """Run the command `edgecond`."""
    # How long the threads of OpenMP spin until the next piece of work: not its default of a millisecond, which makes a
    # run several times slower where other programs want the cores, and long enough to bridge the gaps of a training
    # step, as waking a thread takes longer than most of its operations.
    os.environ.setdefault("GOMP_SPINCOUNT", "10000")
    stop_with_parent()  # first of all: importing torch takes seconds
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # closed by the caller
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115 (open until the end)
        getattr(sys, name).reconfigure(errors="backslashreplace")  # for characters that the encoding does not have
    try:
        try:
            app()
        finally:
            sys.stdout.flush()
            signal.signal(signal.SIGINT, signal.SIG_DFL)  # Python would print a traceback while it ends
    except KeyboardInterrupt:  # before a verb runs
        sys.exit(130)
    except OSError as error:
        if error.filename is not None or error.errno not in _UNWRITABLE:
            raise
        if error.errno != EPIPE:  # else the reader has seen enough
            with suppress(OSError):
                echo(f"the output must be written: {error.strerror}. Send it to another place.", err=True)
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # Python writes what is left when it ends
        sys.exit(1 if error.errno == EPIPE else 2)
