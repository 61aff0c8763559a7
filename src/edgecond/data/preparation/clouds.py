"""Samples of clouds and meshes: augmented for training, rotated about the up-axis for views (Sections 3.4, 4.2)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import inf
from typing import Any, Self

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from edgecond.data.augment import augment, orientation, Vectors
from edgecond.data.examples import Examples, PointExamples
from edgecond.data.features import Encoder
from edgecond.data.labels import check_labelling, distinct_offsets
from edgecond.data.preparation.base import SampleSettings
from edgecond.data.pyramid import levels_of
from edgecond.data.pyramid.receptive import receptive_field
from edgecond.data.samples import Source
from edgecond.data.samples.clouds import Builder, CloudSource
from edgecond.graph import Cloud

ONE_HOT = "one-hot"
MOST_SHAPES = 1000
"""Clouds by which shapes are standardised, at most: those of a large data set are read from files."""
_VERTEX, _EDGE = 500, 60  # bytes that a vertex and an edge take while samples are built and predicted, measured


@dataclass(frozen=True, eq=False)
class CloudPreparation:
    """Builds the pyramids of clouds when they are needed.

    Attributes:
        settings: How samples are made.
        builder: Makes a sample of some clouds.
        origins: Where the grids of each view begin, if the clouds are parts of a larger one; see `cloud_pyramid`.
    """

    settings: SampleSettings
    builder: Builder
    origins: Sequence[Float[np.ndarray, " 3"]] | None = None

    @staticmethod
    def fit(
        settings: SampleSettings,
        examples: Examples | PointExamples,
        *,
        meshes: bool = False,
        start: CloudPreparation | None = None,
    ) -> CloudPreparation:
        """Return the preparation for a training set; a one-hot label has an element per offset in its first cloud.

        The shapes of clouds are standardised over the training set, but in the units of `start` where there is one.
        """
        preparation = CloudPreparation._restored(settings, None, meshes)
        if settings.labels == ONE_HOT:
            offsets = distinct_offsets(preparation.builder.levels([examples.clouds[0]]))
            preparation = CloudPreparation._restored(settings, offsets, meshes)
        if not settings.shape:
            return preparation
        chosen = np.unique(np.linspace(0, len(examples) - 1, min(len(examples), MOST_SHAPES)).round().astype(int))
        shapes = preparation.builder.shapes([examples.clouds[index] for index in chosen.tolist()])
        encoder = Encoder.fit(shapes, np.arange(len(chosen)), None if start is None else start.builder.encoder)
        return replace(preparation, builder=replace(preparation.builder, encoder=encoder))

    @staticmethod
    def restore(
        settings: SampleSettings,
        tensors: Mapping[str, Tensor],
        encoding: Mapping[str, Any] | None = None,
        *,
        meshes: bool = False,
    ) -> CloudPreparation:
        """Return the preparation of a model file."""
        encoder = Encoder.model_validate(encoding or {})
        if settings.labels != ONE_HOT:
            return CloudPreparation._restored(settings, None, meshes, encoder)
        offsets = []
        for level in range(settings.network.resolutions):
            rows = tensors.get(f"offsets.{level}")
            if rows is None or rows.shape != (max(len(rows), 1), 3) or rows.dtype != torch.float32:
                raise ValueError(f"one-hot labels need a table of offsets, three numbers each, at level {level}.")
            offsets.append(rows)
        return CloudPreparation._restored(settings, offsets, meshes, encoder)

    @staticmethod
    def _restored(
        settings: SampleSettings,
        offsets: Sequence[Tensor] | None,
        meshes: bool,
        encoder: Encoder = Encoder(),  # noqa: B008 (immutable)
    ) -> CloudPreparation:
        check_labelling(settings.labels)
        assert settings.resolution is not None
        assert settings.radius is not None
        network = settings.network
        levels = levels_of(network, settings.resolution, settings.radius, radius_scale=settings.radius_scale)
        builder = Builder(
            levels,
            settings.labels,
            strided=network.strided,
            per_vertex=network.per_vertex,
            known=offsets,
            meshes=meshes,
            unit=float(settings.resolution),
            encoder=encoder,
        )
        return CloudPreparation(settings, builder)

    @property
    def tensors(self) -> Mapping[str, Tensor]:
        return {f"offsets.{level}": offsets for level, offsets in enumerate(self.builder.known or ())}

    @property
    def encoding(self) -> Mapping[str, Any]:
        return self.builder.encoder.model_dump(mode="json", exclude_defaults=True)

    @property
    def features(self) -> int:
        return self.builder.encoder.width

    @property
    def feature_names(self) -> tuple[str, ...]:
        return self.builder.encoder.named_columns

    @property
    def about(self) -> Mapping[str, Any]:
        return {}

    @property
    def vectors(self) -> Vectors:
        """The columns of the signal that turn with the points; models that were trained without have none."""
        columns, pairs = list(self.settings.options.get("columns", ())), self.settings.options.get("vectors", ())
        return [(columns.index(x), columns.index(y)) for x, y in pairs]

    @property
    def receptive_field(self) -> float:
        """The distance beyond which points do not change the prediction for a point."""
        return receptive_field(self.settings.network, self.builder.resolutions)

    @property
    def resolution(self) -> float | None:
        """Resolution of the first level; None keeps all points."""
        return self.builder.resolutions[0][0]

    @property
    def voxel_bytes(self) -> float:
        """About the memory that an occupied voxel of the first level takes, at all levels; rather more than less.

        In a cloud that fills space a vertex has as many neighbours as voxels fit into its ball. Coarser levels of a
        cloud between lines and surfaces have fewer vertices, in proportion to their resolution.
        """
        first = self.resolution or 0
        total = 0.0
        for resolution, radius in self.builder.resolutions:
            neighbours = min(self.builder.cap or inf, 4.2 * (radius / resolution) ** 3 if resolution else inf, 1000)
            share = first / resolution if resolution and first else 1.0
            total += share * (_VERTEX + _EDGE * neighbours)
        return total

    def training(self, examples: Examples | PointExamples, seed: int) -> Source:
        change = self.settings.augment
        changed = partial(augment, vectors=self.vectors, **change) if change else None
        return CloudSource(examples, self.builder, changed, seed)

    def view(self, examples: Examples | PointExamples, number: int, views: int) -> Source:
        builder = self.builder if self.origins is None else replace(self.builder, origin=self.origins[number])
        return CloudSource(examples, builder, partial(_rotated, turn=number, turns=views, vectors=self.vectors))

    def turned(self, cloud: Cloud, number: int, views: int) -> Cloud:
        """Return a cloud as it is in one of several views."""
        return _rotated(cloud, None, turn=number, turns=views, vectors=self.vectors)

    def transient(self) -> Self:
        return self


def _rotated(cloud: Cloud, _: object, *, turn: int, turns: int, vectors: Vectors) -> Cloud:
    return orientation(cloud, turn, turns, vectors)
