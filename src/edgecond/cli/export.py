"""The verb that writes a network for programs without edgecond."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from edgecond.cli._app import verb
from edgecond.cli.console import echo, print_table, users_errors


@verb
def export(
    model: Annotated[Path, typer.Argument(help="A model file, or the directory of a run.")],
    to: Annotated[str, typer.Option(help="onnx, or torch for a program of torch.export.")] = "onnx",
    out: Annotated[Path | None, typer.Option(help="The file to write; beside the model by default.")] = None,
) -> None:
    """Write the network of a model for programs without edgecond, and list its inputs.

    Example: edgecond export runs/demo --to onnx
    """
    from edgecond import export as exporting
    from edgecond.runs.model import FILE, Model

    with users_errors():
        path = out or (model / FILE if model.is_dir() else model).with_suffix(exporting.suffix(to))
        loaded = Model.load(model)
        exporting.export(loaded, path, to)
    echo(path)
    inputs = exporting.inputs_of(loaded)
    rows = [[part.name, " x ".join(map(str, part.shape)), part.dtype, part.meaning] for part in inputs]
    print_table(["input", "shape", "type", "meaning"], rows)
