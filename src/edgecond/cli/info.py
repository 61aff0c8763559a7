"""The verb that prints versions."""

from __future__ import annotations

import typer

from edgecond import __version__
from edgecond.cli._app import verb


@verb
def info() -> None:
    """Print the versions in use, the kernels and the number of threads.

    Example: edgecond info
    """
    import platform

    import torch

    from edgecond.nn import kernels

    backend = f"C++, {kernels.instruction_set()}" if kernels.available() else "torch"
    typer.echo(f"edgecond  {__version__}")
    typer.echo(f"python    {platform.python_version()}")
    typer.echo(f"torch     {torch.__version__}")
    typer.echo(f"kernels   {backend}")
    typer.echo(f"threads   {torch.get_num_threads()}")
