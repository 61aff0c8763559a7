"""The verb that trains a network."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, TYPE_CHECKING

import typer

from edgecond.cli import options
from edgecond.cli._app import verb
from edgecond.cli.console import echo, users_errors
from edgecond.cli.options import OUTPUT, TRAINING
from edgecond.cli.running import is_one_of_many, Jobs, Log, On, print_kept_evaluation, Settings, watched, Workers
from edgecond.data import MAX_SEED

if TYPE_CHECKING:
    from edgecond.runs.recipe import Recipe


@verb
def train(
    context: typer.Context,
    data: Annotated[
        str,
        typer.Argument(
            help="A data set, a row of `edgecond list`, or your data: a folder with a sub-folder of clouds or meshes "
            "per class, a CSV of SMILES, a folder or zip of TU files, or the tensors of a PyG batch."
        ),
    ],
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
    validation: options.Validation = None,
    split: options.Split = None,
    scaffold: options.Scaffold = False,
    group: options.Group = None,
    time: options.Time = None,
    split_column: options.SplitColumn = None,
    folds: options.Folds = None,
    fold: options.Fold = None,
    epochs: Annotated[
        int | None, typer.Option(min=1, help="Number of epochs instead of the recipe's.", rich_help_panel=TRAINING)
    ] = None,
    recipe_file: Annotated[
        Path | None,
        typer.Option(
            "--recipe",
            help="A TOML file with settings, as `edgecond tune` writes it; --epochs and --set take precedence.",
            rich_help_panel=TRAINING,
        ),
    ] = None,
    settings: Settings = None,
    start_model: Annotated[
        Path | None,
        typer.Option(
            "--from",
            metavar="MODEL",
            help="A model to start from, instead of random weights; its network is taken over.",
            rich_help_panel=TRAINING,
        ),
    ] = None,
    freeze: Annotated[
        int,
        typer.Option(
            min=0, help="Number of layers of --from, from the first, that stay as they are.", rich_help_panel=TRAINING
        ),
    ] = 0,
    ensemble: Annotated[
        int | None,
        typer.Option(min=1, max=100, help="Number of networks whose outputs are averaged.", rich_help_panel=TRAINING),
    ] = None,
    calibration: Annotated[
        float | None,
        typer.Option(
            min=0,
            max=0.5,
            help="Share of the training set that calibrates probabilities and intervals instead; 0.1 by default for an "
            "ensemble on your data, otherwise 0.",
            rich_help_panel=TRAINING,
        ),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, max=MAX_SEED, help="Random seed.", rich_help_panel=TRAINING)] = 0,
    workers: Workers = 0,
    jobs: Jobs = None,
    on: On = None,
    final: Annotated[
        bool,
        typer.Option(
            "--final",
            help="Then train on everything, test set included, and save that in OUT/final.",
            rich_help_panel=OUTPUT,
        ),
    ] = False,
    restart: Annotated[
        bool,
        typer.Option(
            "--restart", help="Start from the beginning, whatever the directory holds.", rich_help_panel=OUTPUT
        ),
    ] = False,
    log: Log = None,
    out: Annotated[
        Path | None,
        typer.Option(help="Directory of the run; runs/train/DATASET by default.", rich_help_panel=OUTPUT),
    ] = None,
) -> None:
    """Train a network and save it as a model. A run that was stopped is resumed.

    Your data are split into a training set and a test set, and settings that fit them are derived and printed.

    Under torchrun several processes train as one: torchrun --nproc-per-node 2 -m edgecond train sydney

    Example: edgecond train sydney --epochs 50
    Example: edgecond train solubility.csv --target logS --set train.learning_rate=0.05
    Example: edgecond train solubility.csv --target logS --features temperature,solvent --descriptors
    Example: edgecond train solubility.csv --target logS --split scaffold --validation 0.1
    Example: edgecond train solubility.csv --target logS --folds 5 --jobs 2 --final
    Example: edgecond train solubility.csv --target logS --recipe runs/tune/solubility/recipe.toml
    Example: edgecond train freesolv.csv --target expt --from runs/train/esol --freeze 2
    Example: edgecond train train.csv --test test.csv --target logS --ensemble 5
    Example: edgecond train scans/ --vertices classification
    Example: edgecond train scans/ --columns x=rel_x,y=rel_z,z=rel_y,intensity=i
    """
    from edgecond.cli.user_runs import UserRuns
    from edgecond.data.datasets import names
    from edgecond.errors import did_you_mean, RecipeError
    from edgecond.nn import parallel
    from edgecond.runs.finetuning import Start
    from edgecond.runs.model import Model
    from edgecond.runs.recipe import find, parse_settings, recipes, with_epochs, with_settings
    from edgecond.runs.sampling import kind_for
    from edgecond.runs.settings_file import read_settings
    from edgecond.runs.tracking import trackers

    known = {*names(), *recipes()}  # these names are no paths, whatever the directory holds
    all_folds = folds is not None and fold is None
    with users_errors():
        callbacks = trackers(log)
        changes = {} if recipe_file is None else read_settings(recipe_file)
        if epochs is not None:
            changes.pop("train.epochs", None)
        changes |= parse_settings(settings or [])
        changes |= {"ensemble": ensemble} if ensemble is not None else {}
        changes |= {"calibration": calibration} if calibration is not None else {}
        if freeze and start_model is None:
            raise RecipeError(f"--freeze {freeze} is for the layers of a model to start from. Name one with --from.")
        start = None
        if start_model is not None:
            start = Start(Model.load(start_model), freeze, _report)
        if ((jobs or 1) > 1 or on) and not all_folds:
            asked = f"--on {on}" if on else f"--jobs {jobs}"
            raise RecipeError(f"{asked} runs folds in parallel: there is one run. Add --folds, or leave it out.")
        if data in known:
            chosen = {"test": test, "validation": validation, "split": split, "scaffold": scaffold, "folds": folds}
            given = [*options.read_options(context.params).given()]
            given += [name for name, value in (chosen | {"final": final}).items() if value]
            if given:
                raise RecipeError(
                    f"--{given[0].replace('_', '-')} is an option for your own data: {data} has targets and folds of "
                    "its own. Leave it out; `edgecond reproduce` runs all folds of a row."
                )
            recipe = find(data if "/" in data else f"{data}/ecc")
            if start is not None:
                start.check_kind(kind_for(recipe))
                changes = start.settings(recipe.network.classes or 0) | changes
            recipe = with_settings(with_epochs(recipe, epochs), changes)
        elif Path(data).exists():
            source = options.source_of(context.params)
            loaded = source.load_data()
            if start is not None:
                loaded = loaded.starting_from(start)
                changes = start.settings(len(loaded.data.examples.classes)) | changes
        else:
            raise RecipeError(
                f"{data} must be a data set, a row of `edgecond list`, or the path of your data: it is none of them."
                f"{did_you_mean(data, known, cutoff=0.6, list_known=False)}"
            )
    run_options: dict[str, Any] = {"workers": workers, "restart": restart, "start": start, "callbacks": callbacks}
    with parallel.processes():
        if data in known:
            return _train_row(data, recipe, fold or 0, seed, out or Path("runs/train", data), run_options)
        runs = UserRuns(source, loaded, epochs, changes, run_options, out or Path("runs/train", loaded.data.name))
        if all_folds:
            runs.folds(jobs, on, context)
        else:
            runs.one()
        if final:
            runs.final()


def _report(sentence: str) -> None:
    """Print what is taken over from a model, once for all processes."""
    from edgecond.nn import parallel

    if parallel.rank() == 0 and not is_one_of_many():
        echo(sentence)


def _train_row(name: str, recipe: Recipe, fold: int, seed: int, out: Path, options: dict[str, Any]) -> None:
    """Train on a data set with a name."""
    from edgecond.data import datasets
    from edgecond.nn import parallel
    from edgecond.runs import ensemble
    from edgecond.runs.user_data import training_notes

    if parallel.rank() == 0:
        echo("\n".join(training_notes(recipe)))
    if (start := options["start"]) is not None:
        with users_errors():
            train, test = map(start.extended, datasets.load(recipe.dataset, fold, **recipe.options))
        options = options | {"parts": (train, test)}
    trained = watched(name, ensemble.train, recipe, fold, seed, directory=out, **options)
    if parallel.rank() == 0:
        print_kept_evaluation(trained, out)
        echo(f"The model is in {out}; `edgecond report {out}` writes a page about it.")
