"""A training that starts from a model: which settings, weights and units are taken over, and what is new."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from edgecond.data.kinds import Inputs, Kind
from edgecond.data.kinds.networks import with_outputs
from edgecond.errors import listed, RecipeError
from edgecond.files import digest, sha256
from edgecond.nn.transfer import Columns, places, transfer
from edgecond.notation import C, FC, Parametric
from edgecond.runs.model import Model
from edgecond.runs.recipe import Recipe
from edgecond.runs.sampling import kind_for
from edgecond.runs.weights import named

OWN = ("name", "dataset", "options", "folds", "task", "balanced", "class_weights", "ensemble", "calibration")
"""Settings that a training has of its data, and not of the model that it starts from; its schedule, too."""
SHOWN = 5  # names in a sentence


@dataclass(frozen=True, eq=False)
class Start:
    """A model to start from.

    Attributes:
        model: The model.
        freeze: Number of layers with weights, from the first, that stay as they are.
        report: Called with a sentence for each part that is taken over, or new.
    """

    model: Model
    freeze: int = 0
    report: Callable[[str], object] = lambda sentence: None

    @cached_property
    def about(self) -> dict[str, Any]:
        """What identifies the start: a run is resumed from the same one only."""
        return {"start": _digest(self.model), "freeze": self.freeze}

    def settings(self, outputs: int) -> dict[str, Any]:
        """Return the settings of samples and network that a training takes over, by their dotted names.

        Args:
            outputs: Number of outputs of the new network.
        """
        known = self.model.recipe.dotted()
        kept = {
            name: value
            for name, value in known.items()
            if value is not None and name not in OWN and not name.startswith("train.")
        }
        return kept | {"network": str(with_outputs(self.model.recipe.network, outputs))}

    def extended(self, examples: Any) -> Any:
        """Return examples with the vocabulary of the model, extended by theirs."""
        return self.model.kind.extended(examples, self.model.learned)

    def check_kind(self, kind: Kind) -> None:
        """Refuse data of another kind than those of the model."""
        if kind != self.model.kind:
            raise RecipeError(
                f"a model to start from must be one of {kind.name}, as the data are: {self.model.recipe.name} is a "
                f"model of {self.model.kind.name}. Start from another, or leave --from out."
            )

    def check(self, recipe: Recipe) -> None:
        """Refuse data and networks that the model does not fit."""
        self.check_kind(kind_for(recipe))
        settings, wanted = self.settings(recipe.network.classes or 0), recipe.dotted()
        shaping = ("network", "hidden", "identity", "degree_factor", "labels", "attributes")
        if differs := [name for name in shaping if settings.get(name) != wanted[name]]:
            raise RecipeError(
                f"a training must have the network of the model that it starts from: {differs[0]} is "
                f"{wanted[differs[0]]} instead of {settings.get(differs[0])}. Leave --set {differs[0]} out."
            )
        count = recipe.network.parametric_layers
        if not 0 <= self.freeze < count:
            raise RecipeError(
                f"--freeze must leave the last layer free: {recipe.network} has {count} layers with weights, "
                f"got {self.freeze}."
            )

    def begin(self, model: Model, member: int = 0) -> None:
        """Give a new model the weights of the start, freeze its first layers, and report what was taken over.

        Args:
            model: The new model, whose weights are drawn.
            member: Number of the network of an ensemble; those of the start are used in turn.
        """
        before, keeps = self.model, model.task.keeps_outputs_of(self.model.task)
        new, old = inputs_of(model), inputs_of(before)
        columns = Columns(
            places(new.signal, old.signal),
            [places(*each) for each in zip(new.labels, old.labels, strict=True)],
            places(new.features, old.features),
            places(model.classes, before.classes) if keeps else [None] * len(model.classes),
        )
        changed = transfer(model.network, before.networks[member % len(before.networks)], columns)
        parametric = [n for n, layer in enumerate(model.recipe.network) if isinstance(layer, Parametric)]
        if self.freeze and (unfit := [position for position in changed if position in parametric[: self.freeze]]):
            raise RecipeError(
                f"layers can be frozen if nothing in them is new: layer {parametric.index(unfit[0]) + 1}, "
                f"{model.recipe.network[unfit[0]]}, has columns that {before.recipe.name} does not have. Freeze fewer "
                "layers."
            )
        model.network.freeze(self.freeze)
        model.about["start"] = {"name": before.recipe.name, **self.about}
        if not member:
            for sentence in self._sentences(model, columns):
                self.report(sentence)

    def _sentences(self, model: Model, columns: Columns) -> list[str]:
        """Return what was taken over, and what is new."""
        network = model.recipe.network
        convolutions, fully = (sum(isinstance(layer, each) for layer in network) for each in (C, FC))
        old, new = inputs_of(self.model), inputs_of(model)
        sentences = [f"start: {self.model.recipe.name}, {_counted(convolutions, 'convolution')} and {fully} FC"]
        parts = {
            "signal": (new.signal, old.signal),
            "edge labels": (new.labels[0], old.labels[0]),
            "features": (new.features, old.features),
        }
        for what, (names, before) in parts.items():
            if names or before:
                sentences.append(f"{what}: {_compared(names, before)}")
        kept = [name for name, place in zip(model.classes, columns.outputs, strict=True) if place is not None]
        fresh = [name for name, place in zip(model.classes, columns.outputs, strict=True) if place is None]
        head = [f"kept for {listed(kept, SHOWN)}"] if kept else []
        head += [f"new for {listed(fresh, SHOWN)}"] if fresh else []
        sentences.append(f"outputs of the last FC: {', '.join(head)}")
        if model.preparation.features or any(name.endswith(".mean") for name in model.preparation.tensors):
            sentences.append("units: those of known features and attributes are kept")
        if self.freeze:
            frozen = [str(layer) for layer in network if isinstance(layer, Parametric)][: self.freeze]
            sentences.append(f"frozen: {', '.join(frozen)}, with their batch normalisation")
        return sentences


def inputs_of(model: Model) -> Inputs:
    """Return the names of what enters the network of a model."""
    return model.kind.inputs(model.learned, model.widths[1])


def _digest(model: Model) -> str:
    """Return the digest of the weights of a model, and of what makes its samples."""
    tensors = {**named(model.networks), **model.preparation.tensors}
    return digest({name: sha256(tensor.detach().cpu().numpy().tobytes()) for name, tensor in tensors.items()})


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"


def _compared(names: Sequence[str], before: Sequence[str]) -> str:
    """Return how many columns are kept, and which are new or left out."""
    fresh, gone = ([name for name in one if name not in other] for one, other in ((names, before), (before, names)))
    words = [f"{len(names) - len(fresh)} kept"]
    words += [f"{len(fresh)} new ({listed(fresh, SHOWN)})"] if fresh else []
    words += [f"{len(gone)} left out ({listed(gone, SHOWN)})"] if gone else []
    return ", ".join(words)
