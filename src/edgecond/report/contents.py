"""The sections of a report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from jaxtyping import Float

from edgecond.data import datasets
from edgecond.data.kinds import LabelledExamples
from edgecond.nn.tasks import Outputs
from edgecond.nn.tasks.findings import Cards, ConfusionMatrix, Curves, Finding, Gallery, Part, Scatter, Table
from edgecond.report import drawings, explanations, filters
from edgecond.report.figures import confusion, curve, evenly, lines, Panel, Picture, POINTS, scatter
from edgecond.report.maps import drawn_map, key_of, principal_plane
from edgecond.report.page import cards, facts, figures, key, page, section, table
from edgecond.runs import baselines
from edgecond.runs.blocks import Compared
from edgecond.runs.explanation import explained, Wanted
from edgecond.runs.model import Model
from edgecond.runs.recipe import recipes

LEARNING_RATE = "Learning rate"
EXPLAINED, EXPLAINED_STEPS = 4, 144
"""Test examples whose predictions are explained, and steps of the integral, at most."""


@dataclass(frozen=True, eq=False)
class Contents:
    """What a page shows of a run.

    Attributes:
        model: Model of the last epoch.
        history: Metrics of each epoch.
        test: The test set.
        leakage: Sentences about test examples that are in the training set, too.
        baseline: Metrics of a baseline on the test set, if it was fitted.
    """

    model: Model
    history: Sequence[Mapping[str, float]]
    test: LabelledExamples
    leakage: Sequence[str] = ()
    baseline: Compared | None = None

    @cached_property
    def views(self) -> list[Outputs]:
        """The outputs of each view of the test set, calibrated."""
        return [self.model.task.tempered(view.mean(0)) for view in self._members]

    @cached_property
    def _members(self) -> list[Float[np.ndarray, "k n t"]]:
        """The outputs of each network in each view."""
        return self.model.outputs_per_member(self.test)

    def html(self) -> str:
        """Return the page."""
        recipe, count = self.model.recipe, self.history[-1]["epoch"]
        task, names, y = self.model.task, self.model.classes, self.test.ys.numpy()
        findings = task.findings(names, y, self.views)
        findings += task.uncertainty(
            names, y, *self.model.mean_and_spread(self._members), self.model.uncertainty.scores
        )
        sections = [
            self._headline(),
            self._curves(),
            *map(self._section, findings),
            self._explanations(),
            self._map(),
            self._pyramid(),
            self._filters(),
            self._settings(),
        ]
        lead = f"{recipe.network} after {count:,} epoch{'' if count == 1 else 's'} on {self.test.name}."
        return page(recipe.name, lead, filter(None, sections))

    def _headline(self) -> str:
        metrics = self.model.metrics(self.views, self.test.ys.numpy())
        extra = datasets.extra_metrics(self.model.recipe.dataset)
        finding = self.model.task.headline(metrics, self.history[-1], len(self.views), extra)
        lead = " ".join(
            [f"On {len(self.test):,} test examples.", *(f"{note[:1].upper()}{note[1:]}." for note in self.leakage)]
        )
        parts = [*finding.parts]
        if self.baseline is not None:
            title = baselines.find(self.baseline.name).title
            parts.append(self.model.task.comparison(metrics, {f"Baseline: {title}": self.baseline.metrics}, extra))
        return section(finding.title, lead, *map(self._part, parts))

    def _section(self, finding: Finding) -> str:
        gallery = next((part for part in finding.parts if isinstance(part, Gallery)), None)
        lead = finding.lead
        if gallery is not None:
            description = self.model.kind.describe(self.test, gallery.examples[0][0])
            lead = f"{lead} {drawings.legend(description.picture)}"
        return section(finding.title, lead, *map(self._part, finding.parts))

    def _part(self, part: Part) -> str:
        """What a task has found, as HTML."""
        match part:
            case Cards():
                return cards(part.facts)
            case Table():
                return table(part.headers, part.rows)
            case ConfusionMatrix():
                return figures([Panel(confusion(part.counts, part.classes), part.caption)], wide=True)
            case Scatter():
                names = (
                    [""] * len(part.truth) if part.examples is None else list(map(self._name, part.examples.tolist()))
                )
                return figures([Panel(scatter(part.truth, part.predicted, names), part.caption)])
            case Curves():
                drawn = lines(part.lines, part.horizontal, part.vertical, part.diagonal)
                return figures([Panel(drawn, part.caption)])
            case Gallery():
                return figures([self._example(number, caption) for number, caption in part.examples])

    def _name(self, number: int) -> str:
        return self.model.kind.describe(self.test, number).name

    def _example(self, number: int, caption: str) -> Panel | Picture:
        description = self.model.kind.describe(self.test, number)
        caption = f"{caption} ({description.name})." if description.name else f"{caption}."
        return drawings.drawn(description.picture, caption)

    def _curves(self) -> str:
        titles = {**self.model.task.metrics, "mse": "Mean squared error", "learning_rate": LEARNING_RATE}
        names = [name for name in self.history[0] if name not in ("epoch", "seconds")]
        panels = [
            Panel(curve(self.history, name), f"{titles.get(name, name.capitalize())} in each epoch.", 1.4)
            for name in names
        ]
        return section("Training", "Loss and metric on the training set, and the learning rate.", figures(panels))

    def _explanations(self) -> str:
        """A few examples of the test set, in one view, which is the fastest."""
        numbers = evenly(len(self.test), EXPLAINED).tolist()
        wanted = Wanted(views=1, steps=EXPLAINED_STEPS)
        found = list(explained(self.model, self.test, numbers, wanted))
        worst = max(each.error for each in found)
        lead = (
            f"What made the predictions for some test examples, in one view. {explanations.LEGEND} Attributions add up "
            f"to the difference to the baseline within {100 * worst:.2g} %. `edgecond explain` writes all of them."
        )
        return section("Explanations", lead, figures(explanations.panels(found)))

    def _map(self) -> str:
        """The test set in the plane that keeps most of the variance of the embeddings (PCA)."""
        chosen = evenly(len(self.test), POINTS)
        if self.model.task.per_vertex or len(chosen) < 3:
            return ""
        embeddings = self.model.embeddings(self.test.take(chosen.tolist()))
        positions, shares = principal_plane(embeddings)
        outputs = np.mean(self.views, axis=0)[chosen]
        marks = self.model.task.marks(self.model.classes, self.test.ys.numpy()[chosen], outputs)
        drawn = drawn_map(positions, marks, [self._name(number) for number in chosen.tolist()])
        lead = (
            f"{len(chosen):,} test examples by the signal before the last FC, projected onto its two principal "
            f"components, which have {shares[0]:.0%} and {shares[1]:.0%} of its variance. Examples that are alike to "
            f"the network are close to each other. Colour: {marks.title}. Ring: {marks.mistake}."
        )
        caption = f"Map of the test set: {int(marks.wrong.sum())} of {len(chosen)} examples have a ring."
        return section("Map", lead, figures([Panel(drawn, caption, 1.2)], wide=True), key(key_of(marks)))

    def _pyramid(self) -> str:
        typical = self.model.kind.levels(self.test, self.model.preparation, drawings.VERTICES)
        if typical is None:
            return ""
        number, picture = typical
        name = self._name(number)
        lead = f"A test example{f' ({name})' if name else ''} at all levels. {picture.explanation}"
        return section("Pyramid", lead, figures(drawings.levels(picture.levels)))

    def _filters(self) -> str:
        labels = self.model.kind.filter_labels(self.test, self.model.preparation)
        lead, panels = filters.panels(self.model, labels)
        return section("Filters", lead, figures(panels))

    def _settings(self) -> str:
        recipe, about = self.model.recipe, self.model.about
        made = {name: value for name, value in about.items() if name not in ("tested", "card")}  # which are above
        parameters = f"{self.model.parameters:,}"
        shown = {**made, "seconds": self.history[-1].get("seconds"), "parameters": parameters, **recipe.settings()}
        if recipe.name in recipes():
            command = f"edgecond train {recipe.name} --epochs {about['epochs']} --fold {about['fold']}"
            shown["command"] = f"{command} --seed {about['seed']}"
        note = "" if self.test.digest == about["data"] else " The test data have another digest than the training data."
        lead = f"Seed, digest of the data, versions, recipe, and the command that repeats the run.{note}"
        return section(
            "Settings", lead, facts([(name, _text(value)) for name, value in shown.items() if value is not None])
        )


def _text(value: Any) -> str:
    """A setting in words."""
    match value:
        case Mapping():
            return ", ".join(f"{name} {_text(part)}" for name, part in value.items() if part is not None) or "none"
        case list() | tuple():
            return " ".join(map(_text, value)) or "none"
        case bool():
            return "yes" if value else "no"
    return str(value)
