"""Networks of the paper as estimators of scikit-learn, which learn from clouds, graphs or molecules in memory."""

from __future__ import annotations

import json
from collections.abc import Mapping
from numbers import Integral
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.metrics import r2_score
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from edgecond.errors import CheckpointError
from edgecond.estimator.inputs import Form, form_of, listed, of_model, restored, Truth
from edgecond.estimator.targets import answers_of, asks_several, classes_of, columns_of, plain, quantities_of
from edgecond.nn.training import Step
from edgecond.notation import Architecture
from edgecond.runs import run as experiment
from edgecond.runs.model import Model
from edgecond.runs.recipe import changed, Recipe, with_epochs

KEY = "estimator"  # of what a model's file says of one
FIXED = ("task", "dataset", "options", "input.edges")  # settings that follow from X and y


class _EdgeCond(BaseEstimator):
    """What the two have in common; they say what the parameters mean."""

    _tasks: ClassVar[tuple[str, ...]]

    def __init__(
        self,
        *,
        epochs: int | None = None,
        batch_size: int | None = None,
        learning_rate: float | None = None,
        network: str | Architecture | None = None,
        labels: str | None = None,
        views: int | None = None,
        settings: Mapping[str, Any] | None = None,
        random_state: int | np.random.RandomState | None = None,
        device: str | None = None,
        verbose: bool = False,
    ) -> None:
        self.epochs = epochs
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.network = network
        self.labels = labels
        self.views = views
        self.settings = settings
        self.random_state = random_state
        self.device = device
        self.verbose = verbose

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.one_d_array = True  # of SMILES, of graphs, of clouds
        tags.input_tags.two_d_array = False
        tags.input_tags.three_d_array = True  # clouds of as many points each
        tags.input_tags.string = True
        return tags

    def fit(self, X: Any, y: Any) -> Self:
        """Train a network.

        Args:
            X: A sequence of clouds, of graphs or of SMILES.
            y: What is true of each.
        """
        if y is None:
            raise ValueError(
                f"{type(self).__name__} requires y to be passed, but the target y is None. Say what is true of each."
            )
        rows = listed(X)
        task, truth, names = self._learn_targets(y, len(rows))
        form = form_of(rows)
        examples = form.examples(rows, truth, names)
        recipe = self._changed(form.recipe(examples, task))
        trained = experiment.train(
            recipe,
            seed=_seed(self.random_state),
            directory=None,
            parts=(examples, examples),
            observe=_tell if self.verbose else _be_silent,
            device=None if self.device is None else torch.device(self.device),
        )
        self.history_ = trained.history
        return self._take(form, trained.model)

    def save(self, path: str | Path) -> None:
        """Write the fitted network to a file, which `load` and the command line read; nothing in it is ever executed.

        Args:
            path: The file, `.safetensors` by convention.
        """
        check_is_fitted(self, "model_")
        about = {
            "params": plain(self.get_params(deep=False)),
            "form": self._form.about,
            "targets": self._targets,
            "history": self.history_,
        }
        try:
            json.dumps(about)
        except TypeError as error:
            raise ValueError(
                f"a file holds classes that are texts or numbers: {error}. joblib keeps others."
            ) from error
        self.model_.about[KEY] = about
        self.model_.save(Path(path))

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read what `save` or `edgecond train` has written.

        Args:
            path: The file, or the directory of a run.
        """
        model = Model.load(Path(path)).passing()
        if model.recipe.task not in cls._tasks:
            raise CheckpointError(
                f"{path} must be a model of {' or '.join(cls._tasks)} for {cls.__name__}: it is one of "
                f"{model.recipe.task}."
            )
        about = model.about.get(KEY) or {"params": {}, "targets": None, "history": []}
        found = cls(**about["params"])
        found.history_ = about["history"]
        found._restore_targets(about["targets"], model)
        return found._take(restored(about["form"], model) if "form" in about else of_model(model), model)

    def _take(self, form: Form, model: Model) -> Self:
        self._form, self.model_, self.recipe_ = form, model, model.recipe
        if form.width is not None:
            self.n_features_in_ = form.width
        return self

    def _changed(self, recipe: Recipe) -> Recipe:
        """The settings that fit the data, but for those that are given."""
        given = {
            "train.batch_size": self.batch_size,
            "train.learning_rate": self.learning_rate,
            "network": self.network,
            "labels": self.labels,
        }
        settings = {} if self.settings is None else self.settings
        if not isinstance(settings, Mapping):
            raise ValueError(f"settings must be a dict, as {{'train.learning_rate': 0.05}}: got {settings!r}.")
        if fixed := [name for name in FIXED if name in settings]:
            raise ValueError(f"settings must leave out what follows from X and y: {', '.join(fixed)} does.")
        said = {name: value for name, value in given.items() if value is not None} | dict(settings)
        recipe = changed(with_epochs(recipe, plain(self.epochs)), plain(said))
        most, told = np.inf, ""
        if recipe.input is None:
            most, told = recipe.sparsifications, f" to {recipe.sparsifications}, the sparsifications of a graph"
        if self.views is not None and not (isinstance(self.views, Integral) and 1 <= self.views <= most):
            raise ValueError(f"views must be a whole number from 1{told}: got {self.views!r}.")
        return recipe

    def _outputs(self, X: Any) -> NDArray[np.float64]:
        """Mean of the views at each row."""
        check_is_fitted(self, "model_")
        return np.mean(self.model_.scores(self._form.unknown(listed(X)), self.views), axis=0)

    def _learn_targets(self, y: Any, count: int) -> tuple[str, Truth, list[str]]:
        """The task, what is true of each row, as numbers, and the names of the classes or of the columns."""
        raise NotImplementedError

    @property
    def _targets(self) -> Any:
        """What a file says of y."""
        raise NotImplementedError

    def _restore_targets(self, said: Any, model: Model) -> None:
        """The inverse; a model of the command line says nothing, but has names."""
        raise NotImplementedError


class EdgeCondClassifier(ClassifierMixin, _EdgeCond):
    """Tells clouds, graphs or molecules apart, or answers several questions about each with yes or no.

    X is a sequence of one kind:

    - clouds: arrays of points (n, 3), or (n, 3 + d) with a signal, `Cloud`s, or paths of files;
    - graphs: PyG `Data`, or whatever has `edge_index`, `num_nodes` and perhaps `x` and `edge_attr`;
    - molecules: SMILES.

    y is a class for each row, or a row of zeros and ones, the answers to several questions; NaN where one is unknown.

    What is not given is derived from the data, as `edgecond train` does.

    Args:
        epochs: Passes over the training data.
        batch_size: Number of examples in a batch.
        learning_rate: Initial learning rate.
        network: In the paper's notation, as "C(16)-C(32)-MP(0.5,1)-C(32)-GAP-FC(2)"; it ends with an output per class.
        labels: Name of the edge labelling, as "cartesian".
        views: At each row to predict, whose probabilities are averaged: orientations of a cloud, sparsifications of a
            graph.
        class_weight: "balanced" for rare classes that count as much as frequent ones, None for examples that count
            equally, "auto" for the former if one class is three times as frequent as another. Answers count equally.
        settings: All others, by their dotted names, as {"augment.rotate": False}; `edgecond show` lists them.
        random_state: Seed of everything random; chance by default.
        device: Of torch; a GPU if there is one.
        verbose: Print a line for each epoch.

    Attributes:
        classes_: The classes, sorted; of several questions, their numbers.
        model_: The network with what makes samples for it, an `edgecond.runs.model.Model`.
        recipe_: All settings.
        history_: Figures of each epoch.
        n_features_in_: Columns of a point, if arrays of points were learned.
    """

    _tasks = ("classification", "multilabel")

    def __init__(
        self,
        *,
        epochs: int | None = None,
        batch_size: int | None = None,
        learning_rate: float | None = None,
        network: str | Architecture | None = None,
        labels: str | None = None,
        views: int | None = None,
        class_weight: str | None = "auto",
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

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """The probability of each class, in the order of `classes_`; of several questions, of yes for each."""
        return self._outputs(X)

    def predict(self, X: Any) -> NDArray[Any]:
        """The most probable class of each row; of several questions, 1 for yes and 0 for no."""
        outputs = self._outputs(X)
        return (outputs > 0.5).astype(int) if self.recipe_.task == "multilabel" else self.classes_[outputs.argmax(1)]

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Accuracy; of several questions, the share of rows whose known answers are all right."""
        check_is_fitted(self, "model_")
        if self.recipe_.task != "multilabel":
            return float(super().score(X, y, sample_weight))
        predicted = self.predict(X)
        truth = answers_of(y, *predicted.shape)
        unknown = np.isnan(truth)
        right, told = (unknown | (truth == predicted)).all(1), ~unknown.all(1)
        weights = np.ones(len(truth)) if sample_weight is None else np.asarray(sample_weight)
        return float(np.average(right[told], weights=weights[told]))

    def _changed(self, recipe: Recipe) -> Recipe:
        weights = {"auto": recipe.balanced, "balanced": True, None: False}
        if not isinstance(self.class_weight, str | None) or self.class_weight not in weights:
            raise ValueError(f"class_weight must be 'auto', 'balanced' or None: got {self.class_weight!r}.")
        if recipe.task == "multilabel" and self.class_weight == "balanced":
            raise ValueError("class_weight must be 'auto' or None where y has several questions: got 'balanced'.")
        return super()._changed(changed(recipe, {"balanced": weights[self.class_weight]}))

    def _learn_targets(self, y: Any, count: int) -> tuple[str, Truth, list[str]]:
        if asks_several(y):
            answers = answers_of(y, count)
            self.classes_ = np.arange(answers.shape[1])
            return "multilabel", answers, columns_of(y, len(self.classes_))
        self.classes_, numbers = classes_of(y, count)
        return "classification", numbers, [str(name) for name in self.classes_.tolist()]

    @property
    def _targets(self) -> Any:
        return {"dtype": self.classes_.dtype.str, "classes": self.classes_.tolist()}

    def _restore_targets(self, said: Any, model: Model) -> None:
        known = np.arange(len(model.classes)) if model.recipe.task == "multilabel" else np.array(model.classes)
        self.classes_ = np.array(said["classes"], said["dtype"]) if said else known


class EdgeCondRegressor(RegressorMixin, _EdgeCond):
    """Predicts quantities of clouds, graphs or molecules; X is that of `EdgeCondClassifier`.

    y is a number for each row, or a row of several; NaN where nothing is known.

    Args:
        epochs: Passes over the training data.
        batch_size: Number of examples in a batch.
        learning_rate: Initial learning rate.
        network: In the paper's notation; it ends with an output for each quantity.
        labels: Name of the edge labelling, as "cartesian".
        views: At each row to predict, whose outputs are averaged: orientations of a cloud, sparsifications of a graph.
        settings: All others, by their dotted names, as {"augment.rotate": False}; `edgecond show` lists them.
        random_state: Seed of everything random; chance by default.
        device: Of torch; a GPU if there is one.
        verbose: Print a line for each epoch.

    Attributes:
        model_: The network with what makes samples for it, an `edgecond.runs.model.Model`.
        recipe_: All settings.
        history_: Figures of each epoch.
        n_features_in_: Columns of a point, if arrays of points were learned.
    """

    _tasks = ("regression",)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags

    def predict(self, X: Any) -> NDArray[np.float64]:
        """The quantities of each row, in the shape of those that were learned."""
        found = self._outputs(X)
        return found[:, 0] if self._single else found

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """$R^2$ of what is known, the mean over the quantities of which something is."""
        predicted = self._outputs(X)
        truth = quantities_of(y, *predicted.shape)
        weights = np.ones(len(truth)) if sample_weight is None else np.asarray(sample_weight)
        known = ~np.isnan(truth)
        columns = zip(truth.T, predicted.T, known.T, strict=True)
        return float(np.mean([r2_score(t[k], p[k], sample_weight=weights[k]) for t, p, k in columns if k.any()]))

    def _learn_targets(self, y: Any, count: int) -> tuple[str, Truth, list[str]]:
        quantities = quantities_of(y, count)
        self._single = np.asarray(y).ndim == 1
        return "regression", quantities, ["y"] if self._single else columns_of(y, quantities.shape[1])

    @property
    def _targets(self) -> Any:
        return {"single": self._single}

    def _restore_targets(self, said: Any, model: Model) -> None:
        self._single = said["single"] if said else len(model.classes) == 1


def _seed(random_state: Any) -> int:
    """A whole number is the seed itself, as that of `edgecond train`; other sources of chance draw one."""
    if isinstance(random_state, Integral):
        return int(random_state)
    return int(check_random_state(random_state).randint(np.iinfo(np.int32).max))


def _tell(step: Step, batches: int, epochs: int) -> bool:
    if step.last:
        print(f"epoch {step.epoch + 1} of {epochs}: loss {step.loss:.4f} in the last of {batches} batches")
    return True


def _be_silent(step: Step, batches: int, epochs: int) -> bool:
    return True
