"""Graphs of PyG's `edge_index`, remembered while its tensors live: all layers of a model share one sort (Section 3.1).

A tensor is recognised by its identity and its contents: by a hash of them on a CPU, where NumPy and `.data` change
tensors without a trace, and by torch's version counter on other devices, which would have to wait for a hash. Memory is
weak: what is remembered of a tensor is gone with it, and holds copies of what it needs.
"""

from __future__ import annotations

from collections.abc import MutableMapping
from dataclasses import dataclass, field

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.utils.weak import WeakIdKeyDictionary

from edgecond.graph import edges, Graph, Labels
from edgecond.graph.transforms import abstract


@dataclass(frozen=True)
class _Remembered:
    """A sorted `edge_index`.

    Attributes:
        key: Its stamp, and the numbers of sources and targets.
        graph: The edges; the index of their empty labels is their position in the `edge_index`.
        labelled: For each tensor of labels its stamp, and the graph if few labels are distinct.
    """

    key: tuple[int | None, int, int | None]
    graph: Graph
    labelled: MutableMapping[Tensor, tuple[int, Graph | None]] = field(default_factory=WeakIdKeyDictionary)


_MEMORY: MutableMapping[Tensor, _Remembered] = WeakIdKeyDictionary()


def graph_of(
    edge_index: Int[Tensor, "2 m"],
    edge_attr: Float[Tensor, "m s"],
    *,
    num_vertices: int,
    num_sources: int | None = None,
) -> Graph:
    """Return the graph of an `edge_index` and its labels; sorting and analysis are remembered.

    Args:
        edge_index: Sources in the first row, targets in the second, in any order.
        edge_attr: Labels in the same order. If few are distinct, $F$ is evaluated once for each (footnote 1).
        num_vertices: Number of targets.
        num_sources: Number of sources of a bipartite graph.
    """
    if abstract(edge_index) or abstract(edge_attr):
        source, target = edge_index
        return Graph.from_edges(source, target, edge_attr, num_vertices=num_vertices, num_sources=num_sources)
    known = _sorted(edge_index, num_vertices, num_sources)
    order = known.graph.labels.index
    assert order is not None
    stamp = None if edge_attr.requires_grad else _stamp(edge_attr)
    seen = known.labelled.get(edge_attr)
    if seen is None or stamp is None or seen[0] != stamp:
        labels = Labels.distinct(edge_attr)
        checked = known.graph.with_labels(labels)
        seen = stamp or 0, checked.with_labels(labels.at(order), check=False) if labels.shared else None
        if stamp is not None:
            known.labelled[edge_attr] = seen
    _, graph = seen
    return known.graph.with_labels(Labels(edge_attr, order), check=False) if graph is None else graph


def _sorted(edge_index: Tensor, num_vertices: int, num_sources: int | None) -> _Remembered:
    """Return the sorted edges, from memory if they have not changed."""
    key = (_stamp(edge_index), num_vertices, num_sources)
    known = _MEMORY.get(edge_index)
    if known is not None and known.key == key and key[0] is not None:
        return known
    m, device = edge_index.shape[1], edge_index.device
    positions = Labels(torch.empty(m, 0, device=device), torch.arange(m, device=device))
    source, target = edge_index.detach().clone()  # a view would keep the tensor alive
    graph = Graph.from_edges(source, target, positions, num_vertices=num_vertices, num_sources=num_sources)
    known = _Remembered(key, graph)
    if key[0] is not None:
        _MEMORY[edge_index] = known
    return known


def _stamp(tensor: Tensor) -> int | None:
    """Return a number that changes with the contents of a tensor; none if it has no such number."""
    found = edges.fingerprint(tensor)
    return found if found is not None or tensor.is_inference() else tensor._version
