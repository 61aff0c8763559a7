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

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Int, Shaped
from numpy import ndarray as Array

from edgecond.data.budget import MOST_RING, MOST_SMILES
from edgecond.data.features import Features
from edgecond.data.formats import atoms as encoding
from edgecond.data.formats.columns import form_of, interpret, interpret_feature, is_blank, read_csv, records, Table
from edgecond.data.formats.descriptors import describe
from edgecond.data.formats.rings import check_rings
from edgecond.data.graphs import Graphs
from edgecond.errors import DataError, listed
from edgecond.files import digest, sha256

COLUMNS = ("smiles", "canonical_smiles", "structure")
"""Names of the column of SMILES, in any case and with spaces or underscores; the first one that exists is used."""

_HELD = 4096  # molecules in memory at a time, to describe them
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
        skipped: Rows without a valid molecule or any target, each with the reason.
        columns: The other columns that were asked for, by name, with a field for each molecule.
        features: Columns beside the molecules, and their descriptors; none if none were asked for.
        comma: Whether numbers may be written 3,14 in the table.
    """

    graphs: Graphs
    targets: Float[Array, "n t"]
    target_names: tuple[str, ...]
    classes: tuple[tuple[str, ...], ...]
    smiles: tuple[str, ...]
    rows: Int[Array, " n"]
    skipped: list[tuple[int, str]]
    columns: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    features: Features | None = None
    comma: bool = False

    def __len__(self) -> int:
        return len(self.smiles)


def read(
    path: str | Path,
    *,
    smiles: str | None = None,
    target: str | Sequence[str] | None = None,
    numbers: bool = False,
    largest: bool = False,
    others: Sequence[str] = (),
    features: Sequence[str] = (),
    descriptors: Sequence[str] = (),
) -> Molecules:
    """Read the molecules of a CSV file. Rows without a valid molecule or any target are left out and reported.

    Args:
        path: A table that `read_csv` reads.
        smiles: Column of SMILES; one of `COLUMNS` by default.
        target: Columns to predict; `()` for a table of new molecules.
        numbers: Whether all targets are numbers, even if they are few and whole; see `interpret`.
        largest: Keep only the largest component of a molecule, without salts and solvents.
        others: Names of other columns to keep, such as a laboratory, a date or a part of a split.
        features: Columns of numbers or texts that are known of each molecule beside its structure.
        descriptors: Names of the descriptors to compute of each molecule.
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
    other_fields = {name: table.column(name) for name in others}
    beside = {name: table.column(name) for name in features}
    if known := [name for name in beside if name in (*names, column)]:
        what = "the molecules" if known[0] == column else "a target"
        raise DataError(
            f"{table.path} must have features that are neither molecules nor targets: column {known[0]!r} is {what}. "
            "Leave it out of the features."
        )
    answered, blank = _answered(names, columns, len(texts))
    graphs, unread = featurise([texts[index] for index in answered], largest=largest, descriptors=descriptors)
    wrong = [*table.uneven, *((table.numbers[answered[place]], reason) for place, reason in unread)]
    if not len(graphs):
        reason = "in row {}, {}".format(*min(wrong)) if wrong else "it has no rows."
        raise DataError(f"{table.path} must hold a molecule in its column {column!r}: {reason}")
    skipped = sorted([*wrong, *((table.numbers[index], reason) for index, reason in blank)])
    bad = {place for place, _ in unread}
    kept = [index for place, index in enumerate(answered) if place not in bad]
    rows = np.array([table.numbers[index] for index in kept], np.int64)
    targets, classes = np.empty((len(kept), len(names))), []
    for t, (name, fields) in enumerate(zip(names, columns, strict=True)):
        where = f"{table.path}, column {name!r}"
        chosen = [fields[index] for index in kept]
        targets[:, t], class_names = interpret(where, chosen, rows.tolist(), numbers=numbers, comma=table.comma)
        classes.append(class_names)
    interpreted = {
        name: interpret_feature(
            f"{table.path}, column {name!r}", [fields[index] for index in kept], rows.tolist(), comma=table.comma
        )
        for name, fields in beside.items()
    }
    parts = {"targets": targets.astype("<f8").tobytes(), "names": repr((names, classes)).encode()}
    if features or descriptors:
        known_values = {name: values.tolist() for name, values in interpreted.items()}
        parts["features"] = repr((known_values, tuple(descriptors))).encode()
    total = digest({"graphs": graphs.digest, **{part: sha256(data) for part, data in parts.items()}})
    return Molecules(
        replace(graphs, name=table.path.name.removesuffix(".gz").removesuffix(".csv"), digest=total),
        targets,
        names,
        tuple(classes),
        tuple(texts[index] for index in kept),
        rows,
        skipped,
        {name: tuple(fields[index] for index in kept) for name, fields in other_fields.items()},
        Features(interpreted, descriptors_of(graphs, descriptors)) if features or descriptors else None,
        table.comma,
    )


def _answered(
    names: Sequence[str], columns: Sequence[Sequence[str]], count: int
) -> tuple[list[int], list[tuple[int, str]]]:
    """Return the rows that have a target, and the others with the reason to leave them out, by their indices.

    A table without any target is read whole: whoever interprets its columns reports it.

    Args:
        names: Name of each target.
        columns: Its fields.
        count: Number of rows.
    """
    known = [any(not is_blank(fields[index]) for fields in columns) for index in range(count)]
    if not any(known):
        return list(range(count)), []
    reason = f"column {names[0]!r} is blank." if len(names) == 1 else f"all of its {len(names)} targets are blank."
    blank = [(index, reason) for index, is_known in enumerate(known) if not is_known]
    return [index for index, is_known in enumerate(known) if is_known], blank


class Chunk(NamedTuple):
    """Some rows of a CSV file: number, SMILES and features of each, and the unusable rows, with the reason."""

    path: Path
    numbers: tuple[int, ...]
    texts: tuple[str, ...]
    unusable: list[tuple[int, str]]
    features: dict[str, Shaped[Array, " n"]]


def chunks(
    path: Path, *, smiles: str | None = None, size: int = 1024, features: Mapping[str, bool] | None = None
) -> Iterator[Chunk]:
    """Yield the rows of a CSV file without targets, some at a time: memory is that of `size` rows.

    Args:
        path: A table that `read_csv` reads.
        smiles: Column of SMILES; one of `COLUMNS` by default.
        size: Number of rows to read at a time; none of them need be a molecule.
        features: Columns beside the molecules, each with whether it holds numbers.
    """
    form = form_of(path)
    column = _smiles_column(path, form.header) if smiles is None else smiles
    numeric = [name for name, has_numbers in (features or {}).items() if has_numbers]
    for name in features or ():
        Table(path, form.header, (), (), ()).column(name)  # which must exist
    rows = records(form)
    while some := list(islice(rows, size)):
        judged = [(number, record, form.unusable(record, numeric)) for number, record in some]
        numbers = tuple(number for number, _, wrong in judged if not wrong)
        usable = tuple(record for _, record, wrong in judged if not wrong)
        table = Table(path, form.header, usable, numbers, (), form.comma)
        beside = {name: table.feature(name, has_numbers) for name, has_numbers in (features or {}).items()}
        unusable = [(number, wrong) for number, _, wrong in judged if wrong]
        yield Chunk(path, numbers, tuple(table.column(column)), unusable, beside)


def read_chunk(chunk: Chunk, *, descriptors: Sequence[str] = ()) -> Molecules:
    """Return the molecules of some rows, without targets.

    Args:
        chunk: The rows.
        descriptors: Names of the descriptors to compute of each molecule.
    """
    graphs, unread = featurise(chunk.texts, descriptors=descriptors)
    bad = {index for index, _ in unread}
    kept = [index for index in range(len(chunk.texts)) if index not in bad]
    return Molecules(
        graphs,
        np.zeros((len(kept), 0)),
        (),
        (),
        tuple(chunk.texts[index] for index in kept),
        np.array([chunk.numbers[index] for index in kept], np.int64),
        sorted([*chunk.unusable, *((chunk.numbers[index], reason) for index, reason in unread)]),
        features=Features(
            {name: values[kept] for name, values in chunk.features.items()}, descriptors_of(graphs, descriptors)
        ),
    )


def plain(name: str) -> str:
    """Return the name of a column as `COLUMNS` has it.

    >>> plain("Canonical SMILES")
    'canonical_smiles'
    """
    return name.strip().lower().replace(" ", "_")


def _smiles_column(path: Path, header: Sequence[str]) -> str:
    by_name = {plain(name): name for name in reversed(header)}
    for name in COLUMNS:
        if name in by_name:
            return by_name[name]
    advice = "Set smiles to the column that holds the molecules."
    if {"x", "y", "z"} <= by_name.keys():
        advice = "It holds points: clouds are read from a folder with a sub-folder for each class."
    raise DataError(
        f"{path} must have a column {', '.join(COLUMNS[:-1])} or {COLUMNS[-1]}: found {listed(header)}. {advice}"
    )


# Molecules to graphs


def featurise(
    smiles: Sequence[str], *, largest: bool = False, descriptors: Sequence[str] = ()
) -> tuple[Graphs, list[tuple[int, str]]]:
    """Encode molecules as graphs; return them and the molecules that were skipped, by index, with the reason.

    Vertices are the atoms that RDKit keeps: hydrogens are an attribute of their neighbour, except where they are atoms
    of their own, as in molecular hydrogen or isotopes. The components of a salt are in one graph.

    Args:
        smiles: SMILES of each molecule.
        largest: Keep only the largest component of each molecule, the first of equal ones.
        descriptors: Names of the descriptors to compute, as the attributes of each graph; see `describe`.
    """
    if isinstance(smiles, str):
        raise DataError(f"molecules must be a list of SMILES: got the text {smiles[:_SHOWN]!r}. Put it into a list.")
    kinds: dict[tuple[object, ...], int] = {}  # of atoms: thousands of molecules have some hundred
    atoms: list[int] = []
    bonds: list[tuple[int, int, int]] = []
    sizes, counts, skipped = [], [], []
    held: list[Any] = []  # molecules to describe
    rows: list[Float[Array, "n d"]] = []
    with _silence():
        for index, text in enumerate(smiles):
            try:
                molecule = parse(text, largest=largest)
                n, count = molecule.GetNumAtoms(), molecule.GetNumBonds()
                stereo = any(sign in text for sign in "@/\\")
                if stereo:
                    encoding.rank(molecule)
                # By index, which is faster than GetAtoms() and GetBonds().
                described = [encoding.described(molecule.GetAtomWithIdx(i), stereo) for i in range(n)]
                joined = [encoding.joined(molecule.GetBondWithIdx(e), stereo) for e in range(count)]
            except (DataError, RuntimeError) as error:  # the latter: an internal check of RDKit
                skipped.append((index, str(error) if isinstance(error, DataError) else _unreadable(text)))
                continue
            atoms += [kinds.setdefault(kind, len(kinds)) for kind in described]
            bonds += joined
            sizes.append(n)
            counts.append(count)
            if descriptors:
                held.append(molecule)
                if len(held) == _HELD:
                    rows.append(describe(held, descriptors))
                    held.clear()
    graphs = encoding.packed(list(kinds), atoms, bonds, sizes, counts)
    if descriptors:
        graphs = replace(graphs, attributes=np.concatenate([*rows, describe(held, descriptors)]))
    return graphs, skipped


def descriptors_of(graphs: Graphs, names: Sequence[str]) -> dict[str, Float[Array, " n"]]:
    """Return the descriptors that `featurise` has computed, by their names."""
    return dict(zip(names, graphs.attributes.T, strict=True))


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
