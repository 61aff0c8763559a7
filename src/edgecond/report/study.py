"""A page about a search for better settings: the trials, their learning curves, and the metric over each setting."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from edgecond.data.kinds import Range
from edgecond.files import write_atomic
from edgecond.report.figures import ACCENT, Figure, GREY, margin, Panel, plain
from edgecond.report.page import cards, figures, page, plotly_script, section, table
from edgecond.runs.settings_file import value_text
from edgecond.runs.trials import Outcome
from edgecond.runs.tuning import Study

FILE = "report.html"
BEST = "#e4572e"
"""Colour of the best trial; visible on white and on black."""


def write(study: Study, out: Path | None = None) -> Path:
    """Write the page of a study, and return its path.

    Args:
        study: The study, which has at least one trial that was trained to its end.
        out: The file to write; `report.html` in the directory of the study by default.
    """
    plotly_script()  # before anything that takes long
    file = out or study.directory / FILE
    write_atomic(file, Contents(study, study.outcomes(), study.best()).html().encode())
    return file


@dataclass(frozen=True, eq=False)
class Contents:
    """What a page shows of a study: its trials, and the best of them."""

    study: Study
    trials: Sequence[Outcome]
    best: Outcome

    @property
    def measured(self) -> list[Outcome]:
        """The trials that were trained to their end."""
        return [trial for trial in self.trials if trial.value is not None]

    @property
    def metric(self) -> str:
        task = self.study.problem.task
        return task.metrics[task.validation_metric]

    def html(self) -> str:
        """Return the page."""
        recipe, folds = self.study.problem.recipe, self.study.problem.folds
        count = sum(len(validation) for _, validation in folds)
        lead = (
            f"{len(self.trials)} trials of {len(self.study.problem.space)} settings, each measured on {count:,} "
            "validation examples of the training set. The test set took no part."
        )
        sections = [self._headline(), self._history(), self._settings(), self._table()]
        return page(f"Search for settings: {recipe.name}", lead, sections)

    def _headline(self) -> str:
        default = next((trial for trial in self.measured if trial.is_default), None)
        ended = sum(trial.value is None and not trial.reason for trial in self.trials)
        facts = [
            (f"{self.metric}, best", f"{self.best.value:.4g}"),
            *([(f"{self.metric}, default", f"{default.value:.4g}")] if default else []),
            ("Trials", str(len(self.trials))),
            ("Ended early", str(ended)),
        ]
        rows = [
            (name, *([value_text(default.settings[name])] if default else []), value_text(value))
            for name, value in self.best.settings.items()
        ]
        headers = ("Setting", *(["Default"] if default else []), f"Best, trial {self.best.number}")
        return section("Best settings", "On the validation set.", cards(facts), table(headers, rows))

    def _history(self) -> str:
        panels = [
            Panel(self._progress(), f"{self.metric} of each trial on the validation set, and the best so far.", 1.4),
            Panel(self._curves(), "Learning curves: the best trial in red, the default in blue, others in grey.", 1.4),
        ]
        lead = "Trials that are worse than most others at the same share of their training end early."
        return section("Trials", lead, figures(panels))

    def _progress(self) -> Figure:
        lower, so_far = self.study.problem.task.lower_is_better, list[float]()
        for trial in self.measured:
            assert trial.value is not None
            so_far.append((min if lower else max)([*so_far[-1:], trial.value]))
        line = {"type": "scatter", "mode": "lines", "line": {"color": BEST, "shape": "hv"}, "hoverinfo": "skip"}
        return {
            "data": [
                line | {"x": [trial.number for trial in self.measured], "y": so_far},
                _points(self.measured, [trial.number for trial in self.measured]),
            ],
            "layout": _layout("trial", self.metric),
        }

    def _curves(self) -> Figure:
        order = sorted(self.trials, key=lambda trial: (trial is self.best, trial.is_default))  # these on top
        lines = [
            {
                "type": "scatter",
                "mode": "lines",
                "x": list(trial.curve),
                "y": list(trial.curve.values()),
                "line": {"color": self._colour(trial), "width": 2 if trial is self.best or trial.is_default else 1},
                "opacity": 1 if trial is self.best or trial.is_default else 0.4,
                "hovertemplate": f"trial {trial.number}: %{{y:.4g}} after %{{x}} %<extra></extra>",
            }
            for trial in order
        ]
        return {"data": lines, "layout": _layout("share of the training in per cent", self.metric)}

    def _colour(self, trial: Outcome) -> str:
        return BEST if trial is self.best else ACCENT if trial.is_default else GREY

    def _settings(self) -> str:
        panels = []
        for name, what in self.study.problem.space.items():
            values = [trial.settings[name] for trial in self.measured]
            ranged = isinstance(what, Range)
            axis: dict[str, Any] = {"type": "linear" if ranged else "category"}
            if isinstance(what, Range) and what.log:
                axis = {"type": "log", "nticks": 4}
            if not ranged:
                axis |= {"tickangle": 30}
            shown = values if ranged else [plain(str(value)) for value in values]
            layout = _layout(name, self.metric)
            layout["xaxis"] |= axis
            panels.append(
                Panel({"data": [_points(self.measured, shown)], "layout": layout}, f"{self.metric} by {name}.")
            )
        lead = "Trials that were trained to their end, by the value of each setting; the default is a diamond."
        return section("Settings", lead, figures(panels))

    def _table(self) -> str:
        names = list(self.study.problem.space)
        rows = [
            (str(trial.number), _result(trial), *(value_text(trial.settings.get(name)) for name in names))
            for trial in self.trials
        ]
        return section("All trials", "In their order.", table(("Trial", self.metric, *names), rows))


def _result(trial: Outcome) -> str:
    if trial.value is not None:
        return f"{trial.value:.4g}"
    return "failed" if trial.reason else f"ended after {max(trial.curve)} %"


def _points(trials: Sequence[Outcome], places: Iterable[Any]) -> Figure:
    """Draw a point for each trial, a diamond for the default."""
    return {
        "type": "scatter",
        "mode": "markers",
        "x": list(places),
        "y": [trial.value for trial in trials],
        "text": [f"trial {trial.number}" for trial in trials],
        "marker": {
            "color": ACCENT,
            "size": [11 if trial.is_default else 7 for trial in trials],
            "symbol": ["diamond" if trial.is_default else "circle" for trial in trials],
        },
        "hovertemplate": "%{text}: %{y:.4g}<extra></extra>",
    }


def _layout(horizontal: str, vertical: str) -> Figure:
    axis = {"automargin": True, "nticks": 6}
    return {
        "xaxis": axis | {"title": {"text": plain(horizontal, 40)}},
        "yaxis": axis | {"title": {"text": plain(vertical, 40)}},
        "showlegend": False,
        "margin": margin(8),
    }
