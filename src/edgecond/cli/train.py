"""The verb that trains a network."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, TYPE_CHECKING

import typer

from edgecond.cli._app import verb
from edgecond.cli.console import echo, users_errors
from edgecond.cli.running import Jobs, print_evaluation, Settings, watched, Workers
from edgecond.data import MAX_SEED

if TYPE_CHECKING:
    from edgecond.runs.recipe import Recipe

DATA, SPLIT, TRAINING, OUTPUT = "Data", "Split", "Training", "Output"


@verb()
def train(
    context: typer.Context,
    data: Annotated[
        str,
        typer.Argument(
            help="A data set, a row of `edgecond list`, or your data: a folder with a sub-folder of clouds or meshes "
            "per class, a CSV of SMILES, a folder or zip of TU files, or the tensors of a PyG batch."
        ),
    ],
    smiles: Annotated[str | None, typer.Option(help="Column of the SMILES in a CSV.", rich_help_panel=DATA)] = None,
    target: Annotated[
        list[str] | None, typer.Option(help="Column to predict; may be repeated.", rich_help_panel=DATA)
    ] = None,
    numbers: Annotated[
        bool,
        typer.Option(
            "--numbers", help="Predict targets as numbers, even where they are few and whole.", rich_help_panel=DATA
        ),
    ] = False,
    features: Annotated[
        str | None,
        typer.Option(
            help="Columns of a CSV that the network sees beside the molecules, as temperature,solvent.",
            rich_help_panel=DATA,
        ),
    ] = None,
    descriptors: Annotated[
        bool | None,
        typer.Option(
            help="Let the network see all of RDKit's descriptors of molecules, or none; size and polarity else.",
            rich_help_panel=DATA,
        ),
    ] = None,
    weights: Annotated[
        str | None,
        typer.Option(help="Column of a CSV with the weight of each row in the loss.", rich_help_panel=DATA),
    ] = None,
    meshes: Annotated[
        bool,
        typer.Option(
            "--meshes",
            help="Read meshes as graphs along their edges instead of sampling points.",
            rich_help_panel=DATA,
        ),
    ] = False,
    vertices: Annotated[
        str | None,
        typer.Option(
            help="Column (of clouds) or tensor (of a batch) with a target for each point or vertex.",
            rich_help_panel=DATA,
        ),
    ] = None,
    columns: Annotated[
        str | None,
        typer.Option(
            help="Columns of point files with other names, as x=relative_x,y=relative_y,z=height.",
            rich_help_panel=DATA,
        ),
    ] = None,
    up: Annotated[str, typer.Option(help="Axis that points up in point files: x, y or z.", rich_help_panel=DATA)] = "z",
    test: Annotated[
        Path | None,
        typer.Option(help="The test set, data of the same kind; all of DATA is for training.", rich_help_panel=SPLIT),
    ] = None,
    validation: Annotated[
        str | None,
        typer.Option(
            metavar="PATH|SHARE",
            help="Data to choose the best epoch on, or the share of the training set to take for it, as 0.1.",
            rich_help_panel=SPLIT,
        ),
    ] = None,
    split: Annotated[
        str | None,
        typer.Option(
            metavar="HOW|FILE",
            help="random, scaffold, scaffold-balanced, group or time; or a CSV with the columns row, file or graph, "
            "and part: train, validation or test.",
            rich_help_panel=SPLIT,
        ),
    ] = None,
    scaffold: Annotated[
        bool, typer.Option("--scaffold", help="Short for --split scaffold.", rich_help_panel=SPLIT)
    ] = False,
    group: Annotated[
        str | None,
        typer.Option(
            help="Column of a CSV; rows with equal values stay in one part of the split.", rich_help_panel=SPLIT
        ),
    ] = None,
    time: Annotated[
        str | None,
        typer.Option(help="Column of a CSV with numbers or dates; the latest rows are tested.", rich_help_panel=SPLIT),
    ] = None,
    split_column: Annotated[
        str | None,
        typer.Option(
            help="Column of a CSV with the part of each row: train, validation or test.", rich_help_panel=SPLIT
        ),
    ] = None,
    folds: Annotated[
        int | None,
        typer.Option(min=2, help="Cross-validation: number of folds, all of which are run.", rich_help_panel=SPLIT),
    ] = None,
    fold: Annotated[
        int | None,
        typer.Option(min=0, help="The single fold to test on; the others are the training set.", rich_help_panel=SPLIT),
    ] = None,
    epochs: Annotated[
        int | None, typer.Option(min=1, help="Number of epochs instead of the recipe's.", rich_help_panel=TRAINING)
    ] = None,
    settings: Settings = None,
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
    jobs: Jobs = 1,
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
    Example: edgecond train train.csv --test test.csv --target logS --ensemble 5
    Example: edgecond train scans/ --vertices classification
    Example: edgecond train scans/ --columns x=rel_x,y=rel_z,z=rel_y,intensity=i
    """
    from edgecond.cli.user_runs import UserRuns
    from edgecond.data.datasets import names
    from edgecond.data.formats.axes import parse_columns
    from edgecond.data.formats.columns import parse_names
    from edgecond.data.kinds import ReadOptions
    from edgecond.errors import did_you_mean, RecipeError
    from edgecond.nn import parallel
    from edgecond.runs.recipe import find, parse_settings, recipes, with_epochs, with_settings
    from edgecond.runs.source import Source
    from edgecond.runs.user_data import split_of

    options: dict[str, Any] = {"workers": workers, "restart": restart}
    known = {*names(), *recipes()}  # these names are no paths, whatever the directory holds
    all_folds = folds is not None and fold is None
    with users_errors():
        changes = parse_settings(settings or [])
        changes |= {"ensemble": ensemble} if ensemble is not None else {}
        changes |= {"calibration": calibration} if calibration is not None else {}
        read_options = ReadOptions(
            smiles,
            tuple(target or ()),
            group,
            vertices,
            meshes,
            parse_columns(columns) if columns else {},
            up,
            numbers,
            parse_names(features) if features else (),
            descriptors,
            time,
            split_column,
            weights,
        )
        if jobs > 1 and not all_folds:
            raise RecipeError(f"--jobs {jobs} runs folds in parallel: there is one run. Add --folds, or leave it out.")
        if data in known:
            chosen = {"test": test, "validation": validation, "split": split, "scaffold": scaffold, "folds": folds}
            given = [*read_options.given(), *(name for name, value in (chosen | {"final": final}).items() if value)]
            if given:
                raise RecipeError(
                    f"--{given[0].replace('_', '-')} is an option for your own data: {data} has targets and folds of "
                    "its own. Leave it out; `edgecond reproduce` runs all folds of a row."
                )
            recipe = with_settings(with_epochs(find(data if "/" in data else f"{data}/ecc"), epochs), changes)
        elif Path(data).exists():
            if scaffold and split not in (None, "scaffold"):
                raise RecipeError(f"--scaffold is short for --split scaffold: got --split {split} too. Leave one out.")
            how = "scaffold" if scaffold else split
            chosen_split = split_of(how, validation, folds=folds, fold=fold or 0, seed=seed, test=test)
            source = Source(Path(data), read_options, chosen_split)
            loaded = source.load_data()
        else:
            raise RecipeError(
                f"{data} must be a data set, a row of `edgecond list`, or the path of your data: it is none of them."
                f"{did_you_mean(data, known, cutoff=0.6, list_known=False)}"
            )
    with parallel.processes():
        if data in known:
            return _train_row(data, recipe, fold or 0, seed, out or Path("runs/train", data), options)
        runs = UserRuns(source, loaded, epochs, changes, options, out or Path("runs/train", loaded.data.name))
        if all_folds:
            runs.folds(jobs, context)
        else:
            runs.one()
        if final:
            runs.final()


def _train_row(name: str, recipe: Recipe, fold: int, seed: int, out: Path, options: dict[str, Any]) -> None:
    """Train on a data set with a name."""
    from edgecond.nn import parallel
    from edgecond.runs import ensemble
    from edgecond.runs.user_data import training_notes

    if parallel.rank() == 0:
        echo("\n".join(training_notes(recipe)))
    trained = watched(name, ensemble.train, recipe, fold, seed, directory=out, **options)
    if parallel.rank() == 0:
        print_evaluation(trained.model, trained.test)
        echo(f"The model is in {out}; `edgecond report {out}` writes a page about it.")
