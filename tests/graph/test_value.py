"""Values change device and precision as a whole, are pytrees, and can be saved and loaded."""

from __future__ import annotations

import io
import pickle

import pytest
import torch
import torch.utils._pytree as pytree

import edgecond.graph
from edgecond.graph import Cloud, Labels, Mesh, Pyramid
from tests.graph.paths import graph_of, sample, vector

VALUES = {
    "cloud": Cloud(torch.zeros(2, 3), torch.zeros(2, 1)),
    "mesh": Mesh(torch.eye(3), torch.ones(3, 1), faces=torch.tensor([[0, 1, 2]])),
    "labels": Labels(torch.zeros(2, 3)),
    "indexed labels": Labels(torch.zeros(2, 3), vector(0)),
    "graph": graph_of((1, 0), n=2),
    "rows": graph_of((1, 0), n=2).by_source,
    "bipartite graph": graph_of((1, 0), n=2, num_sources=2),
    "pyramid": Pyramid((graph_of(n=1), graph_of(n=1)), (vector(0),)),
    "sample": sample(3),
}
every_value = pytest.mark.parametrize("name", VALUES)


def test_a_precision_changes_floating_point_tensors_only():
    """Vertex numbers stay integers."""
    moved = sample(3).to(torch.float64)

    assert moved.x.dtype == moved.pyramid.graphs[0].labels.values.dtype == torch.float64
    assert moved.pyramid.graphs[0].source.dtype == moved.y.dtype == torch.int64
    assert moved.pyramid.pool_maps[0].dtype == torch.int64


def test_a_device_changes_all_tensors():
    """torch's meta device, which every machine has: shapes without numbers."""
    before = sample(3, strided=True)

    moved = before.to("meta", torch.float16)

    leaves = [leaf for leaf in pytree.tree_leaves(moved) if leaf is not None]
    assert {leaf.device.type for leaf in leaves} == {"meta"}
    assert moved.x.dtype == torch.float16
    assert moved.pyramid.graphs[1].num_sources == 2
    assert before.x.device.type == "cpu"


@every_value
def test_a_value_is_rebuilt_from_its_leaves(name: str):
    """torch.export and torch.compile take values apart and put them together again."""
    value = VALUES[name]
    leaves, structure = pytree.tree_flatten(value)
    named, _ = pytree.tree_flatten_with_path(value)

    rebuilt = pytree.tree_unflatten(leaves, structure)

    assert type(rebuilt) is type(value)
    assert all(a is b for a, b in zip(pytree.tree_leaves(rebuilt), leaves, strict=True))
    assert all(a is b for (_, a), b in zip(named, leaves, strict=True))
    assert structure == pytree.treespec_loads(pytree.treespec_dumps(structure))


@every_value
@pytest.mark.parametrize("library", ["pickle", "torch"])
def test_a_value_that_is_saved_and_loaded_has_the_same_tensors(name: str, library: str):
    """DataLoader workers pickle values; torch.load is restricted to classes that are declared safe by default."""
    value, file = VALUES[name], io.BytesIO()
    if library == "torch":
        torch.save(value, file)
        file.seek(0)
        loaded = torch.load(file, weights_only=True)
    else:
        loaded = pickle.loads(pickle.dumps(value))

    assert type(loaded) is type(value)
    for ours, theirs in zip(pytree.tree_leaves(loaded), pytree.tree_leaves(value), strict=True):
        assert (ours is None and theirs is None) or ours.equal(theirs)


@every_value
def test_a_saved_value_names_its_class_by_the_public_path(name: str):
    """Files saved before a class moved to its own module name `edgecond.graph`; they must stay readable."""
    kind = type(VALUES[name])

    assert kind.__module__ == "edgecond.graph"
    assert getattr(edgecond.graph, kind.__name__) is kind
