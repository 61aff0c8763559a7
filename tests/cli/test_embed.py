"""The verb `embed`."""

import csv
import io
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from edgecond.cli import app
from edgecond.runs.model import Model

run = CliRunner().invoke


def test_the_last_layer_makes_predictions_of_embeddings(trained: tuple[Path, str], clouds: Path):
    """The softmax of the last FC applied to the embedding is the prediction of one view."""
    embedded = run(app, ["embed", str(trained[0]), str(clouds), "--jobs", "1"])
    predicted = run(app, ["predict", str(trained[0]), str(clouds), "--views", "1", "--probabilities", "--jobs", "1"])

    rows, expected = (list(csv.DictReader(io.StringIO(result.stdout))) for result in (embedded, predicted))
    assert list(rows[0]) == ["file", "e0", "e1", "e2", "e3"]
    assert [row["file"] for row in rows] == [row["file"] for row in expected]
    last = Model.load(trained[0]).network.layers[-1][0]
    signal = np.array([[float(row[f"e{k}"]) for k in range(4)] for row in rows])
    scores = np.exp(signal @ last.weight.detach().numpy().T + last.bias.detach().numpy())
    truth = [[float(row["p(ball)"]), float(row["p(box)"])] for row in expected]
    np.testing.assert_allclose(scores / scores.sum(1, keepdims=True), truth, atol=2e-6)


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_an_npy_file_has_the_vectors_of_the_csv(trained: tuple[Path, str], clouds: Path, tmp_path: Path, jobs: str):
    words = ["embed", str(trained[0]), str(clouds), "--jobs", jobs, "--out"]

    assert run(app, [*words, str(tmp_path / "vectors.csv")]).exit_code == 0
    assert run(app, [*words, str(tmp_path / "vectors.npy")]).exit_code == 0

    rows = list(csv.DictReader((tmp_path / "vectors.csv").open()))
    vectors = np.load(tmp_path / "vectors.npy")
    assert vectors.dtype == np.float32
    assert vectors.shape == (12, 4)
    assert vectors.tolist() == [[float(np.float32(row[f"e{k}"])) for k in range(4)] for row in rows]


def test_a_format_that_is_neither_csv_nor_npy_is_refused(trained: tuple[Path, str], clouds: Path, tmp_path: Path):
    result = run(app, ["embed", str(trained[0]), str(clouds), "--out", str(tmp_path / "vectors.parquet")])

    assert result.exit_code == 2
    assert "must be a file that ends in .csv or .npy" in result.stderr.replace("\n", " ")
    assert not list(tmp_path.iterdir())


def test_a_file_that_cannot_be_read_is_left_out_and_the_rest_is_written(
    trained: tuple[Path, str], clouds: Path, tmp_path: Path
):
    (tmp_path / "damaged.npy").write_bytes(b"none")
    out = tmp_path / "out.npy"

    words = ["embed", str(trained[0]), str(tmp_path / "damaged.npy"), str(clouds / "ball" / "0.npy")]
    result = run(app, [*words, "--out", str(out)])

    assert result.exit_code == 1
    assert str(tmp_path / "damaged.npy") in result.stderr
    assert np.load(out).shape == (1, 4)
