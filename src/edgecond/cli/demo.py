"""The verb that trains on data that ship with a dependency."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from edgecond.cli._app import verb
from edgecond.cli.console import echo, users_errors
from edgecond.cli.running import print_kept_evaluation, watched


@verb
def demo(
    epochs: Annotated[int | None, typer.Option(min=1, help="Number of epochs instead of the recipe's 40.")] = None,
    out: Annotated[Path, typer.Option(help="Directory of the run.")] = Path("runs/demo"),
) -> None:
    """Train the paper's MNIST network on scikit-learn's digits as point clouds, in about a minute.

    Example: edgecond demo
    """
    import numpy as np
    import torch

    from edgecond.data.datasets import digits
    from edgecond.files import atomic_file
    from edgecond.runs import run
    from edgecond.runs.recipe import find

    recipe = find("digits/ecc")
    echo(f"{recipe.network}\non 1,437 handwritten digits of 8 x 8 pixels, each a cloud of 64 points")
    trained = watched("digits", run.train, recipe, directory=out, epochs=epochs, restart=True)
    print_kept_evaluation(trained, out)
    examples = out / "examples"
    for number, (cloud, y) in enumerate(digits.load()[1].take(range(3))):
        points = torch.cat([cloud.positions, cloud.signal], dim=1)
        with users_errors(), atomic_file(examples / f"test{number}-a-{trained.model.classes[y]}.npy") as file:
            np.save(file, points)
    echo(f"The model and three of the digits are in {out}. Next:")
    echo(f"  edgecond evaluate {out}")
    echo(f"  edgecond predict {out} {examples}/*.npy")
    echo(f"  edgecond report {out}")
