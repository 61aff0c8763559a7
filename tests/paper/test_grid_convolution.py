"""Section 3.2: on a grid, with one-hot offsets as labels and a single-layer F, ECC is the standard convolution."""

from collections.abc import Sequence
from itertools import product

import pytest
import torch
from torch.nn.functional import conv1d, conv2d

from edgecond import ECConv, FilterNetwork, Graph, Labels

D_IN, D_OUT = 3, 4


def grid(shape: Sequence[int], width: int) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, int]:
    """Edges to each cell from the cells of a centred window, and the number of each edge's offset in the window."""
    cells = {cell: number for number, cell in enumerate(product(*map(range, shape)))}
    window = list(product(range(-(width // 2), width // 2 + 1), repeat=len(shape)))
    edges = [
        (cells[neighbour], i, number)
        for cell, i in cells.items()
        for number, offset in enumerate(window)
        if (neighbour := tuple(map(sum, zip(cell, offset, strict=True)))) in cells
    ]
    source, target, offsets = torch.tensor(edges).T
    return source, target, offsets, len(window)


def convolved(x: torch.Tensor, shape: Sequence[int], weight: torch.Tensor, width: int) -> torch.Tensor:
    """Torch's convolution with zero padding, divided by the number of cells of the window inside the grid.

    Torch correlates: it multiplies the cell at i + delta by the weight at delta, as we label it.
    """
    convolve = {1: conv1d, 2: conv2d}[len(shape)]
    image = x.T.reshape(1, D_IN, *shape)
    kernel = weight.view(D_OUT, D_IN, *[width] * len(shape))
    inside = convolve(torch.ones(1, 1, *shape).double(), torch.ones(1, 1, *kernel.shape[2:]).double(), padding="same")
    return (convolve(image, kernel, padding="same") / inside).reshape(D_OUT, -1).T


@pytest.mark.parametrize("compact", [False, True], ids=["a label per edge", "distinct labels"])
@pytest.mark.parametrize(
    ("shape", "width"),
    [((7,), 3), ((9,), 5), ((5, 6), 3), ((7, 6), 5)],
    ids=["conv1d of 3", "conv1d of 5", "conv2d of 3x3", "conv2d of 5x5"],
)
def test_one_hot_offsets_give_an_ordinary_convolution(shape: Sequence[int], width: int, compact: bool):
    """F(L(j,i)) is the column of w that belongs to the offset; |N(i)| plays a role only at the border."""
    source, target, offsets, s = grid(shape, width)
    labels = Labels.one_hot(offsets, s)
    labels = labels if compact else Labels(labels.per_edge(labels.values))
    n = int(target.max()) + 1
    graph = Graph.from_edges(source, target, labels, num_vertices=n).to(torch.float64)
    conv = ECConv(D_IN, D_OUT, FilterNetwork((s,), D_IN, D_OUT), bias=False).double()
    x = torch.randn(n, D_IN, dtype=torch.float64, requires_grad=True)

    ours = conv(x, graph)

    weight = conv.filters[0].weight  # (d_out d_in, s), of which a convolution has as many parameters
    theirs = convolved(x, shape, weight, width)
    torch.testing.assert_close(ours, theirs)
    gradient = torch.randn_like(ours)
    for mine, other in zip(
        torch.autograd.grad(ours, (x, weight), gradient),
        torch.autograd.grad(theirs, (x, weight), gradient),
        strict=True,
    ):
        torch.testing.assert_close(mine, other)


def test_the_sum_over_neighbours_is_the_convolution_without_any_normalisation():
    """The equivalence as the paper states it, in single precision."""
    source, target, offsets, s = grid((8, 8), 3)
    graph = Graph.from_edges(source, target, Labels.one_hot(offsets, s), num_vertices=64)
    conv = ECConv(D_IN, D_OUT, FilterNetwork((s,), D_IN, D_OUT), reduce="sum")
    x = torch.randn(64, D_IN)

    ours = conv(x, graph)

    kernel = conv.filters[0].weight.view(D_OUT, D_IN, 3, 3)
    torch.testing.assert_close(
        ours, conv2d(x.T.view(1, D_IN, 8, 8), kernel, padding=1).view(D_OUT, 64).T, atol=1e-5, rtol=1e-5
    )


def test_the_path_of_figure_2_has_the_edges_of_the_figure():
    """A path with s = 3: each inner vertex has three neighbours including itself, each end has two."""
    source, target, offsets, s = grid((4,), 3)

    assert s == 3
    assert list(zip(source.tolist(), target.tolist(), offsets.tolist(), strict=True)) == [
        *[(0, 0, 1), (1, 0, 2)],
        *[(0, 1, 0), (1, 1, 1), (2, 1, 2)],
        *[(1, 2, 0), (2, 2, 1), (3, 2, 2)],
        *[(2, 3, 0), (3, 3, 1)],
    ]
