"""Folds of the graph datasets: each graph is tested once, and files that do not fit are answered by a sentence."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.model_selection import StratifiedKFold

from edgecond.data.datasets import splits as splits_module
from edgecond.data.datasets.splits import committed_folds, dgcnn_folds, fair_folds, parts, stratified_folds
from edgecond.data.formats import tu
from edgecond.errors import DataError
from edgecond.paper import fair
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


@pytest.mark.parametrize("name", tu.RELEASES)
def test_committed_folds_test_each_graph_once_and_spread_each_class_evenly(whole: Any, name: str):
    """Arithmetic: the ten test parts are a partition, and each has a tenth of a class, rounded either way."""
    ys = whole(name).ys

    folds = committed_folds(name)

    assert len(folds) == 10
    assert sorted(np.concatenate([fold.test for fold in folds]).tolist()) == list(range(len(ys)))
    for fold in folds:
        assert sorted([*fold.train.tolist(), *fold.test.tolist()]) == list(range(len(ys)))
        assert (np.abs(np.bincount(ys[fold.test]) - np.bincount(ys) / 10) < 1).all()


@pytest.mark.parametrize("name", tu.RELEASES)
def test_committed_folds_are_those_that_scikit_learn_draws(whole: Any, name: str):
    """Of StratifiedKFold(10, shuffle=True, random_state=0), by which they were drawn."""
    drawn = StratifiedKFold(10, shuffle=True, random_state=0).split(whole(name).ys, whole(name).ys)

    for fold, (train, test) in zip(committed_folds(name), drawn, strict=True):
        assert fold.train.tolist() == train.tolist()
        assert fold.test.tolist() == test.tolist()


@pytest.mark.parametrize("name", tu.RELEASES)
def test_committed_folds_travel_with_the_package(name: str):
    """A digit per graph, in lines of a hundred; without the data they are there all the same."""
    lines = (files("edgecond.data.datasets") / "folds" / f"{name}.txt").read_text().splitlines()

    assert sum(map(len, lines)) == tu.RELEASES[name].graphs
    assert {len(line) for line in lines[:-1]} == {100}
    assert set("".join(lines)) == set("0123456789")


@pytest.mark.parametrize("text", ["01234\n56789\n", "x" * 188, ""])
def test_committed_folds_of_other_data_are_a_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str):
    path = tmp_path / "folds" / "mutag.txt"
    path.parent.mkdir()
    path.write_text(text)
    monkeypatch.setattr(splits_module, "files", lambda package: tmp_path)

    with refused(
        f"{path} must hold a digit for each of the 188 graphs of mutag: found {len(text.split())} lines of "
        f"{len(''.join(text.split()))} signs.",
        DataError,
    ):
        committed_folds("mutag")


def test_stratified_folds_never_change():
    """Records of other versions stay comparable: the first fold of sixty graphs, as on the first day."""
    ys = np.arange(60) % 3

    first = stratified_folds(ys)[0].test.tolist()

    assert first == [3, 4, 28, 47, 50, 51]
    assert first == stratified_folds(ys)[0].test.tolist()
    assert first != stratified_folds(ys, seed=1)[0].test.tolist()
    with refused(
        "10 folds need at least 10 examples of each class: found 9 of one. Ask for fewer folds, or add examples.",
        DataError,
    ):
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
        f"the public folds of enzymes need {path}, which is not there. Run `edgecond fetch enzymes`.",
        DataError,
    ):
        fair_folds("enzymes")
    with refused(
        f"the public folds of dd need {splits / 'pytorch_DGCNN_10fold.zip'}, which is not there. "
        "Pack the folders data/NAME/10fold_idx of https://github.com/muhanzhang/pytorch_DGCNN into it.",
        DataError,
    ):
        dgcnn_folds("dd")
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


def test_fair_folds_train_on_all_but_the_test_part_and_select_without_seeing_it(real: Callable[[str], Path]):
    """Errica et al.: models are selected on the inner hold-out, then trained on the whole outer training part."""
    real("tu/splits/gnn-comparison_ENZYMES_splits.json")
    for number, fold in enumerate(fair_folds("enzymes")):
        train, test = parts("enzymes", "fair", number)
        inner_train, inner_test = parts("enzymes", "fair-selection", number)

        assert test.tolist() == fold.test.tolist()
        assert sorted([*train.tolist(), *test.tolist()]) == list(range(600))
        assert sorted([*inner_train.tolist(), *inner_test.tolist()]) == train.tolist()


def test_folds_of_dgcnn_may_be_packed_as_their_repository_has_them(folder: Path, real: Callable[[str], Path]):
    """There the files of NAME stand in data/NAME/10fold_idx."""
    packed = real("tu/splits/pytorch_DGCNN_10fold.zip")
    expected = dgcnn_folds("mutag11")
    (folder / "tu" / "splits").mkdir(parents=True)
    with zipfile.ZipFile(packed) as old, zipfile.ZipFile(folder / "tu/splits" / packed.name, "w") as new:
        for name in old.namelist():
            if "/MUTAG/" in name:
                new.writestr(f"data/MUTAG/10fold_idx/{Path(name).name}", old.read(name))

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("EDGECOND_DATA", str(folder))
        found = dgcnn_folds("mutag11")

    assert [fold.test.tolist() for fold in found] == [fold.test.tolist() for fold in expected]


def test_an_unknown_split_is_a_sentence():
    with refused("nci1 has no split 'fare'. Did you mean fair?", DataError):
        parts("nci1", "fare", 0)
    with refused("nci1 has no split 'x'. Known names: stratified, dgcnn, fair, fair-selection.", DataError):
        parts("nci1", "x", 0)
    with refused("the fair protocol has public folds of nci1, enzymes and dd: got nci109.", DataError):
        parts("nci109", "fair-selection", 0)


def test_signals_of_the_fair_protocol_are_those_that_the_quoted_networks_had(whole: Any):
    """Errica et al. have 37 labels of NCI1, 3 labels and 18 attributes of ENZYMES, and 89 labels of D&D: 82 occur."""
    widths = {}
    for dataset in fair.QUOTED:
        recipe, graphs = fair.candidate(dataset, "ecc", "fair"), whole(dataset)
        widths[dataset] = len(graphs.vertex_values) + recipe.attributes * graphs.vertex_attributes.shape[1]

    assert widths == {"nci1": 37, "enzymes": 21, "dd": 82}
