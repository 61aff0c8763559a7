"""Samples of point clouds and meshes: augmentation, pyramid and edge labels for a batch at a time (Section 3.4)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Protocol

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from edgecond.data.features import Encoder, Features
from edgecond.data.labels import label_edges
from edgecond.data.pyramid import cloud_pyramid, input_signal, Level, Levels, Resolutions
from edgecond.data.pyramid.meshes import mesh_pyramid
from edgecond.data.pyramid.voxelgrid import known_mean, majority
from edgecond.data.samples import generator, Indices
from edgecond.data.shape import shapes
from edgecond.errors import DataError
from edgecond.graph import Cloud, Graph, Labels, Pyramid, Sample

Truth = Sequence[Any] | Tensor  # the classes of a batch, or a row of regression targets for each cloud


@dataclass(frozen=True, eq=False)
class Builder:
    """Builds one sample from a batch of clouds.

    Clouds that share one tensor of positions, as complete images do, have the same pyramid. It is built for the first
    batch of each size and cached, with all that convolutions derive from its graphs; each distinct offset is labelled
    once.

    Attributes:
        resolutions: Resolution and radius of each level; see `cloud_pyramid`.
        labelling: Name of the edge labels; see `label_offsets`.
        strided: Connect all points in the last level to their centroid; see `cloud_pyramid`.
        per_vertex: Predict classes of vertices; the class of a vertex is the most frequent one of its points.
        cap: Largest number of neighbours per point; see `cloud_pyramid`.
        known: Offsets of each level for one-hot labels; see `label_offsets`.
        meshes: Build graphs along the edges of meshes; see `mesh_pyramid`.
        origin: Where the grids of clouds begin; see `cloud_pyramid`.
        unit: The length that counts as one in the shape of a cloud; see `shapes`.
        encoder: Encodes the shape of each cloud as its features; nothing by default.
    """

    resolutions: Resolutions
    labelling: str = "cartesian+spherical"
    strided: bool = False
    per_vertex: bool = False
    cap: int | None = 100
    known: Sequence[Float[Tensor, "u 3"]] | None = None
    meshes: bool = False
    origin: Float[np.ndarray, " 3"] | None = None
    unit: float = 1.0
    encoder: Encoder = Encoder()  # noqa: RUF009 (immutable)
    _cache: dict[int, tuple[Tensor, Levels, Pyramid]] = field(default_factory=dict, init=False, repr=False)

    def __call__(self, clouds: Sequence[Cloud], ys: Truth) -> Sample:
        """Build the sample of clouds and their targets, which are ignored if classes of vertices are predicted."""
        if len(clouds) != len(ys):
            raise ValueError(f"every cloud needs a target: got {len(ys)} targets for {len(clouds)} clouds.")
        shared = clouds[0].positions if clouds else None
        if self.meshes or shared is None or any(cloud.positions is not shared for cloud in clouds):
            levels, pyramid = self._build(clouds)
            return Sample(levels.x, pyramid, *self._targets(clouds, ys, levels), self._features(clouds))
        cached = self._cache.get(len(clouds))  # read once: another thread may replace it at any moment
        if cached is None or cached[0] is not shared:
            cached = self._cache[len(clouds)] = (shared, *self._build(clouds, compact=True))
        _, levels, pyramid = cached
        x = input_signal(clouds, levels.voxel, len(levels.x))
        return Sample(x, pyramid, *self._targets(clouds, ys, levels), self._features(clouds))

    def levels(self, clouds: Sequence[Cloud]) -> Levels:
        """Build the pyramid of clouds, without edge labels."""
        if self.meshes:
            return mesh_pyramid(clouds, self.resolutions, strided=self.strided)
        return cloud_pyramid(clouds, self.resolutions, strided=self.strided, cap=self.cap, origin=self.origin)

    def shapes(self, clouds: Sequence[Cloud]) -> Features:
        """Return the shape of each cloud, before it is encoded."""
        return Features(shapes=shapes(clouds, self.unit))

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_cache": {}}  # too large to send to a worker

    def _features(self, clouds: Sequence[Cloud]) -> Float[Tensor, "b f"] | None:
        """Return the features of each cloud; None if there is nothing to encode."""
        return self.encoder.encode(self.shapes(clouds)) if self.encoder.width else None

    def _targets(self, clouds: Sequence[Cloud], ys: Truth, levels: Levels) -> tuple[Tensor, Tensor | None]:
        """Return the targets and, if these are targets of vertices, the vertex of each point."""
        if not self.per_vertex:
            regression = len(ys) > 0 and isinstance(ys[0], Tensor) and ys[0].dim() > 0
            return torch.stack(list(ys)) if regression else torch.as_tensor(ys, dtype=torch.long), None
        parts = [torch.full((len(cloud),), -1) if cloud.y is None else cloud.y for cloud in clouds]
        combine = known_mean if parts[0].is_floating_point() else majority
        y = combine(torch.cat(parts).numpy(), levels.voxel.numpy(), len(levels.x))
        return torch.from_numpy(y), levels.voxel

    def _build(self, clouds: Sequence[Cloud], compact: bool = False) -> tuple[Levels, Pyramid]:
        levels = self.levels(clouds)
        labels = label_edges(self.labelling, levels, compact=compact, known=self.known)
        graphs = map(_graph, levels.levels, labels)
        return levels, Pyramid(tuple(graphs), levels.pool_maps)


def build(clouds: Sequence[Cloud], ys: Truth, resolutions: Resolutions, **settings: Any) -> Sample:
    """Build one sample from a batch of clouds, with the settings of a `Builder`."""
    return Builder(resolutions, **settings)(clouds, ys)


def _graph(level: Level, labels: Labels) -> Graph:
    """Build the graph of a level, whose edges are sorted and in range by construction."""
    n = len(level.positions if level.centroids is None else level.centroids)
    pointer = torch.zeros(n + 1, dtype=torch.long)
    torch.cumsum(torch.bincount(level.target, minlength=n), 0, out=pointer[1:])
    if level.centroids is None:
        return Graph(level.source, level.target, pointer, labels, level.sizes)
    return Graph(level.source, level.target, pointer, labels, torch.ones_like(level.sizes), level.target)


class _Examples(Protocol):
    """Pairs of a cloud and its target by index: a list, or an object that reads them on access."""

    def __len__(self) -> int: ...

    def __getitem__(self, index: int, /) -> tuple[Cloud, Any]: ...


@dataclass(frozen=True, eq=False)
class CloudSource:
    """Samples of clouds, built on access.

    Args:
        examples: Clouds with their targets.
        build: Function that builds a sample, such as a `Builder`.
        augment: Function that returns a random variant of a cloud, such as `partial(augment, drop=0)`; None for no
            augmentation. The variant depends on the seed, the epoch and the index of the example.
        seed: Random seed of the augmentation.
    """

    examples: _Examples
    build: Callable[[Sequence[Cloud], Truth], Sample]
    augment: Callable[[Cloud, np.random.Generator], Cloud] | None = None
    seed: int = 0
    together: ClassVar[int] = 1  # a cloud is large, and its size is not known before it is read

    def __len__(self) -> int:
        return len(self.examples)

    def sample(self, indices: Indices, epoch: int) -> Sample:
        """Build one sample from some examples, as they are augmented in an epoch."""
        examples = [self.examples[int(index)] for index in indices]
        clouds = [cloud for cloud, _ in examples]
        if self.augment is not None:
            clouds = [
                self.augment(cloud, generator(self.seed, epoch, int(index)))
                for cloud, index in zip(clouds, indices, strict=True)
            ]
        try:
            return self.build(clouds, [y for _, y in examples])
        except ValueError as error:  # such as a stray point, which makes the grid too large
            raise DataError(str(error)) from error
