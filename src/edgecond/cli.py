"""The command line: one function per verb, each importing what it needs when it runs."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated

import typer

from edgecond import __version__
from edgecond.notation import Architecture, D, FC, NotationError, Pooling

app = typer.Typer(no_args_is_help=True, add_completion=False)


def main() -> None:
    """The entry point `edgecond`."""
    app()


@contextmanager
def users_errors() -> Iterator[None]:
    """Print a user's mistake as the sentence it is, without a traceback, and leave with status 2."""
    try:
        yield
    except NotationError as error:
        typer.echo(error, err=True)
        raise typer.Exit(2) from None


def _version(asked: bool) -> None:
    if asked:
        typer.echo(f"edgecond {__version__}")
        raise typer.Exit


@app.callback()
def edgecond(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and leave.")
    ] = False,
) -> None:
    """Edge-conditioned convolution on graphs and point clouds."""


@app.command()
def info() -> None:
    """Tell the versions in use, the kernels and the threads.

    Example: edgecond info
    """
    import platform

    import torch

    from edgecond.convolution import native

    kernels = f"C++, {native.instruction_set()}" if native.available() else "torch"
    typer.echo(f"edgecond  {__version__}")
    typer.echo(f"python    {platform.python_version()}")
    typer.echo(f"torch     {torch.__version__}")
    typer.echo(f"kernels   {kernels}")
    typer.echo(f"threads   {torch.get_num_threads()}")


@app.command()
def network(
    notation: Annotated[str, typer.Argument(help="A network as the paper writes it, in quotes.")],
) -> None:
    """List the layers of a network and the level of graph resolution that each works on.

    Example: edgecond network "C(16)-MP(0.25,0.5)-GAP-FC(14)"
    """
    from rich import box
    from rich.console import Console
    from rich.table import Table

    with users_errors():
        architecture = Architecture(notation)

    table = Table("layer", "level", "", box=box.SIMPLE)
    for layer, level in zip(architecture, architecture.levels, strict=True):
        on = f"{level} to {level + 1}" if isinstance(layer, Pooling) else f"{level}"
        table.add_row(str(layer), "" if isinstance(layer, FC | D) else on, type(layer).__doc__)
    Console().print(table)
    layers, resolutions = architecture.parametric_layers, architecture.resolutions
    typer.echo(f"parametric layers: {layers}, levels of graph resolution: {resolutions}")
