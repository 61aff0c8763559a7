"""Every way to split user data is trained, evaluated again from its directory, or refused in one sentence."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from statistics import mean, stdev

import numpy as np
import pytest
import torch
from typer.testing import CliRunner

from edgecond.cli import app
from edgecond.runs import user_data
from edgecond.runs.model import Model
from tests.data.datasets import tiny

SMALL = ["--epochs", "1", "--set", "network=C(4)-GAP-FC(1)"]
CLASSES = ["--epochs", "1", "--set", "network=C(4)-GAP-FC(2)"]
RINGS = ["C" * (number % 4) + f"C1{'C' * (number // 4 + 1)}C1" for number in range(20)]  # five scaffolds, four of each
PARTS = ["train"] * 12 + ["valid"] * 3 + ["test"] * 5


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A table of molecules with columns to split by, a test table, and folders of clouds."""
    pytest.importorskip("rdkit")
    place = tmp_path_factory.mktemp("splits")
    rows = [
        f"{smiles},{number / 7},{'ab'[number % 2]},lab{number // 4},{2000 + number // 2}-01-31,{PARTS[number]},learn"
        for number, smiles in enumerate(RINGS)
    ]
    (place / "rings.csv").write_text("smiles,y,kind,lab,date,part,wrong\n" + "\n".join(rows) + "\n")
    (place / "more.csv").write_text("y,smiles,kind\n1,CCO,b\n2,CCN,b\n3,C1CCC1,b\n")
    (place / "new.csv").write_text("y,smiles,kind\n1,CCO,c\n2,CCN,a\n")
    listed = [f"{number + 2},{part}" for number, part in enumerate(PARTS)]
    (place / "parts.csv").write_text("row,part\n" + "\n".join(listed) + "\n99,test\n")
    rng = np.random.default_rng(0)
    layouts = [
        "flat/{c}",
        "split/train/{c}",
        "split/test/{c}",
        "split/val/{c}",
        "modelnet/{c}/train",
        "modelnet/{c}/test",
    ]
    for folder in layouts:
        for name in ("ball", "box"):
            (path := place / folder.format(c=name)).mkdir(parents=True)
            for number in range(6 if "flat" in folder else 3):
                np.save(path / f"{number}.npy", rng.random((20, 3), np.float32))
    names = [
        f"{name}/{number}.npy,{'test' if number < 2 else 'train'}" for name in ("ball", "box") for number in range(6)
    ]
    (place / "files.csv").write_text("file,part\n" + "\n".join(names) + "\n")
    tiny.pairs(place / "pairs.safetensors", 12, y=torch.arange(12) % 2)
    tiny.pairs(place / "others.safetensors", 4, y=torch.tensor([1, 1, 1, 0]))
    return place


@pytest.fixture(autouse=True)
def beside_the_data(data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EDGECOND_CACHE", str(tmp_path / "cache"))
    monkeypatch.chdir(data)


def edgecond(*words: object) -> str:
    result = CliRunner().invoke(app, list(map(str, words)))
    assert result.exit_code == 0, result.output
    return result.output


@pytest.mark.parametrize(
    ("words", "sizes"),
    [
        (["--split", "random"], "16 training examples, 4 test examples"),
        (["--scaffold"], "16 training examples, 4 test examples"),  # a tenth is two, and a scaffold has four molecules
        (["--split", "scaffold-balanced", "--seed", "3"], "16 training examples, 4 test examples"),
        (["--split", "group", "--group", "lab"], "16 training examples, 4 test examples"),
        (["--time", "date"], "16 training examples, 4 test examples"),
        (["--split-column", "part"], "12 training examples, 3 validation examples, 5 test examples"),
        (["--split", "parts.csv"], "12 training examples, 3 validation examples, 5 test examples"),
        (["--test", "more.csv"], "20 training examples, 3 test examples"),
        (["--validation", "more.csv"], "16 training examples, 3 validation examples, 4 test examples"),
        (["--validation", "0.25"], "12 training examples, 4 validation examples, 4 test examples"),
        (
            ["--test", "more.csv", "--split", "scaffold", "--validation", "0.1"],
            "16 training examples, 4 validation examples, 3 test examples",
        ),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_molecules_are_split_as_asked_and_their_test_set_is_read_again(words: list[str], sizes: str, tmp_path: Path):
    """Arithmetic: of twenty molecules, in five scaffolds or laboratories of four and ten years of two."""
    run = tmp_path / "run"

    trained = edgecond("train", "rings.csv", "--target", "y", *words, *SMALL, "--out", run)
    evaluated = edgecond("evaluate", run)

    assert sizes in trained
    assert trained.splitlines()[-2] == evaluated.splitlines()[-1]
    assert ("is best on" in trained) == ("validation" in sizes)
    assert "digest" not in evaluated


def test_an_entry_of_a_table_of_parts_that_is_no_example_is_noted(tmp_path: Path):
    trained = edgecond("train", "rings.csv", "--target", "y", "--split", "parts.csv", *SMALL, "--out", tmp_path)

    assert "1 entries of parts.csv are not among the examples: 99" in trained


def test_the_classes_of_a_test_table_are_those_of_the_training_table(tmp_path: Path):
    """All three molecules of the test table are of the second class, b."""
    trained = edgecond("train", "rings.csv", "--target", "kind", "--test", "more.csv", *CLASSES, "--out", tmp_path)

    table = [line.split() for line in trained.splitlines() if line[:4] in ("0 a ", "1 b ")]
    assert [sum(int(count) for count in row[2:4] if count != "·") for row in table] == [0, 3]


@pytest.mark.parametrize(
    ("words", "sizes"),
    [
        (["flat", "--split", "files.csv"], "8 training examples, 4 test examples"),
        (["split"], "6 training examples, 6 validation examples, 6 test examples"),
        (["split", "--folds", "3", "--fold", "1"], "12 training examples, 6 test examples"),
        (["modelnet"], "6 training examples, 6 test examples"),
        (["flat", "--test", "split/test"], "12 training examples, 6 test examples"),
        (
            ["flat", "--test", "split/test", "--validation", "split/val"],
            "12 training examples, 6 validation examples, 6 ",
        ),
        (["pairs.safetensors", "--test", "others.safetensors"], "12 training examples, 4 test examples"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_clouds_and_graphs_are_split_as_asked(words: list[str], sizes: str, tmp_path: Path):
    """Arithmetic: six clouds of each class in one folder, three of each part in the others."""
    trained = edgecond("train", *words, *CLASSES, "--out", tmp_path / "run")
    evaluated = edgecond("evaluate", tmp_path / "run")

    assert sizes in trained
    assert ("split: by the folders train and test" in trained) == (words in (["split"], ["modelnet"]))
    assert trained.splitlines()[-2] == evaluated.splitlines()[-1]


@pytest.mark.parametrize(
    ("words", "facts"),
    [
        (["rings.csv", "--split", "group"], ["--split group needs a column", "Name it with --group"]),
        (["rings.csv", "--split", "time"], ["--split time needs a column", "Name it with --time"]),
        (["rings.csv", "--time", "lab"], ["'lab'", "numbers, such as years, or dates", "'lab0' in row 2"]),
        (["rings.csv", "--split", "nothing"], ["one of random, scaffold", "CSV file", "'nothing'"]),
        (["rings.csv", "--split-column", "wrong"], ["'wrong', row 2 must be train, validation", "'learn'"]),
        (["rings.csv", "--split-column", "part", "--split", "parts.csv"], ["parts.csv", "Leave one out"]),
        (["rings.csv", "--split-column", "part", "--folds", "3"], ["folds", "the test set is given"]),
        (["rings.csv", "--split-column", "part", "--validation", "0.1"], ["have one of 3 examples"]),
        (["rings.csv", "--test", "more.csv", "--folds", "3"], ["folds", "the test set is given"]),
        (["rings.csv", "--test", "more.csv", "--scaffold"], ["by scaffold has nothing to choose"]),
        (["rings.csv", "--test", "flat"], ["--test must be molecules", "flat holds clouds"]),
        (["rings.csv", "--test", "absent.csv"], ["absent.csv", "does not exist"]),
        (["rings.csv", "--validation", "2"], ["a file or a share", "between 0 and 1", "got 2"]),
        (["rings.csv", "--validation", "0.01"], ["an example for the validation set", "larger share"]),
        (["rings.csv", "--scaffold", "--split", "time"], ["short for --split scaffold", "--split time"]),
        (["rings.csv", "--scaffold", "--group", "lab"], ["by scaffold or by group: got both"]),
        (["rings.csv", "--jobs", "2"], ["--jobs 2", "Add --folds"]),
        (["flat", "--split", "scaffold"], ["--split scaffold is for molecules", "flat holds clouds"]),
        (["flat", "--split-column", "part"], ["--split-column is an option for molecules", "flat holds clouds"]),
        (["flat", "--time", "date"], ["--time is an option for molecules"]),
        (["flat", "--split", "parts.csv"], ["parts.csv has no column 'file'"]),
        (["synthetic", "--split-column", "part"], ["--split-column is an option for your own data", "reproduce"]),
        (["synthetic", "--final"], ["--final is an option for your own data"]),
    ],
    ids=lambda value: " ".join(value[:3]),
)
def test_a_split_that_does_not_fit_is_an_error(words: list[str], facts: list[str], tmp_path: Path):
    target = ["--target", "y"] if words[0] == "rings.csv" else []

    result = CliRunner().invoke(app, ["train", *words, *target, "--out", str(tmp_path / "run")])

    assert result.exit_code == 2, result.output
    assert len(result.output.strip().splitlines()) == 1
    assert all(fact in result.output for fact in facts), result.output


def test_an_unknown_class_in_a_test_table_is_an_error(tmp_path: Path):
    words = ["train", "rings.csv", "--target", "kind", "--test", "new.csv", "--out", str(tmp_path)]

    result = CliRunner().invoke(app, words)

    assert result.exit_code == 2
    assert "new.csv, kind must hold classes of the training data, a, b: found 'c'." in result.output


def test_molecules_of_the_test_set_that_were_trained_on_are_noted_and_reported(tmp_path: Path):
    """C1CCC1 is the fifth of the rings, C1CC1 with a longer ring; the alcohol and the amine are not among them."""
    pytest.importorskip("plotly")
    trained = edgecond("train", "rings.csv", "--target", "y", "--test", "more.csv", *SMALL, "--out", tmp_path)
    edgecond("report", tmp_path)

    assert "leakage: 1 test molecules are also in the training set (equal canonical SMILES)" in trained
    assert "Leakage: 1 test molecules are also in the training set" in (tmp_path / "report.html").read_text()


def test_another_split_does_not_resume_a_run(tmp_path: Path):
    """Its test set would hold what it was trained on."""
    words = ["train", "rings.csv", "--target", "y", *SMALL, "--out", str(tmp_path)]
    edgecond(*words)

    result = CliRunner().invoke(app, [*words, "--scaffold"])

    assert result.exit_code == 2
    assert "it differs in split" in result.output


@pytest.fixture(scope="module")
def crossed(data: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """Both folds of the molecules, and a final model, with what was printed."""
    out = tmp_path_factory.mktemp("crossed")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("EDGECOND_CACHE", str(out / "cache"))
        words = ["--target", "y", "--target", "z", "--folds", "2", "--final", "--epochs", "1"]
        rows = [f"{smiles},{number / 7},{number if number % 3 else ''}" for number, smiles in enumerate(RINGS)]
        (data / "two.csv").write_text("smiles,y,z\n" + "\n".join(rows) + "\n")
        return out, edgecond("train", data / "two.csv", *words, "--set", "network=C(4)-GAP-FC(2)", "--out", out / "run")


def test_all_folds_are_trained_and_each_example_is_predicted_once(crossed: tuple[Path, str]):
    out, printed = crossed
    rows = list(csv.DictReader((out / "run" / "predictions.csv").open(encoding="utf-8")))

    assert sorted(int(row["row"]) for row in rows) == list(range(2, 22))
    assert list(rows[0]) == ["file", "row", "smiles", "fold", "truth(y)", "truth(z)", "y", "z"]
    for row in rows:
        number = int(row["row"]) - 2
        assert row["smiles"] == RINGS[number]
        assert float(row["truth(y)"]) == pytest.approx(number / 7)
        assert row["truth(z)"] == (str(float(number)) if number % 3 else "")
    assert sum(line.startswith(("fold 0, 10", "fold 1, 10")) for line in printed.splitlines()) == 2


def test_the_metrics_of_folds_are_those_of_their_predictions(crossed: tuple[Path, str]):
    """Root mean squared error by hand from predictions.csv; mean and standard deviation by the standard library."""
    out, printed = crossed
    rows = list(csv.DictReader((out / "run" / "predictions.csv").open(encoding="utf-8")))
    metrics = json.loads((out / "run" / "metrics.json").read_text())

    for fold, found in enumerate(metrics["folds"]):
        squares = {name: [] for name in "yz"}
        for row in rows:
            for name, some in squares.items():
                if int(row["fold"]) == fold and row[f"truth({name})"]:
                    some.append((float(row[name]) - float(row[f"truth({name})"])) ** 2)
        assert found["rmse"] == pytest.approx(mean(mean(some) ** 0.5 for some in squares.values()), rel=1e-4)
    values = [found["rmse"] for found in metrics["folds"]]
    assert metrics["mean"]["rmse"] == pytest.approx(mean(values))
    assert metrics["standard_deviation"]["rmse"] == pytest.approx(stdev(values))
    assert f"mean of 2 folds: rmse {mean(values):.4g}," in printed
    assert f"standard deviation over folds: rmse {stdev(values):.4g}," in printed


def test_the_final_model_is_trained_on_everything_and_has_no_test_set(crossed: tuple[Path, str]):
    out, printed = crossed

    result = CliRunner().invoke(app, ["evaluate", str(out / "run" / "final")])

    assert "The final model, trained on all 20 examples, is in" in printed
    assert "its metrics are those of the mean of the folds above" in printed
    assert result.exit_code == 2
    assert f"trained on all of its data. Its metrics are those of {out / 'run'}." in result.output


def test_the_calibration_set_of_a_final_model_is_held_out_as_the_test_set_is(tmp_path: Path):
    """By hand: a tenth of the twenty molecules, as rows of the same date stay together, are those of the last year.

    The model keeps the embeddings of the others, from which those two differ.
    """
    words = ["--target", "y", "--time", "date", "--ensemble", 2, "--final", *SMALL, "--out", tmp_path]

    printed = edgecond("train", "rings.csv", *words)

    assert "The final model, trained on 18 examples and calibrated with 2, is in" in printed
    model, molecules = Model.load(tmp_path / "final"), user_data.read("rings.csv", target=("y",), time="date")
    expected = model.embeddings(molecules.everything.take(range(18)))
    np.testing.assert_allclose(model.uncertainty.reference.embeddings, expected, atol=1e-6)


def test_folds_in_parallel_give_the_same_predictions(crossed: tuple[Path, str], data: Path, tmp_path: Path):
    """Training is deterministic, whatever runs beside it; a run that is complete is not repeated."""
    words = ["--target", "y", "--target", "z", "--folds", "2", "--epochs", "1", "--set", "network=C(4)-GAP-FC(2)"]
    edgecond("train", data / "two.csv", *words, "--jobs", 2, "--out", tmp_path)
    before = (tmp_path / "fold1" / "checkpoint.safetensors").stat().st_mtime_ns

    again = edgecond("train", data / "two.csv", *words, "--out", tmp_path)

    assert (tmp_path / "predictions.csv").read_text() == (crossed[0] / "run" / "predictions.csv").read_text()
    assert (tmp_path / "fold1" / "checkpoint.safetensors").stat().st_mtime_ns == before
    assert "mean of 2 folds" in again


def labelled_scans(folder: Path) -> None:
    """Write four clouds of ten points, whose classes alternate."""
    rng = np.random.default_rng(0)
    folder.mkdir()
    for number in range(4):
        points = np.column_stack([rng.random((10, 3)), np.arange(10) % 2])
        lines = [",".join(map(str, row)) for row in points.tolist()]
        (folder / f"{number}.csv").write_text("x,y,z,label\n" + "\n".join(lines) + "\n")


def test_points_of_clouds_are_predicted_out_of_fold(tmp_path: Path):
    """A row for each point of each cloud: four clouds of ten points."""
    labelled_scans(tmp_path / "scans")
    words = ["--vertices", "label", "--folds", "2", "--epochs", "1", "--set", "network=C(4)-V-FC(2)"]

    edgecond("train", tmp_path / "scans", *words, "--out", tmp_path / "run")

    rows = list(csv.DictReader((tmp_path / "run" / "predictions.csv").open(encoding="utf-8")))
    assert list(rows[0]) == ["file", "point", "fold", "truth", "class", "probability"]
    assert len(rows) == 40
    assert all(row["truth"] == str(int(row["point"]) % 2) for row in rows)


@pytest.mark.parametrize(
    ("target", "outputs", "columns"),
    [
        (["y"], 1, ["y", "spread"]),
        (["kind"], 2, ["class", "probability", "spread"]),
        (["y", "x"], 2, ["y", "x", "spread(y)", "spread(x)"]),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_out_of_fold_predictions_of_ensembles_have_their_spread(
    target: list[str], outputs: int, columns: list[str], tmp_path: Path
):
    """The spread of two networks, as each of them and `predict` with both of them write it, fold by fold."""
    rows = [f"{smiles},{number / 7},{number * 9.0},{'ab'[number % 2]}" for number, smiles in enumerate(RINGS)]
    (tmp_path / "rings.csv").write_text("smiles,y,x,kind\n" + "\n".join(rows) + "\n")
    words = [word for name in target for word in ("--target", name)]
    words += ["--ensemble", "2", "--folds", "2", "--epochs", "1", "--set", f"network=C(4)-GAP-FC({outputs})"]

    edgecond("train", tmp_path / "rings.csv", *words, "--out", tmp_path / "run")
    edgecond("predict", tmp_path / "run" / "fold1", tmp_path / "rings.csv", "--out", tmp_path / "all.csv")

    found = list(csv.DictReader((tmp_path / "run" / "predictions.csv").open(encoding="utf-8")))
    predicted = {row["row"]: row for row in csv.DictReader((tmp_path / "all.csv").open(encoding="utf-8"))}
    assert list(found[0])[-len(columns) :] == columns
    for row in found:
        if row["fold"] == "1":
            for name in columns:
                expected = predicted[row["row"]][name]
                if name == "class":
                    assert row[name] == expected
                else:  # batches of other sizes round differently, by some 1e-7
                    assert float(row[name]) == pytest.approx(float(expected), abs=1e-5)
    assert max(float(row[columns[-1]]) for row in found) > 0


def test_out_of_fold_predictions_of_points_have_the_spread_of_an_ensemble(tmp_path: Path):
    labelled_scans(tmp_path / "scans")
    words = ["--vertices", "label", "--ensemble", 2, "--folds", 2, "--epochs", 1, "--set", "network=C(4)-V-FC(2)"]

    edgecond("train", tmp_path / "scans", *words, "--out", tmp_path / "run")

    rows = list(csv.DictReader((tmp_path / "run" / "predictions.csv").open(encoding="utf-8")))
    assert list(rows[0]) == ["file", "point", "fold", "truth", "class", "probability", "spread"]
    assert len(rows) == 40
    assert all(float(row["spread"]) > 0 for row in rows)


def test_targets_with_the_names_of_other_columns_are_predicted_beside_them(tmp_path: Path):
    """The row of the spreadsheet, the fold and the distance to the training set stay what they are."""
    rows = [f"{smiles},{-1000 - number},{-1000.5 + number}" for number, smiles in enumerate(RINGS)]
    (tmp_path / "rings.csv").write_text("smiles,fold,distance\n" + "\n".join(rows) + "\n")
    words = ["--target", "fold", "--target", "distance", "--epochs", 1, "--set", "network=C(4)-GAP-FC(2)"]

    edgecond("train", tmp_path / "rings.csv", *words, "--folds", 2, "--out", tmp_path / "run")
    edgecond("predict", tmp_path / "run/fold0", tmp_path / "rings.csv", "--applicability", "--out", tmp_path / "all")

    folds = list(csv.DictReader((tmp_path / "run" / "predictions.csv").open(encoding="utf-8")))
    assert {row["fold"] for row in folds} == {"0", "1"}
    assert all(float(row["prediction(fold)"]) < -900 for row in folds)
    predicted = list(csv.DictReader((tmp_path / "all").open(encoding="utf-8")))
    assert list(predicted[0])[3:] == ["prediction(fold)", "prediction(distance)", "distance"]
    assert all(float(row["distance"]) >= 0 > -900 > float(row["prediction(distance)"]) for row in predicted)
