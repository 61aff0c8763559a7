"""The command line: one function per verb, each importing what it needs when it runs."""

from __future__ import annotations

import os

from edgecond.cli import about, models, prediction, rows
from edgecond.cli._app import app

__all__ = ["about", "app", "main", "models", "prediction", "rows"]


def main() -> None:
    """The entry point `edgecond`."""
    # Threads that wait for work sleep. Where other programs want the cores, spinning ones, which is the default of
    # OpenMP, make a run several times slower.
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    app()
