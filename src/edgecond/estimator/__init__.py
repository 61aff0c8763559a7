"""Networks of the paper as scikit-learn estimators for clouds, graphs or molecules in memory."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.metrics import accuracy_score, r2_score
from sklearn.utils.validation import check_is_fitted

from edgecond.data.kinds import Kind
from edgecond.estimator.base import EdgeCondEstimator
from edgecond.estimator.targets import (
    column_names,
    encode_classes,
    encode_labels,
    encode_numbers,
    has_several_columns,
    plain,
    restore_classes,
)
from edgecond.nn.tasks import Outputs, Task
from edgecond.nn.tasks.classification import Classification
from edgecond.nn.tasks.multilabel import Multilabel
from edgecond.nn.tasks.regression import Regression
from edgecond.notation import Architecture
from edgecond.runs.blocks import Targets
from edgecond.runs.model import Model
from edgecond.runs.recipe import Recipe, with_settings

__all__ = ["EdgeCondClassifier", "EdgeCondRegressor"]


class EdgeCondClassifier(ClassifierMixin, EdgeCondEstimator):
    """Classifies clouds, graphs or molecules, with one class or several labels of yes and no for each.

    X is a sequence of one kind:

    - clouds: arrays of points (n, 3), or (n, 3 + d) with a signal, `Cloud`s, or paths of files;
    - graphs: PyG `Data`, or whatever has `edge_index`, `num_nodes` and perhaps `x` and `edge_attr`;
    - molecules: SMILES.

    y is a class for each row, or a row of zeros and ones, NaN where a label is unknown.

    Parameters that are not given are derived from the data, as `edgecond train` does.

    Args:
        epochs: Number of passes over the training set.
        batch_size: Number of examples in a batch.
        learning_rate: Initial learning rate.
        network: Network in the paper's notation, as "C(16)-C(32)-MP(0.5,1)-C(32)-GAP-FC(2)", with an output per class.
        labels: Name of the edge labelling, as "cartesian".
        views: Number of views of each row whose probabilities are averaged: orientations of a cloud, sparsifications
            of a graph.
        class_weight: "balanced" to weight rare classes as much as frequent ones, None for equal weights of examples,
            "auto" for the former if one class is three times as frequent as another, or a dict with the weight of each
            class, 1 for those that it leaves out. Labels are never weighted.
        settings: Other settings by their dotted names, as {"augment.rotate": False}; `edgecond show` lists them.
        random_state: Random seed.
        device: Device of torch; a GPU if there is one by default.
        verbose: Whether to print a line for each epoch.

    Attributes:
        classes_: The classes, sorted; with several labels, their numbers.
        model_: The trained model, an `edgecond.runs.model.Model`.
        recipe_: All settings.
        history_: Metrics of each epoch.
        n_features_in_: Number of columns of a point, if X is arrays of points.
    """

    _tasks = (Classification, Multilabel)

    def __init__(
        self,
        *,
        epochs: int | None = None,
        batch_size: int | None = None,
        learning_rate: float | None = None,
        network: str | Architecture | None = None,
        labels: str | None = None,
        views: int | None = None,
        class_weight: str | Mapping[Any, float] | None = "auto",
        settings: Mapping[str, Any] | None = None,
        random_state: int | np.random.RandomState | None = None,
        device: str | None = None,
        verbose: bool = False,
    ) -> None:
        super().__init__(
            epochs=epochs,
            batch_size=batch_size,
            learning_rate=learning_rate,
            network=network,
            labels=labels,
            views=views,
            settings=settings,
            random_state=random_state,
            device=device,
            verbose=verbose,
        )
        self.class_weight = class_weight

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        return tags

    def predict_proba(self, X: Any, features: Any = None) -> Outputs:
        """Return the probability of each class, in the order of `classes_`; with several labels, of each being 1."""
        return self._outputs(X, features)

    def predict(self, X: Any, features: Any = None) -> NDArray[Any]:
        """Return the most probable class of each row; with several labels, a row of zeros and ones."""
        outputs = self._outputs(X, features)
        decisions = self.model_.task.decide(outputs)
        return self.classes_[decisions] if decisions.ndim == 1 else decisions

    def score(self, X: Any, y: Any, sample_weight: Any = None, features: Any = None) -> float:
        """Return the accuracy; with several labels, the share of rows whose known labels are all predicted right."""
        check_is_fitted(self, "model_")
        predicted = self.predict(X, features)
        if predicted.ndim == 1:
            return float(accuracy_score(y, predicted, sample_weight=sample_weight))
        truth = encode_labels(y, *predicted.shape)
        unknown = np.isnan(truth)
        right, counted = (unknown | (truth == predicted)).all(1), ~unknown.all(1)
        weights = np.ones(len(truth)) if sample_weight is None else np.asarray(sample_weight)
        return float(np.average(right[counted], weights=weights[counted]))

    def _with_parameters(self, recipe: Recipe, kind: Kind, task: type[Task]) -> Recipe:
        weight = self.class_weight
        if weight not in ("auto", None) and not task.weights_classes:
            raise ValueError(f"class_weight must be 'auto' or None where y has several labels: got {weight!r}.")
        changes: dict[str, Any]
        if isinstance(weight, Mapping):
            known = {value: str(value) for value in self.classes_.tolist()}  # where 1, 1.0 and True are equal
            changes = {"class_weights": {known.get(name, str(name)): plain(value) for name, value in weight.items()}}
        else:
            balanced = {"auto": recipe.balanced, "balanced": True, None: False}
            if not isinstance(weight, str | None) or weight not in balanced:
                raise ValueError(f"class_weight must be 'auto', 'balanced', a dict or None: got {weight!r}.")
            changes = {"balanced": balanced[weight]}
        return super()._with_parameters(with_settings(recipe, changes), kind, task)

    def _fit_targets(self, y: Any, count: int) -> tuple[type[Task], NDArray[Any], list[str]]:
        if has_several_columns(y):
            labels = encode_labels(y, count)
            self.classes_ = np.arange(labels.shape[1])
            return Multilabel, labels, column_names(y, len(self.classes_))
        self.classes_, numbers = encode_classes(y, count)
        return Classification, numbers, [str(name) for name in self.classes_.tolist()]

    @property
    def _targets(self) -> Any:
        return {"dtype": self.classes_.dtype.str, "classes": self.classes_.tolist()}

    def _restore_targets(self, targets: Targets | None, model: Model) -> None:
        if targets is None:
            self.classes_ = np.array(model.classes) if model.task.weights_classes else np.arange(len(model.classes))
            return
        names = list(model.classes) if model.task.weights_classes else [str(n) for n in range(len(model.classes))]
        self.classes_ = restore_classes(targets.classes, targets.dtype, names)


class EdgeCondRegressor(RegressorMixin, EdgeCondEstimator):
    """Predicts numbers for clouds, graphs or molecules; X is that of `EdgeCondClassifier`.

    y is a number for each row, or a row of several, NaN where one is unknown.

    Args:
        epochs: Number of passes over the training set.
        batch_size: Number of examples in a batch.
        learning_rate: Initial learning rate.
        network: Network in the paper's notation, with an output per target.
        labels: Name of the edge labelling, as "cartesian".
        views: Number of views of each row whose outputs are averaged: orientations of a cloud, sparsifications of a
            graph.
        settings: Other settings by their dotted names, as {"augment.rotate": False}; `edgecond show` lists them.
        random_state: Random seed.
        device: Device of torch; a GPU if there is one by default.
        verbose: Whether to print a line for each epoch.

    Attributes:
        model_: The trained model, an `edgecond.runs.model.Model`.
        recipe_: All settings.
        history_: Metrics of each epoch.
        n_features_in_: Number of columns of a point, if X is arrays of points.
    """

    _tasks: ClassVar[tuple[type[Task], ...]] = (Regression,)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags

    def predict(self, X: Any, features: Any = None) -> NDArray[np.float64]:
        """Return the numbers of each row, in the shape of y."""
        outputs = self._outputs(X, features)
        return outputs[:, 0] if self._single else outputs

    def score(self, X: Any, y: Any, sample_weight: Any = None, features: Any = None) -> float:
        """Return $R^2$ of the known targets, the mean over the columns that have some."""
        predicted = self._outputs(X, features)
        truth = encode_numbers(y, *predicted.shape)
        weights = np.ones(len(truth)) if sample_weight is None else np.asarray(sample_weight)
        known = ~np.isnan(truth)
        columns = zip(truth.T, predicted.T, known.T, strict=True)
        return float(np.mean([r2_score(t[k], p[k], sample_weight=weights[k]) for t, p, k in columns if k.any()]))

    def _fit_targets(self, y: Any, count: int) -> tuple[type[Task], NDArray[Any], list[str]]:
        numbers = encode_numbers(y, count)
        self._single = np.asarray(y).ndim == 1
        names = ["y"] if self._single else column_names(y, numbers.shape[1])
        try:
            Regression.check_targets(torch.from_numpy(numbers), names)
        except ValueError as error:
            raise ValueError(f"y {error}") from error
        return Regression, numbers, names

    @property
    def _targets(self) -> Any:
        return {"single": self._single}

    def _restore_targets(self, targets: Targets | None, model: Model) -> None:
        self._single = len(model.classes) == 1
        if targets is not None:
            if targets.single is None or (targets.single and not self._single):
                raise ValueError(f"single must be whether y had one column, of {len(model.classes)}.")
            self._single = targets.single
