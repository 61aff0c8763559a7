"""Which rows and columns of a table of molecules are read, and which tables are none."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from edgecond.data.formats.smiles import read
from edgecond.errors import DataError
from tests.data.formats.test_smiles import write
from tests.sentences import mentions


@pytest.mark.parametrize(
    ("target", "reason"),
    [("logS", "column 'logS' is blank."), ("kind", "column 'kind' is blank."), (("logS", "kind"), "all of its 2 ...")],
)
def test_rows_without_any_target_are_left_out_and_reported(target: str | tuple[str, ...], reason: str, tmp_path: Path):
    """What is left is the table without these rows, to the digest of its graphs and targets."""
    rows = ["smiles,logS,kind", "C,1.5,a", "CC,,", "CCC,2.5,b", "CCCC,NA,null", "CCCCC,3.5,a"]

    found = read(write(tmp_path, "\n".join(rows)), target=target)
    expected = read(write(tmp_path, "\n".join([*rows[:2], rows[3], rows[5]])), target=target)

    sentence = reason.replace("...", "targets are blank.")
    assert found.skipped == [(3, sentence), (5, sentence)]
    assert (found.smiles, found.rows.tolist()) == (("C", "CCC", "CCCCC"), [2, 4, 6])
    assert found.graphs.digest == expected.graphs.digest
    np.testing.assert_array_equal(found.targets, expected.targets)


@pytest.mark.parametrize("name", ["SMILES", "Canonical SMILES", "canonical_smiles", "Structure"])
def test_the_column_of_molecules_has_a_usual_name_in_any_case(name: str, tmp_path: Path):
    """As PubChem, ChEMBL and spreadsheets of chemists have it."""
    assert read(write(tmp_path, f"id,{name},y\n1,CCO,2\n"), target="y").smiles == ("CCO",)


def test_a_column_without_any_value_is_reported(tmp_path: Path):
    path = write(tmp_path, "smiles,logS,kind\nC,,a\nCC,,b\n")

    for target in ("logS", ("logS", "kind")):
        with mentions("column 'logS' must hold values to predict: all of its 2 fields are blank.", kind=DataError):
            read(path, target=target)
    with mentions("must hold a molecule in its column 'kind': in row 2, the SMILES is empty", kind=DataError):
        read(write(tmp_path, "smiles,logS,kind\nC,1,\nC,1,a\n"), smiles="kind", target="logS")


def test_a_table_of_points_is_no_table_of_molecules(tmp_path: Path):
    path = write(tmp_path, "X,Y,Z,intensity\n1,2,3,4\n")
    with mentions(path, "It holds points: clouds are read from a folder with a sub-folder for each", kind=DataError):
        read(path)
