"""The verb that draws the paper's tables beside the reruns, and what its models do."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from edgecond.cli._app import verb
from edgecond.cli.console import echo, users_errors
from edgecond.cli.running import Results


@verb
def plot(
    what: Annotated[str, typer.Argument(help="filters, robustness, tables, or the number of a table.")],
    runs: Annotated[Path | None, typer.Option(help="Directory of runs, whose models are measured first.")] = None,
    out: Annotated[Path, typer.Option(help="Directory of the pictures.")] = Path("pictures"),
    results: Results = Path("results"),
) -> None:
    """Draw the paper's tables beside the reruns, or what its models do, as PNG and SVG.

    `filters` draws the filters of the MNIST network for sparse input (Section 4.4), and `robustness` the F1 on Sydney
    where points are removed or moved (Appendix C). Both show trained models: with --runs these are measured and
    recorded, so that the picture can be drawn again without them.

    Example: edgecond plot tables

    Example: edgecond plot robustness --runs runs
    """
    from edgecond.paper import figures
    from edgecond.paper.tables import tables
    from edgecond.report import plots

    numbers = {str(number): number for number in tables()}
    if what not in (*numbers, "filters", "robustness", "tables"):
        known = f"filters, robustness, tables and {', '.join(numbers)}"
        echo(f"a picture must be one of {known}: got {what}.", err=True)
        raise typer.Exit(2)
    with users_errors():
        if runs is not None and what in figures.FOLDERS:
            measure = {"filters": figures.measure_filters, "robustness": figures.measure_robustness}[what]
            measure(runs, results, echo)
        if what in figures.FOLDERS:
            drawn = {what: {"filters": plots.filters, "robustness": plots.robustness}[what](results)}
        else:
            chosen = numbers.values() if what == "tables" else [numbers[what]]
            drawn = {f"table-{number}": plots.table(number, results) for number in chosen}
        for name, figure in drawn.items():
            png, svg = plots.write(figure, out / name)
            echo(f"{png} and {svg.name}")
