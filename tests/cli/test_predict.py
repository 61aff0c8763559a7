"""The verb `predict`."""

import csv
import io
import json
import os
import subprocess
import sys
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from edgecond.cli import app
from edgecond.runs.model import Model

run = CliRunner().invoke


def test_a_row_is_written_for_each_file(trained: tuple[Path, str], clouds: Path):
    result = run(app, ["predict", str(trained[0]), str(clouds), "--probabilities"])

    rows = list(csv.DictReader(io.StringIO(result.stdout)))
    assert list(rows[0]) == ["file", "class", "probability", "p(ball)", "p(box)"]
    assert [row["file"] for row in rows] == [str(path) for path in sorted(clouds.rglob("*.npy"))]
    for row in rows:
        assert float(row["p(ball)"]) + float(row["p(box)"]) == pytest.approx(1, abs=1e-5)


def test_json_and_a_file_have_the_same_rows(trained: tuple[Path, str], clouds: Path, tmp_path: Path):
    words = ["predict", str(trained[0]), str(clouds)]
    expected = list(csv.DictReader(io.StringIO(run(app, words).stdout)))

    run(app, [*words, "--json", "--out", str(tmp_path / "rows.jsonl")])

    rows = [json.loads(line) for line in (tmp_path / "rows.jsonl").read_text().splitlines()]
    assert [{name: str(value) for name, value in row.items()} for row in rows] == expected


def test_a_file_that_cannot_be_read_is_reported_and_the_status_is_1(
    trained: tuple[Path, str], clouds: Path, tmp_path: Path
):
    (tmp_path / "damaged.npy").write_bytes(b"none")

    result = run(app, ["predict", str(trained[0]), str(tmp_path / "damaged.npy"), str(clouds / "ball" / "0.npy")])

    assert result.exit_code == 1
    assert str(tmp_path / "damaged.npy") in result.stderr
    assert len(result.stdout.splitlines()) == 2


def named(model: Path, to: Path, *classes: str) -> Path:
    """Write a copy of a model whose classes have other names."""
    loaded = Model.load(model)
    replace(loaded, classes=classes).save(to)
    return to


@pytest.mark.parametrize(
    ("text", "cell"),
    [
        ("=1+1", "'=1+1"),
        ("@SUM(A1)", "'@SUM(A1)"),
        ("+1-2", "'+1-2"),
        ("-x", "'-x"),
        ("\t=1", "'\t=1"),
        ("\r=1", "'\r=1"),
        ("-1.5", "-1.5"),
        ("+1e5", "+1e5"),
        ("ball", "ball"),
        ("a=b", "a=b"),
    ],
)
def test_text_that_a_spreadsheet_would_run_has_an_apostrophe_unless_it_is_a_number(
    text: str, cell: str, trained: tuple[Path, str], clouds: Path, tmp_path: Path
):
    """OWASP, CSV Injection: formulas begin with = + - or @, perhaps after a tab or a line break."""
    words = ["predict", str(named(trained[0], tmp_path / "model", text, text + " ")), str(clouds / "ball" / "0.npy")]

    (usual,) = csv.DictReader(io.StringIO(run(app, words).stdout, newline=""))
    (raw,) = csv.DictReader(io.StringIO(run(app, [*words, "--raw"]).stdout, newline=""))
    line = json.loads(run(app, [*words, "--json"]).stdout)

    assert (usual["class"].rstrip(" "), raw["class"].rstrip(" "), line["class"].rstrip(" ")) == (cell, text, text)
    assert usual["file"] == raw["file"] == str(clouds / "ball" / "0.npy")


def test_escapes_in_a_name_are_written_out_on_a_terminal_and_kept_elsewhere(
    trained: tuple[Path, str], clouds: Path, tmp_path: Path
):
    model = named(trained[0], tmp_path / "model", "\x1b[31ma", "\x1b[31mb")
    command = [sys.executable, "-m", "edgecond", "predict", str(model), str(clouds / "ball" / "0.npy")]
    ours, theirs = os.openpty()
    subprocess.run(command, stdout=theirs, check=True)
    os.close(theirs)
    shown = b""
    with suppress(OSError), os.fdopen(ours, "rb", 0) as terminal:
        while part := terminal.read(1000):
            shown += part

    assert rb"\x1b[31m" in shown
    assert b"\x1b" not in shown
    assert "\x1b[31m" in run(app, command[3:]).stdout


def test_two_commands_that_write_the_same_file_leave_one_whole(trained: tuple[Path, str], clouds: Path, tmp_path: Path):
    """Both write the same rows, in an order that chance decides; the file is that of either."""
    words = ["predict", str(trained[0]), str(clouds)]
    command = [sys.executable, "-m", "edgecond", *words, "--out", str(tmp_path / "rows.csv")]

    both = [subprocess.Popen(command) for _ in range(2)]

    assert [process.wait() for process in both] == [0, 0]
    assert (tmp_path / "rows.csv").read_text() == run(app, words).stdout
    assert [path.name for path in tmp_path.iterdir()] == ["rows.csv"]


def test_an_ensemble_writes_spread_interval_and_distance(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """From a table to intervals around the predictions; without a calibration set, asking for them is an error."""
    pytest.importorskip("rdkit")
    monkeypatch.setenv("EDGECOND_CACHE", str(tmp_path / "cache"))
    table, out = tmp_path / "chains.csv", tmp_path / "run"
    table.write_text("smiles,size\n" + "".join(f"{'C' * n}O,{n}.5\n" for n in range(1, 61)))
    words = ["train", str(table), "--target", "size", "--epochs", "1", "--set", "network=C(4)-GAP-FC(1)"]
    asked = [str(table), "--coverage", "0.8", "--applicability"]

    trained = run(app, [*words, "--ensemble", "2", "--calibration", "0.2", "--out", str(out)])
    result = run(app, ["predict", str(out), *asked])
    plain = run(app, [*words, "--out", str(tmp_path / "plain")])
    refused = run(app, ["predict", str(tmp_path / "plain"), *asked])

    assert trained.exit_code == plain.exit_code == result.exit_code == 0, trained.output
    assert "10 of the first calibrate the model" in trained.output
    assert "ensemble of 2 networks" in trained.output
    assert "coverage of intervals or sets" in trained.output
    rows = list(csv.DictReader(io.StringIO(result.stdout)))
    assert list(rows[0]) == ["file", "row", "smiles", "size", "spread", "lower", "upper", "distance"]
    for row in rows:
        numbers = {name: float(row[name]) for name in list(row)[3:]}
        assert numbers["lower"] <= numbers["size"] <= numbers["upper"]
        assert numbers["spread"] >= 0 <= numbers["distance"]
    assert refused.exit_code == 2
    assert "Train it again with --calibration 0.1." in refused.output
