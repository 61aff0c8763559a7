"""The kind of data that a recipe is for, and its settings that make samples, unpacked."""

from __future__ import annotations

from edgecond.data.kinds import Kind, kind_of
from edgecond.data.preparation import SampleSettings
from edgecond.runs.recipe import Augment, Recipe


def kind_for(recipe: Recipe) -> Kind:
    """Return the kind of data that a recipe is for."""
    return kind_of(recipe.dataset, None if recipe.input is None else recipe.input.edges)


def sample_settings(recipe: Recipe) -> SampleSettings:
    """Unpack the settings that make samples."""
    return SampleSettings(
        name=recipe.name,
        network=recipe.network,
        labels=recipe.labels,
        resolution=None if recipe.input is None else recipe.input.resolution,
        radius=None if recipe.input is None else recipe.input.radius,
        radius_scale=recipe.radius_scale,
        augment={} if recipe.augment == Augment() else recipe.augment.model_dump(),
        orientations=recipe.orientations,
        sparsifications=recipe.sparsifications,
        tries=recipe.tries,
        attributes=recipe.attributes,
        standardised=recipe.standardised,
        counts=recipe.counts,
        shape=recipe.shape,
        options=recipe.options,
    )
