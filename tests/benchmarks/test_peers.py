"""chemprop is given each molecule in its set, and its predictions are those for the test set."""

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
