"""Users with real data of each kind get metrics, predictions and a report from the command line."""

from __future__ import annotations

import csv
import io
import os
from itertools import islice
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from edgecond.cli import app
from edgecond.data.datasets import load

DATA = Path(os.environ.get("EDGECOND_DATA", Path(__file__).parents[2] / "shared" / "data"))
pytestmark = [pytest.mark.slow, pytest.mark.skipif(not DATA.is_dir(), reason="needs the real data")]


@pytest.fixture(autouse=True)
def surroundings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EDGECOND_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("EDGECOND_DATA", str(DATA))
    monkeypatch.chdir(tmp_path)


def edgecond(*words: object, status: int = 0) -> str:
    result = CliRunner().invoke(app, list(map(str, words)))
    assert result.exit_code == status, f"{result.output}\n{result.exception!r}"
    return result.stdout


def metric(output: str, name: str) -> float:
    """Return a metric of the last line of metrics: `N test examples: rmse 0.71, mae 0.5`."""
    metrics = next(line for line in reversed(output.splitlines()) if "test examples: " in line)
    return float(dict(part.split() for part in metrics.split(": ")[1].split(", "))[name])


def rows(table: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(table)))


def as_ply(points: np.ndarray) -> bytes:
    names = "".join(f"property float {axis}\n" for axis in "xyz")
    header = f"ply\nformat binary_little_endian 1.0\nelement vertex {len(points)}\n{names}end_header\n"
    return header.encode() + points.astype("<f4").tobytes()


def as_pcd(points: np.ndarray) -> bytes:
    header = "VERSION .7\nFIELDS x y z\nSIZE 4 4 4\nTYPE F F F\nCOUNT 1 1 1\nHEIGHT 1\nVIEWPOINT 0 0 0 1 0 0 0\n"
    return f"{header}WIDTH {len(points)}\nPOINTS {len(points)}\nDATA binary\n".encode() + points.astype("<f4").tobytes()


def as_csv(points: np.ndarray) -> bytes:
    return ("x,y,z\n" + "".join("{:.5f},{:.5f},{:.5f}\n".format(*point) for point in points)).encode()


FORMATS = {"ply": as_ply, "pcd": as_pcd, "csv": as_csv}


def test_a_folder_of_clouds_gives_a_report_and_predictions(tmp_path: Path):
    """Beds and toilets of ModelNet10 in three formats, one file damaged; then clouds that other programs wrote."""
    train, test = load("modelnet10")
    for part, examples, count in (("shapes", train, 24), ("new", test, 6)):
        for name in ("bed", "toilet"):
            of_class = np.flatnonzero(examples.ys.numpy() == examples.classes.index(name))[:count]
            for number, index in enumerate(of_class.tolist()):
                ending = list(FORMATS)[number % len(FORMATS)]
                path = tmp_path / part / name / f"{name}{number}.{ending}"
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(FORMATS[ending](examples.clouds[index].positions.numpy()[:300]))
    (tmp_path / "new" / "bed" / "damaged.ply").write_bytes(as_ply(np.zeros((9, 3)))[:-1])

    trained = edgecond("train", "shapes", "--epochs", 20, "--set", "train.batch_size=8", "--out", "run")
    predicted = edgecond("predict", "run", "new", "--views", 2, "--probabilities", status=1)
    edgecond("report", "run")

    assert "48 clouds in 2 classes: bed, toilet" in trained
    assert metric(trained, "accuracy") > 80
    predictions = rows(predicted)
    assert len(predictions) == 12
    assert np.mean([row["class"] == Path(row["file"]).parent.name for row in predictions]) > 0.8
    assert (tmp_path / "run" / "report.html").stat().st_size > 10_000
    others = rows(edgecond("predict", "run", *sorted((DATA / "pointcloud-io").glob("*.p[cl][dy]"))))
    assert {row["class"] for row in others} <= {"bed", "toilet"}


def shortened(name: str, tmp_path: Path, every: int) -> Path:
    """Write a table with every n-th row of one of MoleculeNet."""
    with (DATA / "moleculenet" / name).open() as lines:
        (tmp_path / name).write_text(next(lines) + "".join(islice(lines, 0, None, every)))
    return tmp_path / name


def test_a_table_of_molecules_gives_a_report_and_predictions(tmp_path: Path):
    """A fifth of ESOL, whose target has a standard deviation of 2.1; one new SMILES is invalid."""
    path, target = shortened("delaney-processed.csv", tmp_path, 5), "measured log solubility in mols per litre"
    (tmp_path / "new.csv").write_text("smiles\nCCO\nC1CC\nc1ccc2c(c1)ccc1c2ccc2ccccc21\n")

    trained = edgecond("train", path, "--target", target, "--epochs", 12, "--out", "run")
    predicted = edgecond("predict", "run", "new.csv", status=1)
    edgecond("report", "run")

    assert metric(trained, "rmse") < 1.6
    ethanol, chrysene = (float(row[target]) for row in rows(predicted))
    assert ethanol > chrysene  # mixes with water, and does not dissolve in it
    assert (tmp_path / "run" / "report.html").exists()


def test_several_targets_with_blanks_are_a_multilabel_task(tmp_path: Path):
    path = shortened("tox21.csv", tmp_path, 20)

    trained = edgecond(
        "train", path, "--target", "NR-AhR", "--target", "SR-MMP", "--scaffold", "--epochs", 3, "--out", "run"
    )
    predicted = edgecond("predict", "run", path)
    edgecond("report", "run")

    assert "target: NR-AhR, SR-MMP" in trained
    assert "task: multilabel" in trained
    assert all(0 <= float(row[name]) <= 1 for row in rows(predicted) for name in ("NR-AhR", "SR-MMP"))


def test_a_zip_of_graphs_gives_metrics_and_a_report(tmp_path: Path):
    """Two thirds of MUTAG are of one class."""
    trained = edgecond("train", DATA / "tu" / "MUTAG.zip", "--epochs", 30, "--out", "run")
    evaluated = edgecond("evaluate", "run")
    edgecond("report", "run")

    assert "188 graphs" in trained
    assert metric(trained, "accuracy") == metric(evaluated, "accuracy") > 66.5
    assert (tmp_path / "run" / "report.html").exists()
