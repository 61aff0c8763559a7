"""What several verbs share: common options, long runs that can be watched and stopped, and folds in parallel."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, Protocol, TYPE_CHECKING, TypeVar

import typer

from edgecond.cli.console import confusion_table, echo, progress, until_asked_to_stop, users_errors
from edgecond.data import MAX_SEED
from edgecond.data.processes import end_with_parent, PARENT
from edgecond.errors import counted

if TYPE_CHECKING:
    from edgecond.data.kinds import LabelledExamples
    from edgecond.nn.training import Step
    from edgecond.runs.model import Model
    from edgecond.runs.recipe import Recipe
    from edgecond.runs.run import Trained

T = TypeVar("T")
Settings = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        help="Another setting, as train.learning_rate=0.05; may be repeated.",
        rich_help_panel="Training",
    ),
]
Moved = Annotated[Path | None, typer.Option("--data", help="Where your data are now, if they were moved.")]
Seeds = Annotated[list[int] | None, typer.Option(min=0, max=MAX_SEED, help="Random seed; may be repeated.")]
Jobs = Annotated[
    int | None,
    typer.Option(
        min=1,
        help="Number of folds to run in parallel, one thread each; 1 by default, or all CPUs with --on ray.",
        rich_help_panel="Training",
    ),
]
On = Annotated[
    Literal["ray"] | None,
    typer.Option(
        help="Run on the nodes of a Ray cluster, or of one that is started here, instead of in processes.",
        rich_help_panel="Training",
    ),
]
Epochs = Annotated[int | None, typer.Option(min=1, help="Number of epochs instead of the paper's.")]
Workers = Annotated[
    int,
    typer.Option(min=0, max=256, help="Number of processes that build batches ahead.", rich_help_panel="Training"),
]
Resume = Annotated[bool, typer.Option("--resume/--restart", help="Resume a run that was stopped, or start again.")]
Log = Annotated[
    str | None,
    typer.Option(
        help="Write the metrics of each epoch for a program that shows them while a run trains: tensorboard.",
        rich_help_panel="Output",
    ),
]
Runs = Annotated[Path, typer.Option(help="Directory of checkpoints.")]
Results = Annotated[Path, typer.Option(help="Directory of records.")]


def watched(name: str, work: Callable[..., T], *args: Any, **options: Any) -> T:
    """Return what `work` returns, with a progress bar, and stop it when asked to: at once before the first step."""
    from edgecond.nn import parallel
    from edgecond.runs.run import Interrupted

    first, begun = parallel.rank() == 0, False

    def stop(_: int) -> None:
        if not begun:
            raise Interrupted("stopped before the first step; the same command goes on.")

    with users_errors(), progress(name, seen=first) as (show_step, show_pyramids):

        def begin() -> None:
            nonlocal begun
            begun = True

        def count(done: int, total: int) -> None:
            if signals:  # the exception of `stop` is lost where Python ignores exceptions
                stop(signals[0])
            show_pyramids(done, total)

        def observe(step: Step, batches: int, epochs: int) -> bool:
            show_step(step, batches, epochs)
            return not signals

        try:
            with until_asked_to_stop(stop) as signals:
                return work(*args, observe=observe, progress=count, ready=begin, **options)
        except Interrupted as stopped:
            echo(f"{name}: {stopped}")
            raise typer.Exit(130) from None


def print_evaluation(model: Model, test: LabelledExamples, views: int | None = None) -> dict[str, float]:
    """Print the metrics of a model on its test set and, where there are classes, the confusion matrix; return them."""
    from edgecond.nn.tasks.combinations import by_combination, SCORES, VOTES

    with users_errors():
        members, y = model.outputs_per_member(test, views), test.ys.numpy()
        outputs = [view.mean(0) for view in members]
        metrics = model.metrics(outputs, y)
    confusion = model.task.confusion(y, outputs)
    if confusion is not None:
        confusion_table(confusion, test.classes)
    parts = by_combination(shown_metrics(model, metrics))
    written = {combination: model.task.written(part) for combination, part in parts.items()}
    echo(f"{counted(len(test), 'test example')}: {written[SCORES] or written['']}")
    if parts[SCORES]:
        echo(f"(mean scores of {len(outputs)} views; their majority vote: {written[VOTES]}; one view: {written['']})")
    elif len(outputs) > 1:
        echo(f"(mean of {len(outputs)} views)")
    if model.uncertainty.scores:
        mean, spread = model.mean_and_spread(members)
        echo(model.uncertainty.coverage(model.task.nonconformity(y, mean, spread)))
    return metrics


def shown_metrics(model: Model, metrics: Mapping[str, float]) -> dict[str, float]:
    """Return the metrics to print, without those that are for other data."""
    from edgecond.data import datasets

    return model.task.shown(metrics, datasets.extra_metrics(model.recipe.dataset))


def written(model: Model, metrics: Mapping[str, float]) -> str:
    """Return metrics as a line of text."""
    return model.task.written(shown_metrics(model, metrics))


def load_parts(
    run: Path, model: Model, moved: Path | None = None, fold: int | None = None
) -> tuple[LabelledExamples, LabelledExamples]:
    """Return the training set and the test set of a run: of a data set, or of user data."""
    from edgecond.data import datasets
    from edgecond.runs.pretrained import locate
    from edgecond.runs.source import read_parts

    recipe, number = model.recipe, model.about.get("fold", 0) if fold is None else fold
    if recipe.dataset in datasets.names():
        loaded = datasets.load(recipe.dataset, number, **recipe.options)
        train, test = (model.kind.extended(part, model.learned) for part in loaded)
        return train, test
    return read_parts(locate(run), model, moved=moved, fold=fold)


def print_kept_evaluation(trained: Trained, directory: Path) -> None:
    """Print the metrics of a run on its test set, and keep them in its model file."""
    metrics = print_evaluation(trained.model, trained.test)
    with users_errors():
        trained.keep(metrics, directory)


def stop_with_parent() -> None:
    """Stop as a signal would, if this process runs a fold and the one that started it has ended."""
    if parent := os.environ.get(PARENT):
        end_with_parent(int(parent), lambda: os.kill(os.getpid(), signal.SIGTERM))


def run_folds(
    command: list[str],
    recipe: Recipe,
    work: Callable[..., dict[str, Any]],
    wanted: Sequence[tuple[int, int]],
    jobs: int | None,
    on: str | None,
    resume: bool,
    metrics: Sequence[str],
    options: dict[str, Any],
) -> None:
    """Run folds and seeds one after the other, or in parallel in processes that run the same command.

    Args:
        command: The verb and its arguments.
        recipe: The row.
        work: Trains and tests one fold, and returns its record.
        wanted: Pairs of fold and seed.
        jobs: Number of processes or tasks at a time, if it was given.
        on: What `--on` names; none for this machine.
        resume: Whether a run that was stopped is resumed.
        metrics: Names of the metrics to print.
        options: Options of the command, by name.
    """
    if on or ((jobs or 1) > 1 and len(wanted) > 1):
        with place_for(on, jobs, outputs_of(options)) as place:
            precompute(recipe)
            each = [*command, *words_for(options, resume)]
            commands = [[*each, f"--fold={fold}", f"--seed={seed}"] for fold, seed in wanted]
            raise typer.Exit(in_parallel(commands, place))

    from edgecond.nn import parallel
    from edgecond.nn.tasks import find

    with parallel.processes():
        for fold, seed in wanted:
            name = f"{' '.join(command[1:])} fold {fold} seed {seed}"
            record = watched(name, work, fold, seed, restart=not resume, **options)
            if parallel.rank() == 0:  # an experiment may have one view where its row has votes
                known = {metric: record["metrics"][metric] for metric in metrics if metric in record["metrics"]}
                echo(f"{name}: {find(recipe.task).written(known)}")


def outputs_of(options: Mapping[str, Any]) -> dict[str, Path]:
    """Return the directories that the command of a fold writes to, by the options that name them."""
    return {f"--{name}": options[name] for name in ("runs", "results")}


def words_for(options: Mapping[str, Any], resume: bool) -> list[str]:
    """Return options of a run, by name, as words of a command line."""
    given = [f"--{name}={value}" for name, value in options.items() if value is not None]
    return ["--resume" if resume else "--restart", *given]


def precompute(
    recipe: Recipe, examples: LabelledExamples | None = None, stop: Callable[[], bool] = lambda: False
) -> None:
    """Compute the pyramids that all folds share, if there are such.

    Args:
        recipe: The recipe of the pyramids.
        examples: The examples; those of the recipe by default.
        stop: Returns whether to give up, which is asked from time to time.
    """
    from edgecond.data import datasets
    from edgecond.runs.run import Interrupted
    from edgecond.runs.sampling import kind_for, sample_settings

    kind = kind_for(recipe)
    if kind.precomputes:
        with users_errors(), progress(recipe.dataset) as (_, show_pyramids):

            def count(done: int, total: int) -> None:
                if stop():
                    raise Interrupted(f"stopped after {done} of {total} pyramids.")
                show_pyramids(done, total)

            if examples is None:
                examples, _ = datasets.load(recipe.dataset, **recipe.options)
            kind.prepare(sample_settings(recipe), examples, progress=count).training(examples, 0)


def words_of(context: Any, **changes: Any) -> list[str]:
    """Return the words of a command line that gives a verb the same parameters, apart from some changes."""
    words, values = [str(context.command.name)], list[str]()
    for parameter in context.command.params:
        value = changes.get(parameter.name, context.params.get(parameter.name))
        several = value if isinstance(value, list | tuple) else [value]
        if parameter.param_type_name == "argument":
            values += map(str, several)
        elif value is True:
            words.append(parameter.opts[0])
        elif value is False:
            words += parameter.secondary_opts[:1]  # --no-NAME, where there is such
        elif value is not None:
            words += [f"{parameter.opts[0]}={each}" for each in several]
    return [*words, "--", *values]


def is_one_of_many() -> bool:
    """Return whether this process runs a fold for another one, which prints what they have in common."""
    return PARENT in os.environ


class Process(Protocol):
    """A command that runs, as a `subprocess.Popen`."""

    returncode: Any

    def poll(self) -> int | None: ...
    def send_signal(self, kind: int, /) -> object: ...


class Place(Protocol):
    """Where commands run, and how many of them at a time."""

    @property
    def jobs(self) -> int: ...
    def start(self, words: Sequence[str], quiet: bool) -> Process: ...


@dataclass(frozen=True)
class Here:
    """This machine, on which each command runs in a process of its own.

    Attributes:
        jobs: Number of processes at a time.
    """

    jobs: int

    def start(self, words: Sequence[str], quiet: bool) -> Process:
        """Start a command of `edgecond`, given by its words; `quiet` drops what it prints, apart from errors."""
        import subprocess
        import sys

        environment = {"OMP_NUM_THREADS": "1", **os.environ, PARENT: str(os.getpid())}
        output = subprocess.DEVNULL if quiet else None
        return subprocess.Popen([sys.executable, "-m", "edgecond", *words], env=environment, stdout=output)


@contextmanager
def place_for(
    on: str | None, jobs: int | None, outputs: Mapping[str, Path], context: Any = None, shared: bool = False
) -> Iterator[Place]:
    """Yield where the commands of a verb run.

    Args:
        on: What `--on` names; none for this machine.
        jobs: Number of commands at a time, if it was given.
        outputs: Directories that the commands write to, by the options that name them.
        context: The command line, whose paths the commands read.
        shared: Whether the commands work together in these directories.
    """
    if on is None:
        yield Here(jobs or 1)
        return
    from edgecond.runs import cluster

    given = [] if context is None else [value for value in context.params.values() if isinstance(value, str | Path)]
    inputs = [path for path in map(Path, given) if path.exists() and path not in outputs.values()]
    with users_errors(), cluster.nodes(jobs, outputs, inputs, shared) as nodes:
        yield nodes


def in_parallel(
    commands: Iterable[Sequence[str]],
    place: Place,
    go_on: Callable[[int, int], bool] = lambda number, status: not status,
    quiet: bool = False,
) -> int:
    """Run commands side by side; return the status of the first that failed or was stopped.

    Args:
        commands: The commands; the next one is taken when there is room for it.
        place: Where they run.
        go_on: Called with the number and the status of a command that has ended; returns whether others may start.
        quiet: Whether to drop what the commands print, apart from errors.
    """
    import time

    running: dict[int, Process] = {}
    waiting, status, more = enumerate(commands), 0, True

    def pass_on(kind: int) -> None:
        for process in running.values():
            process.send_signal(kind)

    with until_asked_to_stop(pass_on) as signals:
        left = True
        while running or (left and more and not signals):
            while left and more and not signals and len(running) < place.jobs:
                following = next(waiting, None)
                left = following is not None or bool(signals)  # which may have come while the next was prepared
                if following is not None:
                    number, command = following
                    running[number] = place.start(command, quiet)
                    if signals:  # which came while it was started
                        running[number].send_signal(signals[-1])
            time.sleep(0.1)
            ended = {number: process for number, process in running.items() if process.poll() is not None}
            for number, process in ended.items():
                del running[number]
                status = status or process.returncode
                more = go_on(number, process.returncode) and more
    if signals and (status or left):  # a fold that was still starting has ended by the signal
        return 130
    return status if status >= 0 else 128 - status  # as shells write the signal that ended a process
