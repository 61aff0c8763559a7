"""The command `edgecond`, which the verbs of the other modules belong to."""

from __future__ import annotations

from typing import Annotated

import typer

from edgecond import __version__

app = typer.Typer(no_args_is_help=True, add_completion=False)


def _version(asked: bool) -> None:
    if asked:
        typer.echo(f"edgecond {__version__}")
        raise typer.Exit


@app.callback()
def edgecond(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Edge-conditioned convolution on graphs and point clouds."""
