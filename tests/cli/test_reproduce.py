"""The verb `reproduce`."""

import json
import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from edgecond.cli import app
from edgecond.paper import records

run = CliRunner().invoke


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
