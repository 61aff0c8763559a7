"""The verb `reproduce`."""

import hashlib
import json
import os
import re
import signal
import sys
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from edgecond.cli import app, reproduce
from edgecond.paper import records
from edgecond.runs.recipe import find, Recipe, recipes

run = CliRunner().invoke


def record(directory: Path, row: str, fold: int, epochs: int) -> None:
    """Write a record of a fold with the settings of its row."""
    digest = hashlib.sha256(json.dumps(find(row).settings(), sort_keys=True).encode()).hexdigest()[:16]
    path = directory / "results" / row / f"fold{fold}-seed0.json"
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps({"fold": fold, "seed": 0, "epochs": epochs, "metrics": {}, "recipe": digest}))


def test_an_experiment_is_recorded_beside_its_row_and_compared_with_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    command = ["reproduce", "synthetic/ecc", "--epochs", "1", "--set", "options={train=12,test=6}"]

    assert run(app, [*command, "--seed", "0", "--seed", "1", "--jobs", "2"]).exit_code == 0
    assert run(app, [*command, "--set", "train.learning_rate=0.05"]).exit_code == 0

    row = tmp_path / "results/synthetic/ecc"
    fewer, slower = sorted(row.iterdir())
    assert sorted(path.name for path in fewer.iterdir()) == ["fold0-seed0.json", "fold0-seed1.json"]
    record = json.loads((slower / "fold0-seed0.json").read_text())
    assert record["changes"] == {"options": {"train": 12, "test": 6}, "train.learning_rate": 0.05}
    (row / "fold0-seed0.json").write_bytes((fewer / "fold0-seed0.json").read_bytes())  # as if it were the row's
    table = run(app, ["table", "experiments"]).output
    assert re.search(r"synthetic/ecc +options={train=12,test=6} +accuracy +(\S+) +\1 +\+0\.0 +1\n", table)


def test_an_experiment_with_one_view_has_no_metrics_of_votes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """NCI1 has metrics of five votes in the paper; one sparsification has none."""
    monkeypatch.chdir(tmp_path)
    record = {"metrics": {"accuracy": 0.75, "train_accuracy": 0.5}}
    monkeypatch.setattr(records, "reproduce", lambda *_, **__: record)

    result = run(app, ["reproduce", "nci1/ecc", "--fold", "0", "--set", "sparsifications=1"])

    assert result.exit_code == 0
    assert result.output.endswith("fold 0 seed 0: accuracy 75.00, train_accuracy 50.00\n")


@pytest.fixture
def folds_by_a_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Let a program run the folds in place of Python: it notes row and fold, fails for sydney/z, and writes records."""
    program = tmp_path / "program"
    program.write_text(
        f"""#!{sys.executable}
import json, os, sys
row = sys.argv[4]
fold = next(int(word[7:]) for word in sys.argv if word.startswith("--fold="))
print("epoch 1")
open("{tmp_path}/begun", "a").write(f"{{row}} {{fold}}\\n")
if row == "sydney/z":
    sys.exit(2)
os.makedirs(f"results/{{row}}", exist_ok=True)
record = dict(fold=fold, seed=0, epochs=250, metrics=dict(f1=0.75), seconds=600.0)
json.dump(record, open(f"results/{{row}}/fold{{fold}}-seed0.json", "w"))
"""
    )
    program.chmod(0o755)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "executable", str(program))
    return tmp_path / "begun"


def test_of_several_rows_one_that_fails_does_not_end_the_others(
    folds_by_a_program: Path, capfd: pytest.CaptureFixture[str]
):
    """Its other folds are left out; a line per fold has metrics, duration and the rest."""
    result = run(app, ["reproduce", "sydney/z", "sydney/identity", "--fold", "0", "--fold", "1"])

    assert result.exit_code == 2
    assert folds_by_a_program.read_text().splitlines() == ["sydney/z 0", "sydney/identity 0", "sydney/identity 1"]
    assert result.stdout.splitlines() == [
        "4 folds of 2 rows, about 40 min in all.",
        "sydney/z fold 0 seed 0 has failed with status 2: its row is left out, and the others go on.",
        "sydney/identity fold 0 seed 0: f1 75.00 (10 min); 1 left, about 10 min",
        "sydney/identity fold 1 seed 0: f1 75.00 (10 min); none left",
    ]
    assert "rows that have failed: sydney/z." in result.stderr
    assert "epoch" not in capfd.readouterr().out  # of the folds, whose bars would run into each other


def test_all_rows_run_where_a_fold_has_no_record_the_shortest_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """MUTAG's ten folds take three minutes, and a fold that has been recorded is not run again."""
    monkeypatch.chdir(tmp_path)
    record(tmp_path, "mutag/ecc", 3, epochs=50)
    commands: list[list[str]] = []
    monkeypatch.setattr(reproduce, "in_parallel", lambda each, *_, **__: commands.extend(each) or 0)

    result = run(app, ["reproduce", "--all", "--fold", "3"])

    rows = [command[1] for command in commands]
    assert result.exit_code == 0
    assert rows[0] == "mutag/no-labels"
    assert {row.name for row in recipes().values() if row.paper} - set(rows) == {"mutag/ecc"}


def test_a_row_whose_folds_have_records_is_not_run_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    record(tmp_path, "sydney/ecc", 0, epochs=250)

    result = run(app, ["reproduce", "sydney/ecc", "--missing", "--fold", "0"])

    assert (result.exit_code, result.output) == (0, "every fold has a record.\n")


@pytest.mark.parametrize(("words", "found"), [([], "neither"), (["--all", "sydney/ecc"], "both")])
def test_rows_are_named_or_all_are_asked_for(words: list[str], found: str):
    result = run(app, ["reproduce", *words])

    assert (result.exit_code, result.stderr) == (
        2,
        f"reproduce needs rows, or --all: got {found}. See `edgecond list`.\n",
    )


@pytest.mark.parametrize("status", [2, 130])
def test_a_row_without_pyramids_is_left_out_and_a_signal_ends_them_all(
    status: int, folds_by_a_program: Path, monkeypatch: pytest.MonkeyPatch
):
    """The pyramids of MUTAG cannot be had: its data are missing, or the command is stopped meanwhile."""

    def precompute(recipe: Recipe, **_: object) -> None:
        if recipe.name.startswith("mutag/"):
            if status == 130:
                os.kill(os.getpid(), signal.SIGTERM)
            raise typer.Exit(2)

    monkeypatch.setattr(reproduce, "precompute", precompute)

    result = run(app, ["reproduce", "mutag/z", "sydney/identity", "--fold", "0", "--jobs", "2"])

    assert result.exit_code == status
    assert folds_by_a_program.exists() == (status == 2)  # else nothing has begun
