"""The baseline of a kind of data beside a model: fitted to its training set, and kept in the directory of its run."""

from __future__ import annotations

import json
from math import isfinite
from pathlib import Path

from edgecond.data.kinds import LabelledExamples
from edgecond.data.preparation import no_progress, Progress
from edgecond.errors import DataError
from edgecond.files import reading, write_atomic
from edgecond.runs.baselines import Baseline, find
from edgecond.runs.blocks import Compared
from edgecond.runs.model import Model
from edgecond.runs.recipe import first_error
from edgecond.runs.sampling import sample_settings

FILE = "baseline.json"


def baseline_for(model: Model) -> Baseline:
    """Return the baseline for the kind of data of a model: the one that takes the shortest time to fit."""
    return find(model.kind.baseline)


def compare(
    model: Model, train: LabelledExamples, test: LabelledExamples, fold: int, progress: Progress = no_progress
) -> Compared:
    """Fit the baseline for the data of a model, and test it.

    Args:
        model: The model.
        train: Its training set.
        test: The test set.
        fold: Number of the test fold.
        progress: Called with the number of steps that are done, and of all.
    """
    baseline, settings, seed = baseline_for(model), sample_settings(model.recipe), model.about["seed"]
    metrics = baseline.measure(train, test, model.kind, type(model.task), seed, settings=settings, progress=progress)
    known = {name: value for name, value in metrics.items() if isfinite(value)}
    return Compared(name=baseline.name, data=test.digest, fold=fold, metrics=known)


def keep(compared: Compared, run: Path) -> None:
    """Write the metrics of a baseline into the directory of a run."""
    write_atomic(run / FILE, (compared.model_dump_json(indent=1) + "\n").encode())


def kept(run: Path, model: Model, test: LabelledExamples) -> Compared | None:
    """Return the metrics of a baseline that were kept for the test set of a run, if there are any."""
    path = run / FILE
    if not path.exists():
        return None
    with reading(path):
        text = path.read_bytes()
    try:
        compared = Compared.model_validate(json.loads(text))
    except (ValueError, RecursionError) as error:
        raise DataError(f"{path} must be what `edgecond evaluate --baseline` wrote: {first_error(error)}") from error
    same = (compared.data, compared.fold) == (test.digest, model.about.get("fold", 0))
    return compared if same else None
