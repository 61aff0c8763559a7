"""Poolings aggregate over the vertices that meet, and unpooling gives every vertex the signals of all levels."""

import pytest
import torch
from torch import Tensor

from edgecond import Graph, Pyramid
from edgecond.nn.pooling import (
    AveragePooling,
    GlobalAveragePooling,
    GlobalMaxPooling,
    MaxPooling,
    Unpooling,
)


def levels(*counts: int, pool_maps: tuple[Tensor, ...] = (), sizes: Tensor | None = None) -> Pyramid:
    """A pyramid of graphs without edges."""
    nothing = torch.zeros(0, dtype=torch.long)
    graphs = [Graph.from_edges(nothing, nothing, torch.zeros(0, 1), num_vertices=n, sizes=sizes) for n in counts]
    return Pyramid(tuple(graphs), pool_maps)


class TestPooling:
    """Section 3.3. A coarse vertex to which no point is nearest does occur: its signal is 0, never -inf."""

    X = torch.tensor([[1.0, -1.0], [3.0, -4.0], [5.0, -6.0]])
    PYRAMID = levels(3, 4, pool_maps=(torch.tensor([0, 2, 0]),))

    def test_max_pooling_takes_the_largest_of_each_channel(self):
        out = MaxPooling()(self.X, self.PYRAMID, 0)

        assert out.tolist() == [[5.0, -1.0], [0.0, 0.0], [3.0, -4.0], [0.0, 0.0]]

    def test_average_pooling_takes_the_mean(self):
        out = AveragePooling()(self.X, self.PYRAMID, 0)

        assert out.tolist() == [[3.0, -3.5], [0.0, 0.0], [3.0, -4.0], [0.0, 0.0]]

    def test_global_poolings_work_per_graph_of_a_batch(self):
        pyramid = levels(3, sizes=torch.tensor([2, 0, 1]))

        largest, mean = (pooling(self.X, pyramid, 0) for pooling in (GlobalMaxPooling(), GlobalAveragePooling()))

        assert largest.tolist() == [[3.0, -1.0], [0.0, 0.0], [5.0, -6.0]]
        assert mean.tolist() == [[2.0, -2.5], [0.0, 0.0], [5.0, -6.0]]

    @pytest.mark.parametrize("pooling", [MaxPooling, AveragePooling])
    def test_no_gradient_comes_from_an_empty_vertex(self, pooling: type):
        x = self.X.clone().requires_grad_()

        pooling()(x, self.PYRAMID, 0).sum().backward()

        assert x.grad.isfinite().all()


class TestUnpooling:
    """Levels of 5, 3 and 2 vertices; no vertex of level 0 goes to vertex 1 of level 1."""

    PYRAMID = levels(5, 3, 2, pool_maps=(torch.tensor([0, 2, 2, 0, 2]), torch.tensor([1, 0, 0])))

    def test_it_is_indexing_by_the_pool_maps(self):
        """By hand: vertices 0 and 3 go to 0 and on to 1, the others to 2 and on to 0."""
        fine, middle, coarse = torch.randn(5, 4), torch.randn(3, 2), torch.randn(2, 3)

        found = Unpooling()(coarse, self.PYRAMID, 2, [fine, middle, coarse])

        expected = torch.cat([fine, middle[[0, 2, 2, 0, 2]], coarse[[1, 0, 0, 1, 0]]], 1)
        assert torch.equal(found, expected)

    def test_a_single_level_stays_as_it_is(self):
        x = torch.randn(4, 2)

        assert torch.equal(Unpooling()(x, levels(4), 0, [x]), x)

    def test_its_gradient_is_that_of_finite_differences(self):
        signals = [torch.randn(n, 2, dtype=torch.double, requires_grad=True) for n in (5, 3, 2)]

        def unpooled(fine: Tensor, middle: Tensor, coarse: Tensor) -> Tensor:
            return Unpooling()(coarse, self.PYRAMID, 2, [fine, middle, coarse])

        assert torch.autograd.gradcheck(unpooled, signals)
        assert torch.autograd.gradgradcheck(unpooled, signals)

    def test_its_gradient_sums_over_the_vertices_that_took_a_signal(self):
        """By hand: of five vertices two took the signal of vertex 1, and three that of vertex 0."""
        coarse = torch.zeros(2, 1, requires_grad=True)

        Unpooling()(coarse, self.PYRAMID, 2, [torch.zeros(5, 1), torch.zeros(3, 1), coarse])[:, 2].sum().backward()

        assert coarse.grad.flatten().tolist() == [3, 2]
