"""Pyramids of all graphs of a dataset, computed once by several processes and cached in a file (Section 3.5)."""

from __future__ import annotations

import hashlib
import json
import warnings
from collections.abc import Callable, Generator, Sequence
from contextlib import closing, suppress
from functools import partial
from itertools import pairwise
from pathlib import Path

import numpy as np
from jaxtyping import Int
from numpy import ndarray as Array
from safetensors import safe_open, SafetensorError
from safetensors.numpy import save
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from edgecond.data.graphs import Graphs, self_connected
from edgecond.data.processes import cores, mapped
from edgecond.data.pyramid.kron import multiresolutions, TRIES, WeightedGraph
from edgecond.data.samples import generator
from edgecond.data.samples.graphs import PackedLevel, Pyramids
from edgecond.files import cache_directory, replacing

VERSION = 2
"""Version of the pyramids, which changes when the same graphs and settings give different ones."""
CHUNKS = 256
"""Largest number of chunks of work, which take about the same time."""
FEW = 3000
"""Number of vertices below which more processes are not worthwhile."""

Progress = Callable[[int, int], None]  # number of graphs done, number of all graphs
Arrays = dict[str, Array]  # "h.name": attribute `name` of `PackedLevel` at level h
Work = Callable[[range], Arrays]  # computes the pyramids of some graphs


def pyramids(
    graphs: Graphs,
    levels: int,
    copies: int = 1,
    *,
    seed: int = 0,
    tries: int = TRIES,
    jobs: int | None = None,
    progress: Progress = lambda done, total: None,
    alone: bool = False,
) -> Pyramids:
    """Compute several pyramids of every graph of a dataset, or read them from the cache.

    The file is mapped into memory; its name depends on data and settings, and a damaged one is written again. Pyramids
    depend on graph, copy and seed only, not on the number of processes.

    Args:
        graphs: Graphs of the dataset.
        levels: Number of levels of each pyramid, including the input; with one there is nothing to compute.
        copies: Number of pyramids of each graph, which differ in their sparsification.
        seed: Random seed of the sparsification.
        tries: Largest number of draws until a sparsified graph is connected.
        jobs: Number of processes; the number of cores by default.
        progress: Function that is called with the number of finished graphs and of all graphs.
        alone: Compute the pyramids of each graph as if it were the only one, and do not cache them.
    """
    if levels == 1:  # the input alone, which is in the dataset
        return _packed_up(graphs, levels, copies, {})
    work = partial(_pyramids_of, graphs, levels, copies, seed, tries, alone)
    if alone:
        return _packed_up(graphs, levels, copies, _computed(graphs, work, jobs, progress))
    settings = {"version": VERSION, "levels": levels, "copies": copies, "seed": seed, "tries": tries}
    inputs = settings | {"data": graphs.digest, "sizes": graphs.sizes.tolist()}
    key = hashlib.sha256(json.dumps(inputs).encode()).hexdigest()
    path = cache_directory() / f"{graphs.name.lower()}-{key[:16]}.safetensors"
    arrays = _read(path, graphs, levels, copies)
    if arrays is None:
        arrays = _computed(graphs, work, jobs, progress)
        _write(path, arrays)
    return _packed_up(graphs, levels, copies, arrays)


def _packed_up(graphs: Graphs, levels: int, copies: int, arrays: Arrays) -> Pyramids:
    packed = [PackedLevel(**_level(arrays | _input(graphs), h)) for h in range(levels)]
    return Pyramids(graphs, copies, tuple(packed), _digest(arrays))


def _input(graphs: Graphs) -> Arrays:
    """Return the arrays of $G^{(0)}$ of all graphs."""
    graph = graphs.graph()
    first = np.repeat(graphs.vertex_pointer[:-1], graphs.sizes)
    source = graph.source.numpy() - first[graph.target.numpy()]
    assert graph.labels.index is not None
    values = graph.labels.index.numpy()
    return {"0.sizes": graphs.sizes, "0.degree": graph.degree.numpy(), "0.source": source, "0.values": values}


def _level(arrays: Arrays, h: int) -> Arrays:
    level = {name.split(".")[1]: values for name, values in arrays.items() if name.startswith(f"{h}.")}
    return {"pool_map": np.zeros(0, np.int32)} | level


# Computation


def _computed(graphs: Graphs, work: Work, jobs: int | None, progress: Progress) -> Arrays:
    """Compute the pyramids without their input graphs, which are in the dataset."""
    parts: list[Arrays] = []
    done = 0
    chunks = _chunks(graphs)
    with closing(_mapped(work, chunks, jobs or cores(), graphs)) as results:
        for chunk, arrays in zip(chunks, results, strict=True):
            parts.append(arrays)
            done += len(chunk)
            progress(done, len(graphs))
    return {name: np.concatenate([arrays[name] for arrays in parts]) for name in parts[0]} if parts else {}


def _chunks(graphs: Graphs) -> list[range]:
    """Divide the graphs into consecutive chunks that take about the same time."""
    cost = np.cumsum(graphs.sizes.astype(float) ** 1.5 + 10)
    cuts = np.unique(np.searchsorted(cost, np.linspace(0, cost[-1], CHUNKS + 1)[1:-1]))
    bounds = np.unique([0, *cuts, len(graphs)]).tolist()
    return [range(a, b) for a, b in pairwise(bounds)]


def _mapped(work: Work, chunks: Sequence[range], jobs: int, graphs: Graphs) -> Generator[Arrays, None, None]:
    if jobs == 1 or graphs.num_vertices < FEW:
        yield from map(work, chunks)
        return
    yield from mapped(work, chunks, jobs, partial(threadpool_limits, 1))


def _pyramids_of(
    graphs: Graphs, levels: int, copies: int, seed: int, tries: int, alone: bool, numbers: range
) -> Arrays:
    """Compute the pyramids of some graphs."""
    per_graph = []
    for number in numbers:
        graph = graphs[number]
        rngs = [generator(seed, 0 if alone else number, copy) for copy in range(copies)]
        per_graph.append(multiresolutions(graph.source, graph.target, graph.n, levels, rngs, tries=tries))
    arrays = {"0.pool_map": _row([several[0].pool_maps[0] for several in per_graph])}
    for h in range(1, levels):
        every = [copy for several in per_graph for copy in several]
        arrays |= {f"{h}.{name}": values for name, values in _packed([copy.levels[h] for copy in every]).items()}
        if h < levels - 1:
            arrays[f"{h}.pool_map"] = _row([copy.pool_maps[h] for copy in every])
    return arrays


def _packed(graphs: Sequence[WeightedGraph]) -> Arrays:
    """Pack coarse graphs side by side, adding self-connections of weight zero."""
    sizes = np.array([graph.n for graph in graphs], np.int32)
    counts = [len(graph.source) for graph in graphs]
    first = np.append(0, np.cumsum(sizes))
    target = np.concatenate([graph.target for graph in graphs]) + np.repeat(first[:-1], counts)
    pointer, place = self_connected(target, first[-1])
    source, weights = np.empty(pointer[-1], np.int32), np.zeros(pointer[-1], np.float32)
    source[place] = np.concatenate([graph.source for graph in graphs])
    source[pointer[1:] - 1] = np.arange(first[-1]) - np.repeat(first[:-1], sizes)
    weights[place] = np.concatenate([graph.weights for graph in graphs])
    return {"sizes": sizes, "degree": np.diff(pointer).astype(np.int32), "source": source, "values": weights}


def _row(parts: Sequence[Int[Array, " n"]]) -> Int[Array, " n"]:
    return np.concatenate(parts).astype(np.int32)


# Cache


def _digest(arrays: Arrays) -> str:
    total = hashlib.sha256()
    for name in sorted(arrays):
        total.update(f"{name} {arrays[name].dtype} {arrays[name].shape}\n".encode())
        total.update(np.ascontiguousarray(arrays[name]).data)
    return total.hexdigest()


def _read(path: Path, graphs: Graphs, levels: int, copies: int) -> Arrays | None:
    """Map the arrays of a file into memory; return None if it is missing, damaged, or not one of these pyramids."""
    if not path.is_file():
        return None
    with suppress(OSError, SafetensorError, TypeError, ValueError), safe_open(path, "pt") as file:
        # Torch tensors are mapped into memory; NumPy arrays would be read.
        arrays = {name: file.get_tensor(name).numpy() for name in file.keys()}  # noqa: SIM118 (not a dict)
        if (file.metadata() or {}).get("digest") == _digest(arrays) and _fits(arrays, graphs, levels, copies):
            return arrays
    return None


def _fits(arrays: Arrays, graphs: Graphs, levels: int, copies: int) -> bool:
    """Whether arrays have the names, types and lengths of pyramids of these graphs, and all their numbers in range.

    A hash in the file guards against damage, but anyone can write it.
    """
    names = [f"{h}.{name}" for h in range(1, levels) for name in ("sizes", "degree", "source", "values")]
    names += [f"{h}.pool_map" for h in range(levels - 1)]
    types = {name: np.float32 if name.endswith("values") else np.int32 for name in names}
    if {name: (array.dtype, array.ndim) for name, array in arrays.items()} != {
        name: (np.dtype(kind), 1) for name, kind in types.items()
    }:
        return False
    sizes = graphs.sizes
    for h in range(1, levels):
        coarser, degree, source = (arrays[f"{h}.{name}"] for name in ("sizes", "degree", "source"))
        if len(coarser) != len(graphs) * copies or not (coarser >= 0).all():
            return False
        # All copies share the first map.
        limits = coarser.reshape(len(graphs), copies).min(1) if h == 1 else coarser
        if not _in_range(arrays[f"{h - 1}.pool_map"], sizes, limits):
            return False
        if len(degree) != coarser.sum(dtype=np.int64) or not (degree > 0).all():
            return False
        edges = np.add.reduceat(np.append(degree, 0), _first(coarser), dtype=np.int64) * (coarser > 0)
        values = arrays[f"{h}.values"]
        if not _in_range(source, edges, coarser) or len(values) != len(source) or not np.isfinite(values).all():
            return False
        sizes = coarser
    return True


def _in_range(index: Int[Array, " n"], counts: Int[Array, " graphs"], limits: Int[Array, " graphs"]) -> bool:
    """Whether there are `counts` numbers for each graph, from 0 up to the limit of that graph."""
    if len(index) != counts.sum(dtype=np.int64):
        return False
    return bool(((index >= 0) & (index < np.repeat(limits, counts))).all())


def _first(sizes: Int[Array, " graphs"]) -> Int[Array, " graphs"]:
    return np.cumsum(sizes, dtype=np.int64) - sizes


def _write(path: Path, arrays: Arrays) -> None:
    """Write the arrays completely or not at all; where they cannot be written, warn."""
    try:
        with replacing(path) as file:
            file.write(save(arrays, {"digest": _digest(arrays)}))
    except OSError as error:
        warnings.warn(
            f"pyramids are kept in {path.parent}, which cannot be written ({error.strerror}): they will be computed "
            "again next time. Set EDGECOND_CACHE to another directory.",
            stacklevel=3,
        )
