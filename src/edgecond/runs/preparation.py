"""What a recipe makes of examples before a network sees them: samples of clouds or of general graphs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Protocol

import numpy as np
import torch
from torch import Tensor

from edgecond.data.augment import augment, orientation
from edgecond.data.examples import Examples, PointExamples
from edgecond.data.graphs import GraphExamples, Graphs
from edgecond.data.labels import check_labelling, distinct_offsets
from edgecond.data.pyramid import levels_of
from edgecond.data.samples import Source
from edgecond.data.samples.clouds import Builder, CloudSource
from edgecond.data.samples.graphs import GraphSource, Pyramids
from edgecond.data.samples.store import pyramids
from edgecond.errors import DataError, RecipeError
from edgecond.graph import Cloud
from edgecond.runs.recipe import Recipe

Progress = Callable[[int, int], None]  # graphs whose pyramids are done, of all


class Preparation(Protocol):
    """How samples are made of examples."""

    @property
    def tensors(self) -> Mapping[str, Tensor]:
        """What was learned of the data, for the model's file."""

    @property
    def about(self) -> Mapping[str, Any]:
        """What a record says of it."""

    def training(self, examples: Any, seed: int, /) -> Source:
        """Samples to learn from: changed at random, or expanded, where the recipe says so."""

    def view(self, examples: Any, number: int, views: int, /) -> Source:
        """Samples to predict from: one of several views at each example."""


def preparation(
    recipe: Recipe,
    examples: Examples | PointExamples | GraphExamples,
    progress: Progress,
    passing: bool = False,
) -> Preparation:
    """The one for such examples.

    Args:
        recipe: Says how.
        examples: To learn from. A one-hot label of clouds has an element for each offset in the first of them.
        progress: Called while the pyramids of graphs are computed.
        passing: Of `GraphPreparation`.
    """
    try:
        return _preparation(recipe, examples, progress, passing)
    except DataError:
        raise
    except ValueError as error:
        raise RecipeError(f"the settings of {recipe.name} must hold together: {error}") from error


def _preparation(recipe: Recipe, examples: Any, progress: Progress, passing: bool) -> Preparation:
    if isinstance(examples, GraphExamples):
        names = {name: torch.from_numpy(getattr(examples.graphs, name).astype(np.int64)) for name in VALUES}
        return GraphPreparation(recipe, progress, names | (_units(examples) if recipe.standardised else {}), passing)
    made = CloudPreparation.of(recipe)
    if recipe.labels != "one-hot":
        return made
    return CloudPreparation.of(recipe, distinct_offsets(made.builder.levels([examples.clouds[0]])))


def restored(recipe: Recipe, tensors: Mapping[str, Tensor]) -> Preparation:
    """The one that a model's file tells of. Files of old do not say what the labels of graphs are called."""
    if recipe.input is None:
        _check_vocabulary(tensors)
        return GraphPreparation(recipe, tensors={name: tensors[name] for name in (*_UNITS, *VALUES) if name in tensors})
    if recipe.labels != "one-hot":
        return CloudPreparation.of(recipe)
    offsets = [tensors.get(f"offsets.{level}") for level in range(recipe.network.resolutions)]
    for level, known in enumerate(offsets):
        if known is None or known.shape != (max(len(known), 1), 3) or known.dtype != torch.float32:
            raise ValueError(
                f"one-hot labels need the offsets that may occur, of three numbers each, at level {level}."
            )
    return CloudPreparation.of(recipe, [known for known in offsets if known is not None])


def _check_vocabulary(tensors: Mapping[str, Tensor]) -> None:
    for name in VALUES:
        values = tensors.get(name, torch.arange(0))
        if values.dtype != torch.int64 or values.ndim != 1 or (values.diff() <= 0).any():
            raise ValueError(f"{name} must be whole numbers that ascend.")
    for name in _ATTRIBUTES:
        mean, scale = (tensors.get(f"{name}.{what}", torch.ones(0).double()) for what in ("mean", "scale"))
        if mean.dtype != torch.float64 or mean.ndim != 1 or mean.shape != scale.shape or not (scale > 0).all():
            raise ValueError(f"{name} must have a mean and a scale above zero for each column.")


@dataclass(frozen=True, eq=False)
class CloudPreparation:
    """Clouds are augmented for training, and turned about the up-axis for views (Sections 3.4 and 4.2)."""

    recipe: Recipe
    builder: Builder

    @staticmethod
    def of(recipe: Recipe, known: Sequence[Tensor] | None = None) -> CloudPreparation:
        """That of a recipe; with one-hot labels, for the known offsets of each level."""
        assert recipe.input is not None
        check_labelling(recipe.labels)
        first = recipe.input.resolution, recipe.input.radius
        levels = levels_of(recipe.network, *first, radius_scale=recipe.radius_scale)
        network, meshes = recipe.network, recipe.input.edges == "mesh"
        heads = {"strided": network.strided, "per_vertex": network.per_vertex}
        return CloudPreparation(recipe, Builder(levels, recipe.labels, known=known, meshes=meshes, **heads))

    @property
    def tensors(self) -> Mapping[str, Tensor]:
        return {f"offsets.{level}": offsets for level, offsets in enumerate(self.builder.known or ())}

    @property
    def about(self) -> Mapping[str, Any]:
        return {}

    def training(self, examples: Examples | PointExamples, seed: int) -> Source:
        change, none = self.recipe.augment, type(self.recipe.augment)()
        vary = None if change == none else partial(augment, **change.model_dump())
        return CloudSource(examples, self.builder, vary, seed)

    def view(self, examples: Examples | PointExamples | Sequence[tuple[Cloud, int]], number: int, views: int) -> Source:
        return CloudSource(examples, self.builder, partial(_turned, turn=number, turns=views))


def unseen(done: int, total: int) -> None:
    """Progress that nobody watches."""


@dataclass(frozen=True, eq=False)
class GraphPreparation:
    """Graphs have several pyramids, all for training, and one for each look (Sections 3.5 and 4.3).

    Attributes:
        recipe: Says how.
        progress: Called while pyramids are computed.
        tensors: What the data call the labels of vertices and edges, by the names of `VALUES`; mean and deviation of
            the attributes of the training graphs, by those of `_UNITS`, if attributes are in these units.
        passing: Graphs come once and go: no pyramid is kept but those of the latest, and each graph has the pyramids
            that it would have alone, so that what is predicted does not depend on what stands beside it.
    """

    recipe: Recipe
    progress: Progress = unseen
    tensors: Mapping[str, Tensor] = field(default_factory=dict)
    passing: bool = False
    _made: dict[str, Pyramids] = field(default_factory=dict, init=False, repr=False)
    _latest: list[Any] = field(default_factory=list, init=False, repr=False)  # graphs, and their pyramids

    def __post_init__(self) -> None:
        check_labelling(self.recipe.labels, graphs=True)

    @property
    def about(self) -> Mapping[str, Any]:
        return {"pyramids": "+".join(made.digest for made in self._made.values())}

    def training(self, examples: GraphExamples, seed: int) -> Source:
        return self._source(examples, range(self.recipe.sparsifications))

    def view(self, examples: GraphExamples, number: int, views: int) -> Source:
        if views > self.recipe.sparsifications:
            raise DataError(
                f"a graph has {self.recipe.sparsifications} sparsifications to look at in {self.recipe.name}: "
                f"got {views} views. Ask for at most as many."
            )
        return self._source(examples, range(number, number + 1))

    def _source(self, examples: GraphExamples, copies: range) -> Source:
        recipe = self.recipe
        return GraphSource(self._pyramids(examples.graphs), examples, copies, recipe.labels, recipe.attributes)

    def expected(self) -> Graphs | None:
        """No graphs, with the labels and attributes that were learned; none if it is not known what those were."""
        if any(name not in self.tensors for name in VALUES):
            return None
        widths = {name: len(self.tensors.get(f"{name}.mean", ())) for name in _ATTRIBUTES}
        nothing, begin = np.zeros(0, np.int64), np.zeros(1, np.int64)
        return Graphs(
            self.recipe.name,
            ys=nothing,
            classes=nothing,
            vertex_pointer=begin,
            edge_pointer=begin,
            source=nothing,
            target=nothing,
            vertex_labels=nothing,
            edge_labels=nothing,
            attributes=np.zeros((0, 0)),
            digest="",
            **{name: self.tensors[name].numpy() for name in VALUES},
            **{name: np.zeros((0, width)) for name, width in widths.items()},
        )

    def _pyramids(self, graphs: Graphs) -> Pyramids:
        if self.passing:
            return self._of_latest(graphs)
        if graphs.digest not in self._made:
            self._made[graphs.digest] = self._computed(graphs, progress=self.progress)
        return self._made[graphs.digest]

    def _of_latest(self, graphs: Graphs) -> Pyramids:
        if self._latest[:1] != [graphs]:
            self._latest[:] = graphs, self._computed(graphs, alone=True)
        return self._latest[1]

    def _computed(self, graphs: Graphs, **options: Any) -> Pyramids:
        levels, copies, tries = self.recipe.network.resolutions, self.recipe.sparsifications, self.recipe.tries
        return pyramids(_in_units(graphs, self.tensors), levels, copies, tries=tries, **options)

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"progress": unseen, "_made": {}, "_latest": []}  # what can be made again stays here


VALUES = ("vertex_values", "edge_values")
_ATTRIBUTES = ("vertex_attributes", "edge_attributes")
_UNITS = tuple(f"{name}.{what}" for name in _ATTRIBUTES for what in ("mean", "scale"))


def _units(examples: GraphExamples) -> dict[str, Tensor]:
    """Mean and deviation of the attributes over the vertices and the edges of some graphs."""
    found: dict[str, Tensor] = {}
    graphs = examples.graphs.take(examples.numbers)
    for name in _ATTRIBUTES:
        rows = torch.tensor(getattr(graphs, name), dtype=torch.float64)
        if len(rows) and rows.shape[1]:
            scale = rows.std(0, correction=0)
            found |= {f"{name}.mean": rows.mean(0), f"{name}.scale": torch.where(scale > 0, scale, 1.0)}
    return found


def _in_units(graphs: Graphs, units: Mapping[str, Tensor]) -> Graphs:
    """The same graphs with attributes in units of mean and deviation."""
    known = [name for name in _ATTRIBUTES if f"{name}.mean" in units]
    changes = {
        name: (getattr(graphs, name) - units[f"{name}.mean"].numpy()) / units[f"{name}.scale"].numpy() for name in known
    }
    return replace(graphs, **changes) if changes else graphs


def _turned(cloud: Cloud, _: object, *, turn: int, turns: int) -> Cloud:
    return orientation(cloud, turn, turns)
