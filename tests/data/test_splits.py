"""Splits use every example, keep scaffolds and groups together, spread classes evenly, and are reproducible."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgecond.data.formats import tu
from edgecond.data.formats.columns import read_csv
from edgecond.data.splits import (
    group_folds,
    group_split,
    latest,
    random_split,
    scaffold_split,
    scaffolds,
    stratified_folds,
    stratified_share,
)
from edgecond.errors import DataError
from tests.sentences import mentions, refused


def test_a_scaffold_is_the_rings_and_their_linkers():
    """By hand: toluene and phenol are benzenes, two rings keep their linker, and chains have no scaffold."""
    murcko = scaffolds(["Cc1ccccc1", "Oc1ccccc1", "CCO", "Cc1ccc(CCC2CCC2)cc1", "C[C@H]1CCCO1", "C[C@@H]1CCCO1"])

    assert murcko == ["c1ccccc1", "c1ccccc1", "", "c1ccc(CCC2CCC2)cc1", "C1CCOC1", "C1CCOC1"]


def test_the_largest_scaffolds_are_in_the_training_set():
    """By hand, for ten molecules: five benzenes and three chains fill 0.8; of two single rings the last comes first."""
    benzenes = ["c1ccccc1", "Cc1ccccc1", "Oc1ccccc1", "Nc1ccccc1", "Fc1ccccc1"]
    smiles = ["C1CC1", *benzenes, "C", "CC", "CCC", "C1CCC1"]

    train, validation, test = scaffold_split(smiles)

    assert (train.tolist(), validation.tolist(), test.tolist()) == ([1, 2, 3, 4, 5, 6, 7, 8], [9], [0])


def test_a_scaffold_that_does_not_fit_into_a_set_goes_to_the_next():
    """By hand: eight benzenes exceed 0.7 of ten molecules; they fit into 0.7 + 0.1, or go to the test set."""
    smiles = ["C1CC1", "C1CCC1", *("C" * n + "c1ccccc1" for n in range(8))]
    small, benzenes = [0, 1], list(range(2, 10))

    assert [part.tolist() for part in scaffold_split(smiles, (0.7, 0.1, 0.2))] == [small, benzenes, []]
    assert [part.tolist() for part in scaffold_split(smiles, (0.7, 0.0, 0.3))] == [small, [], benzenes]


def _ring(size: int) -> str:
    return "C1" + "C" * (size - 2) + "C1"


# 40 scaffolds: rings of 3 to 42 atoms; ten molecules of each of the first four, two of each of the others
RINGS = ["C" * chain + _ring(size) for size in range(3, 43) for chain in range(10 if size < 7 else 2)]


def test_a_balanced_scaffold_split_shares_no_scaffold_and_meets_the_fractions():
    """Arithmetic: of 112 molecules the pairs fill 0.8, 0.1 and 0.1 up to one molecule, and the tens are too large."""
    for seed in range(5):
        parts = scaffold_split(RINGS, seed=seed)

        assert np.array_equal(np.sort(np.concatenate(parts)), np.arange(112))
        assert [len(part) for part in parts] == pytest.approx([89.6, 11.2, 11.2], abs=2)
        distinct = [set(scaffolds([RINGS[index] for index in part])) for part in parts]
        assert sum(map(len, distinct)) == 40
        assert set(range(40)) <= set(parts.train.tolist())  # ten is more than half of 11.2: they are placed first


def test_another_seed_gives_another_balanced_scaffold_split():
    """Of 36 pairs about a fifth is tested: two seeds choose the same ones once in millions of times."""
    tests = [scaffold_split(RINGS, (0.8, 0.0, 0.2), seed=seed).test.tolist() for seed in (0, 1, 0)]

    assert tests[0] == tests[2]
    assert tests[0] != tests[1]


def test_a_balanced_scaffold_split_tests_frequent_scaffolds_too():
    """Arithmetic: sorted by size, ten triples precede 30 single rings into 0.8 of 60; shuffled, some come after."""
    smiles = ["C" * chain + _ring(size) for size in range(3, 43) for chain in range(3 if size < 13 else 1)]
    fractions = (0.8, 0.0, 0.2)

    assert not set(range(30)) & set(scaffold_split(smiles, fractions).test.tolist())
    assert any(set(range(30)) & set(scaffold_split(smiles, fractions, seed=seed).test.tolist()) for seed in range(9))


@pytest.mark.parametrize(("file", "sizes"), [("delaney-processed.csv", (902, 113, 113)), ("SAMPL.csv", (513, 64, 65))])
def test_real_molecules_are_split_in_the_fractions_of_moleculenet(
    file: str, sizes: tuple[int, int, int], real: Callable[[str], Path]
):
    """Arithmetic: scaffolds of single molecules fill the training and validation sets exactly."""
    smiles = read_csv(real(f"moleculenet/{file}")).column("smiles")

    parts = scaffold_split(smiles)

    assert tuple(map(len, parts)) == sizes
    assert np.array_equal(np.sort(np.concatenate(parts)), np.arange(len(smiles)))
    distinct = [set(scaffolds([smiles[index] for index in part])) for part in parts]
    assert sum(map(len, distinct)) == len(set.union(*distinct))


def test_an_invalid_smiles_has_no_scaffold():
    with pytest.raises(DataError, match=r"'ethanol'.*RDKit"):
        scaffold_split(["CCO", "ethanol"])


@given(n=st.integers(0, 300), seed=st.integers(0, 2**32))
def test_a_random_split_uses_every_example_once(n: int, seed: int):
    parts = random_split(n, seed=seed)

    assert np.array_equal(np.sort(np.concatenate(parts)), np.arange(n))
    assert [len(part) for part in parts] == pytest.approx([0.8 * n, 0.1 * n, 0.1 * n], abs=1)
    assert all(np.array_equal(one, two) for one, two in zip(parts, random_split(n, seed=seed), strict=True))


def test_another_seed_gives_another_split():
    assert not np.array_equal(random_split(100, seed=0)[2], random_split(100, seed=1)[2])


def test_stratified_folds_spread_each_class_evenly(real: Callable[[str], Path]):
    """Arithmetic: each graph is tested once, and a test set has a tenth of each class, rounded up or down."""
    real("tu/MUTAG.zip")
    graphs = tu.load("mutag")

    folds = stratified_folds(graphs.ys)

    assert sorted(np.concatenate([fold.test for fold in folds]).tolist()) == list(range(188))
    for fold in folds:
        assert sorted([*fold.train.tolist(), *fold.test.tolist()]) == list(range(188))
        assert not len(fold.validation)
        counts = np.bincount(graphs.ys[fold.test])
        assert (counts[0] in (6, 7), counts[1] in (12, 13)) == (True, True)


def test_stratified_folds_never_change():
    """Records of other versions stay comparable: the first fold of sixty graphs, as of the first version."""
    ys = np.arange(60) % 3

    first = stratified_folds(ys)[0].test.tolist()

    assert first == [3, 4, 28, 47, 50, 51]
    assert first == stratified_folds(ys)[0].test.tolist()
    assert first != stratified_folds(ys, seed=1)[0].test.tolist()


def test_stratified_folds_need_an_example_of_each_class_per_fold():
    ys = np.arange(27) % 3

    need = "10 folds, one of which is the test set, need at least 10 examples"
    with mentions(f"{need} of each class: found 9 of one class. Ask for", kind=DataError):
        stratified_folds(ys)
    with pytest.raises(DataError, match=r"found 9 of cat\. Ask for fewer folds"):
        stratified_folds(ys, classes=("cat", "dog", "owl"))
    with mentions(f"{need}: found 9. Ask for", kind=DataError):
        stratified_folds(np.zeros(9, np.int64))


@pytest.mark.parametrize("name", ["-0.47 mM", "<5", "> 10", "3,5"])
def test_a_rare_class_that_looks_like_a_measurement_names_the_reason(name: str):
    with mentions("found 1 of", name, f"texts such as {name!r}: write numbers alone.", kind=DataError):
        stratified_folds(np.array([0] * 9 + [1]), 5, classes=("a", name))
    for other in ("-1", "a2"):
        with mentions(f"found 1 of {other}. Ask for fewer folds, or add examples.", kind=DataError):
            stratified_folds(np.array([0] * 9 + [1]), 5, classes=("a", other))


@given(st.lists(st.sampled_from("abcdefgh"), min_size=2).filter(lambda groups: len(set(groups)) > 2))
@settings(deadline=None)  # the first example imports scikit-learn
def test_group_folds_keep_groups_together(groups: list[str]):
    folds = group_folds(groups, 3)

    assert sorted(np.concatenate(folds).tolist()) == list(range(len(groups)))
    for group in set(groups):
        assert sum(any(groups[index] == group for index in fold) for fold in folds) == 1


def test_group_folds_are_balanced():
    """By hand: groups of 4, 3, 2, 2 and 1 go to the smaller of two folds in turn, which gives 4 + 2 and 3 + 2 + 1."""
    folds = group_folds(list("aaaabbbccdde"), 2)

    assert sorted(map(len, folds)) == [6, 6]


@given(st.lists(st.integers(0, 3), min_size=1, max_size=60), st.sampled_from([0.1, 0.25, 0.5]), st.integers(0, 9))
def test_a_stratified_share_has_its_share_of_each_class(classes: list[int], share: float, seed: int):
    """Arithmetic: the share of all, rounded, and that of a class up to one example."""
    ys = np.array(classes)

    chosen = stratified_share(ys, share, seed)

    assert abs(len(chosen) - share * len(ys)) <= 0.5 + 1e-9
    assert len(set(chosen.tolist())) == len(chosen)
    for y in set(classes):
        assert abs((ys[chosen] == y).sum() - share * (ys == y).sum()) < 1 + 1e-9


def test_the_latest_examples_are_chosen_with_all_of_their_time():
    """By hand: two of five are the times 3 and 4, and 3 occurs twice."""
    assert latest(np.array([4.0, 1.0, 3.0, 2.0, 3.0]), 0.4).tolist() == [0, 2, 4]
    assert not len(latest(np.array([4.0, 1.0]), 0.1))


def test_a_group_split_is_a_scaffold_split_by_other_groups():
    assert [part.tolist() for part in group_split(["a", "b", "a", "a"], (0.75, 0.0, 0.25))] == [[0, 2, 3], [], [1]]


def test_invalid_fractions_are_an_error():
    for fractions, actual in (((0.8, 0.1), "0.8, 0.1"), ((0.8, 0.3, -0.1), "0.8, 0.3, -0.1"), ((), "none")):
        with refused(
            f"a split needs three fractions, for training, validation and test, which sum to 1: got {actual}.",
            DataError,
        ):
            random_split(10, fractions, seed=0)


def test_fewer_groups_than_folds_are_an_error():
    for k in (1, 3):
        with pytest.raises(DataError, match=f"at least 2 groups and one group per fold: got 2 for {k} folds"):
            group_folds(["a", "b", "b"], k)
