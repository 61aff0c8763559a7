"""The atoms and bonds of a molecule as the vertices and edges of a graph, in a fixed encoding."""

from __future__ import annotations

from itertools import chain, product
from typing import Any

import numpy as np

from edgecond.data.graphs import Graphs
from edgecond.files import digest, sha256

ELEMENTS = (0, *range(1, 37), 53)
"""Atomic numbers of the vertex labels; 0 stands for every other element."""

_CHOICES: dict[str, tuple[object, ...]] = {
    "degree": tuple(range(6)),  # neighbours, hydrogens included
    "charge": tuple(range(-2, 3)),
    "hydrogens": tuple(range(5)),
    "hybridisation": ("S", "SP", "SP2", "SP2D", "SP3", "SP3D", "SP3D2"),
    "chirality": ("none", "R", "S", "r", "s"),  # lower case: a pseudoasymmetric centre
}
ATTRIBUTES = (
    *(f"{what} {choice}" for what, choices in _CHOICES.items() for choice in (*choices, "other")),
    "aromatic",
    "in a ring",
)
"""Meaning of each column of the vertex attributes; exactly one of each group of choices is 1."""

_ORDERS = {"SINGLE": 1, "DOUBLE": 2, "TRIPLE": 3}
_AROMATIC, _OTHER = 4110, 0
BONDS = (
    _OTHER,
    *(1000 + 100 * conjugated + 10 * ring for conjugated, ring in product((0, 1), repeat=2)),
    *(2000 + 100 * conjugated + 10 * ring + stereo for conjugated, ring, stereo in product((0, 1), (0, 1), (0, 1, 2))),
    *(3000 + 100 * conjugated + 10 * ring for conjugated, ring in product((0, 1), repeat=2)),
    _AROMATIC,
)
"""Kinds of bonds as four digits: order (4 aromatic), conjugated, in a ring, stereo (1 E, 2 Z); 0 for dative and others.

2101 is a conjugated E double bond outside of rings, as in (E)-penta-1,3-diene.
"""

_SIGNS = "~-=#:"
"""Bonds as SMILES writes them, by order; dative and others come first."""

_MOST_COMPARISONS = 10_000  # of branches, to rank the neighbours of a centre; a protein needs some hundred


def symbol(number: int) -> str:
    """Return the symbol of one of `ELEMENTS`."""
    from rdkit.Chem import GetPeriodicTable

    return str(GetPeriodicTable().GetElementSymbol(number)) if number else "other"


def bond_sign(kind: int) -> str:
    """Return one of `BONDS` as SMILES writes it."""
    return _SIGNS[kind // 1000]


def bond_name(kind: int) -> str:
    """Return what chemists call one of `BONDS`.

    >>> bond_name(2101), bond_name(4110), bond_name(1010)
    ('Double bond, conjugated, E', 'Aromatic bond', 'Single bond, in a ring')
    """
    if kind == _AROMATIC:
        return "Aromatic bond"
    order, conjugated, ring, stereo = (kind // unit % 10 for unit in (1000, 100, 10, 1))
    about = ["conjugated"] * conjugated + ["in a ring"] * ring + [("E", "Z")[stereo - 1]] * (stereo > 0)
    return ", ".join([f"{('Other', 'Single', 'Double', 'Triple')[order]} bond", *about])


def rank(molecule: Any) -> None:
    """Label centres R or S and double bonds E or Z; none of them if there are too many branches to compare."""
    from rdkit.Chem.rdCIPLabeler import AssignCIPLabels

    def clear() -> None:
        for i in range(molecule.GetNumAtoms()):  # by index, which is faster than GetAtoms()
            molecule.GetAtomWithIdx(i).ClearProp("_CIPCode")
        for e in range(molecule.GetNumBonds()):
            molecule.GetBondWithIdx(e).ClearProp("_CIPCode")

    clear()  # the labels that RDKit assigns by older rules while parsing
    try:
        AssignCIPLabels(molecule, maxRecursiveIterations=_MOST_COMPARISONS)
    except RuntimeError:
        clear()  # which parts are labelled by now depends on their order


def described(atom: Any, stereo: bool) -> tuple[object, ...]:
    """Return element, the choices of `_CHOICES`, aromatic, in a ring."""
    centre = stereo and atom.GetChiralTag().name != "CHI_UNSPECIFIED"
    return (
        atom.GetAtomicNum(),
        atom.GetTotalDegree(),
        atom.GetFormalCharge(),
        atom.GetTotalNumHs(),
        atom.GetHybridization().name,
        _label(atom) if centre else "none",
        atom.GetIsAromatic(),
        atom.IsInRing(),
    )


def joined(bond: Any, stereo: bool) -> tuple[int, int, int]:
    """Return the ends and the kind of a bond."""
    name, kind = bond.GetBondType().name, _OTHER
    if name == "AROMATIC":
        kind = _AROMATIC
    elif order := _ORDERS.get(name):
        kind = 1000 * order + 100 * bond.GetIsConjugated() + 10 * bond.IsInRing()
        if stereo and order == 2:
            kind += {"E": 1, "Z": 2}.get(_label(bond).upper(), 0)
    return bond.GetBeginAtomIdx(), bond.GetEndAtomIdx(), kind


def _label(part: Any) -> str:
    return part.GetProp("_CIPCode") if part.HasProp("_CIPCode") else "other"


def packed(
    kinds: list[tuple[object, ...]],
    atoms: list[int],
    bonds: list[tuple[int, int, int]],
    sizes: list[int],
    counts: list[int],
) -> Graphs:
    """Pack graphs of these sizes, with both directions of each bond, sorted by target and then by source."""
    attributes = np.array([_attributes(kind) for kind in kinds], np.float32).reshape(-1, len(ATTRIBUTES))
    elements = np.array([ELEMENTS.index(kind[0]) if kind[0] in ELEMENTS else 0 for kind in kinds], np.int64)
    one, two, kind = np.array(bonds, np.int64).reshape(-1, 3).T
    graph = np.tile(np.repeat(np.arange(len(counts)), counts), 2)
    source, target = np.append(one, two), np.append(two, one)
    order = np.lexsort((source, target, graph))
    numbers = np.array(atoms, np.int64)
    arrays = {
        "vertex_pointer": np.append(0, np.cumsum(np.array(sizes, np.int64))),
        "edge_pointer": np.append(0, 2 * np.cumsum(np.array(counts, np.int64))),
        "source": source[order],
        "target": target[order],
        "vertex_labels": elements[numbers],
        "vertex_attributes": attributes[numbers],
        "edge_labels": np.tile(np.searchsorted(BONDS, kind), 2)[order].astype(np.int64),
    }
    return Graphs(
        "molecules",
        ys=np.zeros(len(sizes), np.int64),
        classes=np.zeros(0, np.int64),
        vertex_values=np.array(ELEMENTS),
        edge_values=np.array(BONDS),
        edge_attributes=np.zeros((2 * len(bonds), 0)),
        attributes=np.zeros((len(sizes), 0)),
        digest=digest(
            {name: sha256(array.astype(array.dtype.newbyteorder("<")).tobytes()) for name, array in arrays.items()}
        ),
        **arrays,
    )


def _attributes(kind: tuple[object, ...]) -> list[bool]:
    _, *chosen, aromatic, ring = kind
    groups = (
        [*(choice == value for choice in choices), value not in choices]
        for value, choices in zip(chosen, _CHOICES.values(), strict=True)
    )
    return [*chain.from_iterable(groups), bool(aromatic), bool(ring)]
