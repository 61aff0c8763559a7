"""The ten folds of the graph datasets of Table 3: those kept in this package, and published ones (Section 4.3)."""

from __future__ import annotations

import json
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path, PurePosixPath

import numpy as np
from jaxtyping import Int
from numpy import ndarray as Array

from edgecond.data.archives import read_archive
from edgecond.data.formats.tu import read_table, release_of
from edgecond.data.splits import EMPTY, Split
from edgecond.errors import DataError, did_you_mean
from edgecond.files import data_directory, reading

FOLDS = 10
DGCNN = "splits/pytorch_DGCNN_10fold.zip"
FAIR = "splits/gnn-comparison_{}_splits.json"


def train_test(name: str, split: str, fold: int) -> tuple[Int[Array, " train"], Int[Array, " test"]]:
    """Return the indices of the training and test graphs in one fold of a dataset of Table 3.

    | split | training set | test set | datasets |
    |---|---|---|---|
    | `stratified` | nine tenths | one tenth | all, see `committed_folds` |
    | `dgcnn` | nine tenths | one tenth, rounded down | all but mutag, see `dgcnn_folds` |
    | `fair` | inner training and validation sets | outer test set | nci1, enzymes and dd, see `fair_folds` |
    | `fair-selection` | inner training set | inner validation set | as `fair`; the outer test set is not used |
    """
    splits = {"stratified": committed_folds, "dgcnn": dgcnn_folds, "fair": fair_folds, "fair-selection": fair_folds}
    if split not in splits:
        raise DataError(f"{name} has no split {split!r}: {did_you_mean(split, splits)}")
    chosen = splits[split](name)[fold]
    if split == "fair-selection":
        return chosen.train, chosen.validation
    return np.sort(np.append(chosen.train, chosen.validation)), chosen.test


def committed_folds(name: str) -> tuple[Split, ...]:
    """Read the stratified folds of a dataset of Table 3 that are kept in this package; the paper's are not public.

    They do not depend on the version of scikit-learn. `folds/NAME.txt` has one digit per graph: its test fold.
    """
    graphs = release_of(name).graphs
    path = files("edgecond.data.datasets") / "folds" / f"{name}.txt"
    lines = path.read_text("ascii").split()
    text = "".join(lines)
    if len(text) != graphs or not text.isdecimal():
        raise DataError(
            f"{path} must hold one digit for each of the {graphs} graphs of {name}: "
            f"found {len(text)} characters in {len(lines)} lines."
        )
    fold_of = np.array(list(text), np.int64)
    return tuple(
        Split(np.flatnonzero(fold_of != fold), EMPTY, np.flatnonzero(fold_of == fold)) for fold in range(FOLDS)
    )


def dgcnn_folds(name: str) -> tuple[Split, ...]:
    """Read the ten public folds of Zhang et al. (DGCNN) from `EDGECOND_DATA/tu/splits/pytorch_DGCNN_10fold.zip`.

    A test set is a tenth of the graphs, rounded down, so a few graphs are in no test set. The folds of MUTAG number
    the graphs of `mutag11`.
    """
    release = release_of(name)
    if name == "mutag":
        raise DataError("the folds of DGCNN number the graphs in the order of mutag11: got mutag. Use mutag11 instead.")
    path = _split_file(
        name, DGCNN, "Pack the folders data/NAME/10fold_idx of https://github.com/muhanzhang/pytorch_DGCNN into it."
    )
    stem = f"{release.file.removesuffix('_ETH')}/"
    texts = {
        "/".join([part for part in PurePosixPath(file).parts if part != "10fold_idx"][-2:]): data
        for file, data in read_archive(path).items()
    }
    folds = []
    for number in range(1, FOLDS + 1):
        parts = {}
        for part in ("train", "test"):
            file = f"{stem}{part}_idx-{number}.txt"
            if file not in texts:
                raise DataError(f"{path} must contain {file}, which is missing.")
            parts[part] = np.sort(read_table(f"{path}, {file}", texts[file], np.int64, 1)[:, 0])
        folds.append(Split(parts["train"], EMPTY, parts["test"]))
    return _checked_folds(path, folds, release.graphs)


def fair_folds(name: str) -> tuple[Split, ...]:
    """Read the ten public folds of Errica et al., which have an inner validation set, of NCI1, ENZYMES or DD.

    The file is `EDGECOND_DATA/tu/splits/gnn-comparison_NAME_splits.json`.
    """
    release = release_of(name)
    if name not in ("nci1", "enzymes", "dd"):
        raise DataError(f"the fair protocol has public folds for nci1, enzymes and dd only: got {name}.")
    path = _split_file(name, FAIR.format(release.file), f"Run `edgecond fetch {name}`.")
    with reading(path):
        text = path.read_bytes()
    try:
        folds = [
            Split(*[np.sort(_indices(part)) for part in (inner["train"], inner["validation"], fold["test"])])
            for fold in json.loads(text)
            for inner in fold["model_selection"]
        ]
    except (ValueError, KeyError, TypeError, OverflowError, RecursionError) as error:
        raise DataError(
            f"{path} must hold a list of folds, each with the entry test and the entry model_selection, which has the "
            f"entries train and validation: it does not ({type(error).__name__}: {error})."
        ) from error
    return _checked_folds(path, folds, release.graphs)


def _split_file(name: str, file: str, advice: str) -> Path:
    path = data_directory() / "tu" / file
    if not path.is_file():
        raise DataError(f"the public folds of {name} need {path}, which does not exist. {advice}")
    return path


def _indices(numbers: object) -> Int[Array, " k"]:
    if not isinstance(numbers, list) or not all(type(number) is int for number in numbers):
        raise TypeError("an entry must be a list of integers")
    return np.array(numbers, np.int64)


def _checked_folds(path: Path, folds: Sequence[Split], graphs: int) -> tuple[Split, ...]:
    if len(folds) != FOLDS:
        raise DataError(f"{path} must hold {FOLDS} folds: found {len(folds)}.")
    for number, fold in enumerate(folds):
        used = np.sort(np.concatenate([fold.train, fold.validation, fold.test]))
        if not np.array_equal(used, np.arange(graphs)):
            raise DataError(
                f"{path} must have each of the graphs 0 to {graphs - 1} once in each fold: fold {number} does not."
            )
    tests = np.concatenate([fold.test for fold in folds])
    if len(np.unique(tests)) != len(tests):
        raise DataError(f"{path} must test no graph twice: the test sets of its folds overlap.")
    return tuple(folds)
