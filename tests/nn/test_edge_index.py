"""Graphs of an `edge_index` are remembered while its tensors live, and never stale."""

from __future__ import annotations

import gc
import multiprocessing
import random
import weakref
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch
from torch import nn, Tensor

from edgecond import ECConv, Graph
from edgecond.graph import edges
from edgecond.nn import edge_index as module
from edgecond.nn.edge_index import graph_of

N, M = 12, 60

needs_extension = pytest.mark.skipif(edges._extension is None, reason="distinct labels are found in C++")


def tensors(seed: int = 0, *, kinds: int | None = None) -> tuple[Tensor, Tensor]:
    """Return random edges between 12 vertices, with continuous labels or with some kinds of them."""
    generator = torch.Generator().manual_seed(seed)
    edge_index = torch.randint(0, N, (2, M), generator=generator)
    rows = torch.randn(M if kinds is None else kinds, 3, generator=generator)
    return edge_index, rows if kinds is None else rows[torch.randint(0, kinds, (M,), generator=generator)]


def check(graph: Graph, edge_index: Tensor, edge_attr: Tensor) -> None:
    """Compare with a graph that is built anew."""
    expected = Graph.from_edges(edge_index[0], edge_index[1], edge_attr, num_vertices=N)
    for name in ("source", "target", "pointer"):
        assert getattr(graph, name).tolist() == getattr(expected, name).tolist()
    assert graph.labels.per_edge(graph.labels.values).tolist() == expected.labels.values.tolist()


@pytest.mark.parametrize("kinds", [None, 4])
def test_a_second_call_gets_the_edges_of_the_first(kinds: int | None):
    """All layers of a model share one sort."""
    edge_index, edge_attr = tensors(kinds=kinds)

    first, second = (graph_of(edge_index, edge_attr, num_vertices=N) for _ in range(2))

    check(second, edge_index, edge_attr)
    assert first.source is second.source
    assert first.by_source is second.by_source


@needs_extension
def test_few_distinct_labels_get_an_index_whatever_their_numbers_are():
    """Footnote 1: F is evaluated once per distinct label, be it one-hot, multi-hot or any other."""
    edge_index, edge_attr = tensors(kinds=4)

    graph = graph_of(edge_index, edge_attr, num_vertices=N)

    assert len(graph.labels.values) == len(edge_attr.unique(dim=0)) == 4
    assert graph_of(edge_index, edge_attr, num_vertices=N) is graph


def test_labels_that_need_a_gradient_stay_one_per_edge():
    """The gradient belongs to the rows of `edge_attr`."""
    edge_index, edge_attr = tensors(kinds=4)

    graph = graph_of(edge_index, edge_attr.requires_grad_(), num_vertices=N)

    assert graph.labels.values is edge_attr


CHANGES: list[Callable[[Tensor, Tensor, random.Random], None]] = [
    lambda index, attr, r: index.__setitem__((r.randrange(2), r.randrange(M)), r.randrange(N)),
    lambda index, attr, r: index[r.randrange(2)].fill_(r.randrange(N)),
    lambda index, attr, r: index.data.copy_(index.flip(0)),
    lambda index, attr, r: index.numpy().__setitem__((1, r.randrange(M)), r.randrange(N)),
    lambda index, attr, r: index.view(-1)[r.randrange(M) :].copy_(index.view(-1)[-1].clone()),
    lambda index, attr, r: index.set_(index.flip(1)),
    lambda index, attr, r: attr.mul_(-1),
    lambda index, attr, r: attr[r.randrange(M)].zero_(),
    lambda index, attr, r: attr.data[r.randrange(M)].add_(1),
    lambda index, attr, r: attr.numpy().__setitem__((r.randrange(M), 0), r.random()),
    lambda index, attr, r: attr.copy_(attr[torch.randint(0, 3, (M,))]),
    lambda index, attr, r: attr.normal_(),
    lambda index, attr, r: None,
]


def test_a_thousand_changes_in_place_leave_no_stale_graph():
    """Through the tensor, a view of it, its storage, `.data` and NumPy, of which torch does not know."""
    edge_index, edge_attr = tensors()
    generator = random.Random(0)
    for _ in range(1000):
        if edges._extension is None:  # without hashes, changes that torch does not count are not seen
            change = CHANGES[generator.choice([0, 1, 4, 6, 7, 10, 11, 12])]
        else:
            change = generator.choice(CHANGES)
        change(edge_index, edge_attr, generator)

        check(graph_of(edge_index, edge_attr, num_vertices=N), edge_index, edge_attr)


@pytest.mark.parametrize("kinds", [None, 4])
def test_nothing_is_kept_alive(kinds: int | None):
    """Both tensors die with their last reference, without the garbage collector, sorted or not."""
    gc.disable()
    try:
        before = len(module._MEMORY)
        for presorted in (False, True):
            edge_index, edge_attr = tensors(kinds=kinds)
            if presorted:
                edge_index = edge_index[:, edge_index[1].argsort()]
            graph = graph_of(edge_index, edge_attr, num_vertices=N)
            references = [weakref.ref(edge_index), weakref.ref(edge_attr)]
            del graph, edge_attr
            assert references[1]() is None
            del edge_index
            assert references[0]() is None
            assert len(module._MEMORY) == before
    finally:
        gc.enable()


def test_memory_stays_flat_over_a_thousand_graphs():
    """As many tensors of the size of the edges are alive after the thousandth graph as after the tenth."""
    layer = ECConv(2, 2, nn.Linear(3, 4))

    def alive() -> int:
        gc.collect()
        return sum(type(thing) is Tensor and M in thing.shape for thing in gc.get_objects())

    counts = []
    for seed in range(1000):
        edge_index, edge_attr = tensors(seed, kinds=None if seed % 2 else 4)
        layer(torch.ones(N, 2), edge_index, edge_attr).sum().backward()
        if seed in (10, 998):
            counts.append(alive())

    assert counts[0] == counts[1]


def test_the_numbers_of_vertices_belong_to_the_key():
    """The same edges may be those of a larger graph, or of a bipartite one."""
    edge_index, edge_attr = tensors()

    graphs = [
        graph_of(edge_index, edge_attr, num_vertices=n, num_sources=n_src)
        for n, n_src in ((12, None), (20, None), (12, 15))
    ]

    assert [(graph.num_vertices, graph.num_sources) for graph in graphs] == [(12, 12), (20, 20), (12, 15)]


def test_inference_tensors_have_no_version_and_are_sorted_all_the_same():
    """torch keeps no version of a tensor that is made in inference mode."""
    with torch.inference_mode():
        edge_index, edge_attr = tensors()
        for _ in range(2):
            check(graph_of(edge_index, edge_attr, num_vertices=N), edge_index, edge_attr)
            edge_index[1] = edge_index[1].flip(0)


def test_threads_that_change_their_own_tensors_get_their_own_graphs():
    """One memory serves all threads."""

    def work(seed: int) -> None:
        edge_index, edge_attr = tensors(seed, kinds=4)
        for _ in range(50):
            edge_index[0, 0] = (edge_index[0, 0] + 1) % N
            check(graph_of(edge_index, edge_attr, num_vertices=N), edge_index, edge_attr)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, range(16)))


def _sources(shared: tuple[Tensor, Tensor]) -> list[int]:
    torch.set_num_threads(1)
    return graph_of(*shared, num_vertices=N).source.tolist()


def test_a_pool_of_processes_gets_the_graphs_of_the_tensors_it_is_given():
    """Tensors travel without what is remembered of them."""
    edge_index, edge_attr = tensors()
    expected = _sources((edge_index, edge_attr))

    with multiprocessing.get_context("fork").Pool(2) as pool:
        found = pool.map(_sources, [(edge_index, edge_attr), (edge_index.flip(1), edge_attr)])

    assert found[0] == expected
    assert found[1] == _sources((edge_index.flip(1), edge_attr))


@pytest.mark.parametrize("kinds", [None, 4])
def test_a_compiled_layer_sees_changes_in_place(kinds: int | None):
    """The compiled layer sorts for itself."""
    torch._dynamo.reset()
    layer = ECConv(2, 5, nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 10)))
    compiled = torch.compile(layer, backend="eager", fullgraph=True)
    edge_index, edge_attr = tensors(kinds=kinds)
    x = torch.randn(N, 2)
    for _ in range(3):
        edge_index[1] = edge_index[1].roll(1)
        edge_attr *= 1.5
        torch.testing.assert_close(compiled(x, edge_index, edge_attr), layer(x, edge_index, edge_attr))
