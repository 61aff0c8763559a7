r"""Edge labels $L(j,i)$ by name.

Labels of point clouds are functions of the offset of two points (Section 3.4, Appendix D); labels of general graphs are
categories, weights from Kron reduction, and functions of vertex degrees (Sections 3.5 and 4.3, Appendix F).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import torch
from jaxtyping import Float, Int
from numpy import ndarray as Array
from scipy.spatial import cKDTree
from torch import Tensor

from edgecond.data.pyramid import Levels
from edgecond.graph import Graph, Labels

Offsets = Float[Tensor, "m 3"]

# Angles are computed by atan2, which covers all four quadrants and is 0 for a self-loop: atan2(||δ_xy||, δ_z) equals
# arccos(δ_z / ||δ||) and is accurate near the poles too.
_ELEMENTS: dict[str, Callable[[Array, Array, Array, Array], Array]] = {
    "δx": lambda x, y, z, xy: x,
    "δy": lambda x, y, z, xy: y,
    "δz": lambda x, y, z, xy: z,
    "||δxy||": lambda x, y, z, xy: xy,
    "||δ||": lambda x, y, z, xy: _length(xy, z),
    "arccos δz/||δ||": lambda x, y, z, xy: _angle(xy, z),
    "arccos δz/(||δ||+1e-6)": lambda x, y, z, xy: np.arccos(z / (_length(xy, z) + np.float32(1e-6))),
    "arctan δy/δx": lambda x, y, z, xy: _angle(y, x),
    "0": lambda x, y, z, xy: np.zeros_like(x),
}

LABELLINGS: dict[str, tuple[str, ...]] = {
    "cartesian+spherical": ("δx", "δy", "δz", "||δ||", "arccos δz/||δ||", "arctan δy/δx"),
    "cartesian": ("δx", "δy", "δz"),
    "spherical": ("||δ||", "arccos δz/||δ||", "arctan δy/δx"),
    "irz-all": ("||δxy||", "δz", "||δ||", "arccos δz/||δ||"),
    "irz-cylindrical": ("||δxy||", "δz"),
    "irz-spherical": ("||δ||", "arccos δz/||δ||"),
    "distance": ("||δ||",),
    "none": ("0",),
    "released": ("δx", "δy", "δz", "||δ||", "arccos δz/(||δ||+1e-6)", "arctan δy/δx"),
}
"""Elements of each labelling in the order of the table of Appendix D; irz is invariant to rotation about z.

"released" is that of the authors' released code, where the inclination of a self-loop is π/2 and not 0.
"""


_DEGREES: dict[str, Callable[[Tensor], Tensor]] = {
    "1/sqrt(deg)": lambda degree: degree.rsqrt(),
    "1/deg": lambda degree: 1 / degree,
    "sqrt(deg)": lambda degree: degree.sqrt(),
    "deg": lambda degree: degree,
}
"""Functions $L_{deg}$ of Appendix F."""

GRAPH_LABELLINGS = ("given", *[f"given+{name}" for name in _DEGREES], "uniform")
"""Labellings of general graphs: the labels of the dataset, with or without degrees, or one label for all edges."""

SELF_CONNECTION = -1.0
"""Label of self-connections on coarse levels, which differs from all edges because their weights are positive."""


def check_labelling(labelling: str, graphs: bool = False) -> None:
    """Check the name of a labelling: one of `LABELLINGS` or "one-hot" for clouds, of `GRAPH_LABELLINGS` for graphs."""
    names = GRAPH_LABELLINGS if graphs else (*LABELLINGS, "one-hot")
    if labelling not in names:
        raise ValueError(f"a labelling must be one of {', '.join(names)}: got {labelling!r}.")


def label_offsets(
    labelling: str, offsets: Offsets, *, compact: bool = False, known: Float[Tensor, "u 3"] | None = None
) -> Labels:
    r"""Compute the labels of edges with offsets $\delta = p_j - p_i$.

    Args:
        labelling: Name of the labelling, one of `LABELLINGS` or "one-hot".
        offsets: Offset $\delta$ of each edge.
        compact: Label each distinct offset once (footnote 1) if that at least halves the labels, as for points of a
            grid.
        known: Offsets that have an element each in "one-hot" labels, which are always compact; see `distinct_offsets`.
    """
    if labelling == "one-hot":
        return _one_hot(offsets, known)
    check_labelling(labelling)
    rows, index = _distinct(offsets) if compact else (offsets, None)
    if 2 * len(rows) > len(offsets):
        rows, index = offsets, None
    return Labels(_values(LABELLINGS[labelling], rows), index)


def label_edges(
    labelling: str, levels: Levels, *, compact: bool = False, known: Sequence[Float[Tensor, "u 3"]] | None = None
) -> tuple[Labels, ...]:
    """Compute the labels of the edges of each level; see `label_offsets`."""
    known_offsets = [None] * len(levels.levels) if known is None else known
    return tuple(
        label_offsets(labelling, level.offsets, compact=compact, known=offsets)
        for level, offsets in zip(levels.levels, known_offsets, strict=True)
    )


def distinct_offsets(levels: Levels) -> tuple[Float[Tensor, "u 3"], ...]:
    """Return the sorted offsets of each level of a cloud on a complete grid: the elements of one-hot labels."""
    return tuple(_distinct(level.offsets)[0] for level in levels.levels)


def label_graph(labelling: str, graph: Graph) -> Graph:
    r"""Replace the labels of a general graph with self-connections by those of a labelling.

    "given" keeps the labels, one-hot categories or the weights of `kron_labels`. "given+deg" and similar append
    $L_{deg}(j)$ and $L_{deg}(i)$, with $\mathrm{deg}(i) = |N(i)|$ (Appendix F). "uniform" sets all labels to one, so
    that with a single-layer $F$ all edges have the same filter (Section 4.3).
    """
    check_labelling(labelling, graphs=True)
    if labelling == "uniform":
        return replace(graph, labels=Labels(torch.ones(1, 1), torch.zeros_like(graph.source)))
    if labelling == "given":
        return graph
    degree, given = graph.degree, graph.labels
    ends = torch.stack([degree[graph.source], degree[graph.target]], dim=1)  # deg(j), deg(i)
    index, rows = None, given.values
    if given.index is not None:
        most = int(degree.max()) + 1 if len(degree) else 1
        key = (given.index * most + ends[:, 0]) * most + ends[:, 1]
        key, index = torch.unique(key, return_inverse=True)
        rows, ends = rows[key // most**2], torch.stack([key // most % most, key % most], dim=1)
    function = _DEGREES[labelling.removeprefix("given+")]
    return replace(graph, labels=Labels(torch.cat([rows, function(ends.to(rows.dtype))], dim=1), index))


def kron_labels(weights: Float[Tensor, " m"], source: Int[Tensor, " m"], target: Int[Tensor, " m"]) -> Labels:
    """Return the labels of a coarse graph: the weights of its edges, and `SELF_CONNECTION`."""
    return Labels(torch.where(source == target, SELF_CONNECTION, weights)[:, None])


def _distinct(offsets: Offsets) -> tuple[Float[Tensor, "u 3"], Int[Tensor, " m"]]:
    """Return the sorted offsets that differ by more than a millionth of the longest, and the index of each edge."""
    longest = float(offsets.abs().max()) if len(offsets) else 0.0
    steps = np.rint(offsets.numpy().astype(float) * ((2**20 - 1) / (longest or 1))).astype(np.int64) + 2**20
    key = steps[:, 0] << 42 | steps[:, 1] << 21 | steps[:, 2]
    _, first, index = np.unique(key, return_index=True, return_inverse=True)
    return offsets[torch.from_numpy(first)], torch.from_numpy(index)


def _one_hot(offsets: Offsets, known: Float[Tensor, "u 3"] | None) -> Labels:
    """Return one unit vector per known offset: with a single-layer F, a convolution on a grid (Section 3.2)."""
    if known is None:
        raise ValueError("one-hot labels need the offsets of the grid: got none. Pass those of distinct_offsets.")
    rows, index = _distinct(offsets)
    distance, number = cKDTree(known.numpy()).query(rows.numpy())
    unknown = distance > 1e-4 * float(known.norm(dim=1).max())
    if unknown.any():
        raise ValueError(
            f"one-hot labels need offsets of a grid: found {rows[int(unknown.argmax())].tolist()}, "
            f"which is none of the {len(known)} known. Use another labelling for points off the grid."
        )
    return Labels.one_hot(torch.from_numpy(number)[index], len(known))


def _values(elements: Sequence[str], offsets: Offsets) -> Float[Tensor, "m s"]:
    """Compute the elements of all labels, in blocks that fit the cache and are padded to whole vector registers.

    Without padding, the last bit of the remaining angles would differ, depending on the number of threads.
    """
    columns, vector, block = offsets.numpy().T, 64, 16_384
    values = np.empty((len(offsets), len(elements)), columns.dtype)
    padded = np.zeros((3, block), columns.dtype)
    for start in range(0, len(values), block):
        rows = values[start : start + block]
        padded[:, : len(rows)] = columns[:, start : start + block]
        x, y, z = padded[:, : len(rows) + -len(rows) % vector]
        xy = _length(x, y)
        for column, element in enumerate(elements):
            rows[:, column] = _ELEMENTS[element](x, y, z, xy)[: len(rows)]
    return torch.from_numpy(values)


def _length(x: Array, y: Array) -> Array:
    return torch.from_numpy(x * x + y * y).sqrt_().numpy()


def _angle(y: Array, x: Array) -> Array:
    return torch.atan2(torch.from_numpy(y), torch.from_numpy(x)).numpy()  # many times faster than NumPy
