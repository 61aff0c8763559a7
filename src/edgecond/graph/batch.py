"""Batches: the graphs of several samples side by side in one larger graph."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from edgecond.graph.graph import Graph
from edgecond.graph.labels import Labels
from edgecond.graph.pyramid import Pyramid, Sample


def collate(samples: Sequence[Sample]) -> Sample:
    """Join samples into one batch: graphs side by side, with their vertices renumbered."""
    if not samples:
        raise ValueError("a batch needs at least one sample: got none.")
    heights = {len(sample.pyramid) for sample in samples}
    if len(heights) > 1:
        raise ValueError(
            f"the pyramids of a batch must all have the same number of levels: got {sorted(heights)} levels."
        )
    graphs = tuple(_join(level) for level in zip(*[sample.pyramid.graphs for sample in samples], strict=True))
    maps = zip(*[sample.pyramid.pool_maps for sample in samples], strict=True)
    pool_maps = tuple(
        _shift(level, [sample.pyramid.graphs[h].num_sources for sample in samples]) for h, level in enumerate(maps, 1)
    )
    x, y = torch.cat([sample.x for sample in samples]), torch.cat([sample.y for sample in samples])
    voxels = [sample.voxel for sample in samples if sample.voxel is not None]
    voxel = _shift(voxels, [len(sample.x) for sample in samples]) if voxels else None
    weights = [sample.weights for sample in samples if sample.weights is not None]
    return Sample(
        x,
        Pyramid(graphs, pool_maps),
        y,
        voxel,
        _join_features([sample.features for sample in samples]),
        torch.cat(weights) if weights else None,
    )


def _join(graphs: Sequence[Graph]) -> Graph:
    """Put graphs side by side; the result is sorted because each of them is."""
    vertices, sources = [g.num_vertices for g in graphs], [g.num_sources for g in graphs]
    edges = _shift([g.pointer[1:] for g in graphs], [g.num_edges for g in graphs])
    return Graph(
        _shift([g.source for g in graphs], sources),
        _shift([g.target for g in graphs], vertices),
        torch.cat([edges.new_zeros(1), edges]),
        _join_labels([g.labels for g in graphs]),
        torch.cat([g.sizes for g in graphs]),
        None
        if all(g.source_membership is None for g in graphs)
        else _shift([g.membership_of_sources for g in graphs], [g.num_graphs for g in graphs]),
    )


def _join_features(parts: Sequence[Tensor | None]) -> Tensor | None:
    """Concatenate features, which all samples of a batch have, or none."""
    given = [part for part in parts if part is not None]
    widths = {0 if part is None else part.shape[1] for part in parts}
    if len(widths) > 1:
        raise ValueError(f"the samples of a batch need features of the same width: got widths {sorted(widths)}.")
    return torch.cat(given) if given else None


def _join_labels(parts: Sequence[Labels]) -> Labels:
    """Concatenate labels; if all parts have the same distinct labels, these are kept once."""
    widths = {part.width for part in parts}
    if len(widths) > 1:
        raise ValueError(
            f"the graphs of a batch need labels of the same width at each level: got widths {sorted(widths)}."
        )
    if all(part.index is None for part in parts):
        return Labels(torch.cat([part.values for part in parts]))
    first = parts[0].values
    if all(part.index is not None and (part.values is first or part.values.equal(first)) for part in parts):
        return Labels(first, torch.cat([part.index for part in parts if part.index is not None]))
    indices = [torch.arange(len(p), device=first.device) if p.index is None else p.index for p in parts]
    return Labels(torch.cat([part.values for part in parts]), _shift(indices, [len(part.values) for part in parts]))


def _shift(parts: Sequence[Tensor], sizes: Sequence[int]) -> Tensor:
    """Concatenate indices, each part offset by the sizes of the parts before it."""
    offsets = [0]
    for size in sizes[:-1]:
        offsets.append(offsets[-1] + size)
    return torch.cat([part + offset for part, offset in zip(parts, offsets, strict=True)])
