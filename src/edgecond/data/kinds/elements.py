"""The elements of an example that an explanation names: atoms and bonds, points, vertices and edges, and features."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from jaxtyping import Float, Int
from numpy import ndarray as Array
from scipy.spatial import cKDTree

from edgecond.graph import Pyramid

NEAR = 1024
"""Number of points whose neighbours are in memory at a time."""


@dataclass(frozen=True, eq=False)
class Elements(ABC):
    """The units of an example, such as atoms or points, and the vertices of its graph that stand for them in a view.

    Attributes:
        count: Number of units.
        unit: Unit of each pair.
        vertex: Vertex of level 0 that stands for the unit of each pair; every vertex is in at least one pair.
        offsets: Whether the label of an edge is the offset of its source from its target.
    """

    offsets: ClassVar[bool] = False

    count: int
    unit: Int[Array, " q"]
    vertex: Int[Array, " q"]

    @property
    @abstractmethod
    def columns(self) -> Mapping[str, Sequence[Any]]:
        """What describes each unit, by the names of `Kind.element_columns`."""

    @abstractmethod
    def edge_columns(
        self, pyramid: Pyramid, level: int, one: Int[Array, " e"], other: Int[Array, " e"]
    ) -> Mapping[str, Sequence[Any]]:
        """Return what describes edges between vertices of a level, by the same names."""

    def shared(self, values: Float[Array, " n"]) -> Float[Array, " u"]:
        """Divide the number of each vertex evenly among its units, and return the sum for each unit."""
        pairs = np.bincount(self.vertex, minlength=len(values))
        return np.bincount(self.unit, (values / pairs)[self.vertex], minlength=self.count)

    def around(self, values: Float[Array, " u"]) -> Float[Array, " u"] | None:
        """Return the sum of the numbers around each unit; none where units have no positions."""
        return None


@dataclass(frozen=True, eq=False)
class NamedElements(Elements):
    """Vertices that are themselves the units, with names such as symbols of atoms.

    Attributes:
        names: Name of each vertex.
        edge_names: Name of each edge by its ends, the lower first; an edge need not have one.
    """

    names: Sequence[str]
    edge_names: Mapping[tuple[int, int], str]

    @property
    def columns(self) -> Mapping[str, Sequence[Any]]:
        return {"name": self.names}

    def edge_columns(
        self, pyramid: Pyramid, level: int, one: Int[Array, " e"], other: Int[Array, " e"]
    ) -> Mapping[str, Sequence[Any]]:
        ends = zip(one.tolist(), other.tolist(), strict=True)
        return {"name": [self.edge_names.get((min(pair), max(pair)), "") if level == 0 else "" for pair in ends]}


@dataclass(frozen=True, eq=False)
class PointElements(Elements):
    """Points, or vertices of a mesh, which voxels merge into the vertices of level 0.

    Attributes:
        positions: Position of each unit.
        radius: Radius of what is around a unit.
    """

    offsets: ClassVar[bool] = True

    positions: Float[Array, "u 3"]
    radius: float = 0.0

    @property
    def columns(self) -> Mapping[str, Sequence[Any]]:
        return _coordinates(self.positions)

    def around(self, values: Float[Array, " u"]) -> Float[Array, " u"]:
        tree, starts = cKDTree(self.positions), range(0, self.count, NEAR)
        near = (tree.query_ball_point(self.positions[start : start + NEAR], self.radius) for start in starts)
        return np.array([values[each].sum() for some in near for each in some])

    def edge_columns(
        self, pyramid: Pyramid, level: int, one: Int[Array, " e"], other: Int[Array, " e"]
    ) -> Mapping[str, Sequence[Any]]:
        """Return the middle of each edge. A vertex is at the mean of what was merged into it."""
        at = _means(self.positions[self.unit], self.vertex, pyramid.graphs[0].num_sources)
        for pool_map, graph in zip(pyramid.pool_maps[:level], pyramid.graphs[1:], strict=False):
            at = _means(at, pool_map.numpy(), graph.num_sources)
        ends = at if pyramid.graphs[level].source_membership is None else at.mean(0, keepdims=True)
        return _coordinates((at[one] + ends[other]) / 2)


def _means(rows: Float[Array, "n c"], group: Int[Array, " n"], count: int) -> Float[Array, "g c"]:
    sums = np.stack([np.bincount(group, column, minlength=count) for column in rows.T], 1)
    return sums / np.maximum(np.bincount(group, minlength=count), 1)[:, None]


def _coordinates(at: Float[Array, "n 3"]) -> Mapping[str, Sequence[Any]]:
    return {
        axis: [float(f"{value:.6g}") for value in column.tolist()] for axis, column in zip("xyz", at.T, strict=True)
    }
