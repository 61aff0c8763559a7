"""Ten folds of the graph datasets, each to be tested in turn: our own, and the public ones (Section 4.3)."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

import numpy as np
from jaxtyping import Int
from numpy import ndarray as Array

from edgecond.datasets._files import data_directory, DataError, read_archive, reading
from edgecond.datasets.tu import read_table, release_of

FOLDS = 10


@dataclass(frozen=True, eq=False)
class Fold:
    """Numbers of the graphs to train on, to select models by (may be none) and to test, each ascending."""

    train: Int[Array, " train"]
    validation: Int[Array, " validation"]
    test: Int[Array, " test"]


def stratified_folds(ys: Int[Array, " graphs"], count: int = FOLDS, seed: int = 0) -> tuple[Fold, ...]:
    """Folds that are equal from run to run: each graph in one test part, each class spread evenly.

    Section 4.3 has 9 folds for training and 1 for testing; the paper's own folds are not public.
    """
    from sklearn.model_selection import StratifiedKFold

    least = int(np.bincount(ys).min()) if len(ys) else 0
    if least < count:
        raise DataError(f"{count} stratified folds need at least {count} graphs of each class: found {least} of one.")
    folds = StratifiedKFold(count, shuffle=True, random_state=seed).split(np.zeros(len(ys)), ys)
    return tuple(Fold(train, np.zeros(0, np.int64), test) for train, test in folds)


def dgcnn_folds(name: str) -> tuple[Fold, ...]:
    """The ten public folds of Zhang et al. (DGCNN), from `EDGECOND_DATA/tu/splits/pytorch_DGCNN_10fold.zip`.

    Test parts have a tenth of the graphs, rounded down, so a few graphs are in none. Those of MUTAG are in the order
    of `mutag11`.
    """
    release = release_of(name)
    if name == "mutag":
        raise DataError("the folds of DGCNN number the graphs of mutag11, which has another order than mutag.")
    path = _split_file(name, "pytorch_DGCNN_10fold.zip")
    stem = f"{release.file.removesuffix('_ETH')}/"
    files = {"/".join(PurePosixPath(file).parts[-2:]): data for file, data in read_archive(path).items()}
    folds = []
    for number in range(1, FOLDS + 1):
        parts = {}
        for part in ("train", "test"):
            file = f"{stem}{part}_idx-{number}.txt"
            if file not in files:
                raise DataError(f"{path} must hold {file}, which is not there.")
            parts[part] = np.sort(read_table(f"{path}, {file}", files[file], np.int64, 1)[:, 0])
        folds.append(Fold(parts["train"], np.zeros(0, np.int64), parts["test"]))
    return _checked_folds(path, folds, release.graphs)


def fair_folds(name: str) -> tuple[Fold, ...]:
    """The ten folds of Errica et al., each with an inner hold-out: NCI1, ENZYMES and DD.

    From `EDGECOND_DATA/tu/splits/gnn-comparison_NAME_splits.json`.
    """
    release = release_of(name)
    if name not in ("nci1", "enzymes", "dd"):
        raise DataError(f"the fair protocol has public folds of nci1, enzymes and dd: got {name}.")
    path = _split_file(name, f"gnn-comparison_{release.file}_splits.json")
    with reading(path):
        text = path.read_bytes()
    try:
        folds = [
            Fold(*[np.sort(_indices(part)) for part in (inner["train"], inner["validation"], fold["test"])])
            for fold in json.loads(text)
            for inner in fold["model_selection"]
        ]
    except (ValueError, KeyError, TypeError, OverflowError, RecursionError) as error:
        raise DataError(
            f"{path} must hold a list of folds, each with the graphs to test and a model_selection of the graphs "
            f"to train and of those for validation: found something else ({type(error).__name__}: {error})."
        ) from error
    return _checked_folds(path, folds, release.graphs)


def _split_file(name: str, file: str) -> Path:
    path = data_directory() / "tu" / "splits" / file
    if not path.is_file():
        raise DataError(
            f"the public folds of {name} need {path}, which is not there. "
            "Set EDGECOND_DATA to the directory that holds your copy in tu/splits."
        )
    return path


def _indices(numbers: object) -> Int[Array, " k"]:
    if not isinstance(numbers, list) or not all(type(number) is int for number in numbers):
        raise TypeError("a part must be a list of whole numbers")
    return np.array(numbers, np.int64)


def _checked_folds(path: Path, folds: Sequence[Fold], graphs: int) -> tuple[Fold, ...]:
    if len(folds) != FOLDS:
        raise DataError(f"{path} must hold {FOLDS} folds: found {len(folds)}.")
    for number, fold in enumerate(folds):
        used = np.sort(np.concatenate([fold.train, fold.validation, fold.test]))
        if not np.array_equal(used, np.arange(graphs)):
            raise DataError(
                f"{path} must have each of the graphs 0 to {graphs - 1} once in each fold: fold {number} has not."
            )
    tests = np.concatenate([fold.test for fold in folds])
    if len(np.unique(tests)) != len(tests):
        raise DataError(f"{path} must test no graph twice: the test parts of its folds overlap.")
    return tuple(folds)
