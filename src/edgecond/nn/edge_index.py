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
from edgecond.graph.transforms import abstract, ordinary_tensors


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


def graph_of_call(
    source: Float[Tensor, "n_src d_in"],
    target: Float[Tensor, "n d"] | None,
    edge_index: Int[Tensor, "2 m"],
    edge_attr: Float[Tensor, "m s"] | Float[Tensor, " m"] | None,
    size: tuple[int | None, int | None] | None,
) -> Graph:
    """Return the graph that the arguments of a layer of PyG stand for.

    Args:
        source: Signal on the sources.
        target: Signal on the targets; the same tensor if there is one set of vertices.
        edge_index: Edges, as a tensor or as an `EdgeIndex`, whose own size takes precedence over `size`, as in PyG.
        edge_attr: Labels.
        size: Numbers of sources and targets; none stands for the rows of a signal.
    """
    dense = isinstance(edge_index, Tensor) and edge_index.layout is torch.strided
    if not dense or edge_index.dim() != 2 or edge_index.shape[0] != 2:
        kind = f"a sparse {type(edge_index).__name__}" if hasattr(edge_index, "layout") else type(edge_index).__name__
        found = tuple(edge_index.shape) if dense else kind
        raise ValueError(f"the edges must be a Graph or an edge_index of shape (2, edges): got {found}.")
    if edge_index.dtype not in (torch.int64, torch.int32):
        raise ValueError(f"edge_index must hold the numbers of vertices as int64 or int32: got {edge_index.dtype}.")
    if edge_attr is None:
        raise ValueError("edge-conditioned convolution needs labels: pass edge_attr, one row per edge.")
    if not isinstance(edge_attr, Tensor):
        raise ValueError(f"edge_attr must be a tensor with a row for each edge: got a {type(edge_attr).__name__}.")
    if size is not None and (not isinstance(size, tuple | list) or len(size) != 2):
        raise ValueError(f"size must be a pair, the numbers of sources and targets: got {size!r}.")
    rows = source.shape[0], None if target is None or target is source else target.shape[0]
    size = (None, None) if size is None else size
    if _is_edge_index(edge_index):
        size = edge_index.sparse_size()  # type: ignore[attr-defined]
    if any(a is not None and b is not None and a != b for a, b in zip(size, rows, strict=True)):
        raise ValueError(
            f"size must be the numbers of rows of the signals of sources and targets: got {tuple(size)} for {rows}."
        )
    num_vertices = next(n for n in (size[1], rows[1], rows[0]) if n is not None)
    one_set = target is source and num_vertices == rows[0]
    return graph_of(edge_index, edge_attr, num_vertices=num_vertices, num_sources=None if one_set else rows[0])


def graph_of(
    edge_index: Int[Tensor, "2 m"],
    edge_attr: Float[Tensor, "m s"] | Float[Tensor, " m"],
    *,
    num_vertices: int,
    num_sources: int | None = None,
) -> Graph:
    """Return the graph of an `edge_index` and its labels; sorting and analysis are remembered.

    Args:
        edge_index: Sources in the first row, targets in the second, in any order. The order that an `EdgeIndex` of PyG
            has computed is used, if it is one by target.
        edge_attr: Labels in the same order, a vector for those of width 1. If few are distinct, $F$ is evaluated once
            for each (footnote 1).
        num_vertices: Number of targets.
        num_sources: Number of sources of a bipartite graph.
    """
    rows = edge_attr[:, None] if edge_attr.dim() == 1 else edge_attr
    if abstract(_plain(edge_index)) or abstract(edge_attr):
        source, target = _plain(edge_index).long()
        return Graph.from_edges(source, target, rows, num_vertices=num_vertices, num_sources=num_sources)
    known = _sorted(edge_index, num_vertices, num_sources)
    order = known.graph.labels.index
    assert order is not None
    stamp = None if edge_attr.requires_grad else _stamp(edge_attr)
    seen = known.labelled.get(edge_attr)
    if seen is None or stamp is None or seen[0] != stamp:
        with ordinary_tensors():
            labels = Labels.distinct(rows)
            checked = known.graph.with_labels(labels)
            seen = stamp or 0, checked.with_labels(labels.at(order), check=False) if labels.shared else None
        if stamp is not None:
            known.labelled[edge_attr] = seen
    _, graph = seen
    return known.graph.with_labels(Labels(rows, order), check=False) if graph is None else graph


def _sorted(edge_index: Tensor, num_vertices: int, num_sources: int | None) -> _Remembered:
    """Return the sorted edges, from memory if they have not changed."""
    plain = _plain(edge_index)
    key = (_stamp(plain), num_vertices, num_sources)
    known = _MEMORY.get(plain)
    if known is not None and known.key == key and key[0] is not None:
        return known
    with ordinary_tensors():
        known = _Remembered(key, _sort(edge_index, num_vertices, num_sources))
    if key[0] is not None:
        _MEMORY[plain] = known
    return known


def _sort(edge_index: Tensor, num_vertices: int, num_sources: int | None) -> Graph:
    """Sort the edges, or use an order by target that an `EdgeIndex` has; their labels are their positions."""
    ends = _plain(edge_index).long()
    m, device = ends.shape[1], ends.device
    # A counting sort is several times faster than gathering edges in a known order.
    order, other = (None, None) if edges.native(ends) else _orders_of(edge_index)
    positions = torch.arange(m, device=device) if order is None else order
    source, target = ends.detach().clone() if order is None else ends[:, order]  # a view would keep the tensor alive
    graph = Graph.from_edges(
        source,
        target,
        Labels(torch.empty(m, 0, device=device), positions),
        num_vertices=num_vertices,
        num_sources=num_sources,
        is_sorted=order is not None or getattr(edge_index, "is_sorted_by_col", False),
    )
    if other is not None:
        graph.remember_by_source(other)
    return graph


def _orders_of(edge_index: Tensor) -> tuple[Tensor | None, Tensor | None]:
    """Return the orders that an `EdgeIndex` has computed: of its edges by target, and of those by source.

    PyG keeps the order by one end of edges that are sorted by the other.
    """
    order = getattr(edge_index, "_T_perm", None)
    if order is None:
        return None, None
    order = order.long()
    if getattr(edge_index, "is_sorted_by_col", False):
        return None, order
    inverse = torch.empty_like(order)
    inverse[order] = torch.arange(len(order), device=order.device)
    return order, inverse


def _is_edge_index(edges: Tensor) -> bool:
    """Return whether edges are an `EdgeIndex`, without importing PyG."""
    return hasattr(edges, "sparse_size") and hasattr(edges, "as_tensor")


def _plain(edge_index: Tensor) -> Tensor:
    """Return the tensor in an `EdgeIndex`, or the tensor itself."""
    return edge_index.as_tensor() if _is_edge_index(edge_index) else edge_index  # type: ignore[attr-defined]


def _stamp(tensor: Tensor) -> int | None:
    """Return a number that changes with the contents of a tensor; none if it has no such number."""
    found = edges.fingerprint(tensor)
    return found if found is not None or tensor.is_inference() else tensor._version
