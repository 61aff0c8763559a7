"""Molecules become graphs in one fixed encoding, and invalid ones are reported."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Hashable
from functools import cache
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from rdkit import Chem
from torch_geometric.utils.smiles import from_smiles, x_map

from edgecond.data.formats import atoms as encoding
from edgecond.data.formats.atoms import ATTRIBUTES, BONDS, ELEMENTS
from edgecond.data.formats.smiles import featurise, Molecules, read
from edgecond.data.graphs import Graphs
from edgecond.errors import DataError
from tests.sentences import mentions, refused


def atoms(graphs: Graphs) -> list[tuple[int, set[str]]]:
    """Atomic number and attributes of each atom."""
    elements = [ELEMENTS[label] for label in graphs.vertex_labels]
    true = [{ATTRIBUTES[k] for k in np.flatnonzero(row)} for row in graphs.vertex_attributes]
    return list(zip(elements, true, strict=True))


def bonds(graphs: Graphs) -> list[tuple[int, int, int]]:
    """Source, target and kind of each edge."""
    kinds = [BONDS[label] for label in graphs.edge_labels]
    return list(zip(graphs.source.tolist(), graphs.target.tolist(), kinds, strict=True))


def molecule(text: str, *, largest: bool = False) -> Graphs:
    graphs, skipped = featurise([text], largest=largest)
    assert not skipped
    return graphs


def labels(text: str) -> set[str]:
    """The R and S of a molecule."""
    true = set().union(*(attributes for _, attributes in atoms(molecule(text))))
    return {one.removeprefix("chirality ") for one in true if one.startswith("chirality ")} - {"none"}


def sp3(degree: int, hydrogens: int) -> set[str]:
    return {f"degree {degree}", "charge 0", f"hydrogens {hydrogens}", "hybridisation SP3", "chirality none"}


# Molecules whose chemistry is known


def test_ethanol_is_a_path_of_two_carbons_and_an_oxygen():
    """By hand: CH3-CH2-OH, each with four, four and two bonds; edges sorted by target and then by source."""
    ethanol = molecule("CCO")

    assert atoms(ethanol) == [(6, sp3(4, 3)), (6, sp3(4, 2)), (8, sp3(2, 1))]
    assert bonds(ethanol) == [(1, 0, 1000), (0, 1, 1000), (2, 1, 1000), (1, 2, 1000)]


def test_benzene_is_a_ring_of_equal_atoms_and_bonds():
    benzene = molecule("C1=CC=CC=C1")

    flat = {"degree 3", "charge 0", "hydrogens 1", "hybridisation SP2", "chirality none", "aromatic", "in a ring"}
    assert atoms(benzene) == [(6, flat)] * 6
    assert [kind for *_, kind in bonds(benzene)] == [4110] * 12


def test_a_salt_is_one_graph_of_two_components():
    """Sodium chloride: two ions and no bond. The largest component of sodium acetate is the acetate."""
    salt = molecule("[Na+].[Cl-]")

    assert (len(salt), salt.num_vertices, salt.num_edges) == (1, 2, 0)
    assert [(element, "charge 1" in true, "charge -1" in true) for element, true in atoms(salt)] == [
        (11, True, False),
        (17, False, True),
    ]
    assert [element for element, _ in atoms(molecule("[Na+].CC(=O)[O-]", largest=True))] == [6, 6, 8, 8]


def test_two_ways_to_draw_a_nitro_group_are_the_same():
    """Nitromethane: the nitrogen has four bonds and a charge, however it is written."""
    charged, neutral = molecule("C[N+](=O)[O-]"), molecule("CN(=O)=O")

    assert surroundings(charged) == surroundings(neutral)
    assert [(element, "charge 1" in true) for element, true in atoms(charged)][1] == (7, True)
    assert sorted(kind for *_, kind in bonds(charged)) == [1000, 1000, 1100, 1100, 2100, 2100]


def test_chiral_centres_are_named_by_their_handedness():
    """L-alanine is (S), D-alanine is (R), each however it is written; without marks nothing is known."""
    assert labels("C[C@H](N)C(=O)O") == labels("N[C@@H](C)C(=O)O") == {"S"}
    assert labels("C[C@@H](N)C(=O)O") == labels("OC(=O)[C@H](N)C") == {"R"}
    assert labels("CC(N)C(=O)O") == set()


def test_rings_with_both_groups_on_one_side_differ_from_the_others():
    """cis-1,4-dimethylcyclohexane is (1s,4s), the trans isomer is (1r,4r)."""
    assert labels("C[C@H]1CC[C@@H](C)CC1") == {"s"}
    assert labels("C[C@H]1CC[C@H](C)CC1") == {"r"}


@pytest.mark.parametrize(
    ("text", "kind"),
    [("OC(=O)/C=C/C(=O)O", 2101), ("OC(=O)/C=C\\C(=O)O", 2102), ("OC(=O)C=CC(=O)O", 2100)],
    ids=["fumaric acid is E", "maleic acid is Z", "unknown"],
)
def test_double_bonds_are_named_by_their_sides(text: str, kind: int):
    acid = bonds(molecule(text))

    assert {kind for *_, kind in acid if kind >= 2000} == {2100, kind}  # 2100: the two C=O beside C=C
    assert Counter(kind for *_, kind in acid)[1100] == 8  # C-C and C-O of both acid groups, in both directions


def test_bonds_in_rings_and_conjugated_bonds_differ():
    """By hand: cyclohexene, but-1-yne and buta-1,3-diene."""
    assert Counter(kind for *_, kind in bonds(molecule("C1CCCC=C1"))) == {1010: 10, 2010: 2}
    assert Counter(kind for *_, kind in bonds(molecule("CCC#C"))) == {1000: 4, 3000: 2}
    assert Counter(kind for *_, kind in bonds(molecule("C=CC=C"))) == {1100: 2, 2100: 4}
    assert Counter(kind for *_, kind in bonds(molecule("[NH3]->[Cu+2]"))) == {0: 2}


def test_hydrogens_are_counted_and_become_vertices_only_where_they_must():
    """Methane, however written, is one vertex; hydrogen has two, heavy methane a vertex for its deuterium."""
    assert atoms(molecule("[H]C([H])([H])[H]")) == atoms(molecule("C")) == [(6, sp3(4, 4))]
    assert [element for element, _ in atoms(molecule("[H][H]"))] == [1, 1]
    assert [element for element, _ in atoms(molecule("[2H]C"))] == [1, 6]


def test_rare_atoms_are_others():
    (uranium, _), (aluminium, true) = *atoms(molecule("[U]")), *atoms(molecule("[Al+3]"))

    assert (uranium, aluminium, "charge other" in true) == (0, 13, True)


def test_the_encoding_does_not_depend_on_the_molecules_at_hand():
    """By hand: 37 elements and others; 7 + 6 + 6 + 8 + 6 choices, 2 marks; 22 kinds of bonds and self-connections."""
    alone, among = molecule("CO"), featurise(["c1ccccc1", "CO", "[U]"])[0]

    assert alone.signal(attributes=True).shape == (2, 38 + 35)
    assert (alone.s, among.s, list(BONDS)) == (23, 23, sorted(BONDS))
    assert torch.equal(alone.signal(attributes=True), among.take([1]).signal(attributes=True))
    assert torch.equal(alone.graph().labels.index, among.take([1]).graph().labels.index)
    assert molecule("CO").digest == alone.digest != molecule("CN").digest


def test_molecules_of_thousands_of_atoms_are_read():
    """A chain, a ring and a protein of 500 alanines, each of which is (S)."""
    graphs, _ = featurise(["C" * 5000, "C1" + "C" * 1999 + "1", "N[C@@H](C)C(=O)" * 500 + "O"])

    assert graphs.sizes.tolist() == [5000, 2000, 5 * 500 + 1]
    assert (graphs[2].vertex_attributes[:, ATTRIBUTES.index("chirality S")] == 1).sum() == 500


def test_centres_with_too_many_branches_to_compare_are_others(monkeypatch: pytest.MonkeyPatch):
    """All of them, since which ones could be named before the end depends on the order of the atoms."""
    monkeypatch.setattr(encoding, "_MOST_COMPARISONS", 1)

    assert labels("C[C@H](F)" * 9 + "Cl") == {"other"}


# Whatever the order of the atoms

MOLECULES = {
    "menthol": "C[C@@H]1CC[C@H]([C@@H](C1)O)C(C)C",
    "glucose": "OC[C@H]1OC(O)[C@H](O)[C@@H](O)[C@@H]1O",
    "cholesterol": "C[C@H](CCCC(C)C)[C@H]1CC[C@@H]2[C@@]1(CC[C@H]3[C@H]2CC=C4[C@@]3(CC[C@@H](C4)O)C)C",
    "penicillin": "CC1([C@@H](N2[C@H](S1)[C@@H](C2=O)NC(=O)Cc3ccccc3)C(=O)O)C",
    "retinal": "CC1=C(C(CCC1)(C)C)/C=C/C(=C/C=C/C(=C/C=O)/C)/C",
    "inositol": "O[C@H]1[C@H](O)[C@@H](O)[C@H](O)[C@H](O)[C@@H]1O",
    "dimethylcyclohexane": "C[C@H]1CC[C@@H](C)CC1",
    "caffeine": "CN1C=NC2=C1C(=O)N(C(=O)N2C)C",
    "cubane": "C12C3C4C1C5C2C3C45",
    "a salt": "[Na+].[Na+].[O-]S(=O)(=O)[O-].O",
    "ferrocene": "[Fe+2].[cH-]1cccc1.[cH-]1cccc1",
}


def surroundings(graphs: Graphs) -> Counter[Hashable]:
    """How often an atom occurs with these bonds to these neighbours."""
    described = [(element, frozenset(true)) for element, true in atoms(graphs)]
    around: list[Counter[Hashable]] = [Counter() for _ in described]
    for source, target, kind in bonds(graphs):
        around[target][(described[source], kind)] += 1
    return Counter((own, frozenset(near.items())) for own, near in zip(described, around, strict=True))


@given(name=st.sampled_from(sorted(MOLECULES)), seed=st.integers(1, 2**31 - 1))
@settings(deadline=None)
def test_atoms_in_another_order_are_the_same_molecule(name: str, seed: int):
    (text,) = Chem.MolToRandomSmilesVect(Chem.MolFromSmiles(MOLECULES[name]), 1, seed)

    assert surroundings(molecule(text)) == surroundings(molecule(MOLECULES[name]))


@given(st.lists(st.one_of(st.text(), st.text(alphabet="CNOclnos123()[]=#@/\\+-.*%H: |&$~>"))))
@settings(deadline=None)
def test_any_text_is_a_molecule_or_is_reported(texts: list[str]):
    graphs, skipped = featurise(texts)

    assert len(graphs) + len(skipped) == len(texts)
    assert all(sentence.endswith(".") and "\n" not in sentence for _, sentence in skipped)


# Invalid molecules


def test_what_is_no_molecule_is_skipped_and_reported(capfd: pytest.CaptureFixture[str]):
    """RDKit's own complaints stay off the terminal."""
    bad: dict[object, str] = {
        " ": "the SMILES is empty.",
        "ethanol": "'ethanol' is not a molecule that RDKit can read.",
        "CC(C)(C)(C)C": "'CC(C)(C)(C)C' is not a molecule that RDKit can read "
        "(Explicit valence for atom # 1 C, 5, is greater than permitted).",
        "C*": "a molecule must have atoms, all of known elements: found none or a wildcard in 'C*'.",
        "CC (=O)O": "a SMILES must have no spaces: found 'CC (=O)O'.",
        "Cé": "'Cé' is not a molecule that RDKit can read.",
        None: "a SMILES must be a text: got NoneType.",
    }
    good = [" CCO ", "CC |$first;second$|"]

    graphs, skipped = featurise([*bad, *good])  # type: ignore[list-item]

    assert skipped == list(enumerate(bad.values()))
    assert graphs.sizes.tolist() == [3, 2]
    assert capfd.readouterr() == ("", "")


def test_no_molecules_are_no_graphs():
    graphs, skipped = featurise([])

    assert (len(graphs), graphs.s, skipped) == (0, 23, [])
    assert graphs.signal(attributes=True).shape == (0, 73)


def test_one_text_is_no_list():
    with mentions("list of SMILES ... 'CCO' ... Put it into a list.", kind=DataError):
        featurise("CCO")


def test_without_rdkit_the_error_names_the_extra(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "rdkit", None)

    with refused("molecules need RDKit, which is not installed. Run `pip install 'edgecond[molecules]'`.", DataError):
        featurise(["C"])


# Tables


def write(folder: Path, text: str) -> Path:
    path = folder / "own.csv"
    path.write_text(text, "utf-8")
    return path


def test_a_table_has_molecules_targets_and_rows(tmp_path: Path):
    path = write(
        tmp_path,
        "name,SMILES,solubility,toxic,odour\n"
        '"ethanol, pure",CCO,1.5,1,sweet\n'
        "nothing,,2.5,0,foul\n"
        "\n"
        "water,O,,0,none\n"
        "too few,C\n"
        "ammonia,N,-2,,foul\n",
    )

    own = read(path, target=["solubility", "toxic", "odour"])

    assert (len(own), own.graphs.name, own.smiles, own.rows.tolist()) == (3, "own", ("CCO", "O", "N"), [2, 5, 7])
    np.testing.assert_array_equal(own.targets, [[1.5, 1, 2], [np.nan, 0, 1], [-2, np.nan, 0]])
    assert [bool(names) for names in own.classes] == [False, True, True]
    assert own.classes == ((), ("0", "1"), ("foul", "none", "sweet"))
    assert own.skipped == [
        (3, "the SMILES is empty."),
        (6, "the row must have 5 fields, one for each column: found 2."),
    ]


def test_a_table_of_new_molecules_needs_no_targets(tmp_path: Path):
    new = read(write(tmp_path, "canonical_smiles\nC\n[Na+].[Cl-]\n"), target=(), largest=True)

    assert (new.targets.shape, new.classes, new.graphs.sizes.tolist()) == ((2, 0), (), [1, 1])


def test_whole_numbers_can_be_numbers_to_predict(tmp_path: Path):
    """A number of rings may be a class or a real number: the user decides."""
    path = write(tmp_path, "smiles,rings\nC1CC1,1\nC12CC1C2,2\n")

    counted, classified = read(path, target="rings", numbers=True), read(path, target="rings")

    assert (counted.classes, counted.targets.tolist()) == (((),), [[1], [2]])
    assert (classified.classes, classified.targets.tolist()) == ((("1", "2"),), [[0], [1]])
    assert counted.graphs.digest != classified.graphs.digest


def test_what_a_table_lacks_is_reported(tmp_path: Path):
    path = write(tmp_path, "molecule,logP,origin\nCCO,-0.3,here\n")
    with mentions(
        path, "smiles, canonical_smiles or structure", "molecule, logP, origin", "Set smiles", kind=DataError
    ):
        read(path, target="logP")
    with mentions(path, "needs columns to predict ... logP, which hold numbers", kind=DataError):
        read(path, smiles="molecule")
    with refused(f"{path} has no column 'logp'. Did you mean logP?", DataError):
        read(path, smiles="molecule", target="logp")
    with mentions(path, "must hold a molecule in its column 'origin'", "row 2", "'here' is not a", kind=DataError):
        read(path, smiles="origin", target="logP")


# Real tables

TARGETS = {
    "delaney-processed.csv": ("measured log solubility in mols per litre",),
    "SAMPL.csv": ("expt",),
    "tox21.csv": (
        *("NR-AR", "NR-AR-LBD", "NR-AhR", "NR-Aromatase", "NR-ER", "NR-ER-LBD", "NR-PPAR-gamma"),
        *("SR-ARE", "SR-ATAD5", "SR-HSE", "SR-MMP", "SR-p53"),
    ),
}


@cache
def whole(path: Path) -> Molecules:
    """A real table, once for all tests."""
    return read(path, target=TARGETS[path.name])


def test_esol_agrees_with_the_graphs_of_pytorch_geometric(real: Callable[[str], Path]):
    """Another program's atoms and bonds: elements, neighbours, charges, hydrogens, rings and orders."""
    esol = whole(real("moleculenet/delaney-processed.csv"))

    assert (len(esol), esol.skipped, esol.classes) == (1128, [], ((),))
    for index in range(0, 1128, 7):
        ours, theirs = esol.graphs.take([index]), from_smiles(esol.smiles[index])
        for (element, true), row in zip(atoms(ours), theirs.x.tolist(), strict=True):
            number, _, degree, charge, hydrogens, _, hybridisation, aromatic, ring = row
            expected = {
                f"degree {degree}",
                f"charge {charge - 5}",
                f"hydrogens {hydrogens}",
                f"hybridisation {x_map['hybridization'][hybridisation]}",
                *["aromatic"] * aromatic,
                *["in a ring"] * ring,
            }
            assert element == number
            assert {one for one in true if not one.startswith("chirality")} == expected
        kinds = {(j, i): kind for j, i, kind in bonds(ours)}
        orders = {1: 1, 2: 2, 3: 3, 12: 4}  # of their bond types: 12 is aromatic
        for (j, i), (order, _, conjugated) in zip(theirs.edge_index.T.tolist(), theirs.edge_attr.tolist(), strict=True):
            assert kinds.pop((j, i)) // 100 == 10 * orders[order] + conjugated
        assert not kinds


@pytest.mark.parametrize(
    ("file", "rows", "vertices", "edges"),
    [
        ("delaney-processed.csv", 1128, 13.3, 27.4),
        ("SAMPL.csv", 642, 8.7, 16.8),
        pytest.param("tox21.csv", 7831, 18.6, 38.6, marks=pytest.mark.slow),
    ],
)
def test_real_tables_have_their_published_sizes(
    file: str, rows: int, vertices: float, edges: float, real: Callable[[str], Path]
):
    """Records as counted beside the files; means from the table in PyTorch Geometric's documentation of MoleculeNet."""
    table = whole(real(f"moleculenet/{file}"))

    assert len(table) + len(table.skipped) == rows
    assert table.graphs.num_vertices / len(table) == pytest.approx(vertices, abs=0.06)
    assert table.graphs.num_edges / len(table) == pytest.approx(edges, abs=0.06)


@pytest.mark.slow
def test_tox21_has_twelve_targets_with_blanks_and_eight_impossible_aluminiums(real: Callable[[str], Path]):
    """Its aluminium salts are drawn with three hydrogens and three bonds to oxygen, which no aluminium has."""
    path = real("moleculenet/tox21.csv")
    lines = path.read_text().splitlines()

    tox21 = whole(path)

    assert tox21.targets.shape == (7823, 12)
    assert all(tox21.classes)
    assert all("[AlH3]" in lines[row - 1] for row, _ in tox21.skipped)
    assert not any("[AlH3]" in lines[row - 1] for row in tox21.rows)
    fields = [lines[row - 1].split(",")[:12] for row in tox21.rows]
    assert np.isnan(tox21.targets).sum() == sum(row.count("") for row in fields)
    assert np.nansum(tox21.targets) == sum(row.count("1") for row in fields)
