"""Pyramids are computed once, by any number of processes, and a damaged file is written again."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

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
