"""Tables of molecules are split by scaffold, by group or at random, and drawn as structural formulas."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from edgecond.data.kinds import KINDS, ReadOptions, Split
from edgecond.data.kinds.pictures import MoleculePicture
from edgecond.errors import DataError

pytest.importorskip("rdkit")
MOLECULES = KINDS["molecules"]
RINGS = [f"c1ccccc1{'C' * n}" for n in range(1, 10)] + ["C1CCCCC1O"]


def read(tmp_path: Path, **options: object):
    path = tmp_path / "molecules.csv"
    rows = [f"{smiles},{number % 2},{number // 5}" for number, smiles in enumerate(RINGS)]
    path.write_text("smiles,active,series\n" + "\n".join(rows) + "\n")
    return MOLECULES.read(path, ReadOptions(target=("active",), **options))


def test_a_scaffold_split_tests_on_the_rare_scaffold(tmp_path: Path):
    """Nine benzenes and one cyclohexane: the tenth molecule is the test set."""
    (train, validation, test), notes = MOLECULES.split(read(tmp_path), Split(method="scaffold"), None)

    assert (sorted(train.tolist()), test.tolist()) == (list(range(9)), [9])
    assert (len(validation), notes) == (0, ["split: by scaffold"])


def test_a_group_stays_in_one_part(tmp_path: Path):
    data = read(tmp_path, group="series")

    (train, _, test), _ = MOLECULES.split(data, Split(folds=2), None)

    groups = np.array(data.columns["group"])
    assert not set(groups[train]) & set(groups[test])
    with pytest.raises(DataError, match="by scaffold or by group: got both"):
        MOLECULES.split(data, Split(method="scaffold"), None)


def test_weights_and_times_may_have_decimal_commas_beside_semicolons(tmp_path: Path):
    path = tmp_path / "molecules.csv"
    path.write_text("smiles;logS;year;weight\nC;1,5;2020,25;0,5\nCC;2,5;2019;2\n")

    data = MOLECULES.read(path, ReadOptions(target=("logS",), time="year", weights="weight"))

    assert data.columns["time"].tolist() == [2020.25, 2019]
    assert data.examples.weights.tolist() == [0.5, 2]


def test_an_example_is_described_by_its_smiles(tmp_path: Path):
    description = MOLECULES.describe(read(tmp_path).examples, 3)

    assert description.name == RINGS[3]
    assert isinstance(description.picture, MoleculePicture)


def test_a_row_that_is_no_molecule_is_refused():
    with pytest.raises(DataError, match="row 1 is not"):
        MOLECULES.reader(["C", "xyz"]).unlabelled(["C", "xyz"])


def test_pasted_lines_with_a_header_are_a_table():
    assert MOLECULES.file_of(["id,Canonical SMILES", "1,CCO"]) == (".csv", "id,Canonical SMILES\n1,CCO")
    assert MOLECULES.file_of(["CCO ethanol"]) == (".csv", "smiles\nCCO\n")
