"""The size of the rings of a molecule, counted before RDKit looks for the smallest of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from edgecond.data.budget import MOST_RING
from edgecond.errors import DataError


def check_rings(molecule: Any) -> None:
    """Raise a `DataError` if the rings of an RDKit molecule are larger than the budget allows; None has no rings."""
    if molecule is None:
        return
    neighbours = [[other.GetIdx() for other in atom.GetNeighbors()] for atom in molecule.GetAtoms()]
    if (count := in_rings(neighbours)) > MOST_RING:
        raise DataError(f"a molecule must have at most {MOST_RING:,} atoms in rings and between them: found {count:,}.")


def in_rings(neighbours: Sequence[Sequence[int]]) -> int:
    """Return the number of atoms in rings or in chains between rings: those left when all ends are removed.

    Args:
        neighbours: Numbers of the neighbours of each atom.
    """
    degree = [len(others) for others in neighbours]
    ends = [atom for atom, count in enumerate(degree) if count < 2]
    left = len(degree)
    while ends:
        left -= 1
        for other in neighbours[ends.pop()]:
            degree[other] -= 1
            if degree[other] == 1:
                ends.append(other)
    return left
