"""Samples of general graphs: several pyramids of each, all for training and one per view (Sections 3.5 and 4.3)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np
import torch
from torch import Tensor

from edgecond.data.budget import MOST_LABELS
from edgecond.data.features import Encoder, Features
from edgecond.data.graphs import GraphExamples, Graphs
from edgecond.data.labels import check_labelling
from edgecond.data.preparation.base import no_progress, Progress, SampleSettings
from edgecond.data.samples import Source
from edgecond.data.samples.graphs import GraphSource, Pyramids
from edgecond.data.samples.store import pyramids
from edgecond.errors import DataError

VALUES = ("vertex_values", "edge_values")
ATTRIBUTES = ("vertex_attributes", "edge_attributes")
UNITS = tuple(f"{name}.{what}" for name in ATTRIBUTES for what in ("mean", "scale"))


@dataclass(frozen=True, eq=False)
class GraphPreparation:
    """Computes the pyramids of a whole data set at once, and keeps them.

    Attributes:
        settings: How samples are made.
        progress: Called while pyramids are computed.
        tensors: Vocabulary of vertex and edge labels, under the names of `VALUES`; mean and standard deviation of the
            attributes over the training set, under those of `UNITS`, if attributes are standardised.
        is_transient: Whether graphs come once: only the pyramids of the last ones are kept, and each graph has the
            pyramids that it would have alone, so that a prediction does not depend on its neighbours in a batch.
        encoder: Encodes the columns and counts beside the graphs.
    """

    settings: SampleSettings
    progress: Progress = no_progress
    tensors: Mapping[str, Tensor] = field(default_factory=dict)
    is_transient: bool = False
    encoder: Encoder = Encoder()  # noqa: RUF009 (immutable)
    _pyramids: dict[str, Pyramids] = field(default_factory=dict, init=False, repr=False)
    _last: list[tuple[Graphs, Pyramids]] = field(default_factory=list, init=False, repr=False)  # none or one

    def __post_init__(self) -> None:
        check_labelling(self.settings.labels, graphs=True)

    @staticmethod
    def fit(
        settings: SampleSettings,
        examples: GraphExamples,
        *,
        progress: Progress = no_progress,
        transient: bool = False,
        start: GraphPreparation | None = None,
    ) -> GraphPreparation:
        """Return the preparation for a training set; attributes and columns that `start` has keep its units."""
        vocabulary = {name: torch.from_numpy(getattr(examples.graphs, name).astype(np.int64)) for name in VALUES}
        units = _units(examples, {} if start is None else start.tensors) if settings.standardised else {}
        encoder = Encoder()
        if (features := _features(settings, examples)) is not None:
            encoder = Encoder.fit(features, examples.numbers, None if start is None else start.encoder)
        return GraphPreparation(settings, progress, vocabulary | units, transient, encoder)

    @staticmethod
    def restore(
        settings: SampleSettings, tensors: Mapping[str, Tensor], d0: int, encoding: Mapping[str, Any] | None = None
    ) -> GraphPreparation:
        """Return the preparation of a model file. The first files do not hold the vocabulary of labels."""
        _check_tensors(tensors)
        if len(tensors.get(VALUES[0], ())) > d0:
            raise ValueError(f"{VALUES[0]} must have at most {d0} values, as wide as the signal is.")
        return GraphPreparation(
            settings,
            tensors={name: tensors[name] for name in (*UNITS, *VALUES) if name in tensors},
            encoder=Encoder.model_validate(encoding or {}),
        )

    @property
    def encoding(self) -> Mapping[str, Any]:
        return self.encoder.model_dump(mode="json", exclude_defaults=True)

    @property
    def features(self) -> int:
        return self.encoder.width

    @property
    def feature_names(self) -> tuple[str, ...]:
        return self.encoder.named_columns

    @property
    def about(self) -> Mapping[str, Any]:
        return {"pyramids": "+".join(pyramids.digest for pyramids in list(self._pyramids.values()))}

    def training(self, examples: GraphExamples, seed: int) -> Source:
        return self._source(examples, range(self.settings.sparsifications))

    def view(self, examples: GraphExamples, number: int, views: int) -> Source:
        if views > self.settings.sparsifications:
            raise DataError(
                f"a graph has as many views as sparsifications, {self.settings.sparsifications} in "
                f"{self.settings.name}: got {views}. Ask for fewer views."
            )
        return self._source(examples, range(number, number + 1))

    def transient(self) -> Self:
        return replace(self, is_transient=True)

    def _source(self, examples: GraphExamples, copies: range) -> Source:
        settings = self.settings
        features = self.encoder.encode(_features(settings, examples))
        return GraphSource(self._of(examples.graphs), examples, copies, settings.labels, settings.attributes, features)

    @property
    def has_vocabulary(self) -> bool:
        """Whether the vocabulary of labels is known; the first model files do not hold it."""
        return all(name in self.tensors for name in VALUES)

    def empty(self) -> Graphs:
        """Return no graphs, with the vocabulary of labels and the attributes of the training set."""
        if not self.has_vocabulary:
            raise DataError(
                f"{self.settings.name} must hold the vocabulary of vertex and edge labels: its file was written by an "
                "older edgecond, without one. Train it again."
            )
        widths = {name: len(self.tensors.get(f"{name}.mean", ())) for name in ATTRIBUTES}
        nothing, begin = np.zeros(0, np.int64), np.zeros(1, np.int64)
        return Graphs(
            self.settings.name,
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

    def _of(self, graphs: Graphs) -> Pyramids:
        if self.is_transient:
            for known, its_pyramids in self._last:  # read once: another thread may replace it at any moment
                if known is graphs:
                    return its_pyramids
            computed = self._compute(graphs, alone=True)
            self._last[:] = [(graphs, computed)]
            return computed
        if (cached := self._pyramids.get(graphs.digest)) is None:
            cached = self._pyramids.setdefault(graphs.digest, self._compute(graphs, progress=self.progress))
        return cached

    def _compute(self, graphs: Graphs, **options: Any) -> Pyramids:
        settings = self.settings
        levels, copies = settings.network.resolutions, settings.sparsifications
        try:
            return pyramids(_standardised(graphs, self.tensors), levels, copies, tries=settings.tries, **options)
        except MemoryError as error:
            largest = int(graphs.sizes.max())
            raise DataError(
                f"pyramids of graphs with up to {largest:,} vertices need more memory than there is. "
                "Cut large graphs into smaller ones, or use no pooling."
            ) from error

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"progress": no_progress, "_pyramids": {}, "_last": []}  # computed again when needed


def _features(settings: SampleSettings, examples: GraphExamples) -> Features | None:
    """Return the columns beside the graphs, and the counts of their vertices and edges if the settings ask for them."""
    if not settings.counts:
        return examples.features
    return replace(examples.features or Features(), counts=examples.graphs.counts())


def _check_tensors(tensors: Mapping[str, Tensor]) -> None:
    for name in VALUES:
        values = tensors.get(name, torch.arange(0))
        if values.dtype != torch.int64 or values.ndim != 1 or (values.diff() <= 0).any():
            raise ValueError(f"{name} must be whole numbers that ascend.")
        if len(values) > MOST_LABELS:
            raise ValueError(f"{name} must have at most {MOST_LABELS:,} values: found {len(values):,}.")
    for name in ATTRIBUTES:
        mean, scale = (tensors.get(f"{name}.{what}", torch.ones(0).double()) for what in ("mean", "scale"))
        if mean.dtype != torch.float64 or mean.ndim != 1 or mean.shape != scale.shape or not (scale > 0).all():
            raise ValueError(f"{name} must have a mean and a scale above zero for each column.")


def _units(examples: GraphExamples, known: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Return mean and standard deviation of the attributes over the vertices and the edges of some graphs.

    Args:
        examples: The graphs.
        known: Units of a model to start from, which the first attributes keep.
    """
    units: dict[str, Tensor] = {}
    graphs = examples.graphs.take(examples.numbers)
    for name in ATTRIBUTES:
        rows = torch.tensor(getattr(graphs, name), dtype=torch.float64)
        if len(rows) and rows.shape[1]:
            scale = rows.std(0, correction=0)
            units |= {f"{name}.mean": rows.mean(0), f"{name}.scale": torch.where(scale > 0, scale, 1.0)}
            for what in (f"{name}.mean", f"{name}.scale"):
                kept = known.get(what, rows.new_empty(0))[: rows.shape[1]]
                units[what] = torch.cat([kept, units[what][len(kept) :]])
    return units


def _standardised(graphs: Graphs, units: Mapping[str, Tensor]) -> Graphs:
    """Return the graphs with standardised attributes, where there are units."""
    known = [name for name in ATTRIBUTES if f"{name}.mean" in units]
    changes = {
        name: (getattr(graphs, name) - units[f"{name}.mean"].numpy()) / units[f"{name}.scale"].numpy() for name in known
    }
    return replace(graphs, **changes) if changes else graphs
