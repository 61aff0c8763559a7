"""Poolings onto a coarser graph and over whole graphs, and the way back to the vertices of the input (Section 3.3)."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from jaxtyping import Float, Int
from torch import nn, Tensor

from edgecond.graph import Graph
from edgecond.graph.segment import segment_max, segment_mean


class MaxPooling(nn.Module):
    r"""The largest signal among the vertices that $M^{(h)}$ sends to each coarse vertex; 0 for one that gets none."""

    def forward(self, x: Float[Tensor, "n d"], pool_map: Int[Tensor, " n"], count: int) -> Float[Tensor, "c d"]:
        return segment_max(x, pool_map, count)


class AveragePooling(nn.Module):
    r"""The mean signal of the vertices that $M^{(h)}$ sends to each coarse vertex; 0 for one that gets none."""

    def forward(self, x: Float[Tensor, "n d"], pool_map: Int[Tensor, " n"], count: int) -> Float[Tensor, "c d"]:
        return segment_mean(x, pool_map, count)


class Unpooling(nn.Module):
    r"""The signals of all levels at every vertex of level 0, from $X^{(h_{max})}$ on the coarsest back to the finest.

    A vertex takes the signal of the coarse vertex that it was pooled into, beside the one it had before that pooling:

    $$U^{(h)}(i) = \big[X^{(h)}(i),\ U^{(h+1)}(M^{(h+1)}(i))\big], \qquad U^{(h_{max})} = X^{(h_{max})}.$$

    The gradient of a coarse signal is the sum over the vertices that took it.
    """

    def forward(
        self, x: Float[Tensor, "c d"], skips: Sequence[Float[Tensor, "n _"]], pool_maps: Sequence[Int[Tensor, " n"]]
    ) -> Float[Tensor, "n_0 d_all"]:
        """The signal $U^{(0)}$.

        Args:
            x: Signal on the coarsest level.
            skips: Signals $X^{(h)}$ of the finer levels before they were pooled, the finest first.
            pool_maps: $M^{(h+1)}$ of each of those levels.
        """
        for skip, pool_map in zip(reversed(skips), reversed(pool_maps), strict=True):
            # index_select, as x[pool_map] sums its gradient in an order that varies with the threads.
            x = torch.cat([skip, x.index_select(0, pool_map)], 1)
        return x


class GlobalMaxPooling(nn.Module):
    """The largest signal of each graph of a batch."""

    def forward(self, x: Float[Tensor, "n d"], graph: Graph) -> Float[Tensor, "b d"]:
        return segment_max(x, graph.membership, graph.num_graphs)


class GlobalAveragePooling(nn.Module):
    """The mean signal of each graph of a batch."""

    def forward(self, x: Float[Tensor, "n d"], graph: Graph) -> Float[Tensor, "b d"]:
        return segment_mean(x, graph.membership, graph.num_graphs)
