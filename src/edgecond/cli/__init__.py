"""The command line: one function per verb, each importing what it needs when it runs."""

from __future__ import annotations

import os

from edgecond.cli import about, models, prediction, rows
from edgecond.cli._app import app

__all__ = ["about", "app", "main", "models", "prediction", "rows"]


def main() -> None:
    """The entry point `edgecond`."""
    # For how long the threads of OpenMP spin until the next piece of work comes: not the millisecond that is its
    # default, which makes a run several times slower where other programs want the cores, and long enough to bridge
    # the gaps of a training step, as waking a thread takes longer than most of its operations.
    os.environ.setdefault("GOMP_SPINCOUNT", "10000")
    app()
