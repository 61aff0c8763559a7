"""Random pyramids for the tests of layers and networks: small graphs, pool maps between them, labels on their edges."""

from collections.abc import Sequence

import torch

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
            torch.randint(architecture.classes, (1,), generator=generator),
        )
        for n in sizes
    ]


def random_batch(written: str, sizes: Sequence[int], **options) -> Sample:
    """The same samples as one batch."""
    return collate(random_samples(written, sizes, **options))
