r"""Poolings onto a coarser graph and over whole graphs, and unpooling to the vertices of the input (Section 3.3).

As every layer of a network, they are called with the signal `x` on the vertices of level $h$, the pyramid, the level
$h$, and the `skips` $X^{(0)}, \dots, X^{(h)}$: the last signal of each level so far, which only unpooling uses.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from jaxtyping import Float
from torch import nn, Tensor

from edgecond.graph import Pyramid
from edgecond.graph.segment import segment_max, segment_mean


class MaxPooling(nn.Module):
    r"""The largest signal among the vertices that $M^{(h+1)}$ maps to each coarse vertex; 0 where there are none."""

    def forward(
        self, x: Float[Tensor, "n d"], pyramid: Pyramid, level: int, skips: Sequence[Tensor] = ()
    ) -> Float[Tensor, "c d"]:
        return segment_max(x, pyramid.pool_maps[level], pyramid.graphs[level + 1].num_sources)


class AveragePooling(nn.Module):
    r"""The mean signal of the vertices that $M^{(h+1)}$ maps to each coarse vertex; 0 where there are none."""

    def forward(
        self, x: Float[Tensor, "n d"], pyramid: Pyramid, level: int, skips: Sequence[Tensor] = ()
    ) -> Float[Tensor, "c d"]:
        return segment_mean(x, pyramid.pool_maps[level], pyramid.graphs[level + 1].num_sources)


class Unpooling(nn.Module):
    r"""The signals of all levels at every vertex of level 0, from the coarsest level $h$ back to the finest.

    Each vertex gets the signal of the coarse vertex that it was pooled into, beside its own from before that pooling:

    $$U^{(g)}(i) = \big[X^{(g)}(i),\ U^{(g+1)}(M^{(g+1)}(i))\big], \qquad U^{(h)} = X^{(h)}.$$

    The gradient of a coarse signal is the sum over the vertices that got it.
    """

    def forward(
        self, x: Float[Tensor, "c d"], pyramid: Pyramid, level: int, skips: Sequence[Tensor] = ()
    ) -> Float[Tensor, "n_0 d_all"]:
        for skip, pool_map in zip(reversed(skips[:level]), reversed(pyramid.pool_maps[:level]), strict=True):
            # index_select, as x[pool_map] sums its gradient in an order that varies with the threads.
            x = torch.cat([skip, x.index_select(0, pool_map)], 1)
        return x


class GlobalMaxPooling(nn.Module):
    """The largest signal of each graph of a batch."""

    def forward(
        self, x: Float[Tensor, "n d"], pyramid: Pyramid, level: int, skips: Sequence[Tensor] = ()
    ) -> Float[Tensor, "b d"]:
        graph = pyramid.graphs[level]
        return segment_max(x, graph.membership, graph.num_graphs)


class GlobalAveragePooling(nn.Module):
    """The mean signal of each graph of a batch."""

    def forward(
        self, x: Float[Tensor, "n d"], pyramid: Pyramid, level: int, skips: Sequence[Tensor] = ()
    ) -> Float[Tensor, "b d"]:
        graph = pyramid.graphs[level]
        return segment_mean(x, graph.membership, graph.num_graphs)
