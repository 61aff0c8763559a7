"""The verb that downloads data sets."""

from __future__ import annotations

from typing import Annotated

import typer

from edgecond.cli._app import verb
from edgecond.cli.console import echo, users_errors


@verb()
def fetch(
    name: Annotated[str, typer.Argument(help="A data set: sydney, modelnet10, mnist, nci1, dd, ...")],
) -> None:
    """Download what is missing of a data set, and check all of it. EDGECOND_DATA names the directory.

    Example: edgecond fetch sydney
    """
    from edgecond.data import datasets

    with users_errors():
        echo(datasets.fetch(name))
