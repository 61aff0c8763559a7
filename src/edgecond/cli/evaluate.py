"""The verb that tests a model."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from edgecond.cli._app import verb
from edgecond.cli.console import counting, echo, users_errors
from edgecond.cli.running import load_parts, Moved, print_evaluation, written


@verb
def evaluate(
    model: Annotated[Path, typer.Argument(help="A model file, the directory of a run, or a pretrained model.")],
    fold: Annotated[int | None, typer.Option(min=0, help="The fold to test on instead of the run's.")] = None,
    views: Annotated[
        int | None,
        typer.Option(min=1, max=1000, help="Number of views that vote: orientations, or sparsifications of a graph."),
    ] = None,
    baseline: Annotated[
        bool,
        typer.Option(
            "--baseline",
            help="Also fit a simple method to the training set and test it: a random forest on fingerprints "
            "(molecules) or shape features (clouds, meshes), or a graph kernel with an SVM (graphs).",
        ),
    ] = False,
    moved: Moved = None,
) -> None:
    """Test a model on its test set: metrics and confusion matrix.

    With --baseline the metrics of the baseline are kept in the directory of the run, and its report shows them too.

    Example: edgecond evaluate runs/train/sydney
    """
    from edgecond.runs.comparison import baseline_for, compare, keep
    from edgecond.runs.model import Model

    with users_errors():
        loaded = Model.load(model)
        about = loaded.about
        own = about.get("fold", 0)
        number = own if fold is None else fold
        train, test = load_parts(model, loaded, moved, fold)
    if test.digest != about["data"]:
        echo("note: these data are not the training data, by their digest.", err=True)
    if number != own:
        echo(f"note: the network was trained on these examples: its test set is fold {own}.", err=True)
    echo(f"{loaded.recipe.name}, fold {number}, seed {about['seed']}, {about['epochs']} epochs")
    print_evaluation(loaded, test, views)
    if baseline:
        title = baseline_for(loaded).title
        with users_errors(), counting(title) as progress:
            compared = compare(loaded, train, test, number, progress)
            if model.is_dir():
                keep(compared, model)
        echo(f"baseline, {title}: {written(loaded, compared.metrics)}")
