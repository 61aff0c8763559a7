"""The interface of a task: its loss, its outputs, its metrics, and how predictions are written."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from jaxtyping import Bool, Float
from numpy.typing import NDArray
from torch import Tensor

from edgecond.errors import RecipeError
from edgecond.nn.tasks.combinations import Outputs, Views
from edgecond.nn.tasks.reporting import Reported
from edgecond.nn.tasks.uncertainty import Judged
from edgecond.notation import Architecture

DECIMALS = 6
"""Number of decimals that are written, at least."""

RESERVED = frozenset(
    {"file", "row", "smiles", "graph", "atom", "point", "vertex", "fold"}  # where a prediction is from
    | {"spread", "lower", "upper", "set", "distance"}  # how sure it is
)
"""Columns that stand beside predictions in a table."""


class Loss(NamedTuple):
    """Sums over the examples of a batch: the loss is `total / weight`, the training metric `metric / known`.

    Both are 0 / 0 where no target is known. The sums over the shares of several processes are those of the whole batch.
    """

    total: Tensor
    weight: Tensor
    metric: Tensor
    known: Tensor


def weighted_sum(
    losses: Float[Tensor, " k"], known: Bool[Tensor, "b t"], weights: Float[Tensor, " b"] | None
) -> tuple[Tensor, Tensor]:
    """Return the weighted sum of the losses of known targets, and the sum of their weights.

    Args:
        losses: Loss of each known target.
        known: Which targets of each example are known.
        weights: Weight of each example; none for equal weights.
    """
    if weights is None:
        return losses.sum(), known.sum().to(losses.dtype)
    each = weights[:, None].expand_as(known)[known]
    return losses @ each, each.sum()


@dataclass(frozen=True)
class Task(Reported):
    """What a network learns to predict. The fields of a task are what it takes from the training set.

    Attributes:
        name: Name in recipes and model files.
        training_metric: The metric that is measured during training.
        per_vertex: Whether there is a prediction for each vertex instead of one for each graph.
        has_classes: Whether targets are classes or labels instead of numbers.
        weights_classes: Whether the loss can weight rare classes as much as frequent ones.
        smooths_labels: Whether the loss can smooth labels.
        validation_metric: The metric by which a validation set chooses the epoch.
        lower_is_better: Whether the lowest value of that metric is the best.
        calibrates: Whether a calibration set bounds the errors of new examples; vertices of one graph are too alike.
        meaning: What the outputs of an exported network are.
        explains: What an explanation attributes to the inputs.
    """

    name: ClassVar[str]
    training_metric: ClassVar[str]
    per_vertex: ClassVar[bool] = False
    has_classes: ClassVar[bool] = False
    weights_classes: ClassVar[bool] = False
    smooths_labels: ClassVar[bool] = False
    validation_metric: ClassVar[str]
    lower_is_better: ClassVar[bool] = False
    calibrates: ClassVar[bool] = False
    meaning: ClassVar[str]
    explains: ClassVar[str] = "prediction"

    # Targets

    @classmethod
    @abstractmethod
    def fits(cls, targets: Sequence[Sequence[str]], per_vertex: bool) -> bool:
        """Return whether this is the task for such targets.

        Args:
            targets: The class names of each target, none for a number.
            per_vertex: Whether each vertex has targets of its own.
        """

    @classmethod
    @abstractmethod
    def fit(cls, ys: Tensor, outputs: int, *, balanced: bool = False, class_weights: Sequence[float] = ()) -> Self:
        """Return the task with what it takes from the targets of the training set.

        Args:
            ys: The targets.
            outputs: Number of outputs of the network.
            balanced: Whether rare classes count as much as frequent ones.
            class_weights: Weight of each class instead, where a task weights classes.
        """

    def keeps_outputs_of(self, start: Task) -> bool:
        """Return whether a training that starts from a network of another task keeps outputs of the same name."""
        return self.name == start.name

    def continued(self, start: Self, places: Sequence[int | None]) -> Self:
        """Return the task with what the outputs of a network to start from mean, where they are kept.

        Args:
            start: The task of that network.
            places: Where each output is among those of that network; none if it is new.
        """
        return self

    @classmethod
    def settings(cls, ys: NDArray[Any]) -> dict[str, Any]:
        """Return the settings of a recipe that fit the targets, by their dotted names."""
        return {}

    @classmethod
    def strata(cls, ys: NDArray[Any]) -> NDArray[np.int64] | None:
        """Return the classes that a split spreads evenly over its parts, if there are any."""
        return None

    @classmethod
    def check_calibrates(cls, asked: str, number: float) -> None:
        """Refuse what needs a calibration set, unless there is a prediction for each example.

        Args:
            asked: What was asked for, calibration or coverage.
            number: Its number.
        """
        if not cls.calibrates:
            raise RecipeError(
                f"{asked} is for tasks with a prediction for each example: got {number:g} for {cls.name}. Leave it out."
            )

    @classmethod
    def check_targets(cls, ys: Tensor, names: Sequence[str]) -> None:
        """Raise a `ValueError` that says what the targets of a data set must have, if there is nothing to learn."""
        return

    @classmethod
    def check_network(cls, network: Architecture) -> None:
        """Raise a `RecipeError` if the network does not predict for what the task is about."""
        if network.per_vertex != cls.per_vertex:
            about, head = ("each vertex", "V") if cls.per_vertex else ("each graph", "GAP or GMP")
            raise RecipeError(
                f"a network for {cls.name} must predict for {about}, with {head} in it: got {network}. "
                f"Change the network, or the data."
            )

    # Training and evaluation

    @abstractmethod
    def loss(
        self, scores: Tensor, y: Tensor, *, label_smoothing: float = 0.0, weights: Float[Tensor, " b"] | None = None
    ) -> Loss:
        """Return the loss of a batch and the metric to watch, as sums.

        Args:
            scores: Scores of the network.
            y: The targets.
            label_smoothing: Share of the probability of the true class that is spread over all classes, where a task
                has classes.
            weights: Weight of each example; none for equal weights.
        """

    @abstractmethod
    def outputs(self, scores: Tensor) -> Tensor:
        """Return what the scores of a network mean: probabilities, or numbers in their own units."""

    @abstractmethod
    def scores(self, outputs: Tensor) -> Tensor:
        """Return the scores of calibrated outputs: of these scores, `meaning` is true."""

    @property
    def rescales(self) -> bool:
        """Whether calibrated outputs are not those of the scores of a network."""
        return False

    @abstractmethod
    def evaluate(self, y: NDArray[Any], views: Views, *, average: bool = True) -> dict[str, float]:
        """Return the metrics on some examples.

        Args:
            y: The targets.
            views: The outputs of each view.
            average: Whether the metrics of one view are means over all views, instead of those of the first.
        """

    @abstractmethod
    def decide(self, outputs: Outputs) -> NDArray[Any]:
        """Return predictions from outputs: the number of the class of each example, zeros and ones, or numbers."""

    def confusion(self, y: NDArray[Any], views: Views) -> NDArray[np.int64] | None:
        """Return how many examples of each class (row) were predicted as each class (column), if there are classes."""
        return None

    # Uncertainty

    def calibrated(self, y: NDArray[Any], outputs: Outputs, spread: Outputs | None = None) -> Self:
        """Return the task with what it takes from the outputs for a calibration set, such as a temperature."""
        return self

    def tempered(self, outputs: Outputs) -> Outputs:
        """Return calibrated probabilities, or numbers as they are."""
        return outputs

    def nonconformity(
        self, y: NDArray[Any], outputs: Outputs, spread: Outputs | None
    ) -> list[Float[np.ndarray, " known"]]:
        """Return how far outputs are from the truth, for each target where it is known, or once for all classes.

        Args:
            y: The targets.
            outputs: The outputs, tempered.
            spread: Standard deviation of the outputs over the members of an ensemble.
        """
        raise NotImplementedError

    def targets(self, names: Sequence[str]) -> list[str]:
        """Return the names of what `nonconformity` has scores for."""
        return list(names)

    def spread_row(
        self, names: Sequence[str], output: Float[np.ndarray, " t"], spread: Float[np.ndarray, " t"]
    ) -> dict[str, float]:
        """Return the spread over the members of an ensemble by the names of columns, for one example."""
        return dict(zip(titles("spread", names), self.rounded(spread), strict=True))

    def bounds_row(
        self,
        names: Sequence[str],
        output: Float[np.ndarray, " t"],
        spread: Float[np.ndarray, " t"] | None,
        limits: Sequence[float],
    ) -> dict[str, Any]:
        """Return the interval or the set of classes within bounds of nonconformity by the names of columns.

        Args:
            names: Name of each output.
            output: The outputs for one example, tempered.
            spread: Their standard deviation over the members of an ensemble.
            limits: The bound of each of `targets`.
        """
        raise NotImplementedError

    def judged(self, y: NDArray[Any], outputs: Outputs, spread: Outputs | None) -> Judged:
        """Return the tempered outputs for known targets, one after the other, beside the truth."""
        raise NotImplementedError

    def certainty(
        self, y: NDArray[Any], outputs: Outputs, spread: Outputs | None, limits: Sequence[float]
    ) -> dict[str, float]:
        """Return how often the truth keeps the limits (`coverage`), and the metrics of `judged`."""
        found = zip(self.nonconformity(y, outputs, spread), limits, strict=True)
        inside = np.concatenate([scores <= limit for scores, limit in found])
        return {"coverage": float(inside.mean()), **self.judged(y, outputs, spread).metrics()}

    # Explanations

    @abstractmethod
    def explained(self, scores: Float[Tensor, "v n t"], target: int) -> Float[Tensor, " n"]:
        """Return what an explanation attributes to the inputs: a number for each row that can be added up.

        Args:
            scores: Scores of all networks in all views.
            target: Number of the output.
        """

    def explained_target(self, outputs: Outputs) -> int:
        """Return the number of the output of an example that is explained unless another is asked for."""
        return 0

    def explained_rows(self, outputs: Outputs, target: int) -> Bool[np.ndarray, " n"]:
        """Return which rows of the outputs of an example are explained, by their mean."""
        return np.ones(len(outputs), bool)

    # Predictions

    @abstractmethod
    def columns(self, names: Sequence[str], probabilities: bool = False) -> list[str]:
        """Return the names of what `row` returns."""

    @abstractmethod
    def row(self, names: Sequence[str], output: Float[np.ndarray, " t"], probabilities: bool = False) -> dict[str, Any]:
        """Return the prediction for one example, or one vertex.

        Args:
            names: Name of each output: of the classes, or of the targets.
            output: Its outputs.
            probabilities: Whether the probability of every class is wanted.
        """

    def rounded(self, numbers: Float[np.ndarray, " t"]) -> list[float]:
        """Return a number for each output, such as a probability, with as many decimals as are written."""
        return [round(float(number), DECIMALS) for number in numbers]

    def probability_columns(self, names: Sequence[str]) -> dict[str, str]:
        """Return the column of a prediction that holds the probability of each class or label, if there is any."""
        return {}

    def truth(self, names: Sequence[str], y: Any) -> dict[str, Any]:
        """Return the known targets of one example, or one vertex, by name; blank where one is unknown."""
        known = ((name, float(value)) for name, value in zip(names, y, strict=True))
        return {f"truth({name})": "" if np.isnan(value) else value for name, value in known}

    def point_columns(self, names: Sequence[str], outputs: Outputs) -> tuple[dict[str, NDArray[Any]], list[str]]:
        """Return the predictions for points as columns of a file, and comments on them."""
        return dict(zip(names, outputs.T, strict=True)), []

    def class_numbers(self, names: Sequence[str]) -> dict[int, str]:
        """Return the name of each class by its number in the column `class` of points; none without that column."""
        return {}

    # Files

    @property
    def parameters(self) -> dict[str, Any]:
        """What a model file holds of the task."""
        return asdict(self)

    @classmethod
    def restore(cls, parameters: Mapping[str, tuple[float, ...]], outputs: int) -> Self:
        """Return the task of a model file.

        Args:
            parameters: Those that `parameters` returned.
            outputs: Number of outputs of the network.
        """
        names, required = [field.name for field in fields(cls)], cls._required()
        if not parameters.keys() <= set(names) or not set(required) <= parameters.keys():
            found = ", ".join(parameters)[:60] or "nothing"
            raise ValueError(f"the parameters of {cls.name} are {', '.join(names) or 'none'}: found {found}.")
        for name, numbers in parameters.items():
            count = cls._count(name, outputs)
            if len(numbers) not in ({count} if name in required else {0, count}):
                raise ValueError(
                    f"{name} must have a number for each of {count} outputs of {cls.name}: found {len(numbers)}."
                )
            if name in ("temperature", "spread") and min(numbers, default=1) <= 0:
                raise ValueError(f"the {name} must be positive: found {min(numbers):g}.")
        return cls(**parameters)

    @classmethod
    def _count(cls, name: str, outputs: int) -> int:
        """Return the number of values of a parameter."""
        return outputs

    @classmethod
    def _required(cls) -> tuple[str, ...]:
        """Names of the parameters that a model file must hold."""
        return ()


def titles(word: str, names: Sequence[str]) -> list[str]:
    """Return the names of columns about each target: `word` alone if there is one target, else `word(NAME)`."""
    return [word] if len(names) == 1 else [f"{word}({name})" for name in names]


def prediction_columns(names: Sequence[str]) -> list[str]:
    """Return the column of the prediction of each target: its name, or `prediction(NAME)` if that is reserved."""
    return [f"prediction({name})" if name in RESERVED else name for name in names]
