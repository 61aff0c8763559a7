"""The verb that brings data sets and pretrained models."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from edgecond.cli._app import verb
from edgecond.cli.console import echo, users_errors


@verb
def fetch(
    name: Annotated[
        str, typer.Argument(help="A data set: sydney, modelnet10, mnist, nci1, dd, ...; or a model, as model/esol.")
    ],
    out: Annotated[
        Path | None, typer.Option(help="Directory for a model; models/NAME in the data directory by default.")
    ] = None,
) -> None:
    """Download what is missing of a data set, and check all of it. EDGECOND_DATA names the directory.

    A pretrained model of `edgecond models` is part of edgecond: its files are checked and copied.

    Example: edgecond fetch sydney
    Example: edgecond fetch model/esol --out solubility
    """
    from edgecond.data import datasets
    from edgecond.errors import DataError
    from edgecond.runs import pretrained

    with users_errors():
        if name.startswith(pretrained.PREFIX):
            echo(f"{name} is in {pretrained.fetch(name, out)}: verified.")
            return
        if out is not None:
            raise DataError(f"--out is for models: {name} is a data set, for which EDGECOND_DATA names the directory.")
        echo(datasets.fetch(name))
