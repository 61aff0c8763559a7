"""The verb that serves a model to this machine."""

from __future__ import annotations

from typing import Annotated

import typer

from edgecond.cli._app import verb
from edgecond.cli.console import echo, until_asked_to_stop, users_errors
from edgecond.cli.streaming import ModelPath


@verb
def serve(
    model: ModelPath,
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port; 0 for any that is free.")] = 8000,
    browser: Annotated[bool, typer.Option("--open", help="Open the page in a browser.")] = False,
) -> None:
    """Serve a page to try a model: drop a file or paste SMILES, see prediction, uncertainty and explanation.

    Only this machine can reach it, at 127.0.0.1. POST /predict and POST /explain answer as JSON. Ctrl+C ends it.

    Example: edgecond serve runs/train/solubility --open
    Example: edgecond serve model/esol
    """
    import time
    import webbrowser

    from edgecond.report.serve import Server
    from edgecond.runs.model import Model

    with users_errors(), until_asked_to_stop() as signals:
        server = Server(Model.load(model), port)
        with server.running():
            echo(f"The page of {model} is {server.url} Ctrl+C ends it.")
            if browser:
                webbrowser.open(server.url)
            while not signals:
                time.sleep(0.1)
    echo("The server has ended.")
