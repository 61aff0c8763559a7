"""Graphs given edge by edge, and paths pooled in pairs."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from edgecond.graph import Graph, Pyramid, Sample


def vector(*numbers: int) -> Tensor:
    return torch.tensor(numbers, dtype=torch.long)


def graph_of(*edges: tuple[int, int], n: int, **options: Any) -> Graph:
    """Build a graph from edges (j, i), labelled 0, 1, 2, ... in the given order."""
    pairs = torch.tensor(edges, dtype=torch.long).reshape(-1, 2)
    return Graph.from_edges(
        pairs[:, 0], pairs[:, 1], torch.arange(float(len(pairs)))[:, None], num_vertices=n, **options
    )


def sample(n: int, *, strided: bool = False) -> Sample:
    """Build a path of n vertices, pooled in pairs; if strided, the coarse graph leads to a single vertex."""
    coarse = (n + 1) // 2
    fine = graph_of(*[(i, i + 1) for i in range(n - 1)], n=n)
    top = (
        graph_of(*[(j, 0) for j in range(coarse)], n=1, num_sources=coarse)
        if strided
        else graph_of(*[(i, i) for i in range(coarse)], n=coarse)
    )
    return Sample(torch.full((n, 1), float(n)), Pyramid((fine, top), (torch.arange(n) // 2,)), vector(n))
