"""Numbers of vertices go from files to predictions, on clouds and on graphs, without a word of it elsewhere."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import save_file
from typer.testing import CliRunner

from edgecond.cli import app
from edgecond.data.formats import read_points
from edgecond.nn.tasks.vertex_regression import VertexRegression

NETWORK = "C(16)-C(16)-V-FC(16)-FC({})"


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EDGECOND_CACHE", str(tmp_path / "cache"))


def edgecond(*words: object) -> str:
    result = CliRunner().invoke(app, list(map(str, words)))
    assert result.exit_code == 0, result.output
    return result.stdout


def rows_of(output: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(output)))


def test_unknown_vertices_do_not_count():
    """By hand: mean 20, scale 10; outputs of 25 and 15 for 15 and 15 have squared errors of 1 and 0 deviations."""
    task = VertexRegression((20.0,), (10.0,))

    sums = task.loss(torch.tensor([[0.5], [-0.5], [9.0]]), torch.tensor([[15.0], [15.0], [float("nan")]]))

    assert float(sums.total / sums.weight) == pytest.approx(0.5)
    assert (float(sums.metric), int(sums.known)) == (100, 2)


def test_a_field_on_meshes_goes_from_files_to_predictions(tmp_path: Path):
    """The field is half the signal: a network that has learned it predicts well above the mean, by R squared."""
    rng = np.random.default_rng(0)
    (tmp_path / "fields").mkdir()
    for number in range(10):
        points, signal = rng.random((80, 3)), rng.random(80)
        rows = np.column_stack([points, signal, 0.5 * signal])
        lines = "\n".join(",".join(f"{value:.5f}" for value in row) for row in rows)
        (tmp_path / "fields" / f"{number}.csv").write_text(f"x,y,z,signal,pressure\n{lines}\n")
    run = tmp_path / "run"

    trained = edgecond(
        *("train", tmp_path / "fields", "--vertices", "pressure", "--epochs", 30, "--out", run),
        *("--set", f"network={NETWORK.format(1)}", "--set", "train.batch_size=2"),
    )
    file = tmp_path / "fields" / "0.csv"
    rows = rows_of(edgecond("predict", run, file))
    edgecond("predict", run, file, "--ply", tmp_path / "ply")

    assert "task: vertex-regression" in trained
    assert "pressure from 0" in trained
    metrics = dict(part.split() for part in trained.split("test examples: ")[1].splitlines()[0].split(", "))
    assert float(metrics["r2"]) > 0.5
    assert (len(rows), list(rows[0])) == (80, ["file", "point", "pressure"])
    written = read_points(tmp_path / "ply" / "0.csv.ply")
    column = written.signal[:, written.names.index("pressure")]
    np.testing.assert_allclose(column, [float(row["pressure"]) for row in rows], atol=1e-5)


def test_numbers_of_vertices_go_from_tensors_to_an_evaluation_and_a_page(tmp_path: Path):
    """Each vertex of a ring is to predict twice its own attribute, and one more."""
    rng, n, graphs = np.random.default_rng(0), 6, 20
    ring = np.stack([np.arange(n), (np.arange(n) + 1) % n])
    edges = np.concatenate([np.concatenate([ring, ring[::-1]], 1) + n * g for g in range(graphs)], 1)
    x = rng.random((n * graphs, 1))
    tensors = {
        "edge_index": torch.from_numpy(edges),
        "ptr": torch.arange(0, n * graphs + 1, n),
        "x": torch.from_numpy(x),
        "field": torch.from_numpy(2 * x + 1),
    }
    save_file(tensors, tmp_path / "rings.safetensors")
    run = tmp_path / "run"

    trained = edgecond(
        *("train", tmp_path / "rings.safetensors", "--vertices", "field", "--epochs", 40, "--out", run),
        *("--set", f"network={NETWORK.format(1)}", "--set", "train.batch_size=8", "--set", "sparsifications=1"),
    )
    evaluated, rows = edgecond("evaluate", run), rows_of(edgecond("predict", run, tmp_path / "rings.safetensors"))
    edgecond("report", run)

    assert trained.splitlines()[-2] == evaluated.splitlines()[-1]
    assert float(dict(part.split() for part in evaluated.split("examples: ")[1].split(", "))["r2"]) > 0.5
    assert (len(rows), list(rows[0])) == (n * graphs, ["file", "graph", "vertex", "field"])
    page = (run / "report.html").read_text()
    assert "Root mean squared error" in page
    assert "predictions over the truth" in page
