"""Atoms in rings are counted without looking for rings."""

from __future__ import annotations

import pytest

from edgecond.data.formats.rings import check_rings, in_rings
from edgecond.errors import DataError


@pytest.mark.parametrize(
    ("bonds", "atoms", "count"),
    [
        ([], 1, 0),
        ([(0, 1)], 2, 0),
        ([(0, 1), (1, 2), (2, 3)], 4, 0),
        ([(0, 1), (1, 2), (2, 0), (2, 3)], 4, 3),
        ([(0, 1), (1, 2), (2, 0), (2, 3), (3, 4), (4, 5), (5, 6), (6, 4), (6, 7)], 8, 7),
    ],
    ids=["an atom", "a bond", "a chain", "a ring with an end", "two rings, a chain between them, and an end"],
)
def test_ends_are_not_counted(bonds: list[tuple[int, int]], atoms: int, count: int):
    """By hand."""
    neighbours: list[list[int]] = [[] for _ in range(atoms)]
    for one, other in bonds:
        neighbours[one].append(other)
        neighbours[other].append(one)

    assert in_rings(neighbours) == count


def test_a_ring_of_more_atoms_than_the_budget_is_refused_and_a_chain_is_not():
    """RDKit takes 28 bytes for each pair of atoms of a ring, as its memory for rings of 1,000 to 10,000 shows."""
    chem = pytest.importorskip("rdkit.Chem")
    check_rings(None)
    check_rings(chem.MolFromSmiles("C" * 5000, sanitize=False))
    check_rings(chem.MolFromSmiles("C1" + "C" * 2499 + "1", sanitize=False))

    with pytest.raises(DataError, match="at most 2,500 atoms in rings and between them: found 2,501"):
        check_rings(chem.MolFromSmiles("C1" + "C" * 2500 + "1", sanitize=False))
