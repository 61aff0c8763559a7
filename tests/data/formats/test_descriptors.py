"""RDKit's descriptors of molecules, computed by several processes."""

from __future__ import annotations

import math

import numpy as np
import pytest

pytest.importorskip("rdkit")
from rdkit import Chem
from rdkit.Chem import Crippen, rdMolDescriptors

from edgecond.data.formats import descriptors
from edgecond.data.formats.descriptors import describe, descriptor_names, SIZE_AND_POLARITY
from edgecond.data.formats.smiles import descriptors_of, featurise
from edgecond.errors import DataError
from tests.sentences import mentions

SMILES = ["CCO", "c1ccccc1O", "CC(=O)[O-].[Na+]", "C[C@H](N)C(=O)O"]


def test_columns_are_what_the_functions_of_rdkit_return():
    """Three of them, by their own functions."""
    graphs, skipped = featurise([*SMILES, "C1CC"], descriptors=descriptor_names())
    columns = descriptors_of(graphs, descriptor_names())

    molecules = [Chem.MolFromSmiles(text) for text in SMILES]
    assert [index for index, _ in skipped] == [4]
    assert columns.keys() == set(descriptor_names())
    assert columns["MolLogP"].tolist() == pytest.approx([Crippen.MolLogP(each) for each in molecules])
    assert columns["TPSA"].tolist() == pytest.approx([rdMolDescriptors.CalcTPSA(each) for each in molecules])
    assert columns["HeavyAtomCount"].tolist() == [3, 7, 5, 6]


def test_nothing_is_computed_unless_it_is_asked_for():
    graphs, _ = featurise(SMILES)

    assert graphs.attributes.shape == (4, 0)
    assert descriptors_of(graphs, ()) == {}


def test_processes_and_pieces_do_not_change_the_numbers(monkeypatch: pytest.MonkeyPatch):
    """Chunks of one molecule by two processes, against one process."""
    molecules = [Chem.MolFromSmiles(text) for text in SMILES]
    expected = describe(molecules, descriptor_names(), jobs=1)
    monkeypatch.setattr(descriptors, "CHUNK", 1)
    monkeypatch.setattr(descriptors, "FEW", 0)

    np.testing.assert_array_equal(describe(molecules, descriptor_names(), jobs=2), expected)
    assert expected.shape == (4, len(descriptor_names()))
    assert describe([], descriptor_names()).shape == (0, len(descriptor_names()))


def test_what_rdkit_cannot_compute_is_nan():
    """Gasteiger has no parameters for a metal: the partial charges of methylplatinum are unknown."""
    charge, atoms = describe([Chem.MolFromSmiles("C[Pt]")], ["MaxPartialCharge", "HeavyAtomCount"])[0]

    assert not math.isfinite(charge)
    assert atoms == 2


def test_size_and_polarity_are_descriptors_of_rdkit():
    assert set(SIZE_AND_POLARITY) <= set(descriptor_names())


def test_a_descriptor_that_rdkit_no_longer_has_is_named():
    with mentions("no Bogus.", "Install the version", kind=DataError):
        describe([Chem.MolFromSmiles("C")], ["Bogus"])
