"""The verb that explains a network in the paper's notation."""

from __future__ import annotations

from typing import Annotated

import typer

from edgecond.cli._app import verb
from edgecond.cli.console import echo, print_table, users_errors
from edgecond.notation import Architecture, D, FC, Pooling, V


@verb
def network(
    notation: Annotated[str, typer.Argument(help="A network in the paper's notation, in quotes.")],
) -> None:
    """List the layers of a network and the level of the pyramid that each works on.

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
    echo(f"parametric layers: {layers}, levels of graph resolution: {resolutions}")
