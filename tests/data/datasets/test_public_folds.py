"""Folds of the graph datasets test each graph at most once, and invalid files are errors."""

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

from edgecond.data.datasets import public_folds
from edgecond.data.datasets.public_folds import committed_folds, dgcnn_folds, fair_folds, train_test
from edgecond.data.formats import tu
from edgecond.errors import DataError
from edgecond.paper import fair
from tests.sentences import refused

GRAPHS = {"nci1": 4110, "nci109": 4127, "mutag11": 188, "enzymes": 600, "dd": 1178}  # Table 3


@pytest.mark.parametrize("name", tu.RELEASES)
def test_committed_folds_test_each_graph_once_and_spread_each_class_evenly(whole: Any, name: str):
    """Arithmetic: the ten test sets are a partition, and each has a tenth of each class, rounded up or down."""
    ys = whole(name).ys

    folds = committed_folds(name)

    assert len(folds) == 10
    assert sorted(np.concatenate([fold.test for fold in folds]).tolist()) == list(range(len(ys)))
    for fold in folds:
        assert sorted([*fold.train.tolist(), *fold.test.tolist()]) == list(range(len(ys)))
        assert (np.abs(np.bincount(ys[fold.test]) - np.bincount(ys) / 10) < 1).all()


@pytest.mark.parametrize("name", tu.RELEASES)
def test_committed_folds_are_those_that_scikit_learn_draws(whole: Any, name: str):
    """They were drawn by StratifiedKFold(10, shuffle=True, random_state=0)."""
    drawn = StratifiedKFold(10, shuffle=True, random_state=0).split(whole(name).ys, whole(name).ys)

    for fold, (train, test) in zip(committed_folds(name), drawn, strict=True):
        assert fold.train.tolist() == train.tolist()
        assert fold.test.tolist() == test.tolist()


@pytest.mark.parametrize("name", tu.RELEASES)
def test_committed_folds_are_files_of_the_package(name: str):
    """One digit per graph, in lines of a hundred; they can be read without the data."""
    lines = (files("edgecond.data.datasets") / "folds" / f"{name}.txt").read_text().splitlines()

    assert sum(map(len, lines)) == tu.RELEASES[name].graphs
    assert {len(line) for line in lines[:-1]} == {100}
    assert set("".join(lines)) == set("0123456789")


@pytest.mark.parametrize("text", ["01234\n56789\n", "x" * 188, ""])
def test_committed_folds_of_other_data_are_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str):
    path = tmp_path / "folds" / "mutag.txt"
    path.parent.mkdir()
    path.write_text(text)
    monkeypatch.setattr(public_folds, "files", lambda package: tmp_path)

    characters, lines = len("".join(text.split())), len(text.split())
    with refused(
        f"{path} must hold one digit for each of the 188 graphs of mutag: "
        f"found {characters} characters in {lines} lines.",
        DataError,
    ):
        committed_folds("mutag")


@pytest.mark.parametrize(
    ("name", "size"), [("nci1", 411), ("nci109", 412), ("mutag11", 18), ("enzymes", 60), ("dd", 117)]
)
def test_folds_of_dgcnn_test_a_tenth_rounded_down(real: Callable[[str], Path], name: str, size: int):
    """README-graphs.md: floor(N/10) graphs in each test set, and all others in the training set."""
    real("tu/splits/pytorch_DGCNN_10fold.zip")

    folds = dgcnn_folds(name)

    assert [len(fold.test) for fold in folds] == [size] * 10
    assert {len(fold.train) for fold in folds} == {GRAPHS[name] - size}


@pytest.mark.parametrize("name", ["nci1", "enzymes", "dd"])
def test_fair_folds_hold_out_a_tenth_of_the_training_graphs_for_validation(real: Callable[[str], Path], name: str):
    """README-graphs.md: the test sets are a partition; Errica et al. hold out a tenth of the rest."""
    path = real(f"tu/splits/gnn-comparison_{name.upper()}_splits.json")
    raw = json.loads(path.read_text())

    folds = fair_folds(name)

    assert sorted(np.concatenate([fold.test for fold in folds]).tolist()) == list(range(GRAPHS[name]))
    for fold, entry in zip(folds, raw, strict=True):
        assert fold.test.tolist() == sorted(entry["test"])
        assert fold.validation.tolist() == sorted(entry["model_selection"][0]["validation"])
        assert len(fold.validation) / (GRAPHS[name] - len(fold.test)) == pytest.approx(0.1, abs=0.001)


def test_invalid_public_folds_are_an_error_that_names_the_file(folder: Path):
    splits = folder / "tu" / "splits"
    splits.mkdir(parents=True)
    path = splits / "gnn-comparison_ENZYMES_splits.json"
    with pytest.raises(DataError, match="Use mutag11 instead"):
        dgcnn_folds("mutag")
    with pytest.raises(DataError, match="nci1, enzymes and dd only: got mutag"):
        fair_folds("mutag")
    with refused(
        f"the public folds of enzymes need {path}, which does not exist. Run `edgecond fetch enzymes`.",
        DataError,
    ):
        fair_folds("enzymes")
    with refused(
        f"the public folds of dd need {splits / 'pytorch_DGCNN_10fold.zip'}, which does not exist. "
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
    with pytest.raises(DataError, match=rf"^{path} must test no graph twice"):
        fair_folds("enzymes")
    fold["test"] = [10**30]
    path.write_text(json.dumps([fold] * 10))
    with pytest.raises(DataError, match=rf"^{path} must hold a list of folds"):
        fair_folds("enzymes")
    fold["test"] = graphs[:59]
    path.write_text(json.dumps([fold] * 10))
    with pytest.raises(DataError, match=rf"^{path} must have each of the graphs 0 to 599 once .*: fold 0 does not"):
        fair_folds("enzymes")


def test_fair_folds_select_models_without_the_test_set_and_then_train_on_all_other_graphs(real: Callable[[str], Path]):
    """Errica et al.: models are selected on the inner validation set, then trained on the outer training set."""
    real("tu/splits/gnn-comparison_ENZYMES_splits.json")
    for number, fold in enumerate(fair_folds("enzymes")):
        train, test = train_test("enzymes", "fair", number)
        inner_train, inner_test = train_test("enzymes", "fair-selection", number)

        assert test.tolist() == fold.test.tolist()
        assert sorted([*train.tolist(), *test.tolist()]) == list(range(600))
        assert sorted([*inner_train.tolist(), *inner_test.tolist()]) == train.tolist()


def test_folds_of_dgcnn_may_be_packed_with_the_paths_of_their_repository(folder: Path, real: Callable[[str], Path]):
    """There the files of dataset NAME are in data/NAME/10fold_idx."""
    packed = real("tu/splits/pytorch_DGCNN_10fold.zip")
    expected = dgcnn_folds("mutag11")
    (folder / "tu" / "splits").mkdir(parents=True)
    with zipfile.ZipFile(packed) as old, zipfile.ZipFile(folder / "tu/splits" / packed.name, "w") as new:
        for name in old.namelist():
            if "/MUTAG/" in name:
                new.writestr(f"data/MUTAG/10fold_idx/{Path(name).name}", old.read(name))

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("EDGECOND_DATA", str(folder))
        folds = dgcnn_folds("mutag11")

    assert [fold.test.tolist() for fold in folds] == [fold.test.tolist() for fold in expected]


def test_an_unknown_split_is_an_error_that_lists_the_known_ones():
    with pytest.raises(DataError, match=r"(?i)nci1 has no split 'fare'.*did you mean fair\?"):
        train_test("nci1", "fare", 0)
    with pytest.raises(DataError, match=r"nci1 has no split 'x'.*stratified, dgcnn, fair, fair-selection"):
        train_test("nci1", "x", 0)
    with pytest.raises(DataError, match="nci1, enzymes and dd only: got nci109"):
        train_test("nci109", "fair-selection", 0)


def test_signals_of_the_fair_protocol_are_those_of_the_quoted_networks(whole: Any):
    """Errica et al.: 37 labels of NCI1, 3 labels and 18 attributes of ENZYMES, 89 labels of D&D, of which 82 occur."""
    widths = {}
    for dataset in fair.QUOTED:
        recipe, graphs = fair.candidate(dataset, "ecc", "fair"), whole(dataset)
        widths[dataset] = len(graphs.vertex_values) + recipe.attributes * graphs.vertex_attributes.shape[1]

    assert widths == {"nci1": 37, "enzymes": 21, "dd": 82}
