"""The verb that lists pretrained models and prints model cards."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from edgecond.cli._app import verb
from edgecond.cli.console import echo, print_table, users_errors


@verb
def models(
    name: Annotated[
        str | None, typer.Argument(help="A pretrained model, as esol or model/esol; or the path of any model.")
    ] = None,
) -> None:
    """List the pretrained models, or print the model card of one: data, metrics, use, limits and licence.

    They are part of edgecond: `edgecond predict model/esol FILES` uses one as it is.

    Example: edgecond models
    Example: edgecond models model/esol
    Example: edgecond models runs/train/solubility
    """
    from edgecond.runs.pretrained import index, PREFIX

    if name is None:
        rows = [
            [
                key,
                entry.data,
                entry.kind,
                entry.task,
                entry.metric,
                f"{entry.bytes / 1e6:.1f} MB",
            ]
            for key, entry in index().items()
        ]
        print_table(["model", "data set", "takes", "task", "on its test set", "size"], rows)
        return

    from edgecond.runs.model import Model

    short = f"{PREFIX}{name}"
    with users_errors():
        model = Model.load(short if short in index() and not Path(name).exists() else name)
    echo(model.card().rstrip())
