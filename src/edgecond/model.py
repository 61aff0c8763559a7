"""A trained network with all that it takes to use it, in one file: classes, preprocessing, network and versions."""

from __future__ import annotations

import platform
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from edgecond import evaluation
from edgecond.checkpoint import CheckpointError, load_checkpoint, save_checkpoint
from edgecond.datasets import Examples
from edgecond.datasets.graphs import GraphExamples
from edgecond.graph import Cloud
from edgecond.network import Network
from edgecond.objective import balanced, Objective, OneClass, Quantities, standardised, YesOrNo
from edgecond.preparation import Preparation, preparation, Progress, restored
from edgecond.recipe import first_fault, Recipe
from edgecond.samples import Batches

FILE = "model.safetensors"
Learnable = Examples | GraphExamples


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
    def new(recipe: Recipe, examples: Learnable, seed: int, progress: Progress = lambda done, total: None) -> Model:
        """An untrained one for such examples, its parameters drawn from the seed.

        Args:
            recipe: How it is made.
            examples: To learn from.
            seed: What the parameters depend on.
            progress: Called while the pyramids of graphs are computed.
        """
        made = preparation(recipe, examples, progress)
        sample = made.look(examples, 0, 1).sample([0], 0)
        widths = sample.x.shape[1], tuple(graph.labels.width for graph in sample.pyramid.graphs)
        with torch.random.fork_rng():
            torch.manual_seed(seed)
            network = _network(recipe, widths)
        about = {"seed": seed, "data": examples.digest, **made.about}
        return Model(recipe, examples.classes, widths, made, network, _objective(recipe, examples), about)

    def batches(self, examples: Learnable, seed: int, share: tuple[int, int] = (0, 1)) -> Batches:
        """What to learn from: the examples in random order, changed or expanded where the recipe says so."""
        return Batches(self.preparation.training(examples, seed), self.recipe.train.batch, seed=seed, share=share)

    def scores(
        self, examples: Learnable | Sequence[tuple[Cloud, int]], looks: int | None = None
    ) -> list[evaluation.Scores]:
        """What the network says of each example, in several looks: those of the recipe by default."""
        looks = self.recipe.looks if looks is None else looks
        found = []
        for look in range(looks):
            source = self.preparation.look(examples, look, looks)
            batches = Batches(source, self.recipe.train.batch, shuffle=False)
            found.append(evaluation.predict(self.network, batches.epoch(0), self.objective)[0])
        return found

    def figures(self, examples: Learnable, looks: int | None = None) -> dict[str, float]:
        """The figures of the paper's tables, with votes and mean scores over looks where there are several.

        One look is the mean over orientations of a cloud, with which the paper expands the test set (Section 4.2), and
        the first sparsification of a graph (Section 4.3).
        """
        return self.figures_of(self.scores(examples, looks), examples.ys.numpy())

    def figures_of(self, scores: Sequence[evaluation.Scores], y: NDArray[Any]) -> dict[str, float]:
        """The same, where the scores of each look are known."""
        match self.recipe.task:
            case "answers":
                return evaluation.answers(y, np.mean(scores, axis=0))
            case "quantities":
                return evaluation.errors(y, np.mean(scores, axis=0))
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
        path = path / FILE if path.is_dir() else path
        tensors, about = load_checkpoint(path)
        if "model" not in about:
            raise CheckpointError(
                f"{path} must be a model: it is the checkpoint of a run. When the run ends it leaves {FILE} beside it."
            )
        try:
            return _restored(tensors, **about["model"])
        except (TypeError, ValueError, RuntimeError, KeyError) as error:
            raise CheckpointError(f"{path} must be a model that holds together: {first_fault(error)}") from error


def settings(recipe: Recipe) -> dict[str, Any]:
    """All of a recipe but the paper's numbers, as JSON says it."""
    return recipe.model_dump(mode="json", exclude={"paper"})


def _restored(
    tensors: dict[str, Tensor],
    recipe: dict[str, Any],
    classes: Sequence[str],
    widths: Sequence[Any],
    objective: dict[str, Any] | None = None,
    **about: Any,
) -> Model:
    made = Recipe(paper=(), **recipe)
    d0, s = int(widths[0]), tuple(map(int, widths[1]))
    network = _network(made, (d0, s))
    network.load_state_dict(
        {name.removeprefix("network."): value for name, value in tensors.items() if name.startswith("network.")}
    )
    numbers = {name: tuple(map(float, values)) for name, values in (objective or {}).items()}
    learned = _OBJECTIVES[made.task](**numbers)
    if len(classes) != made.network.classes:
        raise ValueError(f"the network tells {made.network.classes} classes apart, and {len(classes)} have a name.")
    return Model(made, tuple(map(str, classes)), (d0, s), restored(made, tensors), network, learned, about)


_OBJECTIVES: dict[str, type[Objective]] = {"classes": OneClass, "answers": YesOrNo, "quantities": Quantities}


def _objective(recipe: Recipe, examples: Learnable) -> Objective:
    match recipe.task:
        case "quantities":
            return standardised(examples.ys)
        case "answers":
            return YesOrNo()
    return balanced(examples.ys, len(examples.classes)) if recipe.balanced else OneClass()


def _network(recipe: Recipe, widths: tuple[int, tuple[int, ...]]) -> Network:
    return Network(
        recipe.network,
        *widths,
        hidden=recipe.hidden,
        identity=recipe.identity,
        degree_factor=recipe.degree_factor,
        dropout=recipe.dropout,
    )
