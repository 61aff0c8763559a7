"""Records: rows of the paper's tables rerun, one small file per fold and seed (Section 4)."""

from __future__ import annotations

import hashlib
import json
from datetime import datetime, UTC
from pathlib import Path
from typing import Any

import torch

from edgecond.errors import DataError, listed
from edgecond.files import reading, write_atomic
from edgecond.nn import kernels, parallel
from edgecond.runs.blocks import Record
from edgecond.runs.ensemble import train
from edgecond.runs.model import versions
from edgecond.runs.recipe import first_error, Recipe


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
    """Train and test one fold of a row, and write its record.

    Args:
        recipe: The row.
        fold: The test fold, from 0.
        seed: Random seed.
        runs: Directory of runs, each in `DATASET/ROW/foldK-seedS`.
        results: Directory of records, `DATASET/ROW/foldK-seedS.json`.
        about: More facts for the record.
        options: Options of `edgecond.runs.run.train`.
    """
    name = f"{recipe.name}/fold{fold}-seed{seed}"
    trained = train(recipe, fold, seed, directory=runs / name, **options)
    if parallel.rank():
        return {}
    record = {
        "row": recipe.name,
        "fold": fold,
        "seed": seed,
        "epochs": trained.model.about["epochs"],
        "metrics": trained.metrics(),
        "paper": [claim.model_dump(exclude_none=True) for claim in recipe.paper],
        "seconds": round(trained.seconds, 1),
        "date": datetime.now(UTC).date().isoformat(),
        "data": trained.test.digest,
        **trained.model.preparation.about,
        "recipe": hashlib.sha256(json.dumps(trained.model.recipe.settings(), sort_keys=True).encode()).hexdigest()[:16],
        "threads": torch.get_num_threads(),
        "processes": parallel.ranks(),
        "device": parallel.device().type,
        "kernels": kernels.instruction_set(),
        "versions": versions(),
        **(about or {}),
    }
    write_atomic(results / f"{name}.json", (json.dumps(record, indent=1, ensure_ascii=False) + "\n").encode())
    return record


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
