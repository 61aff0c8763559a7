"""Folds of the graph datasets: each graph is tested once, and files that do not fit are answered by a sentence."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from edgecond.datasets import DataError, tu
from edgecond.datasets.splits import dgcnn_folds, fair_folds, stratified_folds
from tests.sentences import refused

GRAPHS = {"nci1": 4110, "nci109": 4127, "mutag11": 188, "enzymes": 600, "dd": 1178}  # Table 3


def test_stratified_folds_spread_each_class_evenly(real: Callable[[str], Path]):
    """Arithmetic: each graph is tested once, and the share of a class in a fold is a tenth, rounded either way."""
    real("tu/MUTAG.zip")
    graphs = tu.load("mutag")

    folds = stratified_folds(graphs.ys)

    assert sorted(np.concatenate([fold.test for fold in folds]).tolist()) == list(range(188))
    for fold in folds:
        assert sorted([*fold.train.tolist(), *fold.test.tolist()]) == list(range(188))
        assert not len(fold.validation)
        counts = np.bincount(graphs.ys[fold.test])
        assert (counts[0] in (6, 7), counts[1] in (12, 13)) == (True, True)


def test_stratified_folds_never_change():
    """Records of other versions stay comparable: the first fold of sixty graphs, as on the first day."""
    ys = np.arange(60) % 3

    first = stratified_folds(ys)[0].test.tolist()

    assert first == [3, 4, 28, 47, 50, 51]
    assert first == stratified_folds(ys)[0].test.tolist()
    assert first != stratified_folds(ys, seed=1)[0].test.tolist()
    with refused("10 stratified folds need at least 10 graphs of each class: found 9 of one.", DataError):
        stratified_folds(np.arange(27) % 3)


@pytest.mark.parametrize(
    ("name", "size"), [("nci1", 411), ("nci109", 412), ("mutag11", 18), ("enzymes", 60), ("dd", 117)]
)
def test_folds_of_dgcnn_test_a_tenth_rounded_down(real: Callable[[str], Path], name: str, size: int):
    """README-graphs.md: floor(N/10) graphs in each test part, and all others to train on."""
    real("tu/splits/pytorch_DGCNN_10fold.zip")

    folds = dgcnn_folds(name)

    assert [len(fold.test) for fold in folds] == [size] * 10
    assert {len(fold.train) for fold in folds} == {GRAPHS[name] - size}


@pytest.mark.parametrize("name", ["nci1", "enzymes", "dd"])
def test_fair_folds_hold_out_a_part_of_the_training_graphs(real: Callable[[str], Path], name: str):
    """README-graphs.md: the test parts are a partition; Errica et al. hold out a tenth of the rest."""
    path = real(f"tu/splits/gnn-comparison_{name.upper()}_splits.json")
    raw = json.loads(path.read_text())

    folds = fair_folds(name)

    assert sorted(np.concatenate([fold.test for fold in folds]).tolist()) == list(range(GRAPHS[name]))
    for fold, entry in zip(folds, raw, strict=True):
        assert fold.test.tolist() == sorted(entry["test"])
        assert fold.validation.tolist() == sorted(entry["model_selection"][0]["validation"])
        assert len(fold.validation) / (GRAPHS[name] - len(fold.test)) == pytest.approx(0.1, abs=0.001)


def test_public_folds_that_do_not_fit_are_a_sentence(folder: Path):
    splits = folder / "tu" / "splits"
    splits.mkdir(parents=True)
    path = splits / "gnn-comparison_ENZYMES_splits.json"
    with refused("the folds of DGCNN number the graphs of mutag11, which has another order than mutag.", DataError):
        dgcnn_folds("mutag")
    with refused("the fair protocol has public folds of nci1, enzymes and dd: got mutag.", DataError):
        fair_folds("mutag")
    with refused(
        f"the public folds of enzymes need {path}, which is not there. "
        "Set EDGECOND_DATA to the directory that holds your copy in tu/splits.",
        DataError,
    ):
        fair_folds("enzymes")
    for text in ("[", "{}", "[1]", '[{"test": [1]}]', '[{"test": 1, "model_selection": [{}]}]'):
        path.write_text(text)
        with pytest.raises(DataError, match=rf"^{path} must hold "):
            fair_folds("enzymes")
    graphs = list(range(600))
    fold = {"test": graphs[:60], "model_selection": [{"train": graphs[60:500], "validation": graphs[500:]}]}
    path.write_text(json.dumps([fold] * 10))
    with refused(f"{path} must test no graph twice: the test parts of its folds overlap.", DataError):
        fair_folds("enzymes")
    fold["test"] = [10**30]
    path.write_text(json.dumps([fold] * 10))
    with pytest.raises(DataError, match=rf"^{path} must hold a list of folds"):
        fair_folds("enzymes")
    fold["test"] = graphs[:59]
    path.write_text(json.dumps([fold] * 10))
    with refused(f"{path} must have each of the graphs 0 to 599 once in each fold: fold 0 has not.", DataError):
        fair_folds("enzymes")
