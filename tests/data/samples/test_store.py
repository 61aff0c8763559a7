"""Pyramids are computed once, by any number of processes, and a damaged file is written again."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file

from edgecond.data.samples import store
from edgecond.data.samples.graphs import Pyramids
from edgecond.data.samples.store import pyramids
from tests.pyramids import random_graphs, same

SIZES = [12, 1, 30, 2, 7, 25] * 5


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("EDGECOND_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def equal(one: Pyramids, other: Pyramids) -> bool:
    pairs = zip(one.levels, other.levels, strict=True)
    return all(np.array_equal(getattr(a, name), getattr(b, name)) for a, b in pairs for name in vars(a))


def forbidden(*_: object) -> None:
    raise AssertionError("computed again")


def test_pyramids_are_read_from_the_cache_the_second_time(cache: Path, monkeypatch: pytest.MonkeyPatch):
    first = pyramids(random_graphs(SIZES), 3, 2)
    monkeypatch.setattr(store, "multiresolutions", forbidden)

    second = pyramids(random_graphs(SIZES), 3, 2)

    assert equal(first, second)
    assert first.digest == second.digest
    assert [path.name.split("-")[0] for path in cache.iterdir()] == ["random"]


@pytest.mark.parametrize(
    "change",
    [{"levels": 4}, {"copies": 3}, {"seed": 1}, {"tries": 1}, {"graphs": random_graphs(SIZES, seed=1)}],
    ids=str,
)
def test_other_data_or_settings_have_another_file(cache: Path, change: dict):
    settings = {"graphs": random_graphs(SIZES), "levels": 3, "copies": 2, "seed": 0}
    one = pyramids(**settings)

    other = pyramids(**settings | change)

    assert one.digest != other.digest
    assert len(list(cache.iterdir())) == 2


def test_any_number_of_processes_computes_the_same_pyramids(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    alone = pyramids(random_graphs(SIZES), 3, 2, jobs=1)
    monkeypatch.setenv("EDGECOND_CACHE", str(tmp_path / "another"))
    monkeypatch.setattr(store, "FEW", 0)
    steps: list[tuple[int, int]] = []

    together = pyramids(random_graphs(SIZES), 3, 2, jobs=3, progress=lambda *step: steps.append(step))

    assert equal(alone, together)
    assert steps[-1] == (30, 30)
    assert [done for done, _ in steps] == sorted(done for done, _ in steps)


@pytest.mark.parametrize("damage", ["cut", "changed", "replaced"])
def test_a_damaged_file_is_written_again(cache: Path, damage: str):
    before = pyramids(random_graphs(SIZES), 3, 2)
    (path,) = cache.iterdir()
    content = path.read_bytes()
    damaged = {"cut": content[:-7], "changed": content[:-7] + bytes(7), "replaced": b"nothing of the kind"}
    path.unlink()
    path.write_bytes(damaged[damage])

    after = pyramids(random_graphs(SIZES), 3, 2)

    assert equal(before, after)
    assert path.read_bytes() == content


CHANGES = {
    "a source beyond its graph": ("1.source", lambda a: put(a, 5, 1 << 30)),
    "a negative source": ("1.source", lambda a: put(a, 0, -1)),
    "a source of the next graph": ("2.source", lambda a: put(a, 0, int(a.max()) + 1)),
    "fewer sources": ("1.source", lambda a: a[:-1]),
    "a negative degree": ("1.degree", lambda a: put(put(a, 0, -(1 << 30)), 1, 1 << 30)),
    "more degrees": ("1.degree", lambda a: np.append(a, np.int32(1))),
    "a degree beyond the edges": ("2.degree", lambda a: put(a, 3, 1 << 30)),
    "a map beyond the next level": ("0.pool_map", lambda a: put(a, 2, 1 << 30)),
    "a negative map": ("1.pool_map", lambda a: put(a, 2, -5)),
    "a shorter map": ("1.pool_map", lambda a: a[:-1]),
    "a negative size": ("1.sizes", lambda a: put(a, 0, -1)),
    "fewer graphs": ("1.sizes", lambda a: a[:-1]),
    "larger graphs": ("2.sizes", lambda a: a * 1000),
    "weights that are not finite": ("1.values", lambda a: put(a, 0, np.nan)),
    "weights of another type": ("1.values", lambda a: a.astype(np.float64)),
    "sources of another type": ("1.source", lambda a: a.astype(np.float32)),
    "sources of two dimensions": ("1.source", lambda a: a[:, None]),
    "another level": ("7.sizes", lambda a: np.zeros(3, np.int32)),
    "a missing array": ("2.sizes", lambda a: None),
}


def put(array: np.ndarray, place: int, value: float) -> np.ndarray:
    array = array.copy()
    array[place] = value
    return array


@pytest.mark.parametrize(("name", "change"), CHANGES.values(), ids=CHANGES)
def test_a_crafted_file_is_written_again(cache: Path, name: str, change: Callable):
    """Its hash is right, and its numbers would be read beyond the end of an array."""
    expected = pyramids(random_graphs(SIZES), 3, 2)
    (file,) = cache.iterdir()
    original, arrays = file.read_bytes(), load_file(file)
    changed = change(arrays.pop(name, np.zeros(0)))
    crafted = arrays if changed is None else arrays | {name: changed}
    store._write(file, {key: np.ascontiguousarray(value) for key, value in crafted.items()})
    assert file.read_bytes() != original

    again = pyramids(random_graphs(SIZES), 3, 2)

    assert equal(expected, again)
    assert file.read_bytes() == original


def test_pyramids_are_computed_with_a_warning_if_they_cannot_be_cached(cache: Path):
    cache.write_text("a file where a directory should be")

    with pytest.warns(UserWarning, match=r"cannot be written .* Set EDGECOND_CACHE to another directory\.$"):
        computed = pyramids(random_graphs([5, 6]), 2)

    assert len(computed.levels) == 2
    assert cache.read_text() == "a file where a directory should be"


def test_a_graph_without_edges_has_a_pyramid():
    """Section 3.3: its vertices have self-connections and are in all levels."""
    sample = pyramids(random_graphs([1, 1]), 3, 2).sample(np.array([1, 0]), np.array([0, 1]))

    assert [graph.source.tolist() for graph in sample.pyramid.graphs] == [[0, 1]] * 3
    assert [pool_map.tolist() for pool_map in sample.pyramid.pool_maps] == [[0, 1]] * 2


def test_pyramids_computed_alone_do_not_depend_on_the_dataset_and_are_not_cached(cache: Path):
    """The prediction for a molecule must not depend on its row."""
    graphs = random_graphs(SIZES)

    together = pyramids(graphs, 3, 2, alone=True)

    for number in (2, 8):
        single = pyramids(graphs.take([number]), 3, 2, alone=True)
        for copy in range(2):
            one = single.sample(np.array([0]), np.array([copy]))
            assert same(together.sample(np.array([number]), np.array([copy])), one)
    assert not cache.exists()


def test_a_pyramid_of_one_level_needs_no_computation_and_no_cache(cache: Path, monkeypatch: pytest.MonkeyPatch):
    """A network without pooling works on the input graphs, which the dataset holds already."""
    graphs = random_graphs(SIZES)
    monkeypatch.setattr(store, "multiresolutions", forbidden)

    flat = pyramids(graphs, 1, 2)

    assert same(flat.sample(np.arange(len(graphs)), np.zeros(len(graphs), int)).pyramid.graphs[0], graphs.graph())
    assert not cache.exists()
