"""Random pyramids for the tests of layers and networks: small graphs, pool maps between them, labels on their edges."""

from collections.abc import Sequence

import numpy as np
import torch
import torch.utils._pytree as pytree

from edgecond.data.graphs import Graphs
from edgecond.graph import collate, Graph, Labels, Pyramid, Sample
from edgecond.notation import Architecture


def random_pyramid(
    n: int, widths: Sequence[int], generator: torch.Generator, *, categorical: int = 0, strided: bool = False
) -> Pyramid:
    """Graphs of n, n/2, ... vertices with self-loops, and labels of the given width at each level.

    Labels of the first `categorical` levels are one-hot. The last graph of a strided pyramid sends all vertices
    of its level to a single one (Section 4.4).
    """
    graphs, pool_maps = [], []
    for level, width in enumerate(widths):
        if level:
            finer, n = n, max(1, n // 2)
            pool_maps.append(torch.randint(n, (finer,), generator=generator))
        if strided and level == len(widths) - 1:
            source, target, count, sources = torch.arange(n), torch.zeros(n, dtype=torch.long), 1, n
        else:
            loops, ends = torch.arange(n), torch.randint(n, (2, 2 * n), generator=generator)
            source, target = torch.cat([loops, ends[0]]), torch.cat([loops, ends[1]])
            count, sources = n, None
        m = len(source)
        labels = (
            Labels.one_hot(torch.randint(width, (m,), generator=generator), width)
            if level < categorical
            else Labels(torch.randn(m, width, generator=generator))
        )
        graphs.append(Graph.from_edges(source, target, labels, num_vertices=count, num_sources=sources))
    return Pyramid(tuple(graphs), tuple(pool_maps))


def random_samples(
    written: str, sizes: Sequence[int], *, d0: int, s: int | Sequence[int], categorical: int = 0, seed: int = 0
) -> list[Sample]:
    """One sample of each size for the network that the paper writes so."""
    architecture = Architecture(written)
    widths = [s] * architecture.resolutions if isinstance(s, int) else s
    generator = torch.Generator().manual_seed(seed)
    return [
        Sample(
            torch.randn(n, d0, generator=generator),
            random_pyramid(n, widths, generator, categorical=categorical, strided=architecture.strided),
            torch.randint(architecture.classes, (n if architecture.per_vertex else 1,), generator=generator),
        )
        for n in sizes
    ]


def random_batch(written: str, sizes: Sequence[int], **options) -> Sample:
    """The same samples as one batch."""
    return collate(random_samples(written, sizes, **options))


def same(one: Sample | Graph, other: Sample | Graph) -> bool:
    """Whether two samples or graphs agree in every number, the labels edge by edge."""
    leaves = [
        pytree.tree_leaves(pytree.tree_map(_edge_by_edge, sample, is_leaf=lambda part: isinstance(part, Labels)))
        for sample in (one, other)
    ]
    return all(a is b is None or a.equal(b) for a, b in zip(*leaves, strict=True))


def _edge_by_edge(part: Labels | torch.Tensor) -> torch.Tensor:
    return part.per_edge(part.values) if isinstance(part, Labels) else part


def random_graphs(sizes: Sequence[int], *, labels: int = 3, seed: int = 0) -> Graphs:
    """Graphs of each size with half as many edges again as vertices, some vertices alone; labels and classes cycle."""
    rng = np.random.default_rng(seed)
    ends = []
    for n in sizes:
        one, other = rng.integers(n, size=(2, n + n // 2))
        low, high = np.minimum(one, other), np.maximum(one, other)
        pairs = np.unique(np.stack([low, high])[:, low < high], axis=1)
        source, target = np.concatenate([pairs, pairs[::-1]], axis=1)
        order = np.lexsort((source, target))
        ends.append((source[order], target[order]))
    m, total = [len(source) for source, _ in ends], sum(sizes)
    source, target = (np.concatenate(part) for part in zip(*ends, strict=True))
    return Graphs(
        "random",
        np.arange(len(sizes)) % 2,
        np.arange(2),
        np.append(0, np.cumsum(sizes)),
        np.append(0, np.cumsum(m)),
        source,
        target,
        np.arange(total) % 4,
        np.arange(4),
        (source + target) % max(labels, 1),
        np.arange(labels),
        np.zeros((total, 0)),
        np.zeros((sum(m), 0)),
        np.zeros((len(sizes), 0)),
        f"seed {seed}, sizes {list(sizes)}",
    )
