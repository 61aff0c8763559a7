"""The prediction for a file depends on that file alone, and a file that cannot be read does not stop the rest."""

from __future__ import annotations

import csv
import io
import json
import os
import pty
import re
import subprocess
import sys
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from click.testing import Result
from safetensors.torch import save_file
from typer.testing import CliRunner

from edgecond.cli import app, console
from edgecond.data import kinds
from edgecond.data.formats import batch, smiles, tu
from edgecond.data.graphs import GraphExamples
from edgecond.data.points import unlabelled
from edgecond.errors import DataError
from edgecond.graph import Cloud
from edgecond.nn.tasks import Classification
from edgecond.notation import Architecture
from edgecond.runs.model import Model
from edgecond.runs.prediction import Wanted
from edgecond.runs.recipe import find
from tests.data.datasets import tiny
from tests.sentences import mentions

DATA = Path(__file__).parents[1] / "fixtures"
CLOUDS = DATA / "clouds-1.safetensors"
SMALL = {
    "network": Architecture("C(4)-MP-C(5)-GAP-FC(2)"),
    "hidden": (4,),
    "attributes": True,
    "standardised": True,
    "sparsifications": 2,
}


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("EDGECOND_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def clouds(tmp_path: Path) -> Path:
    """Seven clouds of 40 points with a signal."""
    folder, rng = tmp_path / "clouds", np.random.default_rng(0)
    folder.mkdir()
    for number in range(7):
        np.save(folder / f"{number}.npy", rng.random((40, 4), np.float32))
    return folder


def model_of(examples: GraphExamples, path: Path, **changes: Any) -> Path:
    recipe = find("nci1/ecc").model_copy(update=SMALL | changes)
    model = Model.new(recipe, examples, 0)
    model.about.update(fold=0, epochs=1)
    model.save(path)
    return path


@pytest.fixture
def graphs(tmp_path: Path) -> tuple[Path, Path]:
    """A model of the tiny dataset, and the dataset itself without classes: new graphs."""
    folder = tiny.write(tmp_path)
    found = tu.read(folder)
    model = model_of(GraphExamples(found, np.arange(len(found))), tmp_path / "graphs.safetensors", dataset="tu")
    (folder / "TINY_graph_labels.txt").unlink()
    return model, folder


@pytest.fixture
def molecules(tmp_path: Path) -> tuple[Path, Path]:
    """A model of molecules, and a table of new ones: rows 4, 9 and 14 of it hold none."""
    pytest.importorskip("rdkit")
    path = tmp_path / "new.csv"
    rows = ["C1CC" if number % 5 == 2 else "C" * (number + 1) + "(=O)C1CCC(O)C1" for number in range(15)]
    path.write_text("name,SMILES\n" + "".join(f"{number},{row}\n" for number, row in enumerate(rows)))
    found, _ = smiles.featurise(["CCO", "CCN", "CCCO"])
    examples = GraphExamples(found, np.arange(3), np.zeros((3, 2)), ("a", "b"))
    return model_of(examples, tmp_path / "m.safetensors", dataset="smiles", task="multilabel"), path


def predict(*words: object) -> Result:
    return CliRunner().invoke(app, ["predict", *map(str, words)])


def rows_of(result: Result) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(result.stdout)))


def test_probabilities_are_those_of_the_model_averaged_over_views(clouds: Path):
    """Section 4.2: the scores of several orientations."""
    model = Model.load(CLOUDS)
    points = torch.from_numpy(np.load(clouds / "0.npy"))
    examples = unlabelled([Cloud(points[:, :3], points[:, 3:])])
    views = model.outputs_per_view(examples, views=3)

    result = predict(CLOUDS, clouds / "0.npy", "--views", 3, "--probabilities", "--json")

    row = json.loads(result.stdout)
    assert [row[f"p({name})"] for name in model.classes] == pytest.approx(np.mean(views, axis=0)[0], abs=1e-6)
    assert row["probability"] == pytest.approx(np.mean(views, axis=0).max(), abs=1e-6)


def test_a_model_of_numbers_has_no_probabilities():
    model = Model.load("model/esol")

    with mentions("models that predict classes", "predicts numbers. Leave them out.", kind=DataError):
        Wanted(model, probabilities=True)


def test_a_cloud_of_which_no_graph_can_be_made_is_reported_alone(clouds: Path):
    far = np.zeros((3, 4), np.float32)
    far[1:, 0] = 1e30, -1e30
    np.save(clouds / "3.npy", far)

    result = predict(CLOUDS, clouds)

    assert result.exit_code == 1, result.output
    assert result.stderr.startswith(f"{clouds / '3.npy'} ")
    assert [Path(row["file"]).stem for row in rows_of(result)] == list("012456")


def test_outputs_that_are_no_numbers_are_reported_and_not_written(clouds: Path, monkeypatch: pytest.MonkeyPatch):
    """JSON has no NaN, and a class that was chosen among NaNs is none."""
    outputs = np.eye(7, 6) + np.where(np.arange(7) == 5, np.nan, 0)[:, None]
    monkeypatch.setattr(Model, "outputs_and_spread", lambda *_: (outputs, None))

    result = predict(CLOUDS, clouds, "--json")

    assert result.exit_code == 1
    assert re.fullmatch(rf"{re.escape(str(clouds / '5.npy'))} .* finite .*\.\n", result.stderr)
    assert len(result.stdout.splitlines()) == 6


@pytest.mark.parametrize("thing", ["nothing.npy", "cloud.xyzzy", "empty"])
def test_what_is_no_cloud_is_reported_and_the_rest_goes_on(clouds: Path, tmp_path: Path, thing: str):
    (tmp_path / "empty").mkdir()

    result = predict(CLOUDS, tmp_path / thing, clouds / "1.npy")

    assert result.exit_code == 1
    assert re.fullmatch(rf"{re.escape(str(tmp_path / thing))} .+\.\n", result.stderr)
    assert len(rows_of(result)) == 1


def test_hidden_files_are_passed_over_and_strange_names_are_written(clouds: Path):
    """A Mac leaves ._0.npy beside 0.npy; a name in Latin-1 is no UTF-8."""
    (clouds / "._0.npy").write_bytes(b"resource fork")
    (clouds / "0.npy").rename(os.fsdecode(os.fsencode(clouds) + b"/caf\xe9.npy"))

    result = predict(CLOUDS, clouds)

    assert result.exit_code == 0, result.output
    assert rows_of(result)[-1]["file"] == f"{clouds}/caf\\xe9.npy"


def test_a_file_is_written_whole_or_not_at_all(clouds: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    out = tmp_path / "deep" / "out.csv"
    whole = predict(CLOUDS, clouds, "--out", out)
    assert (whole.exit_code, whole.output) == (0, "")
    before = out.read_text()
    assert len(before.splitlines()) == 8

    def stopped(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Classification, "row", stopped)
    predict(CLOUDS, clouds, "--out", out)

    assert [path.name for path in out.parent.iterdir()] == ["out.csv"]
    assert out.read_text() == before


def test_a_file_that_cannot_be_written_is_refused_before_a_cloud_is_read(clouds: Path):
    result = predict(CLOUDS, clouds / "nothing.npy", "--out", clouds)

    assert result.exit_code == 2
    assert result.stderr.startswith(f"{clouds} must be written: it is a directory.")


def run_with_a_terminal_for_stderr(*words: object) -> tuple[bytes, bytes]:
    """What `edgecond predict ... > out.csv` leaves in the file, and on the terminal."""
    terminal, end = pty.openpty()
    command = [sys.executable, "-m", "edgecond", "predict", *map(str, words)]
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "200", "OMP_NUM_THREADS": "1"}
    with tempfile.TemporaryFile() as out:
        process = subprocess.Popen(command, stdout=out, stderr=end, env=environment)
        os.close(end)
        shown = b""
        with suppress(OSError):  # when the other end is closed
            while piece := os.read(terminal, 65536):
                shown += piece
        os.close(terminal)
        process.wait(timeout=60)
        out.seek(0)
        return out.read(), shown


def test_the_bar_is_on_the_terminal_and_the_rows_are_in_the_file(clouds: Path):
    (clouds / "3.npy").write_bytes(b"no array")

    rows, shown = run_with_a_terminal_for_stderr(CLOUDS, clouds)

    assert rows.decode() == predict(CLOUDS, clouds).stdout
    assert len(rows.splitlines()) == 7
    assert b"7/7" in shown
    assert b"3.npy cannot be read" in shown
    assert b"0.npy," not in shown


def test_graphs_are_predicted_from_their_files_without_classes(graphs: tuple[Path, Path], cache: Path):
    model, folder = graphs
    kept = sorted(cache.iterdir())

    result = predict(model, folder)

    assert result.exit_code == 0, result.output
    assert [(row["file"], row["graph"]) for row in rows_of(result)] == [(str(folder), "1"), (str(folder), "2")]
    assert {row["class"] for row in rows_of(result)} <= {"-1", "1"}
    assert sorted(cache.iterdir()) == kept  # pyramids of new graphs are not kept


def test_labels_of_new_graphs_have_the_numbers_that_were_learned(graphs: tuple[Path, Path], tmp_path: Path):
    """The second graph alone has the vertex label 5 and the edge label 10, of the learned 5, 7, 9 and 10, 20, 30."""
    model, folder = graphs
    alone = tiny.write(
        tmp_path,
        "ALONE",
        A="1, 2\n2, 1\n",
        graph_indicator="1\n1\n",
        graph_labels="3\n",
        node_labels="5\n5\n",
        edge_labels="10\n10\n",
        node_attributes="4.5, 5\n5.5, -6e-1\n",
        edge_attributes="56\n65\n",
        graph_attributes=None,
    )

    (one,), (_, two) = (rows_of(predict(model, path, "--probabilities")) for path in (alone, folder))

    assert one == two | {"file": str(alone), "graph": "1"}


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        (
            {"node_labels": "7\n8\n7\n9\n5\n5\n"},
            "graph 1: it has the vertex label 8, which is not in the training data.",
        ),
        (
            {"edge_labels": "30\n20\n10\n11\n30\n20\n10\n11\n"},
            "graph 2: it has the edge label 11, which is not in the training data.",
        ),
        ({"node_labels": None}, "must have vertex labels, like the training data: it has none."),
        ({"edge_labels": None}, "must have edge labels, like the training data: it has none."),
        ({"node_attributes": None}, "must have 2 vertex attributes, like the training data: it has 0."),
        ({"edge_attributes": None}, "must have 1 edge attributes, like the training data: it has 0."),
        ({"A": "1, 9\n"}, "line 1 must join two of the vertices 1 to 6"),
    ],
)
def test_graphs_unlike_those_learned_are_named_and_the_others_go_on(
    graphs: tuple[Path, Path], tmp_path: Path, changes: dict[str, Any], sentence: str
):
    model, folder = graphs
    other = tiny.write(tmp_path, "OTHER", **changes)

    result = predict(model, other, folder)

    assert result.exit_code == 1, result.output
    assert sentence in result.stderr
    assert "OTHER" in result.stderr
    assert len(rows_of(result)) == (3 if "graph " in sentence else 2)


def test_a_model_of_graphs_that_does_not_know_their_labels_says_so(graphs: tuple[Path, Path]):
    result = predict(DATA / "graphs-1.safetensors", graphs[1])

    assert result.exit_code == 2
    assert "older edgecond" in result.stderr
    assert result.stderr.endswith("Train it again.\n")


def test_the_tensors_of_a_batch_are_predicted_like_the_files_of_its_graphs(tmp_path: Path):
    """Two graphs of one vertex label each; a batch with a label that was not learned is refused."""
    tensors = {
        "edge_index": torch.tensor([[0, 1, 2, 3], [1, 0, 3, 2]]),
        "batch": torch.tensor([0, 0, 1, 1]),
        "x": torch.tensor([3, 3, 8, 8]),
        "y": torch.tensor([0, 1]),
    }
    save_file(tensors, tmp_path / "learned.safetensors")
    found = batch.read(tmp_path / "learned.safetensors").graphs
    examples = GraphExamples(found, np.arange(2), None, ("no", "yes"))
    model = model_of(examples, tmp_path / "model.safetensors", dataset="batch")
    swapped = {name: tensors[name] for name in ("edge_index", "batch")} | {"x": torch.tensor([8, 8, 3, 3])}
    save_file(swapped, tmp_path / "swapped.safetensors")
    save_file(swapped | {"x": torch.tensor([8, 8, 9, 9])}, tmp_path / "unknown.safetensors")

    result = predict(
        model, *(tmp_path / f"{name}.safetensors" for name in ("learned", "swapped", "unknown")), "--probabilities"
    )

    assert result.exit_code == 1
    assert result.stderr.endswith("x must have the labels of the training set: found 9.\n")
    told = [row["p(no)"] for row in rows_of(result)]
    assert told == [told[0], told[1], told[1], told[0]]
    assert told[0] != told[1]


def test_without_a_terminal_a_line_tells_how_far_it_is(capsys: pytest.CaptureFixture):
    say = console._counted_lines("shapes", every=-1)

    say(2500, 10_000)
    say(64, None)

    assert capsys.readouterr() == ("", "shapes: 2,500 of 10,000, 0 min left\nshapes: 64\n")


def test_a_table_of_molecules_is_read_in_pieces_and_nothing_depends_on_them(
    molecules: tuple[Path, Path], cache: Path, monkeypatch: pytest.MonkeyPatch
):
    model, table = molecules
    kept = sorted(cache.iterdir())
    whole = predict(model, table)

    monkeypatch.setattr(kinds.molecules, "MOST_ROWS", 2)
    pieces = predict(model, table)

    assert whole.exit_code == pieces.exit_code == 1, whole.output
    assert whole.stderr == pieces.stderr
    assert re.findall(r"row (\d+): ", whole.stderr) == ["4", "9", "14"]
    assert [row["row"] for row in rows_of(pieces)] == [str(n) for n in range(2, 17) if n not in (4, 9, 14)]
    for one, other in zip(rows_of(whole), rows_of(pieces), strict=True):
        assert {**one, "a": 0, "b": 0} == {**other, "a": 0, "b": 0}
        assert [float(one[name]) for name in "ab"] == pytest.approx([float(other[name]) for name in "ab"], abs=2e-6)
    assert sorted(cache.iterdir()) == kept


def test_a_table_that_cannot_be_read_does_not_stop_the_next(molecules: tuple[Path, Path], tmp_path: Path):
    model, table = molecules
    (tmp_path / "broken.csv").write_bytes(b"\0\1\2")

    result = predict(model, tmp_path / "broken.csv", tmp_path / "nothing.csv", table)

    assert result.exit_code == 1
    assert result.stderr.startswith(f"{tmp_path / 'broken.csv'} must be text")
    assert len(rows_of(result)) == 12


@pytest.mark.parametrize("what", ["clouds", "molecules"])
def test_several_processes_write_the_rows_of_one(
    what: str, clouds: Path, molecules: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
):
    """Shards of two, some of which cannot be read; with one thread each, as products round by threads."""
    monkeypatch.setattr(kinds.molecules, "MOST_ROWS", 2)
    monkeypatch.setattr(kinds.clouds, "MOST_CLOUDS", 2)
    (clouds / "broken.npy").write_bytes(b"no array")
    words = (CLOUDS, clouds) if what == "clouds" else molecules
    threads = torch.get_num_threads()
    torch.set_num_threads(1)

    alone, together = (predict(*words, "--jobs", jobs) for jobs in ("1", "3"))

    torch.set_num_threads(threads)
    assert alone.exit_code == together.exit_code == 1
    assert together.stdout == alone.stdout
    assert sorted(together.stderr.splitlines()) == sorted(alone.stderr.splitlines())
    assert len(rows_of(together)) == (7 if what == "clouds" else 12)
