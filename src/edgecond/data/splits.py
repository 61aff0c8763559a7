"""Splits of molecules into parts to train on, to select models by and to test: at random, or by scaffold.

Chemists test a model on molecules unlike those it has seen: a split by scaffold keeps molecules with the same rings
and linkers in one part.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np
from jaxtyping import Int
from numpy import ndarray as Array

from edgecond.data.formats.smiles import parse
from edgecond.errors import DataError

Parts = tuple[Int[Array, " train"], Int[Array, " validation"], Int[Array, " test"]]
"""Numbers of the molecules to train on, to select models by and to test, each ascending."""

FRACTIONS = (0.8, 0.1, 0.1)


def scaffolds(smiles: Sequence[str]) -> list[str]:
    """SMILES of the Bemis-Murcko scaffold of each molecule: its rings and what links them, without stereochemistry.

    Molecules without rings share the empty scaffold (Bemis and Murcko, J. Med. Chem. 39, 1996).
    """
    found = []
    for text in smiles:
        molecule = parse(text)
        from rdkit.Chem.Scaffolds.MurckoScaffold import MurckoScaffoldSmiles

        found.append(MurckoScaffoldSmiles(mol=molecule, includeChirality=False))
    return found


def scaffold_split(smiles: Sequence[str], fractions: Sequence[float] = FRACTIONS) -> Parts:
    """A split that has no scaffold in two parts, equal from run to run, as in MoleculeNet (Wu et al. 2018).

    The rule is that of DeepChem's `ScaffoldSplitter`: molecules with one scaffold are a group; the largest group comes
    first, and of equal ones that which begins last. A group goes to the training part if it has room, else to the
    validation part if that has, else to the test part, which so has the rare scaffolds and may exceed its fraction.
    """
    ends = np.round(np.cumsum(_checked(fractions)) * len(smiles), 6)  # 0.7 + 0.1 is less than 0.8
    groups: dict[str, list[int]] = {}
    for index, scaffold in enumerate(scaffolds(smiles)):
        groups.setdefault(scaffold, []).append(index)
    parts: tuple[list[int], list[int], list[int]] = ([], [], [])
    for group in sorted(groups.values(), key=lambda group: (len(group), group[0]), reverse=True):
        if len(parts[0]) + len(group) <= ends[0]:
            parts[0].extend(group)
        elif len(parts[0]) + len(parts[1]) + len(group) <= ends[1]:
            parts[1].extend(group)
        else:
            parts[2].extend(group)
    one, two, three = (np.sort(np.array(part, np.int64)) for part in parts)
    return one, two, three


def random_split(n: int, fractions: Sequence[float] = FRACTIONS, *, seed: int) -> Parts:
    """A split of the numbers below `n` in which every part of these sizes, rounded, is as likely as any other."""
    ends = np.round(np.cumsum(_checked(fractions)) * n).astype(np.int64)
    order = np.random.default_rng(seed).permutation(n)
    one, two, three = (np.sort(part) for part in np.split(order, ends[:2]))
    return one, two, three


def group_folds(groups: Sequence[Hashable], k: int) -> tuple[Int[Array, " test"], ...]:
    """Test parts of `k` folds of about equal size that keep each group together: scaffolds, batches, laboratories.

    The groups go one by one, largest first, to the fold that is smallest so far (scikit-learn's `GroupKFold`).
    """
    from sklearn.model_selection import GroupKFold

    numbers: dict[Hashable, int] = {}
    indices = [numbers.setdefault(group, len(numbers)) for group in groups]
    if not 2 <= k <= len(numbers):
        raise DataError(f"folds need 2 groups or more, and a group for each fold: got {len(numbers)} for {k} folds.")
    return tuple(test for _, test in GroupKFold(k).split(indices, groups=indices))


def _checked(fractions: Sequence[float]) -> tuple[float, float, float]:
    if len(fractions) != 3 or min(fractions) < 0 or not np.isclose(sum(fractions), 1):
        raise DataError(
            "a split has three fractions, to train, to select models and to test, which sum to 1: "
            f"got {', '.join(map(str, fractions)) or 'none'}."
        )
    train, validation, test = fractions
    return train, validation, test
