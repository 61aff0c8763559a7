"""The verb that writes a page about a run."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from edgecond.cli._app import verb
from edgecond.cli.console import echo, users_errors
from edgecond.cli.running import load_parts, Moved


@verb
def report(
    run: Annotated[Path, typer.Argument(help="The directory of a run.")],
    out: Annotated[Path | None, typer.Option(help="The file to write; RUN/report.html by default.")] = None,
    moved: Moved = None,
) -> None:
    """Write a page about a run: learning curves, metrics, mistakes, pyramid, filters and settings.

    It is a single file that needs nothing but a browser.

    Example: edgecond report runs/demo
    """
    from edgecond.report import write
    from edgecond.runs.model import Model

    with users_errors():
        _, test = load_parts(run, Model.load(run), moved)
        path = write(run, out, test)
    echo(f"The report is in {path}.")
