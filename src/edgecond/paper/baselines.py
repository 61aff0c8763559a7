"""Baselines on the folds of the rows, their records, and the columns that tables show of them."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from datetime import datetime, UTC
from pathlib import Path
from statistics import mean
from typing import Any

import torch

from edgecond.data import datasets
from edgecond.data.preparation import no_progress, Progress
from edgecond.nn import tasks
from edgecond.nn.tasks.combinations import split_name
from edgecond.paper.records import read_records, write_record
from edgecond.paper.tables import Entry
from edgecond.runs.baselines import Baseline, BASELINES
from edgecond.runs.blocks import Record
from edgecond.runs.model import versions
from edgecond.runs.recipe import Recipe, recipes
from edgecond.runs.sampling import kind_for, sample_settings

FOLDER = "baselines"
"""Folder of the records, `baselines/NAME/DATASET/ROW/foldK-seedS.json`."""
_DATA = ("dataset", "options", "task", "attributes", "standardised")  # settings of a row that choose its examples


def folder_of(baseline: Baseline, recipe: Recipe, results: Path) -> Path:
    """Return the folder of the records of a baseline on the data of a row."""
    return results / FOLDER / baseline.name / recipe.name


def row_of(folder: str) -> str:
    """Return the name of the row of a folder of records: `baselines/NAME/ROW`, or the row itself.

    >>> row_of("baselines/wl/nci1/ecc"), row_of("nci1/ecc")
    ('nci1/ecc', 'nci1/ecc')
    """
    return folder.split("/", 2)[2] if folder.startswith(f"{FOLDER}/") else folder


def record_baseline(
    baseline: Baseline, recipe: Recipe, fold: int, seed: int, *, results: Path, progress: Progress = no_progress
) -> dict[str, Any]:
    """Fit and test a baseline on one fold of the data of a row, and write its record.

    Args:
        baseline: The baseline.
        recipe: The row, whose data, augmentation and metrics are used.
        fold: The test fold, from 0.
        seed: Random seed.
        results: Directory of records.
        progress: Called with the number of steps that are done, and of all.
    """
    kind, task, settings = kind_for(recipe), tasks.find(recipe.task), sample_settings(recipe)
    train, test = datasets.load(recipe.dataset, fold, **recipe.options)
    start, used = time.monotonic(), time.process_time()
    metrics = baseline.measure(train, test, kind, task, seed, settings=settings, progress=progress)
    record = {
        "row": recipe.name,
        "baseline": made_with(baseline, recipe),
        "fold": fold,
        "seed": seed,
        "metrics": metrics,
        "seconds": round(time.monotonic() - start, 1),
        "processor_seconds": round(time.process_time() - used, 1),
        "date": datetime.now(UTC).date().isoformat(),
        "data": test.digest,
        "threads": torch.get_num_threads(),
        "versions": versions() | baseline.versions(),
    }
    write_record(folder_of(baseline, recipe, results) / f"fold{fold}-seed{seed}.json", record)
    return record


def made_with(baseline: Baseline, recipe: Recipe) -> dict[str, Any]:
    """Return the name and the settings of a baseline, and what it takes from a row, as JSON."""
    return {"name": baseline.name, **baseline.settings, "row": _taken(recipe, *_DATA, "augment")}


def is_of(record: Record, baseline: Baseline, recipe: Recipe) -> bool:
    """Return whether a record was measured with the settings that the baseline and the row have now."""
    return record.baseline == made_with(baseline, recipe)


def without_record(
    baseline: Baseline, recipe: Recipe, folds: Sequence[tuple[int, int]], results: Path
) -> list[tuple[int, int]]:
    """Return the pairs of fold and seed that have no record, or one of other settings."""
    records = read_records(folder_of(baseline, recipe, results))
    recorded = {(record.fold, record.seed) for record in records if is_of(record, baseline, recipe)}
    return [run for run in folds if run not in recorded]


def columns(entries: Sequence[Entry], results: Path) -> dict[str, list[str]]:
    """Return the mean over folds of each baseline that has records on the data of some entry, a cell per entry.

    The metric is that of a single view. Where folds are missing a cell counts those that there are.
    """
    found = {}
    for name, baseline in BASELINES.items():
        cells = [_cell(baseline, entry, results) for entry in entries]
        if any(cells):
            found[name] = cells
    return found


def _cell(baseline: Baseline, entry: Entry, results: Path) -> str:
    metric, _ = split_name(entry.metric)
    for recipe in _same_data(entry.recipe):
        by_fold: dict[int, list[float]] = {}
        for record in read_records(folder_of(baseline, recipe, results)):
            if metric in record.metrics and is_of(record, baseline, recipe):
                by_fold.setdefault(record.fold, []).append(record.metrics[metric])
        if len(by_fold) == entry.recipe.folds:
            return entry.written(mean(map(mean, by_fold.values())))
        if by_fold:
            return f"{len(by_fold)}/{entry.recipe.folds} folds"
    return ""


def _same_data(recipe: Recipe) -> Iterator[Recipe]:
    """Yield the rows of the same data, this one first."""
    yield recipe
    wanted = _taken(recipe, *_DATA)
    others = (other for other in recipes().values() if other.name != recipe.name)
    yield from (other for other in others if _taken(other, *_DATA) == wanted)


def _taken(recipe: Recipe, *names: str) -> dict[str, Any]:
    """Return some settings of a row, as JSON."""
    settings = recipe.settings()
    return {name: settings[name] for name in names}
