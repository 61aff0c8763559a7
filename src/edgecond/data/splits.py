"""Splits of any data into training, validation and test sets: at random, stratified, by scaffold, group or time."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int
from numpy import ndarray as Array

from edgecond.data.formats.columns import number
from edgecond.data.formats.smiles import parse
from edgecond.errors import DataError

FRACTIONS = (0.8, 0.1, 0.1)
"""Default fractions of the training, validation and test sets."""

EMPTY = np.zeros(0, np.int64)

PARTS = {"train": "train", "test": "test"} | dict.fromkeys(("validation", "val", "valid"), "validation")
"""The part of a split that a word in a file, or the name of a folder, stands for."""


class Split(NamedTuple):
    """Indices of the training, validation (may be empty) and test examples, each ascending."""

    train: Int[Array, " train"]
    validation: Int[Array, " validation"]
    test: Int[Array, " test"]


def random_split(n: int, fractions: Sequence[float] = FRACTIONS, *, seed: int) -> Split:
    """Split `n` examples uniformly at random; the sizes are the fractions of `n`, rounded."""
    ends = np.round(np.cumsum(_check_fractions(fractions)) * n).astype(np.int64)
    order = np.random.default_rng(seed).permutation(n)
    return Split(*(np.sort(part) for part in np.split(order, ends[:2])))


def stratified_folds(
    ys: Int[Array, " examples"], count: int = 10, seed: int = 0, classes: Sequence[str] = ()
) -> tuple[Split, ...]:
    """Split examples into folds with the same distribution of classes; each example is in one test set.

    The ten folds of Section 4.3 leave 9 parts for training and 1 for testing.

    Args:
        ys: Class of each example; all 0 if there are no classes.
        count: Number of folds.
        seed: Random seed of the shuffling.
        classes: Names of the classes for error messages.
    """
    from sklearn.model_selection import StratifiedKFold

    counts = np.bincount(ys) if len(ys) else np.zeros(1, np.int64)
    if (smallest := int(counts.min())) < count:
        rarest = classes[int(counts.argmin())] if classes else "one class"
        per_class, of_rarest = (" of each class", f" of {rarest}") if len(counts) > 1 else ("", "")
        raise DataError(
            f"{count} folds, one of which is the test set, need at least {count} examples{per_class}: found "
            f"{smallest}{of_rarest}. {_way_out(rarest)}"
        )
    folds = StratifiedKFold(count, shuffle=True, random_state=seed).split(np.zeros(len(ys)), ys)
    return tuple(Split(train, EMPTY, test) for train, test in folds)


def _way_out(rarest: str) -> str:
    """Return what to do about a class that is too rare: its name may be a measurement that is not a number alone."""
    if rarest[0] in "0123456789+-<>=~" and number(rarest) is None:
        return f"The column holds names of classes because of texts such as {rarest!r}: write numbers alone."
    return "Ask for fewer folds, or add examples."


def stratified_share(ys: Int[Array, " examples"], share: float, seed: int) -> Int[Array, " chosen"]:
    """Draw a share of some examples, rounded, with the same distribution of classes as far as whole numbers allow.

    Sorted by class and shuffled within each, the examples are numbered from 0, and $i$ is drawn if the rounded
    $i s$ and $(i + 1) s$ differ, for the share $s$: each class has its share, rounded up or down.
    """
    order = np.random.default_rng(seed).permutation(len(ys))
    order = order[np.argsort(ys[order], kind="stable")]
    counts = np.floor(np.round(np.arange(len(ys) + 1) * share, 9) + 0.5)
    return np.sort(order[np.diff(counts) > 0])


def latest(times: Float[Array, " examples"], share: float) -> Int[Array, " chosen"]:
    """Return the latest examples, a share of all, rounded; those of the same time stay together and are all chosen."""
    count = int(np.floor(round(len(times) * share, 9) + 0.5))
    if not count:
        return EMPTY
    return np.flatnonzero(times >= np.sort(times)[-count])


def group_folds(groups: Sequence[Hashable], k: int) -> tuple[Int[Array, " test"], ...]:
    """Return the test sets of `k` folds of similar size that keep each group together, such as a scaffold or batch.

    Each group, largest first, is added to the fold that is smallest so far (scikit-learn's `GroupKFold`).
    """
    from sklearn.model_selection import GroupKFold

    numbers: dict[Hashable, int] = {}
    indices = [numbers.setdefault(group, len(numbers)) for group in groups]
    if not 2 <= k <= len(numbers):
        raise DataError(f"folds need at least 2 groups and one group per fold: got {len(numbers)} for {k} folds.")
    return tuple(test for _, test in GroupKFold(k).split(indices, groups=indices))


def group_split(groups: Sequence[Hashable], fractions: Sequence[float], seed: int | None = None) -> Split:
    """Split examples such that no two sets share a group; see `scaffold_split`, which does so for scaffolds."""
    ends = np.round(np.cumsum(_check_fractions(fractions)) * len(groups), 6)  # 0.7 + 0.1 is less than 0.8
    members: dict[Hashable, list[int]] = {}
    for index, group in enumerate(groups):
        members.setdefault(group, []).append(index)
    train: list[int] = []
    validation: list[int] = []
    test: list[int] = []
    for some in _ordered(list(members.values()), np.array(fractions) * len(groups), seed):
        if len(train) + len(some) <= ends[0]:
            train.extend(some)
        elif len(train) + len(validation) + len(some) <= ends[1]:
            validation.extend(some)
        else:
            test.extend(some)
    return Split(*(np.sort(np.array(part, np.int64)) for part in (train, validation, test)))


# Molecules


def scaffolds(smiles: Sequence[str]) -> list[str]:
    """Return the Bemis-Murcko scaffold of each molecule as SMILES: its rings and linkers, without stereochemistry.

    Molecules without rings share the empty scaffold (Bemis and Murcko, J. Med. Chem. 39, 1996).
    """
    murcko = []
    for text in smiles:
        molecule = parse(text)
        from rdkit.Chem.Scaffolds.MurckoScaffold import MurckoScaffoldSmiles

        murcko.append(MurckoScaffoldSmiles(mol=molecule, includeChirality=False))
    return murcko


def scaffold_split(smiles: Sequence[str], fractions: Sequence[float] = FRACTIONS, seed: int | None = None) -> Split:
    """Split molecules such that no two sets share a scaffold, as in MoleculeNet (Wu et al. 2018).

    This tests a model on molecules unlike those it was trained on. A group of molecules with the same scaffold goes to
    the training set if it fits, else to the validation set if it fits, else to the test set, which may exceed its
    fraction. The order of the groups is that of DeepChem's `ScaffoldSplitter`, or with a seed that of chemprop's
    `scaffold_balanced`.

    Args:
        smiles: The molecules.
        fractions: Fractions of the training, validation and test sets.
        seed: None sorts the groups by size, largest first, and equal sizes by their first molecule, last first: the
            test set gets the rare scaffolds. A random seed shuffles them, and those larger than half of the
            validation set or of the test set come first: frequent and rare scaffolds are in all sets.
    """
    return group_split(scaffolds(smiles), fractions, seed)


def _ordered(groups: list[list[int]], sizes: Float[Array, "3"], seed: int | None) -> list[list[int]]:
    """Groups of molecules in the order in which `scaffold_split` places them; `sizes` are those of the three sets."""
    if seed is None:
        return sorted(groups, key=lambda group: (len(group), group[0]), reverse=True)
    shuffled = [groups[index] for index in np.random.default_rng(seed).permutation(len(groups))]
    half = min((size for size in sizes[1:] if size > 0), default=np.inf) / 2
    return sorted(shuffled, key=lambda group: len(group) <= half)  # stable: the large ones first, both parts shuffled


def _check_fractions(fractions: Sequence[float]) -> Sequence[float]:
    if len(fractions) != 3 or min(fractions) < 0 or not np.isclose(sum(fractions), 1):
        raise DataError(
            "a split needs three fractions, for training, validation and test, which sum to 1: "
            f"got {', '.join(map(str, fractions)) or 'none'}."
        )
    return fractions
