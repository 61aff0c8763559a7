"""The verb that tests a model."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from edgecond.cli._app import verb
from edgecond.cli.console import echo, users_errors
from edgecond.cli.running import load_test_set, Moved, print_evaluation


@verb()
def evaluate(
    model: Annotated[Path, typer.Argument(help="A model file, the directory of a run, or a pretrained model.")],
    fold: Annotated[int | None, typer.Option(min=0, help="The fold to test on instead of the run's.")] = None,
    views: Annotated[
        int | None,
        typer.Option(min=1, max=1000, help="Number of views that vote: orientations, or sparsifications of a graph."),
    ] = None,
    moved: Moved = None,
) -> None:
    """Test a model on its test set: metrics and confusion matrix.

    Example: edgecond evaluate runs/train/sydney
    """
    from edgecond.runs.model import Model

    with users_errors():
        loaded = Model.load(model)
        about = loaded.about
        number = about.get("fold", 0) if fold is None else fold
        test = load_test_set(model, loaded, moved, fold)
    if test.digest != about["data"]:
        echo("note: these data are not the training data, by their digest.", err=True)
    echo(f"{loaded.recipe.name}, fold {number}, seed {about['seed']}, {about['epochs']} epochs")
    print_evaluation(loaded, test, views)
