"""Searches for better settings of ESOL, is killed and resumed once, and tests the result once; needs the data.

    python -m benchmarks.tuning

The study is in OUT; a search that was stopped is resumed by the same command. The record is
results/benchmarks/tuning.json: the metric of each trial on the validation set, and those of the default and of the best
recipe on the test set, which no trial has seen.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path
from typing import Any

from benchmarks.records import circumstances, TUNING, write
from edgecond.data.kinds import ReadOptions
from edgecond.files import data_directory
from edgecond.runs import trials, tuning, user_data
from edgecond.runs.model import Model
from edgecond.runs.settings_file import read_settings
from edgecond.runs.source import read_parts

TARGET = "measured log solubility in mols per litre"
TRIALS, JOBS, KILLED_AFTER = 40, 2, 12
EPOCHS = 40
"""Number of epochs of a trial, about half of those of a training: twice as many settings are tried in the same time."""


def data() -> Path:
    return data_directory() / "moleculenet" / "delaney-processed.csv"


def search(out: Path, count: int, jobs: int, killed_after: int | None) -> bool:
    """Run the search; return whether it was killed, all its processes at once, after so many trials."""
    command = ["tune", str(data()), "--target", TARGET, "--epochs", str(EPOCHS), "--trials", str(count)]
    command += ["--jobs", str(jobs), "--out", str(out)]
    process = subprocess.Popen([sys.executable, "-m", "edgecond", *command], start_new_session=True)
    while process.poll() is None:
        time.sleep(1)
        if killed_after is not None and ended(out) >= killed_after:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            return True
    assert process.returncode == 0, process.returncode
    return False


def ended(out: Path) -> int:
    """Return the number of trials that have ended."""
    if not (out / trials.STUDY).exists():
        return 0
    try:
        with closing(sqlite3.connect(out / trials.STUDY, timeout=60)) as study:
            query = "SELECT COUNT(*) FROM trials WHERE state IN ('COMPLETE', 'PRUNED', 'FAIL')"
            return int(study.execute(query).fetchone()[0])
    except sqlite3.OperationalError:  # no table yet
        return 0


def test(out: Path, name: str, *options: str) -> dict[str, float]:
    """Train a recipe on the training set, validation set included, and return its metrics on the test set."""
    command = ["train", str(data()), "--target", TARGET, "--out", str(out / name), *options]
    subprocess.run([sys.executable, "-m", "edgecond", *command], check=True)
    model = Model.load(out / name)
    _, test = read_parts(out / name, model)
    return model.evaluate(test)


def study_of(out: Path) -> tuning.Study:
    """Open the study again."""
    split = user_data.split_of(None, None)
    loaded = user_data.load(data(), ReadOptions(target=(TARGET,)), split)
    return tuning.Study(out, tuning.problem(loaded, split, settings={"train.epochs": EPOCHS}))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("runs/tune/esol"), help="directory of the study")
    given = parser.parse_args()
    killed = ended(given.out) < KILLED_AFTER and search(given.out, TRIALS, JOBS, KILLED_AFTER)
    when = ended(given.out)
    search(given.out, TRIALS, JOBS, None)
    seconds = resource.getrusage(resource.RUSAGE_CHILDREN)
    study = study_of(given.out)
    outcomes, best = study.outcomes(), study.best()
    default = next(outcome for outcome in outcomes if outcome.is_default)
    recipe = given.out / tuning.RECIPE
    record: dict[str, Any] = {
        **circumstances(),
        "trials": [{"value": o.value, "ended": max(o.curve, default=0), "settings": o.settings} for o in outcomes],
        "epochs": EPOCHS,
        "jobs": JOBS,
        "killed_after": when if killed else None,
        "processor_seconds": round(seconds.ru_utime + seconds.ru_stime),
        "validation": {"default": default.value, "best": best.value},
        "recipe": read_settings(recipe),
        "test": {"default": test(given.out, "default"), "best": test(given.out, "best", "--recipe", str(recipe))},
    }
    print(json.dumps(record["validation"]), json.dumps(record["test"]))
    write(TUNING, record)


if __name__ == "__main__":
    main()
