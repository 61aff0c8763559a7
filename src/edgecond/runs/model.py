"""A trained network with all that it takes to use it, in one file: classes, preparation, network and versions."""

from __future__ import annotations

import platform
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, PositiveInt
from torch import Tensor

from edgecond.data.kinds import check_rows, Kind, LabelledExamples, Learned, listed
from edgecond.data.preparation import no_progress, Preparation, Progress
from edgecond.data.samples import Batches, Weighted
from edgecond.errors import CheckpointError, DataError, RecipeError
from edgecond.graph import Sample
from edgecond.nn import evaluation, tasks
from edgecond.nn.applicability import Applicability, embed
from edgecond.nn.applicability import MOST as MOST_EMBEDDINGS
from edgecond.nn.checkpoint import load_checkpoint, save_checkpoint
from edgecond.nn.network import Network
from edgecond.nn.tasks import Outputs, Task
from edgecond.nn.tasks.conformal import condensed
from edgecond.nn.training import check_finite
from edgecond.nn.transfer import places
from edgecond.notation import FC
from edgecond.runs import card, weights
from edgecond.runs.blocks import Facts, Tested
from edgecond.runs.pretrained import FILE, model_file
from edgecond.runs.recipe import first_error, Recipe
from edgecond.runs.sampling import kind_for, sample_settings
from edgecond.runs.uncertainty import Uncertainty
from edgecond.runs.weights import Widths

SHOWN = 10  # classes in a message


def versions() -> dict[str, str]:
    """Return the versions of Python and of the packages that a result depends on."""
    packages = ("edgecond", "torch", "numpy", "scipy")
    return {"python": platform.python_version(), **{package: version(package) for package in packages}}


@dataclass(frozen=True, eq=False)
class Model:
    """A network, what makes samples for it, and what its outputs mean.

    Attributes:
        recipe: Settings of samples, network and training.
        classes: Name of each class, or of each target.
        widths: Width of the input signal, and of the labels at each level.
        kind: Kind of data that it takes.
        preparation: Makes samples of examples.
        network: The network.
        task: What it predicts.
        about: How it was trained: fold, seed, epochs, digest of the data, versions.
        members: The other networks of an ensemble.
        uncertainty: What bounds its errors, and what new examples are compared with.
    """

    recipe: Recipe
    classes: tuple[str, ...]
    widths: Widths
    kind: Kind
    preparation: Preparation
    network: Network
    task: Task
    about: dict[str, Any]
    members: tuple[Network, ...] = ()
    uncertainty: Uncertainty = Uncertainty()  # noqa: RUF009 (immutable)

    @staticmethod
    def new(
        recipe: Recipe,
        examples: LabelledExamples,
        seed: int,
        progress: Progress = no_progress,
        *,
        transient: bool = False,
        start: Model | None = None,
    ) -> Model:
        """Return an untrained model, its parameters drawn from a random seed.

        Args:
            recipe: Its settings.
            examples: The training set.
            seed: Random seed of the parameters.
            progress: Called while the pyramids of graphs are computed.
            transient: Whether nothing is to be kept of the examples.
            start: A model of the same kind of data, whose units are kept; see `edgecond.runs.finetuning`.
        """
        if recipe.ensemble > 1:
            raise RecipeError(
                f"a new model must have one network: got an ensemble of {recipe.ensemble}. "
                "`edgecond.runs.ensemble.train` trains several."
            )
        outputs, classes = recipe.network.classes, examples.classes
        if outputs != len(classes):
            raise RecipeError(
                f"a network must end with an output for each of {shown(classes)}: {recipe.network} has "
                f"{outputs or 'none'}. End it with FC({len(classes)})."
            )
        kind, task = kind_for(recipe), tasks.find(recipe.task)
        task.check_network(recipe.network)
        try:
            units = None if start is None else start.preparation
            preparation = kind.prepare(
                sample_settings(recipe), examples, progress=progress, transient=transient, start=units
            )
        except DataError:
            raise
        except ValueError as error:
            raise RecipeError(f"the settings of {recipe.name} do not fit together: {error}") from error
        widths = _widths(preparation.view(examples, 0, 1).sample([0], 0))
        network = weights.drawn(recipe, widths, preparation.features, seed)
        about = {"seed": seed, "data": examples.digest, **preparation.about}
        class_weights = recipe.weights_of(classes)
        if class_weights and not task.weights_classes:
            raise RecipeError(f"class_weights are for tasks with one class of several, not for {task.name}.")
        fitted = task.fit(examples.ys, len(classes), balanced=recipe.balanced, class_weights=class_weights)
        if start is not None and fitted.keeps_outputs_of(start.task):
            fitted = fitted.continued(start.task, places(classes, start.classes))
        return Model(recipe, classes, widths, kind, preparation, network, fitted, about)

    @property
    def learned(self) -> Learned:
        """What it has learned of its data, as far as reading other data alike needs it."""
        settings = sample_settings(self.recipe)
        recipe, d0 = self.recipe, self.widths[0]
        return Learned(settings, self.preparation, recipe.dataset, d0, recipe.train.batch_size, self.task.per_vertex)

    def batches(self, examples: LabelledExamples, seed: int, share: tuple[int, int] = (0, 1)) -> Batches:
        """Return the batches to train on: examples in random order, augmented or expanded as the recipe has it."""
        recipe, source = self.recipe, self.preparation.training(examples, seed)
        if examples.weights is not None:
            source = Weighted(source, examples.weights)
        batches = Batches(source, recipe.train.batch_size, seed=seed, share=share)
        if len(source) < 2 * len(batches) and sum(isinstance(layer, FC) for layer in recipe.network) > 1:
            raise RecipeError(
                f"batch normalisation after FC needs at least two examples in a batch: {len(source)} examples in "
                f"{len(batches)} batches have less. Choose a larger batch size."
            )
        return batches

    def transient(self) -> Model:
        """Return the same model, which keeps nothing of the examples that it sees."""
        return replace(self, preparation=self.preparation.transient())

    def outputs_per_view(self, examples: Any, views: int | None = None) -> list[Outputs]:
        """Return the mean outputs of all networks for some examples, in each of several views.

        Args:
            examples: The examples, with or without targets.
            views: Number of views; that of the recipe by default.
        """
        return [outputs.mean(0) for outputs in self.outputs_per_member(examples, views)]

    def outputs_per_member(self, examples: Any, views: int | None = None) -> list[Float[np.ndarray, "k n t"]]:
        """Return the outputs of each network for some examples, in each of several views; see `outputs_per_view`."""
        if not len(examples):
            raise DataError(f"{self.recipe.name} must be given at least one example: there is none.")
        count = self.views(views)
        self.check_views(count)
        return [
            evaluation.predict_all(self.networks, self._samples(examples, view, count), self.task)[0]
            for view in range(count)
        ]

    def check_views(self, views: int) -> None:
        """Refuse more views of an example than there can be, or none."""
        if views < 1:
            raise DataError(f"an example must have at least one view: got {views}. Ask for 1, or leave views out.")
        if views > (most := self.kind.most_views(sample_settings(self.recipe))):
            views_of = f"view{'s' if most > 1 else ''} of an example"
            raise DataError(f"{self.recipe.name} has at most {most} {views_of}: got {views}. Ask for fewer views.")

    def outputs(self, examples: Any, views: int | None = None) -> Outputs:
        """Return the mean outputs over views: a row per example, or per point or vertex of all examples."""
        return self.outputs_and_spread(examples, views)[0]

    def outputs_and_spread(self, examples: Any, views: int | None = None) -> tuple[Outputs, Outputs | None]:
        """Return the mean outputs over views and networks, calibrated, and the spread of an ensemble."""
        return self.mean_and_spread(self.outputs_per_member(examples, views))

    def mean_and_spread(self, views: Sequence[Float[np.ndarray, "k n t"]]) -> tuple[Outputs, Outputs | None]:
        """Return the calibrated mean over networks and views, and the standard deviation over networks."""
        members = np.mean(views, axis=0)
        return self.task.tempered(members.mean(0)), members.std(0, ddof=1) if len(members) > 1 else None

    @property
    def networks(self) -> tuple[Network, ...]:
        """All networks, whose outputs are averaged."""
        return self.network, *self.members

    def _samples(self, examples: Any, view: int = 0, views: int = 1) -> Iterator[Sample]:
        """Return the batches of a view."""
        source = self.preparation.view(examples, view, views)
        size = max(self.recipe.train.batch_size, source.together)
        return map(self._checked, Batches(source, size, shuffle=False).epoch(0))

    # Uncertainty

    def calibrated(self, examples: LabelledExamples) -> Model:
        """Return the model with probabilities calibrated and errors bounded by examples that it was not trained on."""
        self.task.check_calibrates("calibration", self.recipe.calibration)
        y, views = examples.ys.numpy(), self.outputs_per_member(examples, self.views())
        model = replace(self, task=self.task.calibrated(y, *self.mean_and_spread(views)))
        outputs, spread = model.mean_and_spread(views)
        scores = tuple(map(condensed, model.task.nonconformity(y, outputs, spread)))
        return replace(model, uncertainty=replace(self.uncertainty, scores=scores))

    def certainty(
        self, views: Sequence[Float[np.ndarray, "k n t"]], y: NDArray[Any], coverage: float = 0.9
    ) -> dict[str, float]:
        """Return how often intervals or sets hold the truth, and how well spreads and probabilities fit the errors.

        Args:
            views: The outputs of each network, as `outputs_per_member` returns them.
            y: The targets.
            coverage: Probability with which an interval or a set holds the truth.
        """
        limits = self.uncertainty.limits(coverage, self.task.targets(self.classes))
        return self.task.certainty(y, *self.mean_and_spread(views), limits)

    def compared_with(self, examples: LabelledExamples, seed: int) -> Model:
        """Return the model with the embeddings of its training examples, or of a random choice of many."""
        chosen = np.random.default_rng(seed).permutation(len(examples))[:MOST_EMBEDDINGS]
        found = self.embeddings(examples.take(sorted(chosen.tolist())))
        applicability = Applicability(found.astype(np.float32))
        return replace(self, uncertainty=replace(self.uncertainty, applicability=applicability))

    def distances(self, examples: Any) -> Float[np.ndarray, " n"]:
        """Return how far examples are from the training set; see `Applicability`."""
        return self.uncertainty.reference.distances(self.embeddings(examples))

    def embeddings(self, examples: Any) -> Float[np.ndarray, "n d"]:
        """Return the signal before the last FC of the (first) network for one view of some examples; see `embed`."""
        return embed(self.network, self._samples(examples))

    def predict(self, X: Any, *, views: int | None = None, features: Any = None) -> Outputs:
        """Return probabilities or numbers for rows in memory.

        Args:
            X: A sequence of clouds (arrays of points, `Cloud`s or paths), of graphs (PyG `Data`) or of SMILES, as the
                model was trained on.
            views: Number of views whose outputs are averaged (test-time augmentation); by default those of the
                recipe.
            features: The columns beside the rows that the model was trained with, by name: a mapping to sequences with
                a value for each row, or a `DataFrame`.

        Returns:
            A row per example, or per point or vertex where the model predicts for those, one example after the other;
            a column per class or target, in the order of `classes`.
        """
        return self.transient().outputs(self.rows(X, features), self.views(views))

    def embed(self, X: Any, *, features: Any = None) -> Float[np.ndarray, "n d"]:
        """Return the embeddings of rows in memory: the signal before the last FC, in one view of each.

        Args:
            X: The rows; see `predict`.
            features: Columns beside the rows; see `predict`.

        Returns:
            A row per example, or per point or vertex where the model predicts for those. An ensemble has the embedding
            of its first network.
        """
        return self.transient().embeddings(self.rows(X, features))

    def rows(self, X: Any, features: Any = None) -> Any:
        """Return rows in memory as examples; see `predict`."""
        rows = listed(X)
        check_rows(rows, self.kind)
        examples = self.kind.restore_reader(self.learned, None).unlabelled(rows)
        return self.kind.with_features(examples, features, self.learned)

    def views(self, asked: int | None = None) -> int:
        """Return the number of views of a new example, unless another is asked for."""
        return self.kind.views(sample_settings(self.recipe)) if asked is None else asked

    def evaluate(self, examples: LabelledExamples, views: int | None = None) -> dict[str, float]:
        """Return the metrics on some examples, with votes and mean scores over views where there are several."""
        return self.metrics(self.outputs_per_view(examples, views), examples.ys.numpy())

    def metrics(self, views: Sequence[Outputs], y: NDArray[Any]) -> dict[str, float]:
        """Return the metrics of outputs that are known."""
        evaluation.check_finite(views)
        return self.task.evaluate(y, views, average=self.kind.averages_views)

    def with_metrics(self, test: LabelledExamples, metrics: Mapping[str, float]) -> Model:
        """Return the model with its metrics on a test set, which its file and its card then have."""
        return replace(self, about=self.about | {"tested": card.tested(len(test), test.digest, metrics)})

    @property
    def parameters(self) -> int:
        """Number of parameters of all networks."""
        return sum(each.numel() for network in self.networks for each in network.parameters())

    def card(self) -> str:
        """Return a model card, as Markdown: data, metrics on its test set, use, limits, licence and training."""
        return card.card(
            self.recipe, self.task, self.classes, self.about, kind=self.kind.name, parameters=self.parameters
        )

    def save(self, path: Path) -> None:
        """Write the model file; nothing in it is ever executed."""
        tensors = {**weights.named(self.networks), **self.preparation.tensors, **self.uncertainty.tensors}
        about = {"recipe": self.recipe.settings(), "classes": self.classes, "widths": self.widths, **self.about}
        about |= {"objective": self.task.parameters}
        about |= {"features": encoding} if (encoding := self.preparation.encoding) else {}
        save_checkpoint(path, tensors, {"model": about | {"versions": versions()}})

    @staticmethod
    def load(path: Path | str) -> Model:
        """Read a model file, that of a run's directory, or a pretrained model by its name, as "model/esol"."""
        file = model_file(Path(path))
        tensors, about = load_checkpoint(file)
        if "model" not in about:
            raise CheckpointError(
                f"{file} must be a model: it is the checkpoint of a run, which writes {FILE} beside it when it ends."
            )
        try:
            return _restored(tensors, about["model"])
        except ValueError as error:
            raise CheckpointError(f"{file} must be a model that fits together: {first_error(error)}") from error

    def _checked(self, sample: Sample) -> Sample:
        """Return the sample, if its widths are those of the training set."""
        if (widths := _widths(sample)) != self.widths:
            expected, found = (
                f"a signal of width {d0} and edge labels of widths {', '.join(map(str, s))}"
                for d0, s in (self.widths, widths)
            )
            raise DataError(
                f"{self.recipe.name} must be given examples like those of its training set, with {expected}: "
                f"got {found}."
            )
        return sample


def shown(classes: Sequence[str]) -> str:
    """Return the names of classes in a message, or the first of many."""
    return ", ".join(classes[:SHOWN]) + (", ..." if len(classes) > SHOWN else "")


class _About(BaseModel):
    """What the JSON of a model file must hold; more is kept."""

    model_config = ConfigDict(extra="allow", allow_inf_nan=False)
    recipe: dict[str, Any]
    classes: tuple[str, ...]
    widths: tuple[PositiveInt, tuple[PositiveInt, ...]]
    objective: dict[str, tuple[float, ...]] = {}
    features: dict[str, Any] = {}
    seed: int
    data: str
    fold: int = 0
    epochs: int = 0
    tested: Tested | None = None
    card: Facts | None = None


def _restored(tensors: dict[str, Tensor], content: Any) -> Model:
    """Return the model of a file; nothing is allocated for a network unless the file holds its weights."""
    about = _About.model_validate(content)
    recipe = Recipe.model_validate({**about.recipe, "paper": ()})
    kind, task = kind_for(recipe), tasks.find(recipe.task)
    task.check_network(recipe.network)
    if len(about.classes) != recipe.network.classes:
        outputs = recipe.network.classes or "no"
        raise ValueError(f"the network has {outputs} outputs, and {len(about.classes)} have a name.")
    check_finite(tensors)
    preparation = kind.restore(sample_settings(recipe), tensors, about.widths[0], about.features)
    network, *members = weights.restored(recipe, about.widths, preparation.features, tensors)
    restored = task.restore(about.objective, len(about.classes))
    uncertainty = Uncertainty.restore(tensors, restored, about.classes, network.embedding_width)
    used = {*preparation.tensors, *uncertainty.tensors}
    if surplus := [name for name in tensors if not weights.NAME.match(name) and name not in used]:
        raise ValueError(f"it has the tensor {surplus[0][:60]!r}, which nothing uses.")
    absent = {name for name in ("tested", "card") if getattr(about, name) is None}
    rest = about.model_dump(exclude={"recipe", "classes", "widths", "objective", "features", *absent})
    return Model(
        recipe, about.classes, about.widths, kind, preparation, network, restored, rest, tuple(members), uncertainty
    )


def _widths(sample: Sample) -> Widths:
    return sample.x.shape[1], tuple(graph.labels.width for graph in sample.pyramid.graphs)
