"""Training with columns and descriptors beside molecules, and predicting with the same."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import numpy as np
import pytest
from safetensors import safe_open
from typer.testing import CliRunner

from edgecond.cli import app
from edgecond.errors import DataError
from edgecond.runs.model import Model
from tests.sentences import mentions

pytest.importorskip("rdkit")
run = CliRunner().invoke
SETTINGS = ["--epochs", "1", "--set", "network=C(4)-GAP-FC(4)-FC(1)", "--set", "sparsifications=1"]
ALCOHOLS = [f"{'C' * (1 + n % 9)}O" for n in range(40)]


def rate(number: int, temperature: str, solvent: str) -> str:
    mixed = "1x" if number == 7 else str(number % 2)
    return f"{ALCOHOLS[number]},{temperature},{solvent},{number * 0.37},,{mixed}"


@pytest.fixture(scope="session")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Rates of reactions: temperature is blank in row 5, and the solvent in row 6."""
    path = tmp_path_factory.mktemp("features") / "rates.csv"
    rows = [
        rate(n, "" if n == 3 else str(280 + 10 * (n % 4)), "" if n == 4 else ("water", '"1,4-dioxane"')[n % 2])
        for n in range(40)
    ]
    path.write_text("smiles,temperature,solvent,k,empty,mixed\n" + "\n".join(rows) + "\n")
    return path


@pytest.fixture(scope="session")
def trained(table: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """The directory of a run with all kinds of features, and what `train` printed."""
    directory = tmp_path_factory.mktemp("run")
    words = ["--target", "k", "--features", "temperature,solvent", "--descriptors", *SETTINGS]
    result = run(app, ["train", str(table), *words, "--out", str(directory)])
    assert result.exit_code == 0, result.output
    return directory, result.output


def predicted(directory: Path, table: Path) -> tuple[list[dict[str, str]], str, int]:
    result = run(app, ["predict", str(directory), str(table)])
    return list(csv.DictReader(io.StringIO(result.stdout))), result.stderr, result.exit_code


def test_columns_and_what_is_blank_in_them_are_printed(trained: tuple[Path, str]):
    _, output = trained

    assert "features: temperature (numbers, 1 blank), solvent (2 texts, 1 blank), " in output
    assert "column 'temperature' has blanks: the mean of the training set, " in output
    assert "column 'solvent' has blanks: they count as none of 1,4-dioxane, water." in output


def test_predict_needs_no_option_and_sees_the_columns(trained: tuple[Path, str], tmp_path: Path):
    """The same molecule at other temperatures and in other solvents has other rates, and in equal ones equal rates."""
    directory, _ = trained
    new = tmp_path / "new.csv"
    rows = ["CCO,280,water", "CCO,310,water", 'CCO,280,"1,4-dioxane"', "CCO,280,water", "CCN,280,water"]
    new.write_text("smiles,temperature,solvent\n" + "\n".join(rows) + "\n")

    predictions, errors, status = predicted(directory, new)

    values = [row["k"] for row in predictions]
    assert (errors, status) == ("", 0)
    assert values[0] == values[3]
    assert len(set(values)) == 4


def test_rows_with_unknown_values_are_predicted_and_remarked_on(trained: tuple[Path, str], tmp_path: Path):
    directory, _ = trained
    new = tmp_path / "new.csv"
    new.write_text("smiles,solvent,temperature\nCCO,acetone,280\nCCC,,\nCCN,water,hot\nCCO,benzene,280\n")

    predictions, errors, status = predicted(directory, new)

    assert [row["row"] for row in predictions] == ["2", "3", "5"]
    assert errors.count("not in the training set, such as 'acetone'") == 1
    assert "benzene" not in errors
    assert "row 4: column 'temperature' must hold a finite number, as in the training set: found 'hot'." in errors
    assert status == 1  # because of row 4


def test_a_table_without_a_column_is_reported(trained: tuple[Path, str], tmp_path: Path):
    directory, _ = trained
    new = tmp_path / "new.csv"
    new.write_text("smiles,temperature\nCCO,280\n")

    predictions, errors, status = predicted(directory, new)

    assert (predictions, status) == ([], 1)
    assert "has no column 'solvent'" in errors


def test_python_predicts_the_numbers_of_the_command(trained: tuple[Path, str], tmp_path: Path):
    directory, _ = trained
    new = tmp_path / "new.csv"
    new.write_text("smiles,temperature,solvent\nCCO,280,water\nCCN,310,water\n")
    expected = [float(row["k"]) for row in predicted(directory, new)[0]]
    model = Model.load(directory)

    found = model.predict(["CCO", "CCN"], features={"temperature": [280, 310], "solvent": ["water", "water"]})

    np.testing.assert_allclose(found[:, 0], expected, atol=1e-5)
    with mentions("column 'temperature' is missing", kind=DataError):
        model.predict(["CCO"])


def test_evaluate_report_and_export_work_as_without_features(trained: tuple[Path, str]):
    directory, _ = trained

    for words in (["evaluate"], ["report"], ["export", "--to", "torch"]):
        result = run(app, [words[0], str(directory), *words[1:]])
        assert result.exit_code == 0, result.output
    assert "features of each sample" in result.output


def test_the_model_file_holds_names_units_and_vocabulary(trained: tuple[Path, str]):
    """The mean is that of the training set, whose rows are all but those of the test fold."""
    directory, _ = trained
    with safe_open(directory / "model.safetensors", "pt") as file:
        text = next(iter(file.metadata().values()))

    features = json.loads(text)["model"]["features"]

    temperature, solvent = features["columns"]
    assert temperature["name"] == "temperature"
    assert 280 < temperature["mean"] < 310
    assert solvent == {"name": "solvent", "values": ["1,4-dioxane", "water"]}
    names = {each["name"] for each in features["descriptors"]}
    assert "MolWt" in names
    assert "NumAromaticRings" not in names  # constant: alcohols have none
    assert Model.load(directory).network.features == 3 + len(names)


@pytest.mark.parametrize(
    ("features", "sentence"),
    [
        ("temprature", "has no column 'temprature'. Did you mean temperature"),
        ("k", "column 'k' is a target. Leave it out of the features."),
        ("smiles", "column 'smiles' is the molecules. Leave it out of the features."),
        ("empty", "column 'empty' must hold numbers or texts: all of its 40 fields are blank."),
        ("mixed", "column 'mixed' must hold either numbers or names of classes: found '1x' in row 9."),
    ],
)
def test_columns_that_cannot_be_features_are_refused(table: Path, tmp_path: Path, features: str, sentence: str):
    result = run(app, ["train", str(table), "--target", "k", "--features", features, "--out", str(tmp_path / "run")])

    assert result.exit_code == 2
    assert sentence in result.stderr
    assert not (tmp_path / "run").exists()


def test_features_are_for_tables_of_molecules(clouds: Path):
    result = run(app, ["train", str(clouds), "--descriptors"])

    assert result.exit_code == 2
    assert "--descriptors is an option for molecules" in result.stderr


def test_the_shape_of_surroundings_is_computed_again_for_new_clouds(clouds: Path, tmp_path: Path):
    """The model file has the columns, so `predict` needs no option; a model without them has other widths."""
    words = [
        "--folds",
        "3",
        "--fold",
        "0",
        "--epochs",
        "1",
        "--set",
        "network=C(4)-GAP-FC(2)",
        "--out",
        str(tmp_path / "run"),
    ]
    trained = run(app, ["train", str(clouds), "--columns", "planarity,verticality", *words])
    assert trained.exit_code == 0, trained.output

    result = run(app, ["predict", str(tmp_path / "run"), str(clouds / "ball")])

    assert "signal: planarity, verticality" in trained.output
    assert Model.load(tmp_path / "run").widths[0] == 2
    assert (result.exit_code, len(result.stdout.splitlines())) == (0, 1 + 6)
