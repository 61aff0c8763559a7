"""A trained network with all that it takes to use it, in one file: classes, preprocessing, network and versions."""

from __future__ import annotations

import platform
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, PositiveInt
from torch import Tensor

from edgecond.data.examples import Examples, PointExamples
from edgecond.data.graphs import GraphExamples
from edgecond.data.samples import Batches
from edgecond.errors import CheckpointError, DataError, RecipeError
from edgecond.graph import Cloud, Sample
from edgecond.nn import evaluation
from edgecond.nn.checkpoint import load_checkpoint, save_checkpoint
from edgecond.nn.network import Network
from edgecond.nn.objective import balanced, Objective, OneClass, Quantities, standardised, YesOrNo
from edgecond.nn.training import seeded
from edgecond.notation import FC
from edgecond.runs.preparation import GraphPreparation, Preparation, preparation, Progress, restored, unseen
from edgecond.runs.recipe import first_fault, Recipe

FILE = "model.safetensors"
SHOWN = 10  # classes in a sentence
OWN = {
    "folder": "clouds or meshes",
    "smiles": "molecules",
    "tu": "graphs in TU files",
    "batch": "graphs of a batch",
}
"""What a recipe calls data of one's own, and what they are."""
Learnable = Examples | PointExamples | GraphExamples


def versions() -> dict[str, str]:
    """Of what a figure or a file was made with."""
    packages = ("edgecond", "torch", "numpy", "scipy")
    return {"python": platform.python_version(), **{package: version(package) for package in packages}}


@dataclass(frozen=True, eq=False)
class Model:
    """A network, what makes samples for it, and what its scores mean.

    Attributes:
        recipe: How samples and network are made.
        classes: Name of each class.
        widths: Of the input signal, and of the labels at each level.
        preparation: Makes samples of examples.
        network: Scores the classes of samples.
        objective: What it learns, and what its scores mean.
        about: How it was trained: fold, seed, epochs, digest of the data, versions.
    """

    recipe: Recipe
    classes: tuple[str, ...]
    widths: tuple[int, tuple[int, ...]]
    preparation: Preparation
    network: Network
    objective: Objective
    about: dict[str, Any]

    @staticmethod
    def new(
        recipe: Recipe, examples: Learnable, seed: int, progress: Progress = unseen, *, passing: bool = False
    ) -> Model:
        """An untrained one for such examples, its parameters drawn from the seed.

        Args:
            recipe: How it is made.
            examples: To learn from.
            seed: What the parameters depend on.
            progress: Called while the pyramids of graphs are computed.
            passing: Of `GraphPreparation`.
        """
        outputs, classes = recipe.network.classes, examples.classes
        if outputs != len(classes):
            raise RecipeError(
                f"a network must end with an output for each of {shown(classes)}: {recipe.network} has "
                f"{outputs or 'none'}. End it with FC({len(classes)})."
            )
        made = preparation(recipe, examples, progress, passing)
        sample = made.view(examples, 0, 1).sample([0], 0)
        widths = _widths(sample)
        with seeded(seed, torch.device("cpu")):
            network = _network(recipe, widths)
        about = {"seed": seed, "data": examples.digest, **made.about}
        return Model(recipe, examples.classes, widths, made, network, _objective(recipe, examples), about)

    def batches(self, examples: Learnable, seed: int, share: tuple[int, int] = (0, 1)) -> Batches:
        """What to learn from: the examples in random order, changed or expanded where the recipe says so."""
        recipe, source = self.recipe, self.preparation.training(examples, seed)
        batches = Batches(source, recipe.train.batch_size, seed=seed, share=share)
        if len(source) < 2 * len(batches) and sum(isinstance(layer, FC) for layer in recipe.network) > 1:
            raise RecipeError(
                f"batch normalisation after FC needs two examples or more in a batch: {len(source)} examples in "
                f"{len(batches)} batches have less. Choose larger batches."
            )
        return batches

    def passing(self) -> Model:
        """The same model, which keeps nothing of the graphs that it sees."""
        if not isinstance(self.preparation, GraphPreparation):
            return self
        return replace(self, preparation=replace(self.preparation, passing=True))

    def scores(
        self, examples: Learnable | Sequence[tuple[Cloud, int]], views: int | None = None
    ) -> list[evaluation.Scores]:
        """What the network says of each example, in several views: those of the recipe by default.

        A network that classifies vertices has a row for each point of each cloud, one cloud after the other, or for
        each vertex of each graph.
        """
        views = self.recipe.views if views is None else views
        found = []
        for view in range(views):
            source = self.preparation.view(examples, view, views)
            batches = Batches(source, self.recipe.train.batch_size, shuffle=False)
            fitting = map(self._fitting, batches.epoch(0))
            found.append(evaluation.predict(self.network, fitting, self.objective)[0])
        return found

    def _fitting(self, sample: Sample) -> Sample:
        """The sample, if it is as wide as those that were learned."""
        if (found := _widths(sample)) != self.widths:
            said = [
                f"a signal of width {d0} and edge labels of widths {', '.join(map(str, s))}"
                for d0, s in (self.widths, found)
            ]
            raise DataError(
                f"{self.recipe.name} must be given examples like those that it learned, with {said[0]}: got {said[1]}."
            )
        return sample

    def figures(self, examples: Learnable, views: int | None = None) -> dict[str, float]:
        """The figures of the paper's tables, with votes and mean scores over views where there are several.

        One view is the mean over orientations of a cloud, with which the paper expands the test set (Section 4.2), and
        the first sparsification of a graph (Section 4.3).
        """
        return self.figures_of(self.scores(examples, views), examples.ys.numpy())

    def figures_of(self, scores: Sequence[evaluation.Scores], y: NDArray[Any]) -> dict[str, float]:
        """The same, where the scores of each look are known."""
        evaluation.check_finite(scores)
        match self.recipe.task:
            case "multilabel":
                return evaluation.answers(y, np.mean(scores, axis=0))
            case "regression":
                return evaluation.errors(y, np.mean(scores, axis=0))
            case "segmentation":
                return evaluation.vertices(y, np.mean(scores, axis=0))
        return evaluation.figures(y, scores, every=self.recipe.input is not None)

    def save(self, path: Path) -> None:
        """Write the file; nothing in it is ever executed."""
        tensors = {f"network.{name}": value for name, value in self.network.state_dict().items()}
        tensors |= self.preparation.tensors
        about = {"recipe": settings(self.recipe), "classes": self.classes, "widths": self.widths, **self.about}
        about |= {"objective": asdict(self.objective)}
        save_checkpoint(path, tensors, {"model": about | {"versions": versions()}})

    @staticmethod
    def load(path: Path) -> Model:
        """Read a file, or that of a run's directory."""
        if not (file := path / FILE if path.is_dir() else path).exists():
            raise CheckpointError(
                f"{path} must be a model file, or the directory of a run with its model in {FILE}: there is none. "
                "`edgecond train` makes one."
            )
        tensors, about = load_checkpoint(file)
        if "model" not in about:
            raise CheckpointError(
                f"{file} must be a model: it is the checkpoint of a run. When the run ends it leaves {FILE} beside it."
            )
        try:
            return _restored(tensors, about["model"])
        except ValueError as error:
            raise CheckpointError(f"{file} must be a model that holds together: {first_fault(error)}") from error


def shown(classes: Sequence[str]) -> str:
    """The names of classes in a sentence, or the first of them."""
    return ", ".join(classes[:SHOWN]) + (", ..." if len(classes) > SHOWN else "")


def settings(recipe: Recipe) -> dict[str, Any]:
    """All of a recipe but the paper's numbers, as JSON says it."""
    return recipe.model_dump(mode="json", exclude={"paper"})


class _About(BaseModel):
    """What the JSON of a model's file must tell; what else it tells is kept."""

    model_config = ConfigDict(extra="allow", allow_inf_nan=False)
    recipe: dict[str, Any]
    classes: tuple[str, ...]
    widths: tuple[PositiveInt, tuple[PositiveInt, ...]]
    objective: dict[str, tuple[float, ...]] = {}
    seed: int
    data: str
    fold: int = 0
    epochs: int = 0


def _restored(tensors: dict[str, Tensor], told: Any) -> Model:
    """The model that a file tells of; nothing is allocated for a network unless the file holds its weights."""
    about = _About.model_validate(told)
    recipe = Recipe.model_validate({**about.recipe, "paper": ()})
    if recipe.dataset == "folder" and not _is_list_of_texts(recipe.options.get("columns")):
        raise ValueError("the columns that are the signal of a cloud must be a list of names.")
    if len(about.classes) != recipe.network.classes:
        raise ValueError(
            f"the network tells {recipe.network.classes} classes apart, and {len(about.classes)} have a name."
        )
    _check_finite(tensors)
    network = _with_weights(
        recipe,
        about.widths,
        {name.removeprefix("network."): value for name, value in tensors.items() if name.startswith("network.")},
    )
    made = restored(recipe, tensors)
    if surplus := [name for name in tensors if not name.startswith("network.") and name not in made.tensors]:
        raise ValueError(f"it has the tensor {surplus[0][:60]!r}, which nothing uses.")
    rest = about.model_dump(exclude={"recipe", "classes", "widths", "objective"})
    return Model(recipe, about.classes, about.widths, made, network, _told_objective(recipe, about), rest)


def _is_list_of_texts(value: Any) -> bool:
    return isinstance(value, list | tuple) and all(isinstance(item, str) for item in value)


def _check_finite(tensors: dict[str, Tensor]) -> None:
    for name, tensor in tensors.items():
        if tensor.is_floating_point() and not tensor.isfinite().all():
            raise ValueError(
                f"its numbers must be finite, and those of {name} are not all: the training diverged. "
                "Train again with a lower rate."
            )


def _with_weights(recipe: Recipe, widths: tuple[int, tuple[int, ...]], weights: dict[str, Tensor]) -> Network:
    """The network of a recipe with these weights, whose names and shapes are compared before it takes any memory."""
    if recipe.network.parametric_layers > len(weights):
        raise ValueError(
            f"the network has {recipe.network.parametric_layers} layers with weights, and the file {len(weights)} "
            "tensors of weights."
        )
    try:
        with torch.device("meta"):
            network = _network(recipe, widths)
    except (TypeError, RuntimeError):  # sizes beyond 64 bits
        raise ValueError("the network is larger than any file can hold.") from None
    expected = network.state_dict()
    for name in (*expected, *weights):
        if name not in weights:
            raise ValueError(f"the network has weights {name}, which are missing.")
        if name not in expected:
            raise ValueError(f"the network has no weights {name[:60]}, and the file has.")
        (shape, kind), (found, found_kind) = ((of[name].shape, of[name].dtype) for of in (expected, weights))
        if (shape, kind) != (found, found_kind):
            raise ValueError(
                f"the weights {name} must be {tuple(shape)} of {kind}: the file has {tuple(found)} of {found_kind}."
            )
    network.load_state_dict(weights, assign=True)
    return network


def _told_objective(recipe: Recipe, about: _About) -> Objective:
    kind, outputs = _OBJECTIVES[recipe.task], len(about.classes)
    names = {field.name for field in fields(kind)}
    if not about.objective.keys() <= names or (recipe.task == "regression" and about.objective.keys() != names):
        found = ", ".join(about.objective)[:60] or "nothing"
        raise ValueError(f"the objective of {recipe.task} is told by {', '.join(names) or 'nothing'}: got {found}.")
    for name, numbers in about.objective.items():
        if len(numbers) not in ({outputs} if recipe.task == "regression" else {0, outputs}):
            raise ValueError(f"the objective has a {name} for each of {outputs} outputs: got {len(numbers)}.")
    return kind(**about.objective)


_OBJECTIVES: dict[str, type[Objective]] = {
    "classification": OneClass,
    "segmentation": OneClass,
    "multilabel": YesOrNo,
    "regression": Quantities,
}


def _objective(recipe: Recipe, examples: Learnable) -> Objective:
    match recipe.task:
        case "regression":
            return standardised(examples.ys)
        case "multilabel":
            return YesOrNo()
    return balanced(examples.ys, len(examples.classes)) if recipe.balanced else OneClass()


def _widths(sample: Sample) -> tuple[int, tuple[int, ...]]:
    return sample.x.shape[1], tuple(graph.labels.width for graph in sample.pyramid.graphs)


def _network(recipe: Recipe, widths: tuple[int, tuple[int, ...]]) -> Network:
    return Network(
        recipe.network,
        *widths,
        hidden=recipe.hidden,
        identity=recipe.identity,
        degree_factor=recipe.degree_factor,
        dropout=recipe.dropout,
    )
