"""What chemists use otherwise: chemprop's command line; the random forest is a baseline of `edgecond.runs.baselines`.

It is trained on the training set and returns predictions for the test set, a column for each target; unknown targets
are NaN. It uses one thread, so that training times compare.
"""

from __future__ import annotations

import csv
import os
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from jaxtyping import Float
from numpy import ndarray as Array

from benchmarks.processes import ONE_THREAD
from edgecond.data.splits import Split
from edgecond.errors import DataError

PARTS = ("train", "val", "test")  # names of the three sets in chemprop's column of splits


def chemprop(
    executable: Path,
    smiles: Sequence[str],
    targets: Float[Array, "n t"],
    split: Split,
    *,
    classes: bool,
    seed: int,
    options: Sequence[str] = (),
) -> Float[Array, "test t"]:
    """Train chemprop's default network, choosing its epoch on the validation set, and predict the test set.

    Args:
        executable: The command `chemprop` of an environment that has it.
        smiles: All molecules.
        targets: Their targets: numbers, or 0 and 1.
        split: The three sets.
        classes: Whether targets are 0 and 1; predictions are then the probabilities of 1.
        seed: Random seed.
        options: More options of `chemprop train`.
    """
    names = [f"target{t}" for t in range(targets.shape[1])]
    with tempfile.TemporaryDirectory() as folder:
        table = Path(folder) / "molecules.csv"
        write_table(table, smiles, targets, split)
        task = "classification" if classes else "regression"
        command = [str(executable), "train", "--data-path", table.name, "--task-type", task]
        command += ["--smiles-columns", "smiles", "--target-columns", *names, "--splits-column", "split"]
        command += [
            "--pytorch-seed",
            str(seed),
            "--data-seed",
            str(seed),
            "--accelerator",
            "cpu",
            "--output-dir",
            "model",
            *options,
        ]
        environment = os.environ | ONE_THREAD
        done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
        written = Path(folder) / "model" / "model_0" / "test_predictions.csv"
        if done.returncode or not written.is_file():
            raise DataError(f"`chemprop train` must end with predictions: it ended with {done.stderr[-2000:]}")
        with written.open(newline="") as file:
            rows = list(csv.DictReader(file))
    if [row["smiles"] for row in rows] != [smiles[index].strip() for index in split.test]:
        raise DataError("chemprop must predict the molecules of the test set in their order: it predicted others.")
    return np.array([[float(row[name]) for name in names] for row in rows])


def write_table(path: Path, smiles: Sequence[str], targets: Float[Array, "n t"], split: Split) -> None:
    """Write the molecules of all three sets, one after the other, with the set of each in the column `split`."""
    with path.open("w", newline="") as file:
        table = csv.writer(file)
        table.writerow(["smiles", *(f"target{t}" for t in range(targets.shape[1])), "split"])
        for part, indices in zip(PARTS, split, strict=True):
            for index in indices:
                values = ["" if np.isnan(y) else repr(float(y)) for y in targets[index]]
                table.writerow([smiles[index].strip(), *values, part])


def chemprop_versions(executable: Path) -> dict[str, str]:
    """Return the versions of chemprop and torch in the environment of the command `chemprop`."""
    code = "from importlib.metadata import version as v; print(v('chemprop'), v('torch'))"
    python = executable.with_name("python")
    done = subprocess.run([str(python), "-c", code], capture_output=True, text=True, check=True)
    return dict(zip(("chemprop", "torch"), done.stdout.split(), strict=True))
