"""The verb that uploads a model."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from edgecond.cli._app import verb
from edgecond.cli.console import echo, users_errors


@verb
def push(
    model: Annotated[Path, typer.Argument(help="A model file, the directory of a run, or a pretrained model.")],
    repository: Annotated[str, typer.Argument(help="Repository of the Hugging Face Hub, as USER/NAME.")],
    public: Annotated[
        bool, typer.Option("--public", help="Create a repository that everybody can read; private by default.")
    ] = False,
) -> None:
    """Upload a model and its card to the Hugging Face Hub, where `hf auth login` has logged you in.

    The model file has weights, settings and names of classes, and for your data up to 1,000 embeddings of training
    examples. No data and no path of this machine are uploaded.

    Example: edgecond push runs/train/solubility me/solubility
    """
    from edgecond.runs import hub

    with users_errors():
        echo(f"The model is at {hub.push(model, repository, private=not public)}.")
