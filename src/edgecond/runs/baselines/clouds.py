"""Networks for point clouds: VoxNet on an occupancy grid, which Section 4.1 quotes, and PointNet on the points."""

from __future__ import annotations

from abc import abstractmethod
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
import torch
from jaxtyping import Float
from torch import nn, Tensor

from edgecond.data.augment import augment
from edgecond.data.examples import Examples
from edgecond.data.preparation import SampleSettings
from edgecond.graph import Cloud
from edgecond.runs.baselines.networks import NetworkBaseline

SIDE = 32  # cells of an occupancy grid along each axis
CELL = 0.2  # metres: 32 of them hold all but the largest vehicles and buildings


class CloudNetwork(NetworkBaseline):
    """A network on clouds, with the augmentation of the row and one view of a test cloud."""

    needs: ClassVar[str] = "points"
    batch_size: ClassVar[int] = 32
    learning_rate: ClassVar[float] = 1e-3

    @abstractmethod
    def prepared(self, cloud: Cloud, rng: np.random.Generator) -> Tensor:
        """Return what enters the network for a cloud."""

    def inputs(
        self,
        examples: Examples,
        chosen: np.ndarray,
        settings: SampleSettings,
        rng: np.random.Generator,
        *,
        training: bool,
    ) -> Tensor:
        clouds = [examples.clouds[index] for index in chosen.tolist()]
        if training and settings.augment:
            clouds = [augment(cloud, rng, **settings.augment) for cloud in clouds]
        return torch.stack([self.prepared(cloud, rng) for cloud in clouds])


class VoxNetBaseline(CloudNetwork):
    """VoxNet on 32 x 32 x 32 cells of 0.2 metres."""

    name: ClassVar[str] = "voxnet"
    title: ClassVar[str] = "VoxNet on an occupancy grid"
    epochs: int = 60

    @property
    def settings(self) -> dict[str, Any]:
        return super().settings | {"side": SIDE, "cell": CELL}

    def network(self, examples: Examples, settings: SampleSettings) -> nn.Module:
        return VoxNet(len(examples.classes))

    def prepared(self, cloud: Cloud, rng: np.random.Generator) -> Tensor:
        return occupancy(cloud.positions)


class PointNetBaseline(CloudNetwork):
    """PointNet on a fixed number of points, drawn with replacement, about the centre of a cloud.

    They keep their scale, which is a clue to the class.
    """

    name: ClassVar[str] = "pointnet"
    title: ClassVar[str] = "PointNet"
    epochs: int = 60
    points: int = 256

    @property
    def settings(self) -> dict[str, Any]:
        return super().settings | {"points": self.points}

    def network(self, examples: Examples, settings: SampleSettings) -> nn.Module:
        return PointNet(len(examples.classes))

    def prepared(self, cloud: Cloud, rng: np.random.Generator) -> Tensor:
        centred = cloud.positions - cloud.positions.mean(0)
        return centred[torch.from_numpy(rng.integers(len(centred), size=self.points))]


def occupancy(positions: Float[Tensor, "n 3"], cell: float = CELL) -> Float[Tensor, "32 32 32"]:
    """Return which cells of a grid about the centre of a cloud's bounding box hold a point: 1, the others 0.

    Points outside of the grid are left out.
    """
    centre = (positions.amin(0) + positions.amax(0)) / 2
    cells = ((positions - centre) / cell).floor().long() + SIDE // 2
    inside = cells[((cells >= 0) & (cells < SIDE)).all(1)]
    grid = torch.zeros(SIDE, SIDE, SIDE)
    grid[tuple(inside.T)] = 1
    return grid


class VoxNet(nn.Module):
    """C(32,5,2)-C(32,3,1)-P(2)-FC(128)-FC(K) on an occupancy grid (Maturana and Scherer, IROS 2015).

    Leaky ReLUs of slope 0.1, and dropout of 0.2, 0.3 and 0.4. The grid has one resolution, not two side by side.
    """

    def __init__(self, classes: int) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            *(nn.Conv3d(1, 32, 5, stride=2), nn.LeakyReLU(0.1), nn.Dropout(0.2)),  # 14 cells along each axis
            *(nn.Conv3d(32, 32, 3), nn.LeakyReLU(0.1), nn.MaxPool3d(2), nn.Dropout(0.3)),  # 12, then 6
            *(nn.Flatten(), nn.Linear(32 * 6**3, 128), nn.ReLU(), nn.Dropout(0.4)),
            nn.Linear(128, classes),
        )

    def forward(self, grids: Float[Tensor, "b 32 32 32"]) -> Float[Tensor, "b classes"]:
        return self.layers(grids[:, None])


class PointNet(nn.Module):
    """A shared network on each point, the maximum over the points, and a classifier (Qi et al., CVPR 2017).

    This is the paper's network without the two that transform input and features: 64-64-64-128-1024 on points, then
    512-256-K with batch normalisation, and dropout of 0.3 before the last layer.
    """

    def __init__(self, classes: int, d0: int = 3) -> None:
        super().__init__()
        widths = (d0, 64, 64, 64, 128, 1024)
        pairs = pairwise(widths)
        self.points = nn.Sequential(
            *(layer for d_in, d_out in pairs for layer in (nn.Conv1d(d_in, d_out, 1), nn.BatchNorm1d(d_out), nn.ReLU()))
        )
        self.classifier = nn.Sequential(
            *(nn.Linear(1024, 512), nn.BatchNorm1d(512), nn.ReLU()),
            *(nn.Linear(512, 256), nn.BatchNorm1d(256), nn.ReLU(), nn.Dropout(0.3)),
            nn.Linear(256, classes),
        )

    def forward(self, points: Float[Tensor, "b n d0"]) -> Float[Tensor, "b classes"]:
        return self.classifier(self.points(points.transpose(1, 2)).amax(2))
