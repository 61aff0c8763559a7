"""The command `edgecond`, which the verbs of the other modules belong to."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, TypeVar

import typer
from typer.core import TyperCommand, TyperGroup

from edgecond import __version__

F = TypeVar("F", bound=Callable[..., None])

PANELS = {
    "First steps": ("demo", "info"),
    "Training on your data": ("train", "evaluate", "report", "tune"),
    "Predictions": ("predict", "explain", "embed", "serve", "export"),
    "Models to share": ("models", "push", "pull"),
    "The paper": ("list", "show", "fetch", "network", "reproduce", "table", "plot", "baseline", "fair"),
}
"""The verbs, each of them the module of that name, in the order of the help."""


class _Command(TyperCommand):
    """A verb."""

    def get_params(self, ctx: Any) -> list[Any]:
        return _without_types(super().get_params(ctx))


class _Group(TyperGroup):
    """The command with its verbs."""

    def get_params(self, ctx: Any) -> list[Any]:
        return _without_types(super().get_params(ctx))


def _without_types(parameters: list[Any]) -> list[Any]:
    """Show no type behind flags in the help."""
    for parameter in parameters:
        if getattr(parameter, "is_flag", False):
            parameter.metavar = ""
    return parameters


app = typer.Typer(cls=_Group, no_args_is_help=True, add_completion=False)


def verb(function: F) -> F:
    """Add a function as the verb that has the name of its module."""
    name = function.__module__.rpartition(".")[2]
    (panel,) = (title for title, names in PANELS.items() if name in names)
    return app.command(name, cls=_Command, rich_help_panel=panel)(function)


def _version(asked: bool) -> None:
    if asked:
        typer.echo(f"edgecond {__version__}")
        raise typer.Exit


@app.callback()
def edgecond(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Edge-conditioned convolution on graphs and point clouds."""
