"""Splits of molecules: no scaffold or group in two parts, nothing lost, and the same from run to run."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgecond.data.formats.columns import read_csv
from edgecond.data.splits import group_folds, random_split, scaffold_split, scaffolds
from edgecond.errors import DataError
from tests.sentences import refused


def test_a_scaffold_is_the_rings_and_what_links_them():
    """By hand: toluene and phenol are benzenes, two rings keep their linker, and chains have no scaffold."""
    found = scaffolds(["Cc1ccccc1", "Oc1ccccc1", "CCO", "Cc1ccc(CCC2CCC2)cc1", "C[C@H]1CCCO1", "C[C@@H]1CCCO1"])

    assert found == ["c1ccccc1", "c1ccccc1", "", "c1ccc(CCC2CCC2)cc1", "C1CCOC1", "C1CCOC1"]


def test_the_largest_scaffolds_are_for_training():
    """By hand, for ten molecules: five benzenes and three chains fill 0.8; of the single rings the last comes first."""
    benzenes = ["c1ccccc1", "Cc1ccccc1", "Oc1ccccc1", "Nc1ccccc1", "Fc1ccccc1"]
    smiles = ["C1CC1", *benzenes, "C", "CC", "CCC", "C1CCC1"]

    train, validation, test = scaffold_split(smiles)

    assert (train.tolist(), validation.tolist(), test.tolist()) == ([1, 2, 3, 4, 5, 6, 7, 8], [9], [0])


def test_a_scaffold_too_large_for_one_part_goes_to_the_next():
    """By hand: eight benzenes exceed 0.7 of ten molecules; they fit into 0.7 + 0.1, or are for the test."""
    smiles = ["C1CC1", "C1CCC1", *("C" * n + "c1ccccc1" for n in range(8))]
    small, benzenes = [0, 1], list(range(2, 10))

    assert [part.tolist() for part in scaffold_split(smiles, (0.7, 0.1, 0.2))] == [small, benzenes, []]
    assert [part.tolist() for part in scaffold_split(smiles, (0.7, 0.0, 0.3))] == [small, [], benzenes]


@pytest.mark.parametrize(("file", "sizes"), [("delaney-processed.csv", (902, 113, 113)), ("SAMPL.csv", (513, 64, 65))])
def test_real_molecules_are_split_in_the_fractions_of_moleculenet(
    file: str, sizes: tuple[int, int, int], real: Callable[[str], Path]
):
    """Tenths of the molecules by arithmetic: scaffolds of single molecules fill training and validation to the last."""
    smiles = read_csv(real(f"moleculenet/{file}")).column("smiles")

    parts = scaffold_split(smiles)

    assert tuple(map(len, parts)) == sizes
    assert np.array_equal(np.sort(np.concatenate(parts)), np.arange(len(smiles)))
    found = [set(scaffolds([smiles[index] for index in part])) for part in parts]
    assert sum(map(len, found)) == len(set.union(*found))


def test_what_is_no_molecule_has_no_scaffold():
    with refused("'ethanol' is not a molecule that RDKit can read.", DataError):
        scaffold_split(["CCO", "ethanol"])


@given(n=st.integers(0, 300), seed=st.integers(0, 2**32))
def test_a_random_split_holds_every_number_once(n: int, seed: int):
    parts = random_split(n, seed=seed)

    assert np.array_equal(np.sort(np.concatenate(parts)), np.arange(n))
    assert [len(part) for part in parts] == pytest.approx([0.8 * n, 0.1 * n, 0.1 * n], abs=1)
    assert all(np.array_equal(one, two) for one, two in zip(parts, random_split(n, seed=seed), strict=True))


def test_another_seed_is_another_split():
    assert not np.array_equal(random_split(100, seed=0)[2], random_split(100, seed=1)[2])


@given(st.lists(st.sampled_from("abcdefgh"), min_size=2).filter(lambda groups: len(set(groups)) > 2))
@settings(deadline=None)  # scikit-learn is imported by the first
def test_folds_keep_groups_together(groups: list[str]):
    folds = group_folds(groups, 3)

    assert sorted(np.concatenate(folds).tolist()) == list(range(len(groups)))
    for group in set(groups):
        assert sum(any(groups[index] == group for index in fold) for fold in folds) == 1


def test_folds_are_balanced():
    """By hand: groups of 4, 3, 2, 2 and 1 go to the smaller of two folds in turn, which gives 4 + 2 and 3 + 2 + 1."""
    folds = group_folds(list("aaaabbbccdde"), 2)

    assert sorted(map(len, folds)) == [6, 6]


def test_fractions_and_folds_that_cannot_be_are_a_sentence():
    for fractions, found in (((0.8, 0.1), "0.8, 0.1"), ((0.8, 0.3, -0.1), "0.8, 0.3, -0.1"), ((), "none")):
        with refused(
            "a split has three fractions, to train, to select models and to test, which sum to 1: " + f"got {found}.",
            DataError,
        ):
            random_split(10, fractions, seed=0)
    for k in (1, 3):
        with refused(f"folds need 2 groups or more, and a group for each fold: got 2 for {k} folds.", DataError):
            group_folds(["a", "b", "b"], k)
