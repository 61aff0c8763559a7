"""Sorting edges by vertex and finding distinct labels: in C++ on a CPU, else with torch (Section 3.1, footnote 1)."""

from __future__ import annotations

import os
from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor

from edgecond.graph.transforms import abstract

try:
    if os.environ.get("EDGECOND_NATIVE") == "0":
        raise ImportError
    from edgecond.graph import _edges as _extension
except ImportError:
    _extension = None  # type: ignore[assignment]


class Sorted(NamedTuple):
    """Edges in the ascending order of the vertex at one end; equal ones keep their order.

    Attributes:
        vertex: That vertex of each edge.
        other: The vertex at the other end of each edge.
        order: Position of each edge before sorting.
        pointer: Position of the first edge of each vertex.
    """

    vertex: Int[Tensor, " m"]
    other: Int[Tensor, " m"]
    order: Int[Tensor, " m"]
    pointer: Int[Tensor, " n+1"]


def sort(vertex: Int[Tensor, " m"], other: Int[Tensor, " m"], count: int) -> Sorted:
    """Sort edges by a vertex from 0 to `count` - 1: a counting sort on a CPU, in O(m + n)."""
    if native(vertex) and native(other):
        m = len(vertex)
        found = Sorted(_new(m), _new(m), _new(m), _new(count + 1))
        arrays = (vertex, other, found.pointer, found.order, found.vertex, found.other)
        if _extension.sort(*(tensor.contiguous().numpy() for tensor in arrays)):
            return found
    ordered, order = torch.sort(vertex, stable=True)
    return Sorted(ordered, other[order], order, pointer(ordered, count))


def pointer(rows: Int[Tensor, " m"], count: int) -> Int[Tensor, " r+1"]:
    """Return the position of the first entry of each row, given sorted row numbers."""
    return torch.searchsorted(rows, torch.arange(count + 1, device=rows.device))


def distinct(rows: Float[Tensor, "m s"], most: int) -> tuple[Int[Tensor, " u"], Int[Tensor, " m"]] | None:
    """Return the first of each set of equal rows, and the number of each row's set; None if there are more than `most`.

    On a CPU only, by hashing, in O(m s); it stops where it finds one too many, so that continuous labels cost nothing.
    """
    if not native(rows):
        return None
    rows = rows.detach().contiguous()
    index, first = _new(len(rows)), _new(min(most, len(rows)))
    count = _extension.distinct(rows.view(torch.uint8).numpy(), index.numpy(), first.numpy())
    return None if count < 0 else (first[:count], index)


def fingerprint(tensor: Tensor) -> int | None:
    """Return a number that changes if the contents of a tensor change; None where it would make a device wait."""
    if not native(tensor):
        return None
    found: int = _extension.fingerprint(tensor.detach().contiguous().view(-1).view(torch.uint8).numpy())
    return found


def finite(tensor: Tensor) -> bool:
    """Return whether no number of a tensor is infinite or NaN."""
    if native(tensor) and tensor.dtype in (torch.float32, torch.float64):
        return bool(_extension.finite(tensor.detach().contiguous().numpy(), tensor.dtype == torch.float64))
    return bool(tensor.isfinite().all())


def native(tensor: Tensor) -> bool:
    """Return whether the C++ functions can read a tensor: not on another device, nor while torch traces."""
    plain = type(tensor) in (Tensor, torch.nn.Parameter) and tensor.device.type == "cpu"
    return _extension is not None and plain and not abstract(tensor)


def _new(count: int) -> Int[Tensor, " count"]:
    return torch.empty(count, dtype=torch.long)
