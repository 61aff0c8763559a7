"""The verb that trains a network."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from edgecond.cli._app import verb
from edgecond.cli.console import echo, users_errors
from edgecond.cli.running import print_evaluation, Settings, watched, Workers
from edgecond.data import MAX_SEED


@verb()
def train(
    data: Annotated[
        str,
        typer.Argument(
            help="A data set, a row of `edgecond list`, or your data: a folder with a sub-folder of clouds or meshes "
            "per class, a CSV of SMILES, a folder or zip of TU files, or the tensors of a PyG batch."
        ),
    ],
    smiles: Annotated[str | None, typer.Option(help="Column of the SMILES in a CSV.")] = None,
    target: Annotated[list[str] | None, typer.Option(help="Column to predict; may be repeated.")] = None,
    numbers: Annotated[
        bool, typer.Option("--numbers", help="Predict targets as numbers, even where they are few and whole.")
    ] = False,
    features: Annotated[
        str | None,
        typer.Option(help="Columns of a CSV that the network sees beside the molecules, as temperature,solvent."),
    ] = None,
    descriptors: Annotated[
        bool | None,
        typer.Option(
            help="Let the network see all of RDKit's descriptors of molecules, or none; size and polarity else."
        ),
    ] = None,
    meshes: Annotated[
        bool, typer.Option("--meshes", help="Read meshes as graphs along their edges instead of sampling points.")
    ] = False,
    vertices: Annotated[
        str | None,
        typer.Option(help="Column (of clouds) or tensor (of a batch) with a target for each point or vertex."),
    ] = None,
    columns: Annotated[
        str | None,
        typer.Option(help="Columns of point files with other names, as x=relative_x,y=relative_y,z=height."),
    ] = None,
    up: Annotated[str, typer.Option(help="Axis that points up in point files: x, y or z.")] = "z",
    scaffold: Annotated[
        bool, typer.Option("--scaffold", help="Test on molecules with rare scaffolds instead of a random fold.")
    ] = False,
    group: Annotated[
        str | None, typer.Option(help="Column of a CSV; rows with equal values stay in one part of the split.")
    ] = None,
    folds: Annotated[int, typer.Option(min=2, help="Number of folds that your data are split into.")] = 5,
    epochs: Annotated[int | None, typer.Option(min=1, help="Number of epochs instead of the recipe's.")] = None,
    settings: Settings = None,
    fold: Annotated[int, typer.Option(min=0, help="The fold to test on; the others are the training set.")] = 0,
    seed: Annotated[int, typer.Option(min=0, max=MAX_SEED, help="Random seed.")] = 0,
    workers: Workers = 0,
    restart: Annotated[
        bool, typer.Option("--restart", help="Start from the beginning, whatever the directory holds.")
    ] = False,
    out: Annotated[Path | None, typer.Option(help="Directory of the run; runs/train/DATASET by default.")] = None,
) -> None:
    """Train a network and save it as a model. A run that was stopped is resumed.

    Your data are split into a training set and a test set, and settings that fit them are derived and printed.

    Under torchrun several processes train as one: torchrun --nproc-per-node 2 -m edgecond train sydney

    Example: edgecond train sydney --epochs 50
    Example: edgecond train solubility.csv --target logS --set train.learning_rate=0.05
    Example: edgecond train solubility.csv --target logS --features temperature,solvent --descriptors
    Example: edgecond train scans/ --vertices classification
    Example: edgecond train scans/ --columns x=rel_x,y=rel_z,z=rel_y,intensity=i
    """
    from edgecond.data.datasets import names
    from edgecond.data.formats.axes import parse_columns
    from edgecond.data.formats.columns import parse_names
    from edgecond.data.kinds import ReadOptions, Split
    from edgecond.errors import did_you_mean, RecipeError
    from edgecond.nn import parallel
    from edgecond.runs import run
    from edgecond.runs.recipe import find, parse_settings, recipes, with_epochs, with_settings
    from edgecond.runs.source import Source
    from edgecond.runs.user_data import training_notes

    options: dict[str, Any] = {"workers": workers, "restart": restart}
    source, known = None, {*names(), *recipes()}  # these names are no paths, whatever the directory holds
    with users_errors():
        changes = parse_settings(settings or [])
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
        )
        if data in known:
            given = [*read_options.given(), *["folds"] * (folds != Split.folds), *["scaffold"] * scaffold]
            if given:
                raise RecipeError(
                    f"--{given[0]} is an option for your own data: {data} has targets and folds of its own. "
                    "Leave it out."
                )
            recipe = with_settings(with_epochs(find(data if "/" in data else f"{data}/ecc"), epochs), changes)
            name, notes = data, training_notes(recipe)
        elif Path(data).exists():
            source = Source(Path(data), read_options, Split(folds, fold, seed, scaffold))
            dataset = source.read(epochs=epochs, settings=changes)
            recipe, name, options["parts"] = dataset.recipe, dataset.recipe.name, (dataset.train, dataset.test)
            notes = list(dataset.notes)
        else:
            raise RecipeError(
                f"{data} must be a data set, a row of `edgecond list`, or the path of your data: it is none of them."
                f"{did_you_mean(data, known, cutoff=0.6, list_known=False)}"
            )
    directory = out or Path("runs/train", name)
    with parallel.processes():
        if parallel.rank() == 0:
            echo("\n".join(notes))
        trained = watched(name, run.train, recipe, fold, seed, directory=directory, **options)
        if parallel.rank() == 0:
            if source is not None:
                with users_errors():
                    source.save(directory)
            print_evaluation(trained.model, trained.test)
            echo(f"The model is in {directory}; `edgecond report {directory}` writes a page about it.")
