"""What is printed of a task and shown in reports: its metrics, and its predictions beside the truth."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, TypeVar

from numpy.typing import NDArray

from edgecond.nn.tasks.combinations import combined_name, Outputs, SCORES, split_name, Views
from edgecond.nn.tasks.conformal import Scores
from edgecond.nn.tasks.findings import Cards, Finding, Marks, Table

V = TypeVar("V")


class Reported(ABC):
    """What is printed of a task and shown in reports.

    Attributes:
        metrics: Name of each metric in records, and as people read it.
        special_metrics: Metrics that are shown only for the data sets that name them.
    """

    metrics: ClassVar[Mapping[str, str]]
    special_metrics: ClassVar[frozenset[str]] = frozenset()

    @classmethod
    def written(cls, metrics: Mapping[str, float]) -> str:
        """Return metrics as a line of text."""
        return ", ".join(f"{name} {cls._number(value)}" for name, value in metrics.items())

    def headline(
        self, metrics: Mapping[str, float], training: Mapping[str, float], views: int, extra: Sequence[str] = ()
    ) -> Finding:
        """Return the metrics that a report begins with.

        Args:
            metrics: Those that `evaluate` returns.
            training: The metrics of the last epoch.
            views: Number of views.
            extra: Names of metrics that are shown for this data set alone.
        """
        shown = tuple((self.metrics[name], self._number(value)) for name, value in metrics.items())
        return Finding("Metrics", "", (Cards(shown),))

    def shown(self, metrics: Mapping[str, V], extra: Sequence[str] = ()) -> dict[str, V]:
        """Return metrics, of combined views too, without the special ones that a data set does not name in `extra`."""
        hidden = self.special_metrics - set(extra)
        return {name: value for name, value in metrics.items() if split_name(name)[0] not in hidden}

    def comparison(
        self, metrics: Mapping[str, float], others: Mapping[str, Mapping[str, float]], extra: Sequence[str] = ()
    ) -> Table:
        """Return the metrics of a model beside those of others, as far as both have them.

        Args:
            metrics: Those of the model; mean scores where there are several views.
            others: The metrics of others, by their titles.
            extra: Names of metrics that are shown for this data set alone.
        """
        shown = [name for name in self.shown(self.metrics, extra) if all(name in each for each in others.values())]
        rows = tuple(
            (
                self.metrics[name],
                *(
                    self._number(each.get(combined_name(name, SCORES), each[name]))
                    for each in (metrics, *others.values())
                ),
            )
            for name in shown
        )
        return Table(("", "This model", *others), rows)

    @abstractmethod
    def findings(self, names: Sequence[str], y: NDArray[Any], views: Views) -> list[Finding]:
        """Return what a report shows of predictions beside the truth."""

    @abstractmethod
    def marks(self, names: Sequence[str], y: NDArray[Any], outputs: Outputs) -> Marks:
        """Return the colours of examples, or of vertices, on a map, and which predictions are marked as wrong."""

    def uncertainty(
        self, names: Sequence[str], y: NDArray[Any], outputs: Outputs, spread: Outputs | None, scores: Scores
    ) -> list[Finding]:
        """Return what a report shows of probabilities, spreads, and intervals or sets beside the truth.

        Args:
            names: Name of each output.
            y: The targets of the test set.
            outputs: The outputs, tempered.
            spread: Their standard deviation over the members of an ensemble.
            scores: Scores of the calibration set; empty if there was none.
        """
        return []

    @staticmethod
    def _number(value: float) -> str:
        return f"{value:.4g}"
