"""A trained network with all that it takes to use it, in one file: classes, preprocessing, network and versions."""

from __future__ import annotations

import platform
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from edgecond import evaluation
from edgecond.augment import augment, orientation
from edgecond.checkpoint import CheckpointError, load_checkpoint, save_checkpoint
from edgecond.datasets import Examples
from edgecond.graph import Cloud
from edgecond.labels import check_labelling, distinct_offsets
from edgecond.network import Network
from edgecond.pyramid import cloud_pyramid, levels_of
from edgecond.recipe import first_fault, Recipe
from edgecond.samples import Batches, Builder

FILE = "model.safetensors"


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
        builder: Makes samples of clouds.
        network: Scores the classes of samples.
        about: How it was trained: fold, seed, epochs, digest of the data, versions.
    """

    recipe: Recipe
    classes: tuple[str, ...]
    widths: tuple[int, tuple[int, ...]]
    builder: Builder
    network: Network
    about: dict[str, Any]

    @staticmethod
    def new(recipe: Recipe, examples: Examples, seed: int) -> Model:
        """An untrained one for such examples, its parameters drawn from the seed.

        A one-hot label has an element for each offset in the first example.
        """
        builder = _builder(recipe)
        if recipe.labels == "one-hot":
            levels = cloud_pyramid([examples.clouds[0]], builder.resolutions, strided=builder.strided)
            builder = _builder(recipe, distinct_offsets(levels))
        cloud, y = examples[0]
        sample = builder([cloud], [y])
        widths = sample.x.shape[1], tuple(graph.labels.width for graph in sample.pyramid.graphs)
        with torch.random.fork_rng():
            torch.manual_seed(seed)
            network = _network(recipe, widths)
        return Model(recipe, examples.classes, widths, builder, network, {"seed": seed, "data": examples.digest})

    def batches(self, examples: Examples, seed: int, share: tuple[int, int] = (0, 1)) -> Batches:
        """What to learn from: the examples in random order and, where the recipe says so, changed at random."""
        change, none = self.recipe.augment, type(self.recipe.augment)()
        vary = None if change == none else partial(augment, **change.model_dump())
        return Batches(examples, self.builder, self.recipe.train.batch, vary, seed=seed, share=share)

    def scores(self, examples: Examples | Sequence[tuple[Cloud, int]], looks: int = 1) -> list[evaluation.Scores]:
        """The probabilities of the classes for each example, in as many orientations about the up-axis."""
        found = []
        for look in range(looks):
            turned = partial(_turned, turn=look, turns=looks)
            batches = Batches(examples, self.builder, self.recipe.train.batch, turned, shuffle=False)
            found.append(evaluation.predict(self.network, batches.epoch(0))[0])
        return found

    def save(self, path: Path) -> None:
        """Write the file; nothing in it is ever executed."""
        tensors = {f"network.{name}": value for name, value in self.network.state_dict().items()}
        tensors |= {f"offsets.{level}": offsets for level, offsets in enumerate(self.builder.known or ())}
        about = {"recipe": settings(self.recipe), "classes": self.classes, "widths": self.widths, **self.about}
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
    tensors: dict[str, Tensor], recipe: dict[str, Any], classes: Sequence[str], widths: Sequence[Any], **about: Any
) -> Model:
    made = Recipe(paper=(), **recipe)
    d0, s = int(widths[0]), tuple(map(int, widths[1]))
    offsets = [tensors[f"offsets.{level}"] for level in range(len(s))] if "offsets.0" in tensors else None
    network = _network(made, (d0, s))
    network.load_state_dict(
        {name.removeprefix("network."): value for name, value in tensors.items() if name.startswith("network.")}
    )
    if len(classes) != made.network.classes:
        raise ValueError(f"the network tells {made.network.classes} classes apart, and {len(classes)} have a name.")
    return Model(made, tuple(map(str, classes)), (d0, s), _builder(made, offsets), network, about)


def _builder(recipe: Recipe, known: Sequence[Tensor] | None = None) -> Builder:
    check_labelling(recipe.labels)
    levels = levels_of(recipe.network, recipe.input.resolution, recipe.input.radius, radius_scale=recipe.radius_scale)
    return Builder(levels, recipe.labels, strided=recipe.network.strided, known=known)


def _network(recipe: Recipe, widths: tuple[int, tuple[int, ...]]) -> Network:
    return Network(
        recipe.network,
        *widths,
        hidden=recipe.hidden,
        identity=recipe.identity,
        degree_factor=recipe.degree_factor,
        dropout=recipe.dropout,
    )


def _turned(cloud: Cloud, _: object, *, turn: int, turns: int) -> Cloud:
    return orientation(cloud, turn, turns)
