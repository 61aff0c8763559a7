"""The search for better settings of user data: a study of trials in a SQLite file, which several processes share.

A trial trains with other settings and is measured on a part of the training set. The test set takes no part.
"""

from __future__ import annotations

import shutil
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import fmean
from typing import Any, TYPE_CHECKING

import numpy as np

from edgecond.data.kinds import LabelledExamples, Range, Space, Split
from edgecond.errors import CheckpointError, DataError, EdgecondError, listed, RecipeError
from edgecond.files import write_atomic
from edgecond.nn import tasks
from edgecond.nn.tasks import Task
from edgecond.nn.training import NonFiniteLossError
from edgecond.runs import run
from edgecond.runs.lock import locked
from edgecond.runs.recipe import Recipe, with_settings
from edgecond.runs.settings_file import settings_text, space_text, value_text
from edgecond.runs.trials import (
    best,
    decoded,
    DEFAULT,
    distributions,
    encoded,
    import_optuna,
    Outcome,
    outcomes,
    storage,
)
from edgecond.runs.user_data import Dataset, Loaded

if TYPE_CHECKING:
    import optuna

RECIPE = "recipe.toml"
VALIDATION = 0.2
"""Share of the training set to validate on, unless another is asked for."""
STEPS, WARMUP, STARTUP = 100, 20, 5
"""Metrics are compared at the same hundredth of the training; none is stopped in the first fifth, or before five trials
have ended."""


class Pruned(EdgecondError):
    """A trial has ended early, as its metrics were worse than those of most others at the same time."""


@dataclass(frozen=True, eq=False)
class Problem:
    """What is searched, and what decides.

    Attributes:
        recipe: The default recipe.
        space: What to search for each setting; it contains the default.
        folds: Pairs of a training set and a validation set; a trial is measured on all of them.
        digest: Digest of the split.
        notes: What was found and what was chosen, in sentences.
    """

    recipe: Recipe
    space: Space
    folds: Sequence[tuple[LabelledExamples, LabelledExamples]]
    digest: str
    notes: tuple[str, ...] = ()

    @property
    def task(self) -> type[Task]:
        return tasks.find(self.recipe.task)

    @property
    def about(self) -> dict[str, Any]:
        """What a study is resumed with only."""
        return {
            "recipe": self.recipe.settings(),
            "space": space_text(self.space),
            "split": self.digest,
            "data": self.folds[0][0].digest,
            "folds": len(self.folds),
            "metric": self.task.validation_metric,
        }


def problem(
    loaded: Loaded,
    split: Split,
    *,
    settings: Mapping[str, Any] | None = None,
    space: Space | None = None,
    inner_folds: int | None = None,
) -> Problem:
    """Return the problem of user data, whose test set is split off as for a training, and left alone.

    Args:
        loaded: The data.
        split: How they are split; without a validation set, a share of the training set becomes one.
        settings: Settings of all trials, by their dotted names; they are not searched.
        space: What to search; by default that of the kind of data.
        inner_folds: Number of folds of the training set to validate on, instead of a single validation set.
    """
    dataset = loaded.split(split, settings=settings)
    if dataset.validation is None and inner_folds is None:
        split = replace(split, share=VALIDATION)
        dataset = loaded.split(split, settings=settings)
    recipe = dataset.recipe.model_copy(update={"ensemble": 1, "calibration": 0.0})  # a trial trains one network
    wanted = loaded.kind.search_space(recipe.dotted()) if space is None else space
    wanted = {name: what for name, what in wanted.items() if name not in (settings or {})}
    _check_space(recipe, wanted)
    return Problem(recipe, wanted, _folds(dataset, split, inner_folds), dataset.split_digest, dataset.notes)


def _folds(dataset: Dataset, split: Split, count: int | None) -> list[tuple[LabelledExamples, LabelledExamples]]:
    """Return the validation set, or folds of the training set that are chosen in the same way as the test set."""
    if count is None:
        assert dataset.validation is not None
        return [(dataset.train, dataset.validation)]
    if dataset.validation is not None:
        raise DataError("folds of the training set take the place of a validation set: got both. Leave one out.")
    loaded, every = dataset.loaded, dataset.everything
    strata = loaded.task.strata(every.ys.numpy())
    left, folds = dataset.parts.train, []
    for number in range(count):
        held = left
        if number < count - 1:
            held = loaded.kind.hold_out(loaded.data, split, strata, left, 1 / (count - number))
        left = np.setdiff1d(left, held)
        rest = np.setdiff1d(dataset.parts.train, held)
        if not len(held) or not len(rest):
            raise DataError(
                f"{count} folds of the training set must have an example each: it has {len(dataset.parts.train)}. "
                "Ask for fewer folds."
            )
        folds.append((every.take(rest.tolist()), every.take(held.tolist())))
    return folds


def _check_space(recipe: Recipe, space: Space) -> None:
    """Check that every setting exists and that its default is in the space: the first trial is the default."""
    if not space:
        raise RecipeError("a search must have at least one setting to search: all of them are set. Leave --set out.")
    defaults = recipe.dotted()
    for name, what in space.items():
        some = what.low if isinstance(what, Range) else what[0]
        with_settings(recipe, {name: some})  # which refuses a setting that does not exist
        if defaults[name] not in what:
            shown = f"from {what.low:g} to {what.high:g}" if isinstance(what, Range) else listed([*map(str, what)])
            raise RecipeError(
                f"the values of {name} must include its default, {value_text(defaults[name])}, which is the first "
                f"trial: got {shown}. Add it, or set another default with --set."
            )


@dataclass(eq=False)
class Study:
    """A search in a directory, which any number of processes may share and resume.

    Attributes:
        directory: Directory of the SQLite file, of running trials, and of the best recipe.
        problem: What is searched.
        seed: Random seed of the trials, and of what is tried.
    """

    directory: Path
    problem: Problem
    seed: int = 0
    _optuna: optuna.Study = field(init=False, repr=False)

    def __post_init__(self) -> None:
        optuna = import_optuna()
        minimise, about = self.problem.task.lower_is_better, {**self.problem.about, "seed": self.seed}
        with locked(self.directory, wait=True):
            study = optuna.create_study(
                storage=storage(self.directory),
                study_name="edgecond",
                direction="minimize" if minimise else "maximize",
                pruner=optuna.pruners.MedianPruner(STARTUP, WARMUP),
                load_if_exists=True,
            )
            if not study.user_attrs:
                study.set_user_attr("about", about)
                defaults = self.problem.recipe.dotted()
                study.enqueue_trial(encoded(self.problem.space, defaults), user_attrs={DEFAULT: True})
            elif differs := [name for name in about if study.user_attrs["about"].get(name) != about[name]]:
                raise CheckpointError(
                    f"{self.directory} must hold a study of the same data, settings and space: it differs in "
                    f"{listed(differs)}. Name another directory."
                )
        self._optuna = study

    def claim(self, count: int) -> Claim | None:
        """Return the next trial for this process to run, or one that no process runs any more; none if all are taken.

        Args:
            count: Number of trials of the study, those that ended early or failed included.
        """
        optuna = import_optuna()
        running = optuna.trial.TrialState.RUNNING
        with locked(self.directory, wait=True):  # one process at a time
            trials = self._optuna.get_trials(deepcopy=False)
            for frozen in trials:
                if frozen.state == running and (claim := self._lock(frozen.number, frozen._trial_id)):
                    return claim
            if sum(trial.state != optuna.trial.TrialState.WAITING for trial in trials) >= count:
                return None
            self._optuna.sampler = optuna.samplers.TPESampler(seed=self.seed + len(trials))
            trial = self._optuna.ask(distributions(self.problem.space))
            return self._lock(trial.number, trial._trial_id)

    def _lock(self, number: int, trial_id: int) -> Claim | None:
        """Return a trial, unless another process runs it."""
        stack = ExitStack()
        directory = self.directory / "trials" / str(number)
        try:
            stack.enter_context(locked(directory))
        except CheckpointError:
            return None
        return Claim(self, import_optuna().trial.Trial(self._optuna, trial_id), directory, stack)

    def optimise(self, count: int, report: Callable[[Outcome], object] = lambda outcome: None) -> None:
        """Run trials until the study has `count` of them; see `edgecond tune`."""
        while (claim := self.claim(count)) is not None:
            report(claim.run())

    def outcomes(self) -> list[Outcome]:
        """Return the trials that have ended, in their order."""
        return outcomes(self._optuna, self.problem.space)

    def best(self) -> Outcome:
        """Return the best trial that was trained to its end."""
        return best(self.outcomes(), self.problem.task)

    def write_recipe(self) -> Path:
        """Write the best settings as a recipe file."""
        path, found = self.directory / RECIPE, self.best()
        metric = f"{self.problem.task.validation_metric} {found.value:.4g}"
        about = f"# trial {found.number} of {len(self.outcomes())}: {metric} on the validation set"
        write_atomic(path, f"{about}\n{settings_text(found.settings)}".encode())
        return path


@dataclass(frozen=True)
class _Epochs(run.Callback):
    """Follows a run by the metrics of its epochs alone.

    Attributes:
        report: Called with the metrics of each; what it raises stops the run.
    """

    report: Callable[[Mapping[str, float]], None]

    def begin(self, run: run.Run) -> None: ...

    def epoch(self, metrics: Mapping[str, float]) -> None:
        self.report(metrics)

    def end(self, trained: run.Trained) -> None: ...


@dataclass(frozen=True, eq=False)
class Claim:
    """A trial that this process runs, and no other; if it is interrupted, it can be claimed again and is resumed."""

    study: Study
    trial: optuna.trial.Trial
    directory: Path
    _held: ExitStack

    @property
    def number(self) -> int:
        return int(self.trial.number)

    def run(self, **options: Any) -> Outcome:
        """Train with the settings of the trial on each fold, and keep the metric.

        Args:
            options: Other arguments of `edgecond.runs.run.train`.
        """
        optuna = import_optuna()
        state = optuna.trial.TrialState
        with self._held:
            try:
                values = list(self._values(options))
                how: dict[str, Any] = {"values": fmean(values)}
            except Pruned:
                how = {"state": state.PRUNED}
            except (RecipeError, NonFiniteLossError) as error:
                self.trial.set_user_attr("reason", str(error))
                how = {"state": state.FAIL}
            with locked(self.study.directory, wait=True):  # no process claims it in between
                self.study._optuna.tell(self.trial, **how)
            shutil.rmtree(self.directory, ignore_errors=True)
        return next(outcome for outcome in self.study.outcomes() if outcome.number == self.number)

    @property
    def settings(self) -> dict[str, Any]:
        """The settings that it tries, by their dotted names."""
        return decoded(self.study.problem.space, self.trial.params, exact=DEFAULT in self.trial.user_attrs)

    def _values(self, options: Mapping[str, Any]) -> Iterator[float]:
        """Yield the metric of each fold."""
        problem = self.study.problem
        recipe = with_settings(problem.recipe, self.settings)
        metric, before = f"validation_{problem.task.validation_metric}", list[float]()
        for number, (train, validation) in enumerate(problem.folds):

            def report(epoch: Mapping[str, float], number: int = number) -> None:
                if metric in epoch:
                    share = (number + epoch["epoch"] / recipe.train.epochs) / len(problem.folds)
                    self._report(fmean([*before, epoch[metric]]), int(STEPS * share))

            trained = run.train(
                recipe,
                seed=self.study.seed,
                directory=self.directory / f"fold{number}",
                parts=(train, validation),
                validation=validation,
                split=problem.digest,
                callbacks=[_Epochs(report)],
                **options,
            )
            # The model of a recipe is that of its last epoch, unless it waits for the best.
            last = trained.history[trained.model.about["epochs"] - 1 if recipe.train.patience else -1]
            if metric not in last:
                raise RecipeError(f"the {problem.task.validation_metric} of the validation set is not defined.")
            before.append(last[metric])
            yield last[metric]

    def _report(self, value: float, step: int) -> None:
        """Keep a metric of the running trial, and end it if most others were better at the same time."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a step that was reported before the trial was interrupted
            self.trial.report(value, step)
        if DEFAULT not in self.trial.user_attrs and step < STEPS and self.trial.should_prune():
            raise Pruned(f"trial {self.number} is worse than most others after {step} % of its training.")
