"""The verb that prints the paper's tables beside the reruns."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from edgecond.cli._app import verb
from edgecond.cli.console import echo, print_table, users_errors
from edgecond.cli.running import Results


@verb
def table(
    number: Annotated[
        str, typer.Argument(help="The table's number in the paper, gains, plus, fair, or experiments.")
    ] = "",
    check: Annotated[
        bool, typer.Option("--check", help="Compare what the pages beside the records publish with the records.")
    ] = False,
    results: Results = Path("results"),
) -> None:
    """Print a table of the paper beside the reruns so far.

    With --check, print what does not fit instead: a number in the README or the documentation that differs from its
    records or has none, and a record whose settings are no longer those of its row.

    Example: edgecond table 1
    """
    from edgecond.paper.baselines import columns
    from edgecond.paper.tables import entries, plus, tables

    if check:
        _check(results)
        return
    with users_errors():
        if named := {"gains": _gains, "fair": _fair_protocol, "experiments": _experiments}.get(number):
            named(results)
            return
        numbers = list(map(str, tables()))
        found = plus(results) if number == "plus" else entries(int(number), results) if number in numbers else []
    if not found:
        known = f"{', '.join(numbers)}, gains, plus, fair and experiments"
        echo(f"a table must be one of {known}: got {number}.", err=True)
        raise typer.Exit(2)
    with users_errors():
        baselines = columns(found, results)
    rows = []
    for number_of_row, entry in enumerate(found):
        rerun, spread = ("" if x is None else entry.written(x) for x in (entry.rerun, entry.spread))
        rerun = rerun or ("-" if not entry.folds else "partly")
        epochs = "" if entry.epochs is None else "-".join(map(str, dict.fromkeys(entry.epochs)))
        folds = f"{len(entry.folds)}/{entry.recipe.folds}"
        cells = [_short(entry.metric), entry.written(entry.paper), rerun, spread, folds, str(entry.seeds), epochs]
        others = [column[number_of_row] for column in baselines.values()]
        rows.append([entry.recipe.name, *cells, *others, entry.row])
    headers = ["row", "metric", "paper", "rerun", "±", "folds", "seeds", "epochs", *baselines, "in the paper"]
    print_table(headers, rows)
    if not results.is_dir():
        echo(f"{results} does not exist, so nothing is rerun: `edgecond reproduce ROW` writes records.", err=True)
    echo("±: standard deviation over folds; the metric of a fold is the mean over its seeds.")
    if baselines:
        echo(f"{', '.join(baselines)}: baselines on the same folds and a single view (`edgecond baseline NAME ROW`).")


def _check(results: Path) -> None:
    from edgecond.paper.check import findings

    root, count = results.resolve().parent, 0
    with users_errors():
        for finding in findings(results, root, _generated(root)):
            echo(finding, err=True)
            count += 1
    if count:
        raise typer.Exit(1)
    echo("every published number is that of its records.")


def _generated(root: Path) -> dict[Path, str]:
    """Return the pages of this project with their tables as its benchmarks write them; none of other directories."""
    if not (root / "benchmarks" / "readme.py").is_file():
        return {}
    import sys
    from importlib import import_module

    sys.path.insert(0, str(root))
    operators, page, readme = (import_module(f"benchmarks.{name}") for name in ("operators", "page", "readme"))
    pages = {path: readme.filled(path.read_text("utf-8"), tables) for path, tables in readme.tables().items()}
    return pages | {page.PAGE: page.current(), operators.PAGE: operators.current()}


def _short(metric: str) -> str:
    """Return the short name of a metric; the number of views is in the name of the row."""
    from edgecond.nn.tasks.combinations import split_name

    return split_name(metric)[0].replace("accuracy", "acc").replace("_", " ")


def _gains(results: Path) -> None:
    from edgecond.paper.tables import gains

    rows = [
        [each.change, _short(each.metric), each.in_the_paper, *each.cells[::-1], str(len(each.folds))]
        for each in gains(results)
    ]
    print_table(["row", "metric", "paper's gain", "gain here", "row's", "plain ECC's", "folds"], rows)
    echo("Compared with plain ECC on the folds and seeds that both have; ±: standard error of the gain over folds.")


def _fair_protocol(results: Path) -> None:
    from edgecond.paper.fair import assessments, MODELS

    rows = [[found.network, *map(found.quoted, MODELS), found.rerun, found.choices] for found in assessments(results)]
    quoted = [f"{model}, quoted" for model in MODELS]
    print_table(["networks", *quoted, "ECC, rerun", "selected"], rows)
    echo("±: standard deviation over the ten outer folds. Quoted: Errica et al., ICLR 2020.")


def _experiments(results: Path) -> None:
    from edgecond.paper.tables import experiments

    found = experiments(results)
    if not found:
        echo(f"{results} has no experiments: `edgecond reproduce ROW --set NAME=VALUE` records one.")
        return
    rows = [[each.recipe.name, each.change, each.metric, *each.cells, str(len(each.folds))] for each in found]
    print_table(["row", "change", "metric", "row's", "changed", "difference", "folds"], rows)
    echo("On the folds and seeds that both have; ±: standard error of the difference over folds.")
