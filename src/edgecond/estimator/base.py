"""What the two estimators share: parameters, training, files and outputs."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from numbers import Integral
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
import torch
from jaxtyping import Float
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from edgecond.data.examples import checked_weights
from edgecond.data.kinds import check_rows, Kind, kind_of_rows, listed, RowReader, UserData
from edgecond.errors import CheckpointError, DataError
from edgecond.estimator.targets import plain
from edgecond.nn.tasks import Outputs, Task
from edgecond.nn.training import Step
from edgecond.notation import Architecture
from edgecond.runs import ensemble
from edgecond.runs.blocks import Estimator, Parameters, read_history, Targets
from edgecond.runs.model import Model
from edgecond.runs.recipe import first_error, Recipe, with_epochs, with_settings
from edgecond.runs.sampling import sample_settings
from edgecond.runs.user_data import recipe_for

KEY = "estimator"  # of the block in a model file
FORMER = {"batch": "batch_size", "rate": "learning_rate", "looks": "views"}  # parameters in the first model files
FIXED = ("task", "dataset", "options", "input.edges")  # settings that follow from X and y


class EdgeCondEstimator(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """The common part of the estimators, whose docstrings explain the parameters."""

    _tasks: ClassVar[tuple[type[Task], ...]]

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
        tags.input_tags.three_d_array = True  # clouds with equal numbers of points
        tags.input_tags.string = True
        return tags

    def fit(self, X: Any, y: Any, features: Any = None, sample_weight: Any = None) -> Self:
        """Train a network.

        Args:
            X: A sequence of clouds, of graphs or of SMILES.
            y: The target of each.
            features: Columns beside graphs or SMILES, by name: a mapping to sequences with a value for each row, or a
                `DataFrame`. Predictions then need the same columns.
            sample_weight: Weight of each row in the loss; equal weights by default.
        """
        if y is None:
            raise ValueError(
                f"{type(self).__name__} requires y to be passed, but the target y is None. Pass the target of each row."
            )
        rows = listed(X)
        task, targets, names = self._fit_targets(y, len(rows))
        kind = kind_of_rows(rows)
        reader = kind.reader(rows)
        examples = kind.with_features(reader.examples(rows, targets, names), features, None)
        if sample_weight is not None:
            examples = replace(examples, weights=checked_weights(sample_weight, len(rows), "sample_weight"))
        data = UserData(examples.name, examples, (), task.per_vertex, kind.rows_dataset, kind.rows_options(reader))
        recipe = self._with_parameters(recipe_for(kind, task, data), kind, task)
        trained = ensemble.train(
            recipe,
            seed=_seed(self.random_state),
            directory=None,
            parts=(examples, examples),
            observe=_print_epoch if self.verbose else _continue,
            device=None if self.device is None else torch.device(self.device),
        )
        self.history_ = trained.history
        return self._take(reader, trained.model)

    def transform(self, X: Any, features: Any = None) -> Float[np.ndarray, "n d"]:
        """Return the embedding of each row: the signal before the last FC; see `Model.embed`.

        Args:
            X: A sequence like the one that the network was fitted to.
            features: Columns beside the rows, if `fit` was given some.
        """
        examples = self._examples(X, features)
        return self.model_.embeddings(examples)

    def fit_transform(self, X: Any, y: Any = None, features: Any = None) -> Float[np.ndarray, "n d"]:
        """Train a network and return the embedding of each row; see `fit` and `transform`."""
        return self.fit(X, y, features).transform(X, features)

    @property
    def _n_features_out(self) -> int:
        """Number of columns of `transform`, which scikit-learn names after the class."""
        return self.model_.network.embedding_width

    def save(self, path: str | Path) -> None:
        """Write the fitted network to a file, which `load` and the command line read; nothing in it is ever executed.

        Args:
            path: The file, `.safetensors` by convention.
        """
        check_is_fitted(self, "model_")
        about = {
            "params": plain(self.get_params(deep=False)),
            "form": {self.model_.kind.name: self._reader.about},
            "targets": self._targets,
            "history": self.history_,
        }
        try:
            json.dumps(about)
        except TypeError as error:
            raise ValueError(
                f"a file holds classes that are texts or numbers: {error}. joblib saves others."
            ) from error
        self.model_.about[KEY] = about
        self.model_.save(Path(path))

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read what `save` or `edgecond train` has written.

        Args:
            path: The file, or the directory of a run.
        """
        model = Model.load(Path(path)).transient()
        if type(model.task) not in cls._tasks:
            names = " or ".join(task.name for task in cls._tasks)
            raise CheckpointError(
                f"{path} must be a model of {names} for {cls.__name__}: it is one of {model.task.name}."
            )
        try:
            return cls._restored(model, model.about.get(KEY))
        except DataError as error:
            raise CheckpointError(f"{path} cannot be used by {cls.__name__}: {error}") from error
        except ValueError as error:
            raise CheckpointError(
                f"{path} must hold an estimator that {cls.__name__}.save wrote: {first_error(error)}"
            ) from error

    @classmethod
    def _restored(cls, model: Model, content: Any) -> Self:
        """Return the estimator of a model with its block in the file; that of the command line has none."""
        if content is None:
            estimator = cls()
            estimator.history_ = []
            estimator._restore_targets(None, model)
            return estimator._take(model.kind.restore_reader(model.learned, None), model)
        block = Estimator.model_validate(content)
        given = {FORMER.get(name, name): value for name, value in block.params.items()}
        if unknown := given.keys() - set(cls._get_param_names()):
            raise ValueError(f"{cls.__name__} has no parameter {min(unknown)[:60]!r}.")
        estimator = cls(**Parameters.model_validate(given).model_dump(exclude_unset=True))
        estimator.history_ = read_history(block.history)
        estimator._restore_targets(block.targets, model)
        form = None
        if block.form is not None:
            ((kind, fields),) = block.form.items()
            if kind != model.kind.name:
                raise ValueError(f"the form must be that of {model.kind.name}: found {kind[:60]!r}.")
            form = fields.model_dump(exclude_unset=True)
        try:
            return estimator._take(model.kind.restore_reader(model.learned, form), model)
        except (KeyError, TypeError) as error:
            raise ValueError(f"the form of {model.kind.name} must be complete: {error} is missing.") from error

    def _take(self, reader: RowReader, model: Model) -> Self:
        self._reader, self.model_, self.recipe_ = reader, model, model.recipe
        if reader.width is not None:
            self.n_features_in_ = reader.width
        return self

    def _with_parameters(self, recipe: Recipe, kind: Kind, task: type[Task]) -> Recipe:
        """Return the settings that fit the data, but for those that are given."""
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
            raise ValueError(f"settings must leave out what follows from X and y: got {', '.join(fixed)}.")
        changes = {name: value for name, value in given.items() if value is not None} | dict(settings)
        recipe = with_settings(with_epochs(recipe, plain(self.epochs)), plain(changes))
        most = kind.most_views(sample_settings(recipe))
        if self.views is not None and not (isinstance(self.views, Integral) and 1 <= self.views <= most):
            raise ValueError(f"views must be a whole number from 1 to {most}: got {self.views!r}.")
        return recipe

    def _outputs(self, X: Any, features: Any = None) -> Outputs:
        """Return the mean outputs over the views of each row."""
        examples = self._examples(X, features)
        return self.model_.outputs(examples, self.views)

    def _examples(self, X: Any, features: Any) -> Any:
        """Return rows as examples for the network."""
        check_is_fitted(self, "model_")
        rows = listed(X)
        check_rows(rows, self.model_.kind)
        return self.model_.kind.with_features(self._reader.unlabelled(rows), features, self.model_.learned)

    def _fit_targets(self, y: Any, count: int) -> tuple[type[Task], NDArray[Any], list[str]]:
        """Return the task, the target of each row as numbers, and the names of the classes or of the columns."""
        raise NotImplementedError

    @property
    def _targets(self) -> Any:
        """What a file holds of y."""
        raise NotImplementedError

    def _restore_targets(self, targets: Targets | None, model: Model) -> None:
        """Take what a file holds of y; that of the command line holds only names."""
        raise NotImplementedError


def _seed(random_state: Any) -> int:
    """A whole number is the seed itself, as that of `edgecond train`; a generator draws one."""
    if isinstance(random_state, Integral):
        return int(random_state)
    return int(check_random_state(random_state).randint(np.iinfo(np.int32).max))


def _print_epoch(step: Step, batches: int, epochs: int) -> bool:
    if step.last:
        print(f"epoch {step.epoch + 1} of {epochs}: loss {step.loss:.4f} in the last of {batches} batches")
    return True


def _continue(step: Step, batches: int, epochs: int) -> bool:
    return True
