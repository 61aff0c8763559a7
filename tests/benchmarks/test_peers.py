"""The peers on molecules are fitted to the training set alone, and their predictions are those for the test set."""

from __future__ import annotations

import csv
import os
import sys
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("rdkit")

from benchmarks import peers
from edgecond.data.splits import Split
from edgecond.errors import DataError

CHAINS = ["C" * n + "O" for n in range(1, 31)]
SPLIT = Split(np.arange(0, 24), np.arange(24, 27), np.arange(27, 30))
TOXIC = np.stack([np.arange(30) % 2, np.where(np.arange(30) % 3, np.arange(30) > 12, np.nan)], axis=1).astype(float)

STAND_IN = """#!{python}
import csv, os, sys
given = dict(zip(sys.argv[2::2], sys.argv[3::2]))
assert os.environ["OMP_NUM_THREADS"] == "1"
with open(given["--data-path"], newline="") as file:
    rows = [row for row in csv.DictReader(file) if row["split"] == "test"]
os.makedirs(given["--output-dir"] + "/model_0")
with open(given["--output-dir"] + "/model_0/test_predictions.csv", "w", newline="") as file:
    table = csv.writer(file)
    table.writerow(["smiles", "target0"])
    table.writerows([row["smiles"], len(row["smiles"])] for row in {order})
"""


def stand_in(folder: Path, order: str) -> Path:
    """Write a command that predicts the length of each SMILES, and writes its predictions as chemprop does."""
    command = folder / "chemprop"
    command.write_text(STAND_IN.format(python=sys.executable, order=order))
    command.chmod(0o755)
    return command


def test_features_are_fingerprints_and_descriptors():
    """Ethanol weighs 46.07 (2 x 12.011 + 6 x 1.008 + 15.999), and has six environments of radius 0 to 2.

    Those are CH3, CH2 and OH, and the same with their neighbours. Radius 2 adds none: it gives the whole molecule, as
    the CH2 has at radius 1.
    """
    row = peers.features(["CCO"])[0]

    assert set(row[: peers.BITS]) == {0.0, 1.0}
    assert row[: peers.BITS].sum() == 6
    assert np.isclose(row[peers.BITS :], 46.069, atol=1e-3).any()


def test_descriptors_are_finite_in_single_precision():
    """Its largest number is (2 - 2^-23) x 2^127."""
    largest = (2 - 2.0**-23) * 2.0**127

    finite = peers.single_precision(np.array([[np.nan, 1e300, -np.inf, 46.0]]))

    assert finite.dtype == np.float32
    assert finite.tolist() == [[0.0, largest, -largest, 46.0]]


@pytest.mark.parametrize("classes", [True, False])
def test_the_forest_is_fitted_to_the_training_set_alone(classes: bool):
    """Other targets of validation and test molecules, and of none, give the same predictions."""
    hidden = TOXIC.copy()
    hidden[24:] = np.nan

    seen = peers.forest(CHAINS, TOXIC, SPLIT, classes=classes, seed=0, trees=10)

    assert seen.shape == (3, 2)
    assert np.array_equal(seen, peers.forest(CHAINS, hidden, SPLIT, classes=classes, seed=0, trees=10))


def test_the_forest_predicts_the_probability_of_one():
    """A target that is 1 for all chains longer than 13 atoms is 1 for the three longest."""
    predictions = peers.forest(CHAINS, TOXIC, SPLIT, classes=True, seed=0, trees=50)

    assert (predictions[:, 1] > 0.9).all()


def test_chemprop_gets_each_molecule_in_its_set(tmp_path: Path):
    """Unknown targets are blank, as chemprop reads them."""
    peers.write_table(tmp_path / "table.csv", CHAINS, TOXIC, SPLIT)

    with (tmp_path / "table.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))

    assert [row["smiles"] for row in rows] == CHAINS
    assert [row["split"] for row in rows] == ["train"] * 24 + ["val"] * 3 + ["test"] * 3
    assert [row["target1"] for row in rows[:3]] == ["", "0.0", "0.0"]


def test_predictions_of_chemprop_are_those_of_the_test_set(tmp_path: Path):
    """A command in its place predicts the length of each SMILES: 29, 30 and 31 characters."""
    command = stand_in(tmp_path, "rows")

    assert peers.chemprop(command, CHAINS, TOXIC[:, :1], SPLIT, classes=False, seed=0).tolist() == [[29], [30], [31]]


def test_predictions_of_chemprop_in_another_order_are_refused(tmp_path: Path):
    command = stand_in(tmp_path, "rows[::-1]")

    with pytest.raises(DataError, match="in their order"):
        peers.chemprop(command, CHAINS, TOXIC[:, :1], SPLIT, classes=False, seed=0)


def test_a_failure_of_chemprop_is_reported(tmp_path: Path):
    command = stand_in(tmp_path, "1 / 0")

    with pytest.raises(DataError, match="division by zero"):
        peers.chemprop(command, CHAINS, TOXIC[:, :1], SPLIT, classes=False, seed=0)


@pytest.mark.skipif("EDGECOND_CHEMPROP" not in os.environ, reason="EDGECOND_CHEMPROP must name chemprop's command")
def test_chemprop_itself_trains_and_predicts():
    """Three epochs are too few to learn anything, and the most that this test waits for."""
    command = Path(os.environ["EDGECOND_CHEMPROP"])

    predictions = peers.chemprop(command, CHAINS, TOXIC, SPLIT, classes=True, seed=0, options=["--epochs=3"])

    assert predictions.shape == (3, 2)
    assert ((predictions > 0) & (predictions < 1)).all()
    assert peers.chemprop_versions(command)["chemprop"].startswith("2.")
