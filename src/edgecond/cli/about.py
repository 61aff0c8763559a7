"""Verbs that tell what there is: versions, networks, rows, datasets."""

from __future__ import annotations

from typing import Annotated

import typer

from edgecond import __version__
from edgecond.cli._app import app
from edgecond.cli.console import print_table, users_errors
from edgecond.notation import Architecture, D, FC, Pooling, V


@app.command()
def info() -> None:
    """Tell the versions in use, the kernels and the threads.

    Example: edgecond info
    """
    import platform

    import torch

    from edgecond.nn import kernels as native

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
    with users_errors():
        architecture = Architecture(notation)

    rows = []
    for layer, level in zip(architecture, architecture.levels, strict=True):
        onto = level + 1 if isinstance(layer, Pooling) else 0 if isinstance(layer, V) else level
        on = f"{level}" if onto == level else f"{level} to {onto}"
        rows.append([str(layer), "" if isinstance(layer, FC | D) else on, type(layer).__doc__ or ""])
    print_table(["layer", "level", ""], rows)
    layers, resolutions = architecture.parametric_layers, architecture.resolutions
    typer.echo(f"parametric layers: {layers}, levels of graph resolution: {resolutions}")


@app.command("list")
def list_rows() -> None:
    """List the rows of the paper's tables that can be rerun.

    Example: edgecond list
    """
    from edgecond.runs.recipe import recipes

    rows = []
    for name, recipe in recipes().items():
        if recipe.paper:
            places = [f"Table {c.table}" if c.table else f"Section {c.section}" for c in recipe.paper]
            rows.append([name, ", ".join(dict.fromkeys(places)), recipe.paper[0].row])
    print_table(["row", "in the paper", "as"], rows)


@app.command()
def show(row: Annotated[str, typer.Argument(help="A row of `edgecond list`.")]) -> None:
    """Show all that a row is made of: the paper's numbers, and the settings as `edgecond train --set` takes them.

    Example: edgecond show sydney/wider
    """
    from edgecond.runs.recipe import find, spelled

    with users_errors():
        recipe = find(row)
    for claim in recipe.paper:
        typer.echo(f"{'paper':21}{claim}")
    for name, value in spelled(recipe).items():
        typer.echo(f"{name:21}{value}")


@app.command()
def fetch(
    name: Annotated[str, typer.Argument(help="A dataset: sydney, modelnet10, mnist, nci1, dd, ...")],
) -> None:
    """Download what is missing of a dataset, and check all of it. EDGECOND_DATA names the directory.

    Example: edgecond fetch sydney
    """
    from edgecond.data import datasets

    with users_errors():
        typer.echo(datasets.fetch(name))
