"""The verb that shows the settings of a row."""

from __future__ import annotations

from typing import Annotated

import typer

from edgecond.cli._app import verb
from edgecond.cli.console import echo, users_errors


@verb
def show(row: Annotated[str, typer.Argument(help="A row of `edgecond list`.")]) -> None:
    """Show a row: the paper's numbers, and the settings as `edgecond train --set` takes them.

    Example: edgecond show sydney/wider
    """
    from edgecond.runs.recipe import find, format_settings

    with users_errors():
        recipe = find(row)
    for claim in recipe.paper:
        echo(f"{'paper':24}{claim}")
    for name, value in format_settings(recipe).items():
        echo(f"{name:24}{value}")
