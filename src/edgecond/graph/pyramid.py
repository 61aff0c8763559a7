"""Pyramids of graphs, and samples: a signal on a pyramid with its target (Section 3.3)."""

from __future__ import annotations

from typing import Any

from jaxtyping import Float, Int
from torch import Tensor

from edgecond.graph.graph import Graph
from edgecond.graph.value import Movable, value


@value
class Pyramid(Movable):
    r"""Graphs $G^{(0)}, \dots, G^{(h_{max})}$ and the maps $M^{(h)}$ between their vertices (Section 3.3).

    The last graph may be bipartite, with fewer targets than sources: the convolution on it is strided (Section 4.4).
    """

    graphs: tuple[Graph, ...]
    pool_maps: tuple[Int[Tensor, " n"], ...] = ()

    def __post_init__(self) -> None:
        if len(self.graphs) != len(self.pool_maps) + 1:
            raise ValueError(
                "a pyramid needs one pool map between each pair of consecutive graphs: "
                f"got {len(self.pool_maps)} maps for {len(self.graphs)} graphs."
            )

    def __len__(self) -> int:
        return len(self.graphs)


@value
class Sample(Movable):
    """A signal on a pyramid and the target to predict: one example or one batch.

    Attributes:
        x: Signal $X^0$ on the vertices of level 0.
        pyramid: Graphs and pool maps.
        y: Target of each example; for segmentation, class of each vertex of level 0, -1 where it is unknown.
        voxel: Vertex of level 0 that each point of the input was merged into.
        features: Numbers that describe each example as a whole, beside its graph.
        weights: Weight of each example in the loss; none for equal weights.
    """

    x: Float[Tensor, "n d0"]
    pyramid: Pyramid
    y: Tensor
    voxel: Int[Tensor, " p"] | None = None
    features: Float[Tensor, "b f"] | None = None
    weights: Float[Tensor, " b"] | None = None

    @property
    def inputs(self) -> tuple[Any, ...]:
        """What a network is called with: signal, pyramid and, where there are any, features."""
        return (self.x, self.pyramid) if self.features is None else (self.x, self.pyramid, self.features)
