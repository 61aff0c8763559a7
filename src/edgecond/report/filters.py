"""Images of the filters of the first layer: F over offsets (Section 4.4), or for categorical labels."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import torch
from jaxtyping import Float
from numpy import ndarray as Array
from torch import Tensor

from edgecond.data.kinds.pictures import CommonLabels, FilterLabels, OffsetLabels
from edgecond.data.labels import label_offsets
from edgecond.data.samples.clouds import Builder
from edgecond.nn.layers import ECConv
from edgecond.report.figures import images, matrix, numbers, Panel
from edgecond.runs.model import Model

SHOWN = 16
"""Largest number of pairs of channels that are shown: the strongest. The paper shows all 16 of C(16)."""
FINE = 41
"""Number of samples along a side of the fine grid: steps of 0.1 for offsets from -2 to 2, as in the paper."""


def theta(model: Model, labels: Float[Tensor, "u s"]) -> Float[Array, "u d_out d_in"]:
    """Return the filters of the first convolution for some labels."""
    first = next(layer for layer in model.network.modules() if isinstance(layer, ECConv))
    with torch.no_grad():
        return first.filters(labels).view(-1, first.d_out, first.d_in).numpy()


def panels(model: Model, labels: FilterLabels) -> tuple[str, list[Panel]]:
    """Return a sentence and images of the filters: on a slice through the offsets, or for each of some labels."""
    match labels:
        case OffsetLabels(builder):
            lead = (
                "The filters that the filter network F of the first layer generates from edge labels. Red weights are "
                "positive, blue ones negative. The number above an image is the output channel, or input → output "
                "where there are several inputs."
            )
            return lead, _over_offsets(model, builder)
        case CommonLabels():
            lead = (
                "The filter that the filter network F of the first layer generates from each of the most common edge "
                "labels. Red weights are positive, blue ones negative."
            )
            return lead, _per_label(model, labels)


def slice_of(builder: Builder, side: int) -> tuple[Float[Array, " side"], Float[Tensor, "side*side 3"]]:
    r"""Return coordinates along a grid, and its offsets $(\delta_x, \delta_y, 0)$, $\delta_y$ growing row by row."""
    resolution, radius = builder.resolutions[0]
    along = np.linspace(-1, 1, side) * reach(resolution, radius)
    y, x = np.meshgrid(along, along, indexing="ij")
    offsets = np.stack([x, y, np.zeros_like(x)], axis=2).reshape(-1, 3)
    return along, torch.from_numpy(offsets).float()


def reach(resolution: float | None, radius: float) -> float:
    """Return the largest multiple of the resolution within the radius; the radius itself without a resolution."""
    return radius if resolution is None else resolution * max(1, math.floor(radius / resolution + 1e-6))


def sampled(model: Model, builder: Builder, offsets: Float[Tensor, "u 3"]) -> Float[Array, "u d_out d_in"]:
    """Return the filters for some offsets; NaN beyond the radius, and for offsets without a one-hot label."""
    inside = offsets.norm(dim=1) <= builder.resolutions[0][1] * (1 + 1e-5)
    known = None if builder.known is None else builder.known[0]
    if known is not None:
        inside &= torch.cdist(offsets, known).min(1).values < 1e-4 * float(known.norm(dim=1).max())
    labels = label_offsets(builder.labelling, offsets[inside], known=known)
    found = theta(model, labels.per_edge(labels.values))
    filters = np.full((len(offsets), *found.shape[1:]), np.nan)
    filters[inside.numpy()] = found
    return filters


def strongest(filters: Float[Array, "u d_out d_in"]) -> list[tuple[int, int]]:
    """Return the pairs of output and input channel with the largest sums of squares, in order; all if they are few."""
    strength = np.nansum(filters**2, axis=0)
    chosen = np.sort(np.argsort(-strength, axis=None, kind="stable")[:SHOWN])
    return [divmod(int(pair), filters.shape[2]) for pair in chosen]


def _over_offsets(model: Model, builder: Builder) -> list[Panel]:
    resolution, radius = builder.resolutions[0]
    steps = 2 if resolution is None else min(10, round(reach(resolution, radius) / resolution))
    grids = {2 * steps + 1: "in whole steps of the grid", FINE: "in fine steps"}
    if builder.known is not None:
        grids.pop(FINE)  # one-hot labels exist for the offsets of the grid only
    found = {side: sampled(model, builder, slice_of(builder, side)[1]) for side in grids}
    pairs = strongest(found[max(found)])
    limit = _limit(list(found.values()))
    shown = []
    for side, filters in found.items():
        along = numbers(slice_of(builder, side)[0])
        stack = np.stack([filters[:, o, i].reshape(side, side) for o, i in pairs])
        names = [f"{i} → {o}" if filters.shape[2] > 1 else f"{o}" for o, i in pairs]
        hover = "δx %{x}, δy %{y}: %{z}"
        caption = (
            f"Filters for offsets δx and δy from {along[0]:g} to {along[-1]:g} at δz = 0, {grids[side]}; "
            f"{_of_all(len(pairs), filters[0].size)}."
        )
        shown.append(Panel(images(stack, names, along, along, limit, hover), caption))
    return shown


def _of_all(shown: int, count: int) -> str:
    return f"all {count} pairs of channels" if shown == count else f"the strongest {shown} of {count} pairs of channels"


def _per_label(model: Model, labels: CommonLabels) -> list[Panel]:
    filters = theta(model, labels.values)
    return [
        Panel(matrix(one, _limit([filters])), f"{name}: {100 * share:.3g} % of the edges.", 0.9)
        for one, name, share in zip(filters, labels.names, labels.shares.tolist(), strict=True)
    ]


def _limit(filters: Sequence[Array]) -> float:
    """Return the largest absolute value."""
    return max(float(np.nanmax(np.abs(part))) for part in filters) or 1.0
