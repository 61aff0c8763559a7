"""What a report says of a run, section by section."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from edgecond.data.graphs import GraphExamples
from edgecond.nn import evaluation
from edgecond.report import drawings, filters, seen
from edgecond.report.figures import confusion, curve, Panel
from edgecond.report.outcomes import answers, DRAWN, percent, quantities
from edgecond.report.page import cards, facts, figures, page, section, table
from edgecond.runs.model import Learnable, Model, settings
from edgecond.runs.preparation import CloudPreparation
from edgecond.runs.recipe import recipes

_NAMES = {
    "accuracy": "Accuracy",
    "f1": "Weighted F1",
    "class_accuracy": "Mean accuracy of classes",
    "mean_iou": "Mean intersection over union of classes",
    "f1_legacy": "F1 as in the authors' code",
    "roc_auc": "ROC AUC",
    "average_precision": "Average precision",
    "rmse": "Root mean squared error",
    "mae": "Mean absolute error",
    "r2": "R²",
    "mse": "Mean squared error",
    "learning_rate": "Learning rate",
}


@dataclass(frozen=True, eq=False)
class Contents:
    """What the page shows of a run.

    Attributes:
        model: Of its last epoch.
        history: Figures of each epoch.
        test: The examples that were kept from it.
    """

    model: Model
    history: Sequence[Mapping[str, float]]
    test: Learnable

    @cached_property
    def scores(self) -> list[evaluation.Scores]:
        """Of each look at the test examples."""
        return self.model.scores(self.test)

    @cached_property
    def predicted(self) -> evaluation.Classes:
        """The class that most views favour."""
        return evaluation.vote(self.scores)

    def html(self) -> str:
        """The page."""
        recipe, count = self.model.recipe, self.history[-1]["epoch"]
        outcomes = self._outcomes()
        sections = [self._headline(), self._curves(), *outcomes, self._pyramid(), self._filters(), self._making()]
        lead = f"{recipe.network} after {count:,} epoch{'' if count == 1 else 's'} on {self.test.name}."
        return page(recipe.name, lead, filter(None, sections))

    def _outcomes(self) -> list[str]:
        match self.model.recipe.task:
            case "multilabel":
                return answers(self.model, self.test, np.mean(self.scores, axis=0))
            case "regression":
                return quantities(self.model, self.test, np.mean(self.scores, axis=0))
            case "segmentation":
                return self._classes("vertices")
        return [*self._classes(), self._mistakes()]

    def _headline(self) -> str:
        found = self.model.figures_of(self.scores, self.test.ys.numpy())
        if self.model.recipe.task != "classification":
            named = [(_NAMES[name], f"{value:.4g}") for name, value in found.items()]
            return section("Figures", f"On {len(self.test):,} test examples.", cards(named))
        legacy = ["f1_legacy"] if self.model.recipe.dataset == "sydney" else []  # where the paper gives it
        names = ("accuracy", "f1", *legacy, "class_accuracy")
        shown = [(_NAMES[name], f"{percent(found[name])} %") for name in names]
        shown.append(("Accuracy while learning", f"{percent(self.history[-1]['accuracy'])} %"))
        parts, views = [cards(shown)], len(self.scores)
        if views > 1:
            ends = ("", "_votes", "_scores")
            rows = [[_NAMES[name], *(percent(found[name + end]) for end in ends)] for name in names]
            parts.append(table(["In per cent", "One view", f"Votes of {views}", f"Scores of {views}"], rows))
        lead = f"On {len(self.test):,} test examples of {len(self.model.classes)} classes, none of them learned from."
        return section("Figures", lead, *parts)

    def _curves(self) -> str:
        names = [name for name in self.history[0] if name not in ("epoch", "seconds")]
        panels = [
            Panel(curve(self.history, name), f"{_NAMES.get(name, name.capitalize())} in each epoch.", 1.4)
            for name in names
        ]
        lead = "What was measured on the training examples while the network learned them, and the learning rate."
        return section("Learning", lead, figures(panels))

    def _classes(self, what: str = "examples") -> list[str]:
        from sklearn.metrics import precision_recall_fscore_support

        y, classes = self.test.ys.numpy(), self.model.classes
        known = y >= 0 if what == "vertices" else slice(None)
        y, predicted = y[known], self.predicted[known]
        counts = evaluation.confusion(y, predicted, len(classes))
        panel = Panel(confusion(counts, classes), f"Test {what} by true class (row) and the class they were taken for.")
        views = f"the one that most of {len(self.scores)} views favour" if len(self.scores) > 1 else "the likeliest"
        every = precision_recall_fscore_support(y, predicted, labels=range(len(classes)), zero_division=0)
        rows = [
            [name, *map(percent, (precision, recall, f1)), f"{count:,}"]
            for name, precision, recall, f1, count in zip(classes, *every, strict=True)
        ]
        lead = f"Precision, recall and their harmonic mean, F1, of each class in per cent, and its test {what}."
        return [
            section("Confusion", f"The class that {what} are taken for is {views}.", figures([panel], wide=True)),
            section("Classes", lead, table(["Class", "Precision", "Recall", "F1", "Count"], rows)),
        ]

    def _mistakes(self) -> str:
        y, sure = self.test.ys.numpy(), np.mean(self.scores, axis=0)[np.arange(len(self.test)), self.predicted]
        wrong = np.flatnonzero(self.predicted != y)
        shown = wrong[np.argsort(-sure[wrong], kind="stable")][:DRAWN]
        if not len(shown):
            return section("Mistakes", "There are none: every test example was told right.")
        classes = self.model.classes
        panels = [
            seen.shown(
                self.test,
                number,
                f"{classes[y[number]]}, taken for {classes[self.predicted[number]]} "
                f"with probability {percent(sure[number])}\N{NO-BREAK SPACE}%",
            )
            for number in shown.tolist()
        ]
        lead = f"The {len(shown)} of {len(wrong)} wrong answers that the network was surest of."
        return section("Mistakes", f"{lead} {seen.legend(self.test)}", figures(panels))

    def _pyramid(self) -> str:
        test, made = self.test, self.model.preparation
        if not isinstance(test, GraphExamples):
            assert isinstance(made, CloudPreparation)
            number, panels = 0, drawings.cloud_levels(made.builder.levels([test.clouds[0]]))
            how = "The points of a voxel become one, and edges connect points within the radius of their level."
            if made.builder.meshes:
                how = "What edges of the mesh connect within a voxel becomes one, and the edges between voxels stay."
        else:
            sizes = test.graphs.sizes[test.numbers]
            lower = np.argsort(sizes, kind="stable")[: len(sizes) // 2 + 1]  # up to the median
            small = lower[sizes[lower] <= drawings.VERTICES]
            if not len(small):
                return ""
            number = int(small[-1])
            panels = drawings.graph_levels(made.view(test, 0, 1).sample([number], 0).pyramid)
            how = "Levels come of Kron reduction; thick lines have more than the median weight of their level."
        name = seen.called(test, number)
        lead = f"A test example{f' ({name})' if name else ''} on all levels. {how}"
        return section("Pyramid", lead, figures(panels))

    def _filters(self) -> str:
        lead = (
            "What the filter network F of the first layer makes of edge labels. Red weights are above zero, blue ones "
            "below. Above an image stands the output channel, or input → output where there are several inputs."
        )
        if self.model.recipe.input is None:
            lead = (
                "The matrix that the filter network F of the first layer makes of each of the most common edge labels. "
                "Red weights are above zero, blue ones below."
            )
        return section("Filters", lead, figures(filters.panels(self.model, self.test)))

    def _making(self) -> str:
        recipe, about = self.model.recipe, self.model.about
        parameters = f"{sum(parameter.numel() for parameter in self.model.network.parameters()):,}"
        told = {**about, "seconds": self.history[-1].get("seconds"), "parameters": parameters, **settings(recipe)}
        if recipe.name in recipes():
            again = f"edgecond train {recipe.name} --epochs {about['epochs']} --fold {about['fold']}"
            told["again"] = f"{again} --seed {about['seed']}"
        note = "" if self.test.digest == about["data"] else " The data that were tested have another digest."
        lead = f"Seed, digest of the data, versions, recipe, and the command that makes it again.{note}"
        shown = [(name, _said(value)) for name, value in told.items() if value is not None]
        return section("How it was made", lead, facts(shown))


def _said(value: Any) -> str:
    """A value of a recipe in words."""
    match value:
        case Mapping():
            return ", ".join(f"{name} {_said(part)}" for name, part in value.items() if part is not None) or "none"
        case list() | tuple():
            return " ".join(map(_said, value)) or "none"
        case bool():
            return "yes" if value else "no"
    return str(value)
