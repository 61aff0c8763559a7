"""Pyramids of graphs from point clouds, by VoxelGrid and neighbourhoods of a radius (Section 3.4)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from edgecond.data import COARSE
from edgecond.data.pyramid.neighbors import closest, within
from edgecond.data.pyramid.voxelgrid import mean, positive_octant, voxel_grid, Voxels
from edgecond.graph import Cloud
from edgecond.notation import Architecture

FARTHEST = 1e18  # coordinates beyond have squared distances that single precision does not hold

Resolutions = Sequence[tuple[float | None, float]]


@dataclass(frozen=True, eq=False)
class Level:
    """The clouds $P^{(h)}$ of a batch and the edges of their graphs, sorted by target, then by source.

    Attributes:
        positions: Points of all clouds, concatenated; in double precision where single is too coarse.
        sizes: Number of points of each cloud.
        source: Point $j$ of each edge.
        target: Point $i$ of each edge, or its cloud if the level is strided.
        centroids: The single target of each cloud if the level is strided.
    """

    positions: Float[Tensor, "n 3"]
    sizes: Int[Tensor, " b"]
    source: Int[Tensor, " m"]
    target: Int[Tensor, " m"]
    centroids: Float[Tensor, "b 3"] | None = None

    @property
    def offsets(self) -> Float[Tensor, "m 3"]:
        r"""Offset $\delta = p_j - p_i$ of each edge; contiguous per coordinate, which is how labels are computed."""
        points = self.positions.T.contiguous().numpy()
        targets = points if self.centroids is None else self.centroids.T.contiguous().numpy()
        offsets = points.take(self.source.numpy(), axis=1)
        offsets -= targets.take(self.target.numpy(), axis=1)
        return torch.from_numpy(offsets).T.float()


@dataclass(frozen=True, eq=False)
class Levels:
    r"""The geometry of a pyramid, before its edges are labelled.

    Attributes:
        x: Signal $X^0$ on the points of the first level.
        levels: Clouds $P^{(0)}, P^{(1)}, \dots$ with their edges.
        pool_maps: Maps $M^{(h)}$ from the points of each level to those of the next.
        voxel: Point of the first level that each point of the input was merged into.
    """

    x: Float[Tensor, "n d0"]
    levels: tuple[Level, ...]
    pool_maps: tuple[Int[Tensor, " n"], ...]
    voxel: Int[Tensor, " p"]


def cloud_pyramid(
    clouds: Sequence[Cloud],
    resolutions: Resolutions,
    *,
    strided: bool = False,
    cap: int | None = 100,
    origin: Float[np.ndarray, " 3"] | None = None,
) -> Levels:
    r"""Build the pyramids of downsampled clouds and their neighbourhoods for a whole batch at once.

    Each level is the VoxelGrid of the level before, as in the authors' code, and its grid begins at the smallest
    coordinates of the input. Every point pools into the nearest point of the next level.

    Args:
        clouds: Clouds of the batch.
        resolutions: Grid resolution $r^{(h)}$ (None: keep all points) and radius $\rho^{(h)}$ of each level.
        strided: Connect all points of a cloud in the last level to a single target, their centroid (Section 4.4).
        cap: Largest number of neighbours per point, of which the nearest are kept; 100 in the authors' code.
        origin: Where the grids begin, if the clouds are parts of a larger one; see `positive_octant`.
    """
    if not resolutions:
        raise ValueError("a pyramid needs at least one level: got no resolutions.")
    positions, sizes = batch_of(clouds)
    voxels = first = voxel_grid(positive_octant(positions, sizes, origin), sizes, resolutions[0][0])
    levels, pool_maps = [], []
    for h, (resolution, radius) in enumerate(resolutions):
        if h:
            finer, voxels = voxels, voxel_grid(voxels.positions, voxels.sizes, resolution)
            pool_maps.append(closest(finer.positions, finer.sizes, voxels.positions, voxels.sizes))
        last = h == len(resolutions) - 1
        levels.append(strided_level(voxels) if strided and last else _level(voxels, radius, cap))
    voxel = torch.from_numpy(first.voxel)
    x = input_signal(clouds, voxel, len(first.positions))
    return Levels(x, tuple(levels), tuple(map(torch.from_numpy, pool_maps)), voxel)


def input_signal(clouds: Sequence[Cloud], voxel: Int[Tensor, " p"], count: int) -> Float[Tensor, "n d0"]:
    """Compute the signal $X^0$: the mean of the features of the points in each voxel."""
    return tensor(mean(signal_of(clouds), voxel.numpy(), count))


def signal_of(clouds: Sequence[Cloud]) -> Float[np.ndarray, "p d0"]:
    """Concatenate the features of all clouds in double precision."""
    signal = torch.cat([cloud.signal for cloud in clouds]).double().numpy()
    _check_finite("the signal", signal, clouds)
    return signal


def levels_of(
    architecture: Architecture, resolution: float | None, radius: float, *, radius_scale: float = 1.0
) -> tuple[tuple[float | None, float], ...]:
    r"""Return the resolution and radius of each level: those of the input, then those of the pooling layers.

    Args:
        architecture: Architecture of the network, such as "C(16)-C(32)-MP(0.25,0.5)-...".
        resolution: Resolution $r^0$ of the input graph; None keeps all points.
        radius: Radius $\rho^0$ of the input graph.
        radius_scale: Factor of all radii, as in ECC 1.5ρ and ECC 2ρ (Table 1).
    """
    levels = [(resolution, radius * radius_scale)]
    for pooling in architecture.poolings:
        if pooling.resolution is None or pooling.radius is None:
            raise ValueError(
                f"a pooling layer for point clouds needs a resolution and a radius: got {pooling}. "
                "Write it as in MP(0.25,0.5)."
            )
        levels.append((float(pooling.resolution), float(pooling.radius) * radius_scale))
    return tuple(levels)


def batch_of(clouds: Sequence[Cloud]) -> tuple[np.ndarray, np.ndarray]:
    """Concatenate the positions of all clouds in double precision; return them and the size of each cloud."""
    if not clouds:
        raise ValueError("a pyramid needs at least one cloud: got none.")
    sizes = np.array([len(cloud) for cloud in clouds])
    if not sizes.all():
        raise ValueError(f"a cloud needs at least one point: cloud {int(sizes.argmin())} of the batch has none.")
    positions = torch.cat([cloud.positions for cloud in clouds]).double().numpy()
    _check_finite("positions", positions, clouds, FARTHEST)
    return positions, sizes


def _check_finite(name: str, values: np.ndarray, clouds: Sequence[Cloud], limit: float = np.inf) -> None:
    valid = np.abs(values) < limit  # false for NaN
    if not valid.all():
        row = int(np.flatnonzero(~valid.all(1))[0])
        cloud = int(np.searchsorted(np.cumsum([len(cloud) for cloud in clouds]), row, side="right"))
        raise ValueError(
            f"{name} of a cloud must be finite{'' if limit == np.inf else f' and below {limit:g}'}: "
            f"found {values[row].tolist()} in cloud {cloud} of the batch. "
            f"{'Remove such points first' if limit == np.inf else 'Remove stray points, or check the units'}."
        )


def _level(voxels: Voxels, radius: float, cap: int | None) -> Level:
    source, target = within(voxels.positions, voxels.sizes, radius, cap=cap)
    return Level(coordinates(voxels), *map(torch.from_numpy, (voxels.sizes, source, target)))


def strided_level(voxels: Voxels) -> Level:
    """Build a level with an edge from each point of a cloud to their centroid."""
    sizes, source = torch.from_numpy(voxels.sizes), torch.arange(len(voxels.positions))
    cloud = np.repeat(np.arange(len(sizes)), voxels.sizes)
    positions = coordinates(voxels)
    centroids = torch.from_numpy(mean(voxels.positions, cloud, len(sizes))).to(positions.dtype)
    return Level(positions, sizes, source, torch.from_numpy(cloud), centroids)


def coordinates(voxels: Voxels) -> Float[Tensor, "v 3"]:
    """Return the positions of voxels: in single precision, unless some are beyond `COARSE`."""
    positions = voxels.positions
    return torch.from_numpy(positions) if np.abs(positions).max() > COARSE else tensor(positions)


def tensor(values: np.ndarray) -> Tensor:
    """Convert to a tensor in single precision."""
    return torch.from_numpy(values).float()
