"""The trials of a search, as Optuna keeps them in a SQLite file and as others read them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TYPE_CHECKING

from edgecond.data.kinds import Range, Space
from edgecond.errors import RecipeError
from edgecond.nn.tasks import Task
from edgecond.runs.settings_file import value_text

if TYPE_CHECKING:
    import optuna

STUDY = "study.db"
DEFAULT = "default"
"""The mark of the trial that is the default recipe."""


@dataclass(frozen=True, eq=False)
class Outcome:
    """A trial that has ended.

    Attributes:
        number: Its number, from 0.
        settings: The settings that it tried, by their dotted names.
        value: Its metric on the validation set; none if it was not trained to its end.
        curve: Metrics by hundredths of the training.
        reason: Why it failed.
        is_default: Whether it is the default recipe.
    """

    number: int
    settings: dict[str, Any]
    value: float | None
    curve: dict[int, float]
    reason: str = ""
    is_default: bool = False


def import_optuna() -> Any:
    """Return Optuna, which prints nothing but errors."""
    try:
        import optuna
    except ImportError:
        raise RecipeError(
            "a search needs Optuna, which is not installed. Run `pip install 'edgecond[tune]'`."
        ) from None
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    return optuna


def storage(directory: Path) -> Any:
    """Return the storage of a study, a SQLite file; processes wait for each other."""
    optuna = import_optuna()
    waiting = {"connect_args": {"timeout": 120}}
    return optuna.storages.RDBStorage(f"sqlite:///{directory / STUDY}", engine_kwargs=waiting)


def outcomes(study: optuna.Study, space: Space) -> list[Outcome]:
    """Return the trials of a study that have ended, in their order."""
    return [
        Outcome(
            trial.number,
            decoded(space, trial.params, exact=DEFAULT in trial.user_attrs),
            trial.value if trial.state.name == "COMPLETE" else None,  # of others, Optuna has the last metric
            dict(sorted(trial.intermediate_values.items())),
            trial.user_attrs.get("reason", ""),
            DEFAULT in trial.user_attrs,
        )
        for trial in study.get_trials(deepcopy=False)
        if trial.state.is_finished()
    ]


def best(ended: Sequence[Outcome], task: type[Task]) -> Outcome:
    """Return the best of some trials; of equals, the first."""
    sign = 1 if task.lower_is_better else -1
    measured = [(sign * outcome.value, outcome.number) for outcome in ended if outcome.value is not None]
    if not measured:
        raise RecipeError("a study must have a trial that was trained to its end: there is none yet.")
    number = min(measured)[1]
    return next(outcome for outcome in ended if outcome.number == number)


def distributions(space: Space) -> dict[str, Any]:
    """Return what Optuna samples from; values to choose from are texts, as it stores no lists."""
    of = import_optuna().distributions
    found: dict[str, Any] = {}
    for name, what in space.items():
        if not isinstance(what, Range):
            found[name] = of.CategoricalDistribution([value_text(value) for value in what])
        elif isinstance(what.low, int) and isinstance(what.high, int):
            found[name] = of.IntDistribution(what.low, what.high, log=what.log)
        else:
            found[name] = of.FloatDistribution(what.low, what.high, log=what.log)
    return found


def encoded(space: Space, settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return settings as Optuna keeps them."""
    return {
        name: settings[name] if isinstance(what, Range) else value_text(settings[name]) for name, what in space.items()
    }


def decoded(space: Space, params: Mapping[str, Any], *, exact: bool) -> dict[str, Any]:
    """Return the settings that Optuna keeps; numbers that it drew have four digits."""

    def number(value: float) -> float:
        return value if exact or isinstance(value, int) else float(f"{value:.4g}")

    return {
        name: number(params[name]) if isinstance(what, Range) else json.loads(params[name])
        for name, what in space.items()
        if name in params
    }
