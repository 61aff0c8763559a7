"""Ten folds of the graph datasets, each to be tested in turn: our own, and the public ones (Section 4.3)."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path, PurePosixPath

import numpy as np
from jaxtyping import Int
from numpy import ndarray as Array

from edgecond.data.archives import read_archive
from edgecond.data.formats.tu import read_table, release_of
from edgecond.errors import DataError, did_you_mean
from edgecond.files import data_directory, reading

FOLDS = 10
DGCNN = "splits/pytorch_DGCNN_10fold.zip"
FAIR = "splits/gnn-comparison_{}_splits.json"
_NONE = np.zeros(0, np.int64)


@dataclass(frozen=True, eq=False)
class Fold:
    """Numbers of the graphs to train on, to select models by (may be none) and to test, each ascending."""

    train: Int[Array, " train"]
    validation: Int[Array, " validation"]
    test: Int[Array, " test"]


def parts(name: str, split: str, fold: int) -> tuple[Int[Array, " train"], Int[Array, " test"]]:
    """Numbers of the graphs to train on and of those to test, in one fold of a dataset of Table 3.

    | split | train | test | of |
    |---|---|---|---|
    | `stratified` | nine tenths | one tenth | all, by `committed_folds` |
    | `dgcnn` | nine tenths | one tenth, rounded down | all but mutag, by `dgcnn_folds` |
    | `fair` | inner training and validation parts | outer test part | nci1, enzymes and dd, by `fair_folds` |
    | `fair-selection` | inner training part | inner validation part | the same; the outer test part stays unseen |
    """
    drawn = {"stratified": committed_folds, "dgcnn": dgcnn_folds, "fair": fair_folds, "fair-selection": fair_folds}
    if split not in drawn:
        raise DataError(f"{name} has no split {split!r}.{did_you_mean(split, drawn)}")
    chosen = drawn[split](name)[fold]
    if split == "fair-selection":
        return chosen.train, chosen.validation
    return np.sort(np.append(chosen.train, chosen.validation)), chosen.test


def stratified_folds(
    ys: Int[Array, " graphs"], count: int = FOLDS, seed: int = 0, classes: Sequence[str] = ()
) -> tuple[Fold, ...]:
    """Folds that are equal from run to run: each graph in one test part, each class spread evenly.

    Section 4.3 has 9 folds for training and 1 for testing; the paper's own folds are not public.

    Args:
        ys: Class of each graph; all 0 where there are none.
        count: Of the folds.
        seed: What the folds depend on.
        classes: Names of the classes, for sentences.
    """
    from sklearn.model_selection import StratifiedKFold

    counts = np.bincount(ys) if len(ys) else np.zeros(1, np.int64)
    if (least := int(counts.min())) < count:
        rarest = classes[int(counts.argmin())] if classes else "one"
        each, of = (" of each class", f" of {rarest}") if len(counts) > 1 else ("", "")
        raise DataError(
            f"{count} folds need at least {count} examples{each}: found {least}{of}. "
            "Ask for fewer folds, or add examples."
        )
    folds = StratifiedKFold(count, shuffle=True, random_state=seed).split(np.zeros(len(ys)), ys)
    return tuple(Fold(train, _NONE, test) for train, test in folds)


def committed_folds(name: str) -> tuple[Fold, ...]:
    """The stratified folds of a dataset of Table 3 as they were drawn once, whatever scikit-learn draws one day.

    From `folds/NAME.txt` in this package, where each graph in turn has a digit: the number of its test fold.
    """
    graphs = release_of(name).graphs
    path = files("edgecond.data.datasets") / "folds" / f"{name}.txt"
    lines = path.read_text("ascii").split()
    text = "".join(lines)
    if len(text) != graphs or not text.isdecimal():
        raise DataError(
            f"{path} must hold a digit for each of the {graphs} graphs of {name}: "
            f"found {len(lines)} lines of {len(text)} signs."
        )
    number = np.array(list(text), np.int64)
    numbers = [np.flatnonzero(number == fold) for fold in range(FOLDS)]
    return tuple(Fold(np.flatnonzero(number != fold), _NONE, test) for fold, test in enumerate(numbers))


def dgcnn_folds(name: str) -> tuple[Fold, ...]:
    """The ten public folds of Zhang et al. (DGCNN), from `EDGECOND_DATA/tu/splits/pytorch_DGCNN_10fold.zip`.

    Test parts have a tenth of the graphs, rounded down, so a few graphs are in none. Those of MUTAG are in the order
    of `mutag11`.
    """
    release = release_of(name)
    if name == "mutag":
        raise DataError("the folds of DGCNN number the graphs of mutag11, which has another order than mutag.")
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
                raise DataError(f"{path} must hold {file}, which is not there.")
            parts[part] = np.sort(read_table(f"{path}, {file}", texts[file], np.int64, 1)[:, 0])
        folds.append(Fold(parts["train"], _NONE, parts["test"]))
    return _checked_folds(path, folds, release.graphs)


def fair_folds(name: str) -> tuple[Fold, ...]:
    """The ten folds of Errica et al., each with an inner hold-out: NCI1, ENZYMES and DD.

    From `EDGECOND_DATA/tu/splits/gnn-comparison_NAME_splits.json`.
    """
    release = release_of(name)
    if name not in ("nci1", "enzymes", "dd"):
        raise DataError(f"the fair protocol has public folds of nci1, enzymes and dd: got {name}.")
    path = _split_file(name, FAIR.format(release.file), f"Run `edgecond fetch {name}`.")
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


def _split_file(name: str, file: str, advice: str) -> Path:
    path = data_directory() / "tu" / file
    if not path.is_file():
        raise DataError(f"the public folds of {name} need {path}, which is not there. {advice}")
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
