"""The verb that searches for better settings."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, TYPE_CHECKING

import typer

from edgecond.cli import options
from edgecond.cli._app import verb
from edgecond.cli.console import echo, print_table, users_errors
from edgecond.cli.options import OUTPUT, TRAINING
from edgecond.cli.running import (
    in_parallel,
    is_one_of_many,
    On,
    place_for,
    precompute,
    Settings,
    watched,
    words_of,
    Workers,
)
from edgecond.data import MAX_SEED

if TYPE_CHECKING:
    from edgecond.runs.trials import Outcome
    from edgecond.runs.tuning import Study

SEARCH = "Search"


@verb
def tune(
    context: typer.Context,
    data: Annotated[
        str,
        typer.Argument(
            help="Your data: a folder with a sub-folder of clouds or meshes per class, a CSV of SMILES, a folder or "
            "zip of TU files, or the tensors of a PyG batch."
        ),
    ],
    trials: Annotated[
        int, typer.Option(min=1, help="Number of trials of the study, the default among them.", rich_help_panel=SEARCH)
    ] = 40,
    jobs: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Number of processes, one thread each; 1 by default, or all CPUs of the cluster with --on ray.",
            rich_help_panel=SEARCH,
        ),
    ] = None,
    on: On = None,
    space_file: Annotated[
        Path | None,
        typer.Option("--space", help="A TOML file with the settings to search.", rich_help_panel=SEARCH),
    ] = None,
    print_space: Annotated[
        bool,
        typer.Option("--print-space", help="Print the settings to search, and search nothing.", rich_help_panel=SEARCH),
    ] = False,
    inner_folds: Annotated[
        int | None,
        typer.Option(
            min=2,
            help="Number of folds of the training set to validate on, instead of a share of it.",
            rich_help_panel=SEARCH,
        ),
    ] = None,
    smiles: options.Smiles = None,
    target: options.Target = None,
    numbers: options.Numbers = False,
    features: options.Features = None,
    descriptors: options.Descriptors = None,
    weights: options.Weights = None,
    meshes: options.Meshes = False,
    vertices: options.Vertices = None,
    columns: options.Columns = None,
    up: options.Up = "z",
    test: options.Test = None,
    validation: Annotated[
        str | None,
        typer.Option(
            metavar="PATH|SHARE",
            help="Data to compare trials on, or the share of the training set to take for it; 0.2 by default.",
            rich_help_panel=options.SPLIT,
        ),
    ] = None,
    split: options.Split = None,
    scaffold: options.Scaffold = False,
    group: options.Group = None,
    time: options.Time = None,
    split_column: options.SplitColumn = None,
    folds: Annotated[
        int | None,
        typer.Option(min=2, help="Number of folds, one of which is the test set.", rich_help_panel=options.SPLIT),
    ] = None,
    fold: options.Fold = None,
    epochs: Annotated[
        int | None, typer.Option(min=1, help="Number of epochs instead of the recipe's.", rich_help_panel=TRAINING)
    ] = None,
    settings: Settings = None,
    seed: Annotated[int, typer.Option(min=0, max=MAX_SEED, help="Random seed.", rich_help_panel=TRAINING)] = 0,
    workers: Workers = 0,
    out: Annotated[
        Path | None,
        typer.Option(help="Directory of the study; runs/tune/DATA by default.", rich_help_panel=OUTPUT),
    ] = None,
) -> None:
    """Search for settings that are better on a validation set than those that fit your data by default.

    The test set is split off as `edgecond train` does, and left alone: trials are compared on a part of the training
    set. The first trial is the default recipe. Trials that are worse than most others end early.

    A study is one SQLite file: a search that was stopped is resumed by the same command, and several commands at once
    share the work.

    Example: edgecond tune solubility.csv --target logS --trials 40 --jobs 2
    Example: edgecond tune solubility.csv --target logS --print-space > space.toml
    Example: edgecond tune solubility.csv --target logS --space space.toml
    """
    from edgecond.errors import DataError
    from edgecond.runs import tuning
    from edgecond.runs.recipe import parse_settings
    from edgecond.runs.settings_file import read_space, space_text

    with users_errors():
        if not Path(data).exists():
            raise DataError(f"{data} must be the path of your data: it does not exist.")
        changes = ({} if epochs is None else {"train.epochs": epochs}) | parse_settings(settings or [])
        source = options.source_of(context.params)
        problem = tuning.problem(
            source.load_data(),
            source.split,
            settings=changes,
            space=None if space_file is None else read_space(space_file),
            inner_folds=inner_folds,
        )
        if print_space:
            return echo(space_text(problem.space).rstrip())
        directory = out or Path("runs/tune", problem.recipe.name)
        study = tuning.Study(directory, problem, seed)
    if not is_one_of_many():
        echo("\n".join([*problem.notes, "trials are compared on validation examples; the test set is left alone"]))
    if on or (jobs or 1) > 1:
        with place_for(on, jobs, {"--out": directory}, context, shared=True) as place:
            precompute(problem.recipe, problem.folds[0][0])
            command = words_of(context, jobs=None, on=None, out=directory)
            if status := in_parallel([command] * place.jobs, place):
                raise typer.Exit(status)
    else:
        _run(study, trials, {"workers": workers})
    if not is_one_of_many():
        _finish(study)


def _run(study: Study, trials: int, run_options: dict[str, Any]) -> None:
    """Run trials until the study has as many as are wanted."""
    while True:
        with users_errors():
            claim = study.claim(trials)
        if claim is None:
            return
        outcome = watched(f"trial {claim.number}", claim.run, **run_options)
        echo(f"trial {outcome.number}{' (default)' if outcome.is_default else ''}: {_result(study, outcome)}")


def _result(study: Study, outcome: Outcome) -> str:
    metric = study.problem.task.validation_metric
    if outcome.value is not None:
        return f"{metric} {outcome.value:.4g} on the validation set"
    return f"failed, as {outcome.reason}" if outcome.reason else f"ended after {max(outcome.curve)} % of its training"


def _finish(study: Study) -> None:
    """Print the default and the best settings, write the best recipe and the page."""
    from edgecond.report.page import ReportError
    from edgecond.report.study import write
    from edgecond.runs.settings_file import value_text

    with users_errors():
        recipe, best, outcomes = study.write_recipe(), study.best(), study.outcomes()
    default = next((outcome for outcome in outcomes if outcome.is_default and outcome.value is not None), best)
    metric = study.problem.task.validation_metric
    rows = [[name, value_text(default.settings[name]), value_text(best.settings[name])] for name in study.problem.space]
    numbers = [f"validation {metric}", f"{default.value:.4g}", f"{best.value:.4g}"]
    print_table(["setting", "default", f"best, trial {best.number}"], [*rows, numbers])
    echo(f"{len(outcomes)} trials; the best recipe is in {recipe}: `edgecond train DATA --recipe {recipe}` trains it.")
    with users_errors():
        try:
            echo(f"A page about the study is in {write(study)}.")
        except ReportError as error:  # Plotly is an extra
            echo(error, err=True)
