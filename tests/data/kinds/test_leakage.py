"""Examples of the test set that are in the training set, too, are found, whatever they are written like."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from edgecond.data.kinds.leakage import canonical_smiles, cloud_key, morgan_fingerprints, notes, weisfeiler_lehman
from edgecond.data.splits import Split
from edgecond.graph import Cloud
from tests.model_readers import GRAPHS

PARTS = Split(np.array([0, 1, 2]), np.array([3]), np.array([4, 5]))


def test_examples_of_two_parts_with_one_key_are_counted():
    """By hand: of the test examples, a is in the training set; b is in the validation set alone."""
    found = notes(PARTS, ["a", "a", "c", "b", "a", "b"], "clouds", "equal points", None)

    assert found == ["leakage: 1 test clouds are also in the training set (equal points)"]
    assert notes(PARTS, list("abcdef"), "clouds", "equal points", None) == []


def test_one_molecule_in_two_notations_is_found_and_so_is_a_near_duplicate():
    """OCC is ethanol, too. Paraffins of 20 and of 21 carbon atoms have the same environments of radius 2."""
    pytest.importorskip("rdkit")
    smiles = ["CCO", "C" * 20, "c1ccccc1", "N", "OCC", "C" * 21]

    found = notes(PARTS, canonical_smiles(smiles), "molecules", "equal canonical SMILES", morgan_fingerprints(smiles))

    assert found == [
        "leakage: 1 test molecules are also in the training set (equal canonical SMILES), 1 test molecules have a "
        "near-duplicate in the training set (Tanimoto similarity of 0.95 or more)"
    ]


def test_a_graph_has_the_hash_of_its_permutation_and_no_other():
    """Renumbering the vertices gives an isomorphic graph; another label of one vertex does not."""
    graph = GRAPHS.take([2])
    n, order = int(graph.sizes[0]), np.random.default_rng(0).permutation(int(graph.sizes[0]))
    place = np.argsort(order)
    source, target = place[graph.source], place[graph.target]
    sorted_edges = np.lexsort((source, target))
    changes = {
        "source": source[sorted_edges],
        "target": target[sorted_edges],
        "edge_labels": graph.edge_labels[sorted_edges],
        "edge_attributes": graph.edge_attributes[sorted_edges],
        "vertex_labels": graph.vertex_labels[order],
        "vertex_attributes": graph.vertex_attributes[order],
    }
    other = graph.vertex_labels + (np.arange(n) == 3)

    assert weisfeiler_lehman(replace(graph, **changes)) == weisfeiler_lehman(graph)
    assert weisfeiler_lehman(replace(graph, vertex_labels=other)) != weisfeiler_lehman(graph)
    assert len(set(weisfeiler_lehman(GRAPHS))) == len(GRAPHS)


def test_clouds_are_equal_if_all_points_and_signals_are():
    one, same, other = (Cloud(torch.ones(3, 3), torch.full((3, 1), value)) for value in (1.0, 1.0, 2.0))

    assert cloud_key(one) == cloud_key(same) != cloud_key(other)
