"""Pyramids of all graphs of a dataset: computed once, by several processes, and kept in a file (Section 3.5)."""

from __future__ import annotations

import hashlib
import json
import os
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import suppress
from functools import partial
from itertools import pairwise
from multiprocessing import get_context
from pathlib import Path

import numpy as np
from jaxtyping import Int
from numpy import ndarray as Array
from safetensors import safe_open, SafetensorError
from safetensors.numpy import save
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from edgecond.data.graphs import Graphs, self_connected
from edgecond.data.pyramid.kron import multiresolutions, TRIES, WeightedGraph
from edgecond.data.samples import generator
from edgecond.data.samples.graphs import PackedLevel, Pyramids
from edgecond.files import cache_directory, replacing

VERSION = 2
"""Of the pyramids: it changes when the same graphs and settings give others."""
CHUNKS = 256
"""Pieces of work at most, nearly equal."""
FEW = 3000
"""Vertices that are not worth another process."""

Progress = Callable[[int, int], None]  # graphs done, of all
Arrays = dict[str, Array]  # "h.name": what `PackedLevel` calls name at level h
Work = Callable[[range], Arrays]  # the pyramids of some graphs


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
    """Several pyramids of every graph of a dataset, from the cache if they are there.

    The file is mapped into memory, and its name tells data and settings; one that is damaged is written again.
    Pyramids depend on graph, copy and seed alone, not on the number of processes.

    Args:
        graphs: The dataset.
        levels: Of each pyramid, the input among them.
        copies: Pyramids of each graph, which differ in their sparsification.
        seed: What the sparsifications depend on.
        tries: Draws of a sparsified graph until it is connected, at most.
        jobs: Processes that compute; as many as there are cores by default.
        progress: Called with the number of graphs that are done, and of all.
        alone: Each graph has the pyramids that it would have if it were the only one, and no file is kept.
    """
    work = partial(_pyramids_of, graphs, levels, copies, seed, tries, alone)
    if alone:
        return _packed_up(graphs, levels, copies, _computed(graphs, work, jobs, progress))
    settings = {"version": VERSION, "levels": levels, "copies": copies, "seed": seed, "tries": tries}
    made_of = settings | {"data": graphs.digest, "sizes": graphs.sizes.tolist()}
    key = hashlib.sha256(json.dumps(made_of).encode()).hexdigest()
    path = cache_directory() / f"{graphs.name.lower()}-{key[:16]}.safetensors"
    arrays = _read(path)
    if arrays is None:
        arrays = _computed(graphs, work, jobs, progress)
        _write(path, arrays)
    return _packed_up(graphs, levels, copies, arrays)


def _packed_up(graphs: Graphs, levels: int, copies: int, arrays: Arrays) -> Pyramids:
    packed = [PackedLevel(**_level(arrays | _input(graphs), h)) for h in range(levels)]
    return Pyramids(graphs, copies, tuple(packed), _digest(arrays))


def _input(graphs: Graphs) -> Arrays:
    """$G^{(0)}$ of all graphs."""
    graph = graphs.graph()
    first = np.repeat(graphs.vertex_pointer[:-1], graphs.sizes)
    source = graph.source.numpy() - first[graph.target.numpy()]
    found = {"sizes": graphs.sizes, "degree": graph.degree.numpy(), "source": source}
    assert graph.labels.index is not None
    return {f"0.{name}": values for name, values in (found | {"values": graph.labels.index.numpy()}).items()}


def _level(arrays: Arrays, h: int) -> Arrays:
    found = {name.split(".")[1]: values for name, values in arrays.items() if name.startswith(f"{h}.")}
    return {"pool_map": np.zeros(0, np.int32)} | found


# Computed


def _computed(graphs: Graphs, work: Work, jobs: int | None, progress: Progress) -> Arrays:
    """The pyramids without the input graphs, which the dataset has."""
    found: list[Arrays] = []
    done = 0
    chunks = _chunks(graphs)
    for chunk, arrays in zip(chunks, _mapped(work, chunks, jobs or os.cpu_count() or 1, graphs), strict=True):
        found.append(arrays)
        done += len(chunk)
        progress(done, len(graphs))
    return {name: np.concatenate([arrays[name] for arrays in found]) for name in found[0]} if found else {}


def _chunks(graphs: Graphs) -> list[range]:
    """Graphs in a row, in pieces that take about the same time."""
    cost = np.cumsum(graphs.sizes.astype(float) ** 1.5 + 10)
    cuts = np.unique(np.searchsorted(cost, np.linspace(0, cost[-1], CHUNKS + 1)[1:-1]))
    bounds = np.unique([0, *cuts, len(graphs)]).tolist()
    return [range(a, b) for a, b in pairwise(bounds)]


def _mapped(work: Work, chunks: Sequence[range], jobs: int, graphs: Graphs) -> Iterator[Arrays]:
    if jobs == 1 or graphs.num_vertices < FEW:
        yield from map(work, chunks)
        return
    # A forked process needs nothing of the script that started it; elsewhere that must be importable.
    context = get_context("fork" if sys.platform == "linux" else None)
    with ProcessPoolExecutor(jobs, context, initializer=threadpool_limits, initargs=(1,)) as pool:
        yield from pool.map(work, chunks)


def _pyramids_of(
    graphs: Graphs, levels: int, copies: int, seed: int, tries: int, alone: bool, numbers: range
) -> Arrays:
    """The pyramids of some graphs."""
    made = []
    for number in numbers:
        graph = graphs[number]
        rngs = [generator(seed, 0 if alone else number, copy) for copy in range(copies)]
        made.append(multiresolutions(graph.source, graph.target, graph.n, levels, rngs, tries=tries))
    arrays: Arrays = {}
    if levels > 1:
        arrays["0.pool_map"] = _row([of_graph[0].pool_maps[0] for of_graph in made])
    for h in range(1, levels):
        every = [copy for of_graph in made for copy in of_graph]
        arrays |= {f"{h}.{name}": values for name, values in _packed([copy.levels[h] for copy in every]).items()}
        if h < levels - 1:
            arrays[f"{h}.pool_map"] = _row([copy.pool_maps[h] for copy in every])
    return arrays


def _packed(graphs: Sequence[WeightedGraph]) -> Arrays:
    """Coarse graphs side by side, with self-connections of weight zero."""
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


# Kept


def _digest(arrays: Arrays) -> str:
    found = hashlib.sha256()
    for name in sorted(arrays):
        found.update(f"{name} {arrays[name].dtype} {arrays[name].shape}\n".encode())
        found.update(np.ascontiguousarray(arrays[name]).data)
    return found.hexdigest()


def _read(path: Path) -> Arrays | None:
    """The arrays of a file, mapped into memory; none if it is not there or not whole."""
    with suppress(OSError, SafetensorError, ValueError), safe_open(path, "pt") as file:
        # Tensors of torch are mapped; those of NumPy would be read.
        arrays = {name: file.get_tensor(name).numpy() for name in file.keys()}  # noqa: SIM118 (not a dict)
        if (file.metadata() or {}).get("digest") == _digest(arrays):
            return arrays
    return None


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
