"""Colours of vertices by the refinement of Weisfeiler and Lehman (Shervashidze et al., JMLR 12, 2011)."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from jaxtyping import UInt64
from numpy import ndarray as Array

from edgecond.data.graphs import Graphs


def colours(
    graphs: Graphs, rounds: int, *, edges: bool = False, attributes: bool = False
) -> Iterator[UInt64[Array, " n"]]:
    """Yield the colours of all vertices before the first round, and after each.

    The colour of a vertex is a hash of its label; in each round it is hashed with the sum of the hashes of its
    neighbours' colours. Equal colours are equal subtrees, but for a collision of 64 bits, so the colours of different
    data sets compare too.

    Args:
        graphs: The graphs.
        rounds: Number of rounds.
        edges: Whether the labels of edges are hashed with the colours of neighbours.
        attributes: Whether the attributes of vertices, and of edges, are hashed with their labels.
    """
    source, target = graphs.edges
    found = _mixed(graphs.vertex_labels.astype(np.uint64))
    links = _mixed(graphs.edge_labels.astype(np.uint64) if edges else np.zeros(graphs.num_edges, np.uint64))
    if attributes:
        found = _mixed(_rows(graphs.vertex_attributes) + found)
        links = _mixed(_rows(graphs.edge_attributes) + links)
    yield found
    for _ in range(rounds):
        sums = np.zeros(graphs.num_vertices, np.uint64)
        np.add.at(sums, target, _mixed(found[source] + np.uint64(3) * links))
        found = _mixed(np.uint64(5) * found + sums)
        yield found


def _rows(attributes: Array) -> Array:
    """A hash of each row of numbers."""
    bits = np.ascontiguousarray(attributes, np.float64).view(np.uint64)
    return _mixed(bits + np.arange(1, bits.shape[1] + 1, dtype=np.uint64)).sum(1, dtype=np.uint64)


def _mixed(numbers: Array) -> Array:
    """Whole numbers that depend on all bits of the given ones (splitmix64, Steele et al. 2014); they may overflow."""
    z = numbers + np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))
