"""The interface of a baseline: what others use for a kind of data, fitted and tested on the same examples as ECC."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from importlib.metadata import version
from typing import Any, ClassVar

from edgecond.data.kinds import Kind, KINDS, LabelledExamples
from edgecond.data.preparation import no_progress, Progress, SampleSettings
from edgecond.errors import DataError
from edgecond.nn.tasks import Outputs, Task

Predictor = Callable[[Any], Outputs]
"""Returns the outputs of a fitted baseline for some examples, as a task understands them."""


class Baseline(ABC):
    """A method to compare with.

    Attributes:
        name: Name on the command line, and of the folder of its records.
        title: What it is, in a few words.
        needs: What it takes from an example: one of `Kind.provides`.
        packages: Packages that a result depends on, beside those of every record.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    needs: ClassVar[str]
    packages: ClassVar[tuple[str, ...]] = ("scikit-learn",)

    @property
    @abstractmethod
    def settings(self) -> dict[str, Any]:
        """Its settings, as JSON."""

    @abstractmethod
    def fit(
        self,
        examples: Any,
        task: Task,
        seed: int,
        *,
        settings: SampleSettings,
        progress: Progress = no_progress,
    ) -> Predictor:
        """Fit to a training set, which is all that is seen.

        Args:
            examples: The training set.
            task: The task, with what it takes from the training set.
            seed: Random seed.
            settings: The settings of a recipe; augmentation and attributes are those of the baseline too.
            progress: Called with the number of steps that are done, and of all.
        """

    def takes(self, kind: Kind) -> bool:
        """Return whether it is for a kind of data."""
        return self.needs in kind.provides

    def measure(
        self,
        examples: LabelledExamples,
        test: LabelledExamples,
        kind: Kind,
        task: type[Task],
        seed: int,
        *,
        settings: SampleSettings,
        progress: Progress = no_progress,
    ) -> dict[str, float]:
        """Fit to a training set, and return the metrics on a test set, as those of a model are computed.

        Args:
            examples: The training set.
            test: The test set.
            kind: Kind of data.
            task: What is predicted.
            seed: Random seed.
            settings: The settings of a recipe; see `fit`.
            progress: Called with the number of steps that are done, and of all.
        """
        if not self.takes(kind):
            taken = " and ".join(sorted(other.name for other in KINDS.values() if self.takes(other)))
            raise DataError(
                f"the baseline {self.name} is for {taken}: these data are {kind.name}. Choose another baseline."
            )
        if task.per_vertex:
            raise DataError(
                f"a baseline predicts for a whole example: the task of these data is {task.name}, which predicts for "
                f"each {kind.unit}. There is no baseline for it."
            )
        fitted = task.fit(examples.ys, len(examples.classes))
        predictor = self.fit(examples, fitted, seed, settings=settings, progress=progress)
        return fitted.evaluate(test.ys.numpy(), [predictor(test)])

    def versions(self) -> dict[str, str]:
        """Return the versions of its packages."""
        return {package: version(package) for package in self.packages}
