"""Verbs that train a network, test it and use it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from edgecond.cli._app import app
from edgecond.cli.running import tell_how_good, watched
from edgecond.console import users_errors


@app.command()
def demo(
    epochs: Annotated[int | None, typer.Option(min=1, help="Instead of those of the recipe, digits/ecc.")] = None,
    out: Annotated[Path, typer.Option(help="Directory of the run.")] = Path("runs/demo"),
) -> None:
    """Train the paper's MNIST network on scikit-learn's digits as point clouds, in about a minute.

    Example: edgecond demo
    """
    import numpy as np
    import torch

    from edgecond import experiment
    from edgecond.datasets import digits
    from edgecond.recipe import find

    recipe = find("digits/ecc")
    typer.echo(f"{recipe.network}\non 1,437 handwritten digits of 8 x 8 pixels, each a cloud of 64 points")
    trained = watched("digits", experiment.train, recipe, directory=out, epochs=epochs, anew=True)
    tell_how_good(trained.model, trained.test)
    examples = out / "examples"
    examples.mkdir(exist_ok=True)
    for number, (cloud, y) in enumerate(digits.load()[1].take(range(3))):
        points = torch.cat([cloud.positions, cloud.signal], dim=1)
        np.save(examples / f"test{number}-a-{trained.model.classes[y]}.npy", points)
    typer.echo(f"The model and three of the digits are in {out}. Next:")
    typer.echo(f"  edgecond evaluate {out}")
    typer.echo(f"  edgecond predict {out} {examples}/*.npy")


@app.command()
def train(
    what: Annotated[str, typer.Argument(help="A dataset, or a row of `edgecond list`.")],
    epochs: Annotated[int | None, typer.Option(min=1, help="Instead of the paper's.")] = None,
    fold: Annotated[int, typer.Option(min=0, help="The fold to test on; the others are learned.")] = 0,
    seed: Annotated[int, typer.Option(min=0, help="Of everything random.")] = 0,
    workers: Annotated[int, typer.Option(min=0, help="Processes that build batches ahead.")] = 0,
    anew: Annotated[bool, typer.Option("--anew", help="Begin again, whatever the directory holds.")] = False,
    out: Annotated[Path | None, typer.Option(help="Directory of the run; runs/train/DATASET by default.")] = None,
) -> None:
    """Train a network and save it as a model. A run that was stopped is taken up where it stood.

    Under torchrun several processes train as one: torchrun --nproc-per-node 2 -m edgecond train sydney

    Example: edgecond train sydney --epochs 50
    """
    from edgecond import experiment, parallel
    from edgecond.recipe import find

    with users_errors():
        recipe = find(what if "/" in what else f"{what}/ecc")
    directory = out or Path("runs/train", what)
    options = {"directory": directory, "epochs": epochs, "workers": workers, "anew": anew}
    with parallel.processes():
        trained = watched(what, experiment.train, recipe, fold, seed, **options)
        if parallel.rank() == 0:
            tell_how_good(trained.model, trained.test)
            typer.echo(f"The model is in {directory}.")


@app.command()
def evaluate(
    model: Annotated[Path, typer.Argument(help="A model file, or the directory of a run.")],
    fold: Annotated[int | None, typer.Option(min=0, help="Instead of the fold that it did not learn.")] = None,
    looks: Annotated[
        int | None, typer.Option(min=1, help="Orientations of a cloud, or sparsifications of a graph, which vote.")
    ] = None,
) -> None:
    """Test a model on the examples that were kept from it: figures and confusion.

    Example: edgecond evaluate runs/train/sydney
    """
    from edgecond import datasets
    from edgecond.model import Model

    with users_errors():
        found = Model.load(model)
        recipe = found.recipe
        number = found.about["fold"] if fold is None else fold
        _, test = datasets.load(recipe.dataset, number, **recipe.options)
    if test.digest != found.about["data"]:
        typer.echo(f"note: this {recipe.dataset} is not the one that was learned, by its digest.", err=True)
    typer.echo(f"{recipe.name}, fold {number}, seed {found.about['seed']}, {found.about['epochs']} epochs")
    tell_how_good(found, test, looks)


@app.command()
def predict(
    model: Annotated[Path, typer.Argument(help="A model file, or the directory of a run.")],
    clouds: Annotated[list[Path], typer.Argument(help="Files of points: x, y, z and the signal (.npy, .csv, .txt).")],
    looks: Annotated[int, typer.Option(min=1, help="Orientations of every cloud, whose scores are averaged.")] = 1,
) -> None:
    """Name the class of each cloud, as CSV: file, class, probability.

    Example: edgecond predict runs/demo runs/demo/examples/*.npy
    """
    import csv
    import sys

    import numpy as np

    from edgecond.datasets import DataError
    from edgecond.datasets.points import read_cloud
    from edgecond.model import Model

    with users_errors():
        found = Model.load(model)
        if found.recipe.input is None:
            raise DataError(f"predict takes files of points: {model} is a model of graphs, which evaluate can test.")
        width = found.widths[0]
        examples = [(read_cloud(path, width), 0) for path in clouds]
        scores = np.mean(found.scores(examples, looks), axis=0)
    rows = csv.writer(sys.stdout, lineterminator="\n")
    rows.writerow(["file", "class", "probability"])
    for path, row in zip(clouds, scores, strict=True):
        rows.writerow([path, found.classes[row.argmax()], f"{row.max():.4f}"])
