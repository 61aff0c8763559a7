"""The vocabulary of atoms and bonds is fixed, as model files depend on its order; test_smiles.py tests the encoding."""

from edgecond.data.formats.atoms import ATTRIBUTES, bond_name, BONDS, ELEMENTS


def test_the_vocabulary_is_that_of_the_first_model_files():
    """Counted by hand: 6 + 5 + 5 + 7 + 5 choices, an other for each of the five, aromatic, in a ring; and the bonds,
    4 single, 12 double, 4 triple, aromatic, other.
    """
    assert len(ATTRIBUTES) == 28 + 5 + 2
    assert len(BONDS) == 4 + 12 + 4 + 1 + 1
    assert len(ELEMENTS) == 1 + 36 + 1
    assert (ATTRIBUTES[0], ATTRIBUTES[-1]) == ("degree 0", "in a ring")
    assert list(BONDS) == sorted(BONDS)


def test_kinds_of_bonds_have_names_and_no_two_the_same():
    """A nitrogen in a ring beside an E double bond, as a chemist would name their bonds."""
    names = [bond_name(kind) for kind in BONDS]

    assert len(set(names)) == len(BONDS)
    assert {"Aromatic bond", "Other bond", "Single bond", "Triple bond, conjugated", "Double bond, in a ring, Z"} < {
        *names
    }
