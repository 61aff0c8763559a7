"""The verb that downloads a model."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from edgecond.cli._app import verb
from edgecond.cli.console import echo, users_errors


@verb
def pull(
    repository: Annotated[str, typer.Argument(help="Repository of the Hugging Face Hub, as USER/NAME.")],
    revision: Annotated[str | None, typer.Option(help="Branch, tag or commit instead of the last one.")] = None,
    out: Annotated[Path | None, typer.Option(help="Directory for the model; models/USER/NAME by default.")] = None,
) -> None:
    """Download a model that `edgecond push` has uploaded to the Hugging Face Hub. Nothing in it is ever executed.

    Example: edgecond pull me/solubility
    """
    from edgecond.runs import hub

    with users_errors():
        directory = out or Path("models", *repository.split("/"))
        model = hub.pull(repository, directory, revision=revision)
    echo(f"{model.recipe.name} is in {directory}; `edgecond models {directory}` prints its card.")
