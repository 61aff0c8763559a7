"""Verbs that train a network, test it and use it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any, TYPE_CHECKING

import typer

from edgecond.cli._app import app
from edgecond.cli.console import print_table, users_errors
from edgecond.cli.running import Changes, tell_how_good, watched

if TYPE_CHECKING:
    from edgecond.runs.model import Learnable, Model

DATA = "data.json"  # where a run says what data of one's own it learned
KEPT: dict[str, type | tuple[type, ...]] = {
    "path": str,
    "smiles": (str, type(None)),
    "target": (list, type(None)),
    "meshes": bool,
    "vertices": (str, type(None)),
    "scaffold": bool,
    "group": (str, type(None)),
    "folds": int,
    "fold": int,
    "seed": int,
}
"""What it says there: the path, and the options of `train` that `own.read` takes, each with its type."""


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

    from edgecond.data.datasets import digits
    from edgecond.runs import run as experiment
    from edgecond.runs.recipe import find

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
    typer.echo(f"  edgecond report {out}")


@app.command()
def train(
    what: Annotated[
        str,
        typer.Argument(
            help="A dataset, a row of `edgecond list`, or data of your own: a folder with a sub-folder of clouds or "
            "meshes per class, a CSV of SMILES, a folder or zip of TU files, or the tensors of a PyG batch."
        ),
    ],
    smiles: Annotated[str | None, typer.Option(help="Column of the SMILES in a CSV.")] = None,
    target: Annotated[list[str] | None, typer.Option(help="Column to predict; may be repeated.")] = None,
    meshes: Annotated[
        bool, typer.Option("--meshes", help="Take meshes as graphs along their edges instead of sampling points.")
    ] = False,
    vertices: Annotated[
        str | None,
        typer.Option(
            help="Column of your clouds that tells the class of each point, to predict that; of a batch, the tensor "
            "with the class of each vertex."
        ),
    ] = None,
    scaffold: Annotated[bool, typer.Option("--scaffold", help="Test molecules of rare scaffolds.")] = False,
    group: Annotated[str | None, typer.Option(help="Column of a CSV; what is equal there is not divided.")] = None,
    folds: Annotated[int, typer.Option(min=2, help="Parts of your own data, of which one is tested.")] = 5,
    epochs: Annotated[int | None, typer.Option(min=1, help="Instead of the paper's.")] = None,
    changes: Changes = None,
    fold: Annotated[int, typer.Option(min=0, help="The fold to test on; the others are learned.")] = 0,
    seed: Annotated[int, typer.Option(min=0, help="Of everything random.")] = 0,
    workers: Annotated[int, typer.Option(min=0, help="Processes that build batches ahead.")] = 0,
    anew: Annotated[bool, typer.Option("--anew", help="Begin again, whatever the directory holds.")] = False,
    out: Annotated[Path | None, typer.Option(help="Directory of the run; runs/train/DATASET by default.")] = None,
) -> None:
    """Train a network and save it as a model. A run that was stopped is taken up where it stood.

    Under torchrun several processes train as one: torchrun --nproc-per-node 2 -m edgecond train sydney

    Data of your own are divided into training and test examples, and settings are derived from them and told.

    Example: edgecond train sydney --epochs 50
    Example: edgecond train solubility.csv --target logS --set train.rate=0.05
    Example: edgecond train scans/ --vertices classification
    """
    asked = {option: value for option, value in locals().items() if option in KEPT}

    from edgecond.errors import did_you_mean, RecipeError
    from edgecond.files import write_atomic
    from edgecond.nn import parallel
    from edgecond.runs import own
    from edgecond.runs import run as experiment
    from edgecond.runs.recipe import changed, find, written

    options: dict[str, Any] = {"workers": workers, "anew": anew}
    name, data = what, None
    with users_errors():
        settings, known = written(changes or []), datasets_and_rows()
        if Path(what).exists() and what not in known:
            found = own.read(what, epochs=epochs, settings=settings, **asked)
            recipe, name, data = found.recipe, found.recipe.name, {"path": str(Path(what).resolve()), **asked}
            options["parts"] = found.parts
            typer.echo("\n".join(found.said))
        elif what not in known:
            raise RecipeError(
                f"{what} must be a dataset, a row of `edgecond list`, or the path of your own data: it is none of them."
                f"{did_you_mean(what, known, cutoff=0.6, list_known=False)}"
            )
        else:
            recipe = changed(find(what if "/" in what else f"{what}/ecc"), settings)
            options["epochs"] = epochs
    directory = out or Path("runs/train", name)
    with parallel.processes():
        trained = watched(name, experiment.train, recipe, fold, seed, directory=directory, **options)
        if parallel.rank() == 0:
            if data:
                write_atomic(directory / DATA, json.dumps(data).encode())
            tell_how_good(trained.model, trained.test)
            typer.echo(f"The model is in {directory}; `edgecond report {directory}` shows it on a page.")


def kept_examples(run: Path, model: Model, moved: Path | None = None, **changes: Any) -> Learnable | None:
    """The test examples of a run that learned data of one's own; none if it learned other data.

    Args:
        run: Its directory, which says what the data were and where.
        model: What it learned.
        moved: Where they are now.
        changes: Of what the run says.
    """
    from edgecond.errors import DataError
    from edgecond.runs import own
    from edgecond.runs.model import OWN, shown

    if model.recipe.dataset not in OWN:
        return None
    file = run / DATA
    try:
        said = json.loads(file.read_text("utf-8"))
    except (OSError, ValueError):
        said = None
    if not isinstance(said, dict) or said.keys() - KEPT.keys() or "path" not in said:
        raise DataError(
            f"{run} must be the directory of a run, with a file {DATA} that says which data of your own it learned: "
            "there is none that can be read."
        )
    for name, value in said.items():
        if not isinstance(value, KEPT[name]):
            raise DataError(f"{file} must tell {name} as `edgecond train` wrote it: got {value!r}.")
    path = Path(moved or said["path"])
    if not path.exists():
        raise DataError(
            f"{run} learned data that must still be there to test it: {path} is not. If they were moved, name their "
            "new place with --data."
        )
    found = own.read(**said | changes | {"path": path})
    learned, here = (
        (recipe.dataset, recipe.task, tuple(classes))
        for recipe, classes in ((model.recipe, model.classes), (found.recipe, found.parts[1].classes))
    )
    if learned != here:
        told = [f"{OWN[dataset]} ({task} {shown(classes)})" for dataset, task, classes in (learned, here)]
        raise DataError(
            f"{path} must hold what {run} learned, {told[0]}: it holds {told[1]}. Name the place of those data."
        )
    return found.parts[1]


Moved = Annotated[Path | None, typer.Option("--data", help="Where data of your own are now, if they were moved.")]


def datasets_and_rows() -> set[str]:
    """Names that are no paths, whatever lies in the directory."""
    from edgecond.data.datasets import names
    from edgecond.runs.recipe import recipes

    return {*names(), *recipes()}


@app.command()
def evaluate(
    model: Annotated[Path, typer.Argument(help="A model file, or the directory of a run.")],
    fold: Annotated[int | None, typer.Option(min=0, help="Instead of the fold that it did not learn.")] = None,
    looks: Annotated[
        int | None, typer.Option(min=1, help="Orientations of a cloud, or sparsifications of a graph, which vote.")
    ] = None,
    moved: Moved = None,
) -> None:
    """Test a model on the examples that were kept from it: figures and confusion.

    Example: edgecond evaluate runs/train/sydney
    """
    from edgecond.data import datasets
    from edgecond.runs.model import Model

    with users_errors():
        found = Model.load(model)
        recipe = found.recipe
        number = found.about.get("fold", 0) if fold is None else fold
        test = kept_examples(model, found, moved, fold=number)
        if test is None:
            _, test = datasets.load(recipe.dataset, number, **recipe.options)
    if test.digest != found.about["data"]:
        typer.echo(f"note: this {recipe.dataset} is not the one that was learned, by its digest.", err=True)
    typer.echo(f"{recipe.name}, fold {number}, seed {found.about['seed']}, {found.about['epochs']} epochs")
    tell_how_good(found, test, looks)


@app.command()
def export(
    model: Annotated[Path, typer.Argument(help="A model file, or the directory of a run.")],
    to: Annotated[str, typer.Option(help="onnx, or torch for a program of torch.export.")] = "onnx",
    out: Annotated[Path | None, typer.Option(help="The file to write; beside the model by default.")] = None,
) -> None:
    """Write the network of a model for programs without edgecond, and list the inputs that it takes.

    Example: edgecond export runs/demo --to onnx
    """
    from edgecond import export as exported
    from edgecond.runs.model import FILE, Model

    with users_errors():
        path = out or (model / FILE if model.is_dir() else model).with_suffix(exported.suffix(to))
        found = Model.load(model)
        exported.export(found, path, to)
    typer.echo(path)
    inputs = exported.signature(found.recipe.network, *found.widths)
    rows = [[part.name, " x ".join(map(str, part.shape)), part.dtype, part.meaning] for part in inputs]
    print_table(["input", "shape", "type", "meaning"], rows)


@app.command()
def report(
    run: Annotated[Path, typer.Argument(help="The directory of a run.")],
    out: Annotated[Path | None, typer.Option(help="The file to write; RUN/report.html by default.")] = None,
    moved: Moved = None,
) -> None:
    """Write a page about a run: curves, figures, mistakes, pyramid, filters, and how it was made.

    It is a single file that needs nothing but a browser.

    Example: edgecond report runs/demo
    """
    from edgecond.report import write
    from edgecond.runs.model import Model

    with users_errors():
        path = write(run, out, kept_examples(run, Model.load(run), moved))
    typer.echo(f"The report is in {path}.")
