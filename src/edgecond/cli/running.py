"""How the verbs run what takes long: watched, stopped when asked, folds one after the other or side by side."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Annotated, Any, TYPE_CHECKING, TypeVar

import typer

from edgecond.cli.console import confusion_table, percentages, progress, quantities, until_asked_to_stop, users_errors

if TYPE_CHECKING:
    from edgecond.nn.training import Step
    from edgecond.runs.model import Learnable, Model
    from edgecond.runs.recipe import Recipe

T = TypeVar("T")
Changes = Annotated[
    list[str] | None, typer.Option("--set", help="Another setting, as train.learning_rate=0.05; may be repeated.")
]


def watched(name: str, work: Callable[..., T], *given: Any, **options: Any) -> T:
    """What `work` returns, which is observed by a bar and by whoever asks it to stop."""
    from edgecond.nn import parallel
    from edgecond.runs.run import Interrupted

    first = parallel.rank() == 0
    with users_errors(), until_asked_to_stop() as asked, progress(name, seen=first) as (tell, count):

        def observe(step: Step, batches: int, epochs: int) -> bool:
            tell(step, batches, epochs)
            return not asked

        try:
            return work(*given, observe=observe, progress=count, **options)
        except Interrupted as stopped:
            typer.echo(f"{name}: {stopped}")
            raise typer.Exit(130) from None


def tell_how_good(model: Model, test: Learnable, views: int | None = None) -> None:
    """Figures of a model on test examples; of classes, which are taken for which.

    The authors' own F1 is told where the paper gives it: for Sydney.
    """
    from edgecond.nn import evaluation

    with users_errors():
        scores, y = model.scores(test, views), test.ys.numpy()
        figures = model.figures_of(scores, y)
    if model.recipe.dataset != "sydney":
        figures = {name: value for name, value in figures.items() if not name.startswith("f1_legacy")}
    if model.recipe.task in ("classification", "segmentation"):
        confusion_table(evaluation.confusion(y, evaluation.vote(scores), len(test.classes)), test.classes)
    told = percentages(figures) if model.recipe.task != "regression" else quantities(figures)
    typer.echo(f"{len(test)} test examples: {told}")


def folds(
    command: list[str],
    recipe: Recipe,
    work: Callable[..., dict[str, Any]],
    wanted: Sequence[tuple[int, int]],
    jobs: int,
    resume: bool,
    told: Sequence[str],
    options: dict[str, Any],
) -> None:
    """Folds and seeds one after the other, or side by side in processes of their own that run the same command."""
    if jobs > 1 and len(wanted) > 1:
        prepare(recipe)
        given = [f"--{name}={value}" for name, value in options.items() if value is not None]
        raise typer.Exit(side_by_side([*command, "--resume" if resume else "--restart", *given], wanted, jobs))

    from edgecond.nn import parallel

    with parallel.processes():
        for fold, seed in wanted:
            name = f"{' '.join(command[1:])} fold {fold} seed {seed}"
            record = watched(name, work, fold, seed, restart=not resume, **options)
            if parallel.rank() == 0:
                figures = record["metrics"]  # an experiment may look once where its row has votes
                typer.echo(f"{name}: {percentages({metric: figures[metric] for metric in told if metric in figures})}")


def prepare(recipe: Recipe) -> None:
    """The pyramids of graphs, which all folds share."""
    if recipe.input is None:
        from edgecond.data import datasets
        from edgecond.runs.preparation import preparation

        with users_errors(), progress(recipe.dataset) as (_, count):
            examples, _ = datasets.load(recipe.dataset, **recipe.options)
            preparation(recipe, examples, count).training(examples, 0)


def side_by_side(command: Sequence[str], wanted: Sequence[tuple[int, int]], jobs: int) -> int:
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
                one = [sys.executable, "-m", "edgecond", *command, f"--fold={fold}", f"--seed={seed}"]
                running.append(subprocess.Popen(one, env={**os.environ, "OMP_NUM_THREADS": "1"}))
            time.sleep(0.1)
            ended = [process for process in running if process.poll() is not None]
            status = status or next((process.returncode for process in ended if process.returncode), 0)
            running = [process for process in running if process not in ended]
    return status
