"""The command line: one function per verb, each importing what it needs when it runs."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Any, TYPE_CHECKING, TypeVar

import typer

from edgecond import __version__
from edgecond.console import confusion_table, percentages, print_table, progress, until_asked_to_stop, users_errors
from edgecond.notation import Architecture, D, FC, Pooling

if TYPE_CHECKING:
    from edgecond.datasets import Examples
    from edgecond.model import Model
    from edgecond.training import Step

T = TypeVar("T")
app = typer.Typer(no_args_is_help=True, add_completion=False)


def main() -> None:
    """The entry point `edgecond`."""
    # Threads that wait for work sleep. Where other programs want the cores, spinning ones, which is the default of
    # OpenMP, make a run several times slower.
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    app()


def _version(asked: bool) -> None:
    if asked:
        typer.echo(f"edgecond {__version__}")
        raise typer.Exit


@app.callback()
def edgecond(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and leave.")
    ] = False,
) -> None:
    """Edge-conditioned convolution on graphs and point clouds."""


@app.command()
def info() -> None:
    """Tell the versions in use, the kernels and the threads.

    Example: edgecond info
    """
    import platform

    import torch

    from edgecond.convolution import native

    kernels = f"C++, {native.instruction_set()}" if native.available() else "torch"
    typer.echo(f"edgecond  {__version__}")
    typer.echo(f"python    {platform.python_version()}")
    typer.echo(f"torch     {torch.__version__}")
    typer.echo(f"kernels   {kernels}")
    typer.echo(f"threads   {torch.get_num_threads()}")


@app.command()
def network(
    notation: Annotated[str, typer.Argument(help="A network as the paper writes it, in quotes.")],
) -> None:
    """List the layers of a network and the level of graph resolution that each works on.

    Example: edgecond network "C(16)-MP(0.25,0.5)-GAP-FC(14)"
    """
    with users_errors():
        architecture = Architecture(notation)

    rows = []
    for layer, level in zip(architecture, architecture.levels, strict=True):
        on = f"{level} to {level + 1}" if isinstance(layer, Pooling) else f"{level}"
        rows.append([str(layer), "" if isinstance(layer, FC | D) else on, type(layer).__doc__ or ""])
    print_table(["layer", "level", ""], rows)
    layers, resolutions = architecture.parametric_layers, architecture.resolutions
    typer.echo(f"parametric layers: {layers}, levels of graph resolution: {resolutions}")


@app.command("list")
def list_rows() -> None:
    """List the rows of the paper's tables that can be rerun.

    Example: edgecond list
    """
    from edgecond.recipe import recipes

    rows = []
    for name, recipe in recipes().items():
        if recipe.paper:
            places = [f"Table {c.table}" if c.table else f"Section {c.section}" for c in recipe.paper]
            rows.append([name, ", ".join(dict.fromkeys(places)), recipe.paper[0].row])
    print_table(["row", "in the paper", "as"], rows)


@app.command()
def show(row: Annotated[str, typer.Argument(help="A row of `edgecond list`.")]) -> None:
    """Show all that a row is made of.

    Example: edgecond show sydney/wider
    """
    from edgecond.recipe import find

    with users_errors():
        recipe = find(row)
    for name in type(recipe).model_fields:
        value = getattr(recipe, name)
        for line in value if name == "paper" else [value]:
            typer.echo(f"{name:14}{line}")


@app.command()
def fetch(name: Annotated[str, typer.Argument(help="A dataset: sydney, modelnet10, modelnet40, mnist, ...")]) -> None:
    """Download what is missing of a dataset, and check all of it. EDGECOND_DATA names the directory.

    Example: edgecond fetch sydney
    """
    from edgecond import datasets

    with users_errors():
        typer.echo(datasets.fetch(name))


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
    from edgecond.recipe import find

    recipe = find("digits/ecc")
    typer.echo(f"{recipe.network}\non 1,437 handwritten digits of 8 x 8 pixels, each a cloud of 64 points")
    trained = _watched("digits", experiment.train, recipe, directory=out, epochs=epochs, anew=True)
    _tell_how_good(trained.model, trained.test)
    examples = out / "examples"
    examples.mkdir(exist_ok=True)
    for number, (cloud, y) in enumerate(trained.test.take(range(3))):
        points = torch.cat([cloud.positions, cloud.signal], dim=1)
        np.save(examples / f"test{number}-a-{trained.test.classes[y]}.npy", points)
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
        trained = _watched(what, experiment.train, recipe, fold, seed, **options)
        if parallel.rank() == 0:
            _tell_how_good(trained.model, trained.test)
            typer.echo(f"The model is in {directory}.")


@app.command()
def evaluate(
    model: Annotated[Path, typer.Argument(help="A model file, or the directory of a run.")],
    fold: Annotated[int | None, typer.Option(min=0, help="Instead of the fold that it did not learn.")] = None,
    looks: Annotated[int | None, typer.Option(min=1, help="Orientations of every cloud, which vote.")] = None,
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
    _tell_how_good(found, test, looks)


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

    from edgecond.datasets.points import read_cloud
    from edgecond.model import Model

    with users_errors():
        found = Model.load(model)
        width = found.widths[0]
        examples = [(read_cloud(path, width), 0) for path in clouds]
        scores = np.mean(found.scores(examples, looks), axis=0)
    rows = csv.writer(sys.stdout, lineterminator="\n")
    rows.writerow(["file", "class", "probability"])
    for path, row in zip(clouds, scores, strict=True):
        rows.writerow([path, found.classes[row.argmax()], f"{row.max():.4f}"])


@app.command()
def reproduce(
    row: Annotated[str, typer.Argument(help="A row of `edgecond list`.")],
    fold: Annotated[
        list[int] | None, typer.Option(help="A test fold, from 0; may be repeated. All by default.")
    ] = None,
    seed: Annotated[list[int] | None, typer.Option(help="A seed; may be repeated.")] = None,
    jobs: Annotated[int, typer.Option(min=1, help="Folds to run side by side, one thread each.")] = 1,
    epochs: Annotated[int | None, typer.Option(min=1, help="Instead of the paper's.")] = None,
    workers: Annotated[int, typer.Option(min=0, help="Processes that build batches ahead.")] = 0,
    resume: Annotated[
        bool, typer.Option("--resume/--anew", help="Go on with a run that was stopped, or begin again.")
    ] = True,
    runs: Annotated[Path, typer.Option(help="Directory of checkpoints.")] = Path("runs"),
    results: Annotated[Path, typer.Option(help="Directory of records.")] = Path("results"),
) -> None:
    """Rerun a row of the paper and write a record per fold. A run that was stopped is taken up where it stood.

    Under torchrun several processes train as one: torchrun --nproc-per-node 2 -m edgecond reproduce modelnet10/ecc

    Example: edgecond reproduce sydney/ecc --jobs 2
    """
    from edgecond.recipe import find

    with users_errors():
        recipe = find(row)
    wanted = [(f, s) for s in seed or [0] for f in (range(recipe.folds) if fold is None else fold)]
    if jobs > 1 and len(wanted) > 1:
        rest = ["--workers", str(workers), "--runs", str(runs), "--results", str(results)]
        rest += ["--resume" if resume else "--anew"] + ([] if epochs is None else ["--epochs", str(epochs)])
        raise typer.Exit(_side_by_side(row, wanted, jobs, rest))

    from edgecond import experiment, parallel

    options = {"runs": runs, "results": results, "epochs": epochs, "workers": workers, "anew": not resume}
    with parallel.processes():
        for number, of in wanted:
            name = f"{row} fold {number} seed {of}"
            record = _watched(name, experiment.reproduce, recipe, number, of, **options)
            if parallel.rank() == 0:
                typer.echo(f"{name}: {percentages(record['metrics'])}")


def _watched(name: str, work: Callable[..., T], *given: Any, **options: Any) -> T:
    """What `work` returns, which is observed by a bar and by whoever asks it to stop."""
    from edgecond import parallel
    from edgecond.experiment import Interrupted

    with users_errors(), until_asked_to_stop() as asked, progress(name, seen=parallel.rank() == 0) as tell:

        def observe(step: Step, batches: int, epochs: int) -> bool:
            tell(step, batches, epochs)
            return not asked

        try:
            return work(*given, observe=observe, **options)
        except Interrupted as stopped:
            typer.echo(f"{name}: {stopped}")
            raise typer.Exit(130) from None


def _tell_how_good(model: Model, test: Examples, looks: int | None = None) -> None:
    from edgecond import evaluation

    scores, y = model.scores(test, looks or model.recipe.orientations), test.ys.numpy()
    confusion_table(evaluation.confusion(y, evaluation.vote(scores), len(test.classes)), test.classes)
    typer.echo(f"{len(test)} test examples: {percentages(evaluation.figures(y, scores))}")


def _side_by_side(row: str, wanted: Sequence[tuple[int, int]], jobs: int, rest: Sequence[str]) -> int:
    """Each fold in a process of its own, `jobs` at a time, until one fails or is stopped; the first bad status."""
    import subprocess
    import sys
    import time

    running: list[subprocess.Popen[bytes]] = []
    waiting, status = list(wanted), 0

    def pass_on(kind: int) -> None:
        for process in running:
            process.send_signal(kind)

    with until_asked_to_stop(pass_on) as asked:
        while running or (waiting and not status and not asked):
            while waiting and len(running) < jobs and not status and not asked:
                fold, seed = waiting.pop(0)
                command = [sys.executable, "-m", "edgecond", "reproduce", row, f"--fold={fold}", f"--seed={seed}"]
                one_thread = {**os.environ, "OMP_NUM_THREADS": "1"}
                running.append(subprocess.Popen([*command, *rest], env=one_thread))
            time.sleep(0.1)
            ended = [process for process in running if process.poll() is not None]
            status = status or next((process.returncode for process in ended if process.returncode), 0)
            running = [process for process in running if process not in ended]
    return status


@app.command()
def table(
    number: Annotated[int, typer.Argument(help="The table's number in the paper.")],
    results: Annotated[Path, typer.Option(help="Directory of records.")] = Path("results"),
) -> None:
    """Print a table of the paper beside what has been rerun so far.

    Example: edgecond table 1
    """
    from edgecond.report import entries, tables

    found = entries(number, results)
    if not found:
        typer.echo(f"the tables that are rerun are {', '.join(map(str, tables()))}: got {number}.", err=True)
        raise typer.Exit(2)
    rows = []
    for entry in found:
        rerun, spread = ("" if x is None else entry.written(x) for x in (entry.rerun, entry.spread))
        rerun = rerun or ("-" if not entry.folds else "partly")
        epochs = "" if entry.epochs is None else "-".join(map(str, dict.fromkeys(entry.epochs)))
        folds = f"{len(entry.folds)}/{entry.recipe.folds}"
        figure = entry.metric.removesuffix("_votes").replace("accuracy", "acc").replace("_", " ")
        cells = [figure, entry.written(entry.paper), rerun, spread, folds, str(entry.seeds), epochs]
        rows.append([entry.recipe.name, *cells, entry.row])
    print_table(["row", "figure", "paper", "rerun", "±", "folds", "seeds", "epochs", "in the paper"], rows)
    typer.echo("±: standard deviation over folds; the figure of a fold is the mean over its seeds.")
