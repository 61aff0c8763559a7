"""The command line: one module per verb, each importing what it needs when it runs."""

from __future__ import annotations

import os

from edgecond.cli import (
    demo,
    evaluate,
    export,
    fair,
    fetch,
    info,
    list,
    network,
    predict,
    report,
    reproduce,
    show,
    table,
    train,
)
from edgecond.cli._app import app

__all__ = [
    "app",
    "demo",
    "evaluate",
    "export",
    "fair",
    "fetch",
    "info",
    "list",
    "main",
    "network",
    "predict",
    "report",
    "reproduce",
    "show",
    "table",
    "train",
]


def main() -> None:
    """Run the command `edgecond`."""
    # How long the threads of OpenMP spin until the next piece of work: not its default of a millisecond, which makes a
    # run several times slower where other programs want the cores, and long enough to bridge the gaps of a training
    # step, as waking a thread takes longer than most of its operations.
    os.environ.setdefault("GOMP_SPINCOUNT", "10000")
    app()
