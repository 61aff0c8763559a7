"""Samples of point clouds and meshes: augment, build the pyramid, label its edges; a batch at a time (Section 3.4)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from edgecond.data.labels import label_edges
from edgecond.data.pyramid import cloud_pyramid, input_signal, Level, Levels, Resolutions
from edgecond.data.pyramid.meshes import mesh_pyramid
from edgecond.data.pyramid.voxelgrid import majority
from edgecond.data.samples import generator, Indices
from edgecond.errors import DataError
from edgecond.graph import Cloud, Graph, Labels, Pyramid, Sample

Truth = Sequence[Any] | Tensor  # of a batch: its classes, or a row of quantities for each cloud


@dataclass(frozen=True, eq=False)
class Builder:
    """Makes one sample of a batch of clouds; `cloud_pyramid` and `label_offsets` explain the settings.

    Clouds that share one tensor of positions, as complete images do, have the same pyramid. It is built for the first
    batch of each size and kept, with all that convolutions derive from its graphs; each offset of a grid is
    labelled once. With `meshes` the clouds are meshes, and graphs go along their edges: see `mesh_pyramid`.

    Where vertices are classified, `per_vertex`, the class of a vertex is the most frequent one of its points.
    """

    resolutions: Resolutions
    labelling: str = "cartesian+spherical"
    strided: bool = False
    per_vertex: bool = False
    cap: int | None = 100
    known: Sequence[Float[Tensor, "u 3"]] | None = None
    meshes: bool = False
    _kept: dict[int, tuple[Tensor, Levels, Pyramid]] = field(default_factory=dict, init=False, repr=False)

    def __call__(self, clouds: Sequence[Cloud], ys: Truth) -> Sample:
        """The sample of these clouds and their classes or quantities, which count for nothing where vertices are
        classified."""
        if len(clouds) != len(ys):
            raise ValueError(f"every cloud needs a class: got {len(ys)} classes for {len(clouds)} clouds.")
        shared = clouds[0].positions if clouds else None
        if self.meshes or shared is None or any(cloud.positions is not shared for cloud in clouds):
            levels, pyramid = self._build(clouds)
            return Sample(levels.x, pyramid, *self._outcome(clouds, ys, levels))
        if len(clouds) not in self._kept or self._kept[len(clouds)][0] is not shared:
            self._kept[len(clouds)] = (shared, *self._build(clouds, compact=True))
        _, levels, pyramid = self._kept[len(clouds)]
        x = input_signal(clouds, levels.voxel, len(levels.x))
        return Sample(x, pyramid, *self._outcome(clouds, ys, levels))

    def levels(self, clouds: Sequence[Cloud]) -> Levels:
        """The pyramid of these clouds, before its edges are labelled."""
        if self.meshes:
            return mesh_pyramid(clouds, self.resolutions, strided=self.strided)
        return cloud_pyramid(clouds, self.resolutions, strided=self.strided, cap=self.cap)

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_kept": {}}  # too large to send to a worker

    def _outcome(self, clouds: Sequence[Cloud], ys: Truth, levels: Levels) -> tuple[Tensor, Tensor | None]:
        """What to predict, and the vertex of each point if that is a class for each vertex."""
        if not self.per_vertex:
            quantities = len(ys) > 0 and isinstance(ys[0], Tensor) and ys[0].dim() > 0
            return torch.stack(list(ys)) if quantities else torch.as_tensor(ys, dtype=torch.long), None
        parts = [torch.full((len(cloud),), -1) if cloud.y is None else cloud.y for cloud in clouds]
        y = majority(torch.cat(parts).numpy(), levels.voxel.numpy(), len(levels.x))
        return torch.from_numpy(y), levels.voxel

    def _build(self, clouds: Sequence[Cloud], compact: bool = False) -> tuple[Levels, Pyramid]:
        levels = self.levels(clouds)
        labels = label_edges(self.labelling, levels, compact=compact, known=self.known)
        graphs = map(_graph, levels.levels, labels)
        return levels, Pyramid(tuple(graphs), levels.pool_maps)


def build(clouds: Sequence[Cloud], ys: Truth, resolutions: Resolutions, **settings: Any) -> Sample:
    """One sample of a batch of clouds, by the settings of a `Builder`."""
    return Builder(resolutions, **settings)(clouds, ys)


def _graph(level: Level, labels: Labels) -> Graph:
    """The graph of a level; its edges are sorted and in range by construction."""
    n = len(level.positions if level.centroids is None else level.centroids)
    pointer = torch.zeros(n + 1, dtype=torch.long)
    torch.cumsum(torch.bincount(level.target, minlength=n), 0, out=pointer[1:])
    if level.centroids is None:
        return Graph(level.source, level.target, pointer, labels, level.sizes)
    return Graph(level.source, level.target, pointer, labels, torch.ones_like(level.sizes), level.target)


class _Examples(Protocol):
    """Clouds with their classes or quantities, by number: a list of pairs, or whatever reads them when asked."""

    def __len__(self) -> int: ...

    def __getitem__(self, index: int, /) -> tuple[Cloud, Any]: ...


@dataclass(frozen=True, eq=False)
class CloudSource:
    """Samples of clouds, which are built as they are needed.

    Args:
        examples: Clouds with their classes or quantities.
        build: What makes a sample of them, a `Builder`.
        augment: Makes a random variant of a cloud, as in `partial(augment, drop=0)`; none for the clouds themselves.
            How an example is augmented depends on seed, epoch and the number of the example.
        seed: What chance depends on.
    """

    examples: _Examples
    build: Callable[[Sequence[Cloud], Truth], Sample]
    augment: Callable[[Cloud, np.random.Generator], Cloud] | None = None
    seed: int = 0

    def __len__(self) -> int:
        return len(self.examples)

    def sample(self, indices: Indices, epoch: int) -> Sample:
        """These examples as they look in an epoch."""
        examples = [self.examples[int(index)] for index in indices]
        clouds = [cloud for cloud, _ in examples]
        if self.augment is not None:
            clouds = [
                self.augment(cloud, generator(self.seed, epoch, int(index)))
                for cloud, index in zip(clouds, indices, strict=True)
            ]
        try:
            return self.build(clouds, [y for _, y in examples])
        except ValueError as error:  # such as points that are too far apart
            raise DataError(str(error)) from error
