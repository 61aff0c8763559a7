"""What there is to draw of an example, as plain values: a report draws them."""

from __future__ import annotations

from dataclasses import dataclass

from jaxtyping import Float
from torch import Tensor

from edgecond.data.graphs import Graphs
from edgecond.data.pyramid import Levels
from edgecond.data.samples.clouds import Builder
from edgecond.graph import Cloud, Pyramid


@dataclass(frozen=True, eq=False)
class MoleculePicture:
    """The structural formula of a molecule."""

    smiles: str


@dataclass(frozen=True, eq=False)
class GraphPicture:
    """A graph of a data set as vertices and lines."""

    graphs: Graphs
    number: int


Picture = Cloud | MoleculePicture | GraphPicture


@dataclass(frozen=True, eq=False)
class Description:
    """An example: its name, which may be empty, and what to draw."""

    name: str
    picture: Picture


@dataclass(frozen=True, eq=False)
class LevelsPicture:
    """The levels of a pyramid, and how they come about."""

    levels: Levels | Pyramid
    explanation: str


@dataclass(frozen=True, eq=False)
class OffsetLabels:
    """Labels that are functions of an offset between points, within the radius of a builder's first level."""

    builder: Builder


@dataclass(frozen=True, eq=False)
class CommonLabels:
    """The most common labels of some examples, with their names and shares of the edges."""

    values: Float[Tensor, "u s"]
    names: tuple[str, ...]
    shares: Float[Tensor, " u"]


FilterLabels = OffsetLabels | CommonLabels
