"""What a recipe makes of examples: attributes in units that were learned, and kept with the model."""

from __future__ import annotations

import pickle
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from edgecond.data.formats import batch
from edgecond.data.graphs import GraphExamples
from edgecond.data.preparation import GraphPreparation, SampleSettings
from edgecond.data.preparation import graphs as module
from edgecond.errors import DataError
from edgecond.notation import Architecture
from tests.sentences import mentions
from tests.threads import at_once

SETTINGS = SampleSettings(
    "pairs", Architecture("C(4)-MP-C(4)-GAP-FC(1)"), "given", sparsifications=2, attributes=True, standardised=True
)


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EDGECOND_CACHE", str(tmp_path))


def examples() -> GraphExamples:
    """Three pairs of vertices with attributes 0, 10, ..., 50, and edges with 7 everywhere."""
    edges, constant = np.array([[0, 1], [1, 0]]), np.array([7.0, 7.0])
    graphs = [
        SimpleNamespace(edge_index=edges, num_nodes=2, x=np.array([20.0 * g, 20.0 * g + 10]), edge_attr=constant)
        for g in range(3)
    ]
    found = batch.packed(graphs, ys=np.array([0, 1, 0]))
    return GraphExamples(found.graphs, np.arange(3), found.targets, found.target_names)


def test_attributes_are_in_units_of_the_training_graphs():
    """Of 0, 10, 20 and 30 the mean is 15 and the deviation the root of 125; what is constant has the scale 1."""
    train, test = examples().take([0, 1]), examples().take([2])

    made = GraphPreparation.fit(SETTINGS, train)
    sample = made.view(test, 0, 1).sample([0], 0)

    assert sample.x[:, 1].tolist() == pytest.approx([25 / 125**0.5, 35 / 125**0.5])
    ends = sample.pyramid.graphs[0]
    inner = ends.source != ends.target
    assert ends.labels.values[inner][:, 2].tolist() == [0, 0]  # 7 less the mean of 7


def test_the_units_are_restored_from_the_file():
    made = GraphPreparation.fit(SETTINGS, examples())

    again = GraphPreparation.restore(SETTINGS, dict(made.tensors), d0=2)

    one, two = (part.view(examples(), 0, 1).sample([0, 1, 2], 0).x for part in (made, again))
    torch.testing.assert_close(one, two, rtol=0, atol=0)


def test_pyramids_that_are_not_kept_are_forgotten_when_others_are_asked_for_and_do_not_travel():
    """A service that predicts all day must not grow, and a model that is sent away stays small."""
    made = GraphPreparation.fit(SETTINGS, examples(), transient=True)
    other = batch.packed([SimpleNamespace(edge_index=np.array([[0, 1], [1, 0]]), num_nodes=2, x=np.array([1.0, 2.5]))])

    made.view(examples(), 0, 1)
    made.view(GraphExamples(other.graphs, np.arange(1)), 0, 1)

    assert made._pyramids == {}
    assert [graphs for graphs, _ in made._last] == [other.graphs]
    assert pickle.loads(pickle.dumps(made))._last == []


def test_threads_get_the_pyramids_of_their_own_graphs(monkeypatch: pytest.MonkeyPatch):
    """Each thread reads and replaces the only pyramids that are kept of graphs that come once."""
    monkeypatch.setattr(module, "pyramids", lambda graphs, *_, **__: SimpleNamespace(graphs=graphs))
    preparation = GraphPreparation.fit(replace(SETTINGS, standardised=False), examples(), transient=True)

    def others(one: GraphExamples) -> int:
        return sum(preparation.view(one, 0, 1).pyramids.graphs is not one.graphs for _ in range(2000))

    assert at_once([partial(others, examples()) for _ in range(4)], 5) == [[0] * 5] * 4


def test_too_little_memory_for_pyramids_is_an_error_of_the_data(monkeypatch: pytest.MonkeyPatch):
    """A prediction then goes on with the next graph."""

    def fail(*_: object, **__: object) -> None:
        raise MemoryError

    monkeypatch.setattr(module, "pyramids", fail)

    with mentions("graphs with up to 2 vertices", "more memory than there is", kind=DataError):
        GraphPreparation.fit(SETTINGS, examples()).view(examples(), 0, 1)


def test_graphs_that_differ_in_size_alone_have_the_same_signals_and_different_counts():
    """A mean over the vertices of a ring is the same for any ring; log(1 + 4) and log(1 + 8) are standardised to ±1."""

    def ring(n: int) -> SimpleNamespace:
        ends = np.arange(n), (np.arange(n) + 1) % n
        return SimpleNamespace(edge_index=np.stack([np.r_[ends], np.r_[ends[::-1]]]), num_nodes=n, x=np.ones(n))

    found = batch.packed([ring(4), ring(8)], ys=np.array([0, 1]))
    rings = GraphExamples(found.graphs, np.arange(2), found.targets, found.target_names)
    settings = SampleSettings("rings", Architecture("C(4)-GAP-FC(2)"), "given", counts=True)

    made = GraphPreparation.fit(settings, rings)
    first, second = (made.view(rings, 0, 1).sample([number], 0) for number in range(2))

    assert made.feature_names == ("vertices", "edges")
    assert torch.equal(first.x.mean(0), second.x.mean(0))
    torch.testing.assert_close(first.features, torch.tensor([[-1.0, -1.0]]))
    torch.testing.assert_close(second.features, torch.tensor([[1.0, 1.0]]))
    restored = GraphPreparation.restore(settings, made.tensors, 1, made.encoding)
    assert torch.equal(restored.transient().view(rings.take([1]), 0, 1).sample([0], 0).features, second.features)
