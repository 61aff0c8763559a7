"""Records: rows of the paper's tables rerun, one small file per fold and seed (Section 4)."""

from __future__ import annotations

import hashlib
import json
import warnings
from collections.abc import Mapping
from datetime import datetime, UTC
from pathlib import Path
from typing import Any

import torch

from edgecond.errors import DataError, DataWarning, listed
from edgecond.files import reading, write_atomic
from edgecond.nn import kernels, parallel
from edgecond.runs.blocks import Record
from edgecond.runs.ensemble import train
from edgecond.runs.model import Model, versions
from edgecond.runs.recipe import first_error, Recipe, with_epochs

SETTINGS = "settings"
"""Folder of the settings of all records, beside the folders of the data sets: `settings/DIGEST.json`."""


def reproduce(
    recipe: Recipe,
    fold: int,
    seed: int,
    *,
    runs: Path,
    results: Path,
    about: dict[str, Any] | None = None,
    **options: Any,
) -> dict[str, Any]:
    """Train and test one fold of a row, and write its record; one of more epochs is kept in its place.

    Args:
        recipe: The row.
        fold: The test fold, from 0.
        seed: Random seed.
        runs: Directory of runs, each in `DATASET/ROW/foldK-seedS`.
        results: Directory of records, `DATASET/ROW/foldK-seedS.json`, and of their settings.
        about: More facts for the record.
        options: Options of `edgecond.runs.run.train`.
    """
    name = f"{recipe.name}/fold{fold}-seed{seed}"
    trained = train(recipe, fold, seed, directory=runs / name, **options)
    if parallel.rank():
        return {}
    metrics = trained.metrics()
    trained.keep(metrics, runs / name)
    record = {
        "row": recipe.name,
        "fold": fold,
        "seed": seed,
        "epochs": trained.model.about["epochs"],
        "metrics": metrics,
        "paper": [claim.model_dump(exclude_none=True) for claim in recipe.paper],
        "seconds": round(trained.seconds, 1),
        "date": datetime.now(UTC).date().isoformat(),
        "data": trained.test.digest,
        **trained.model.preparation.about,
        **_described(trained.model.recipe, results),
        "threads": torch.get_num_threads(),
        "processes": parallel.ranks(),
        "device": parallel.device().type,
        "kernels": kernels.instruction_set(),
        "versions": versions(),
        **(about or {}),
    }
    path = results / f"{name}.json"
    if (held := _epochs_of(path)) > record["epochs"]:
        warnings.warn(
            f"{path} holds a record of {held} epochs and is kept: this run has {record['epochs']}. "
            "For a record of it, name another directory with --results.",
            DataWarning,
            stacklevel=2,
        )
    else:
        write_record(path, record)
    return record


def _epochs_of(path: Path) -> int:
    """Return the number of epochs of a record; 0 if there is none that can be read."""
    try:
        return Record.model_validate_json(path.read_bytes()).epochs
    except (OSError, ValueError):
        return 0


def write_measurements(folder: str, model: Model, results: Path, metrics: Mapping[str, float], **more: Any) -> Path:
    """Write what was measured with the model of a row as the record `FOLDER/DATASET/ROW/foldK-seedS.json`."""
    fold, seed = model.about["fold"], model.about["seed"]
    path = results / folder / model.recipe.name / f"fold{fold}-seed{seed}.json"
    record = {
        "row": model.recipe.name,
        "fold": fold,
        "seed": seed,
        "epochs": model.about["epochs"],
        "metrics": dict(metrics),
        **more,
        "date": datetime.now(UTC).date().isoformat(),
        "data": model.about["data"],
        **_described(model.recipe, results),
        "versions": versions(),
    }
    write_record(path, record)
    return path


def _described(recipe: Recipe, results: Path) -> dict[str, str]:
    """Write the settings of a record, and return their digest by its name there."""
    text = _canonical(recipe.settings())
    write_atomic(_settings_file(results, digest := _digest(text)), text + b"\n")
    return {"recipe": digest}


def write_record(path: Path, record: Mapping[str, Any]) -> None:
    """Write a record as JSON."""
    write_atomic(path, (json.dumps(record, indent=1, ensure_ascii=False) + "\n").encode())


def is_of(record: Record, recipe: Recipe, results: Path) -> bool:
    """Return whether a record was measured with the settings of a recipe, for as many epochs as the record says.

    Settings are compared by their meaning: those of the record are read with their names of then, and what is newer
    than the record has its default.
    """
    expected = with_epochs(recipe, record.epochs).settings()
    if record.recipe == _digest(_canonical(expected)):
        return True
    try:
        held = json.loads(_settings_file(results, record.recipe).read_bytes())
        found = Recipe.model_validate({**held, "paper": ()}).settings()
    except (OSError, ValueError, TypeError):
        return False
    return _digest(_canonical(held)) == record.recipe and {**found, "name": recipe.name} == expected


def _settings_file(results: Path, digest: str) -> Path:
    return results / SETTINGS / f"{digest}.json"


def _canonical(settings: dict[str, Any]) -> bytes:
    """Return settings as the text whose digest names them."""
    return json.dumps(settings, sort_keys=True).encode()


def _digest(text: bytes) -> str:
    return hashlib.sha256(text).hexdigest()[:16]


def read_records(folder: Path, *metrics: str) -> list[Record]:
    """Read the records of a row, each of which must have these metrics."""
    records = []
    for path in sorted(folder.glob("fold*.json")):
        try:
            with reading(path):
                text = path.read_bytes()
            records.append(Record.model_validate(json.loads(text)))
        except (ValueError, RecursionError) as error:
            if isinstance(error, DataError):
                raise
            raise DataError(f"{path} must be a record of `edgecond reproduce`: {first_error(error)}") from error
        if missing := [metric for metric in metrics if metric not in records[-1].metrics]:
            raise DataError(
                f"{path} must be a record of `edgecond reproduce` with the metric {missing[0]}: "
                f"it has {listed(list(records[-1].metrics)) or 'none'}."
            )
    return records
