r"""Molecules from SMILES, as graphs whose edge labels are kinds of bonds.

The encoding is fixed, so that new molecules are encoded as those of the training set. It follows MoleculeNet (Wu et al.
2018), OGB (Hu et al. 2020) and Chemprop (Heid et al. 2024):

| part of `Graphs` | holds |
|---|---|
| `vertex_labels` | the element: the first four rows of the periodic table and iodine, as in Chemprop, or another |
| `vertex_attributes` | 0 or 1 for each of `ATTRIBUTES`: bonds, charge, hydrogens, hybridisation, ... |
| `edge_labels` | the kind of the bond, one of `BONDS`: its order, and whether it is conjugated, in a ring, E or Z |

Chirality is R or S, and double bonds are E or Z, by the rules of Cahn, Ingold and Prelog: RDKit's own tags, clockwise
or counterclockwise, depend on the order of the atoms in the SMILES.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, islice, product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Int
from numpy import ndarray as Array

from edgecond.data.budget import MOST_RING, MOST_SMILES
from edgecond.data.formats.columns import form_of, interpret, read_csv, records, Table
from edgecond.data.formats.rings import check_rings
from edgecond.data.graphs import Graphs
from edgecond.errors import DataError, listed
from edgecond.files import digest, sha256

COLUMNS = ("smiles", "canonical_smiles", "structure")
"""Names of the column of SMILES, in any case; the first one that exists is used."""

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

_MOST_COMPARISONS = 10_000  # of branches, to rank the neighbours of a centre; a protein needs some hundred
_SHOWN = 60  # characters of a SMILES in a message


@dataclass(frozen=True, eq=False)
class Molecules:
    """Molecules of a table, with their targets.

    Attributes:
        graphs: The molecules in the order of their rows. Their `ys` are all 0: see `targets`.
        targets: A column for each target, NaN where the table is blank: a real number, or the number of a class.
        target_names: Name of each target.
        classes: Names of the classes of each target; none for regression.
        smiles: SMILES of each molecule, as in the table.
        rows: Row of each molecule in the table, as a spreadsheet shows it: the header is row 1.
        skipped: Rows without a valid molecule, each with the reason.
        groups: Group of each molecule; empty without a column of groups.
    """

    graphs: Graphs
    targets: Float[Array, "n t"]
    target_names: tuple[str, ...]
    classes: tuple[tuple[str, ...], ...]
    smiles: tuple[str, ...]
    rows: Int[Array, " n"]
    skipped: list[tuple[int, str]]
    groups: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.smiles)

    def without_class(self, index: int) -> str:
        """Return the error message for a molecule without a class."""
        return (
            f"column {self.target_names[0]!r} must have a class for every molecule: row {self.rows[index]} is blank. "
            "Remove such rows."
        )


def read(
    path: str | Path,
    *,
    smiles: str | None = None,
    target: str | Sequence[str] | None = None,
    numbers: bool = False,
    largest: bool = False,
    group: str | None = None,
) -> Molecules:
    """Read the molecules of a CSV file. Rows without a valid molecule are left out and reported.

    Args:
        path: A table that `read_csv` reads.
        smiles: Column of SMILES; one of `COLUMNS` by default.
        target: Columns to predict; `()` for a table of new molecules.
        numbers: Whether all targets are numbers, even if they are few and whole; see `interpret`.
        largest: Keep only the largest component of a molecule, without salts and solvents.
        group: Column with the group of each molecule, such as a laboratory or a batch.
    """
    table = read_csv(Path(path))
    column = _smiles_column(table.path, table.header) if smiles is None else smiles
    texts = table.column(column)
    if target is None:
        known = [name for name in table.numeric() if name != column]
        raise DataError(
            f"{table.path} needs columns to predict: set target to one or more of {listed(known)}, which hold numbers."
            if known
            else f"{table.path} needs columns to predict: set target to one or more of {listed(table.header)}."
        )
    names = (target,) if isinstance(target, str) else tuple(dict.fromkeys(target))  # each once
    columns = [table.column(name) for name in names]
    grouping = table.column(group) if group else None
    graphs, unread = featurise(texts, largest=largest)
    skipped = sorted([*table.uneven, *((table.numbers[index], reason) for index, reason in unread)])
    if not len(graphs):
        reason = f"in row {skipped[0][0]}, {skipped[0][1]}" if skipped else "it has no rows."
        raise DataError(f"{table.path} must hold a molecule in its column {column!r}: {reason}")
    bad = {index for index, _ in unread}
    kept = [index for index in range(len(texts)) if index not in bad]
    rows = np.array([table.numbers[index] for index in kept], np.int64)
    targets, classes = np.empty((len(kept), len(names))), []
    for t, (name, fields) in enumerate(zip(names, columns, strict=True)):
        where = f"{table.path}, column {name!r}"
        chosen = [fields[index] for index in kept]
        targets[:, t], class_names = interpret(where, chosen, rows.tolist(), numbers=numbers, comma=table.comma)
        classes.append(class_names)
    parts = {"targets": targets.astype("<f8").tobytes(), "names": repr((names, classes)).encode()}
    total = digest({"graphs": graphs.digest, **{part: sha256(data) for part, data in parts.items()}})
    return Molecules(
        replace(graphs, name=table.path.name.removesuffix(".gz").removesuffix(".csv"), digest=total),
        targets,
        names,
        tuple(classes),
        tuple(texts[index] for index in kept),
        rows,
        skipped,
        tuple(grouping[index] for index in kept) if grouping else (),
    )


class Chunk(NamedTuple):
    """Some rows of a CSV file: number and SMILES of each, and the rows that are not even, with the reason."""

    path: Path
    numbers: tuple[int, ...]
    texts: tuple[str, ...]
    uneven: list[tuple[int, str]]


def chunks(path: Path, *, smiles: str | None = None, size: int = 1024) -> Iterator[Chunk]:
    """Yield the rows of a CSV file without targets, some at a time: memory is that of `size` rows.

    Args:
        path: A table that `read_csv` reads.
        smiles: Column of SMILES; one of `COLUMNS` by default.
        size: Number of rows to read at a time; none of them need be a molecule.
    """
    form = form_of(path)
    column = _smiles_column(path, form.header) if smiles is None else smiles
    rows = records(form)
    while some := list(islice(rows, size)):
        even = [(number, record) for number, record in some if not form.uneven(record)]
        numbers = tuple(number for number, _ in even)
        texts = Table(path, form.header, tuple(record for _, record in even), numbers, ()).column(column)
        uneven = [(number, wrong) for number, record in some if (wrong := form.uneven(record))]
        yield Chunk(path, numbers, tuple(texts), uneven)


def read_chunk(chunk: Chunk) -> Molecules:
    """Return the molecules of some rows, without targets."""
    graphs, unread = featurise(chunk.texts)
    bad = {index for index, _ in unread}
    kept = [index for index in range(len(chunk.texts)) if index not in bad]
    return Molecules(
        graphs,
        np.zeros((len(kept), 0)),
        (),
        (),
        tuple(chunk.texts[index] for index in kept),
        np.array([chunk.numbers[index] for index in kept], np.int64),
        sorted([*chunk.uneven, *((chunk.numbers[index], reason) for index, reason in unread)]),
    )


def _smiles_column(path: Path, header: Sequence[str]) -> str:
    by_name = {name.lower(): name for name in reversed(header)}
    for name in COLUMNS:
        if name in by_name:
            return by_name[name]
    raise DataError(
        f"{path} must have a column {', '.join(COLUMNS[:-1])} or {COLUMNS[-1]}: found {listed(header)}. "
        "Set smiles to the column that holds the molecules."
    )


# Molecules to graphs


def featurise(smiles: Sequence[str], *, largest: bool = False) -> tuple[Graphs, list[tuple[int, str]]]:
    """Encode molecules as graphs; return them and the molecules that were skipped, by index, with the reason.

    Vertices are the atoms that RDKit keeps: hydrogens are an attribute of their neighbour, except where they are atoms
    of their own, as in molecular hydrogen or isotopes. The components of a salt are in one graph.

    Args:
        smiles: SMILES of each molecule.
        largest: Keep only the largest component of each molecule, the first of equal ones.
    """
    if isinstance(smiles, str):
        raise DataError(f"molecules must be a list of SMILES: got the text {smiles[:_SHOWN]!r}. Put it into a list.")
    kinds: dict[tuple[object, ...], int] = {}  # of atoms: thousands of molecules have some hundred
    atoms: list[int] = []
    bonds: list[tuple[int, int, int]] = []
    sizes, counts, skipped = [], [], []
    with _silence():
        for index, text in enumerate(smiles):
            try:
                molecule = parse(text, largest=largest)
                n, count = molecule.GetNumAtoms(), molecule.GetNumBonds()
                stereo = any(sign in text for sign in "@/\\")
                if stereo:
                    _rank(molecule)
                # By index, which is faster than GetAtoms() and GetBonds().
                described = [_atom(molecule.GetAtomWithIdx(i), stereo) for i in range(n)]
                joined = [_bond(molecule.GetBondWithIdx(e), stereo) for e in range(count)]
            except (DataError, RuntimeError) as error:  # the latter: an internal check of RDKit
                skipped.append((index, str(error) if isinstance(error, DataError) else _unreadable(text)))
                continue
            atoms += [kinds.setdefault(kind, len(kinds)) for kind in described]
            bonds += joined
            sizes.append(n)
            counts.append(count)
    return _packed(list(kinds), atoms, bonds, sizes, counts), skipped


def parse(smiles: str, *, largest: bool = False) -> Any:
    """Return the RDKit molecule of a SMILES; raise a `DataError` if it is invalid or has an atom of no element."""
    chem = _rdkit()
    from rdkit.Chem.rdqueries import AtomNumEqualsQueryAtom

    if not isinstance(smiles, str):
        raise DataError(f"a SMILES must be a text: got {type(smiles).__name__}.")
    if not (words := smiles.split(maxsplit=1)):
        raise DataError("the SMILES is empty.")
    shown = repr(smiles.strip()[:_SHOWN])
    if len(words) > 1 and not words[1].startswith("|"):  # an extension (CXSMILES), which is not read
        raise DataError(f"a SMILES must have no spaces: found {shown}.")
    if len(words[0]) > MOST_SMILES:
        raise DataError(f"a SMILES must have at most {MOST_SMILES:,} characters: found {len(words[0]):,} in {shown}.")
    with _silence():
        if len(words[0]) > MOST_RING:
            check_rings(chem.MolFromSmiles(words[0], sanitize=False))
        try:
            molecule = chem.MolFromSmiles(words[0]) if words[0].isascii() else None
        except RuntimeError:  # an internal check of RDKit
            raise DataError(_unreadable(smiles)) from None
        if molecule is None:
            raise DataError(f"{shown} is not a molecule that RDKit can read{_reason(words[0])}.")
        if largest and (components := chem.GetMolFrags(molecule, asMols=True)):
            molecule = max(components, key=lambda component: component.GetNumAtoms())
    if not molecule.GetNumAtoms() or len(molecule.GetAtomsMatchingQuery(AtomNumEqualsQueryAtom(0))):
        raise DataError(f"a molecule must have atoms, all of known elements: found none or a wildcard in {shown}.")
    return molecule


def _unreadable(smiles: str) -> str:
    return f"{smiles.strip()[:_SHOWN]!r} is not a molecule that RDKit can read."


def _reason(smiles: str) -> str:
    """Return RDKit's objection to the chemistry of a SMILES that it can parse, in parentheses."""
    chem = _rdkit()
    molecule = chem.MolFromSmiles(smiles, sanitize=False) if smiles.isascii() else None
    problems = chem.DetectChemistryProblems(molecule) if molecule is not None else ()
    return f" ({problems[0].Message().strip()})" if problems else ""


def _rank(molecule: Any) -> None:
    """Label centres R or S and double bonds E or Z; none of them if there are too many branches to compare."""
    from rdkit.Chem.rdCIPLabeler import AssignCIPLabels

    def clear() -> None:
        for part in (*molecule.GetAtoms(), *molecule.GetBonds()):
            part.ClearProp("_CIPCode")

    clear()  # the labels that RDKit assigns by older rules while parsing
    try:
        AssignCIPLabels(molecule, maxRecursiveIterations=_MOST_COMPARISONS)
    except RuntimeError:
        clear()  # which parts are labelled by now depends on their order


def _atom(atom: Any, stereo: bool) -> tuple[object, ...]:
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


def _bond(bond: Any, stereo: bool) -> tuple[int, int, int]:
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


def _packed(
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


def _rdkit() -> Any:
    try:
        from rdkit import Chem
    except ImportError:
        raise DataError(
            "molecules need RDKit, which is not installed. Run `pip install 'edgecond[molecules]'`."
        ) from None
    return Chem


def _silence() -> Any:
    """Return a context in which RDKit writes nothing to the terminal."""
    _rdkit()
    from rdkit.rdBase import BlockLogs

    return BlockLogs()
