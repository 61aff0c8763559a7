"""Answers are those of the command line, for files and lines of text that nobody trusts."""

from __future__ import annotations

import io
import json
import zipfile

import numpy as np
import pytest

from edgecond.errors import DataError
from edgecond.report.serve import answers
from edgecond.report.serve.answers import Answers, Upload
from edgecond.runs.prediction import predicted
from tests.meshes import TORUS
from tests.report.conftest import SMILES

pytest.importorskip("rdkit")


def test_predictions_are_those_of_the_library_with_probabilities_and_uncertainty(regression):
    model = regression.model.calibrated(regression.test).compared_with(regression.test, 0)
    served = Answers(model)

    answer = served.predict(served.file_of(["CCO ethanol", "c1ccccc1O", "nonsense"]), coverage=0.5)

    expected = predicted(model, ["CCO", "c1ccccc1O"], coverage=0.5, applicability=True)
    for row, other in zip(answer["rows"], expected, strict=True):
        assert row["prediction"] | row["uncertainty"] == pytest.approx(other, rel=1e-4, abs=1e-4)
        assert set(row["uncertainty"]) == {"lower", "upper", "distance"}
        assert row["probabilities"] == {}
    assert [row["place"]["smiles"] for row in answer["rows"]] == ["CCO", "c1ccccc1O"]
    assert answer["unread"] == ["upload.csv, row 4: 'nonsense' is not a molecule that RDKit can read."]
    assert 0.5 in served.about()["coverage"]


def test_classes_and_labels_have_probabilities(molecules, multilabel):
    (row,) = Answers(molecules.model).predict(Upload(".csv", b"smiles\nCCO\n"))["rows"]
    assert sum(row["probabilities"].values()) == pytest.approx(1, abs=1e-5)
    assert max(row["probabilities"], key=row["probabilities"].get) == row["prediction"]["class"]

    (row,) = Answers(multilabel.model).predict(Upload(".csv", b"smiles\nCCO\n"))["rows"]
    assert row["probabilities"] == row["prediction"]


def test_an_explanation_adds_up_and_is_that_of_the_chosen_row(regression):
    served = Answers(regression.model)
    upload = served.file_of(SMILES)
    chosen = served.predict(upload)["rows"][2]

    answer = served.explain(upload, example=chosen["example"])

    assert answer["prediction"] == chosen["prediction"]
    assert not answer["left_out"]
    total = sum(row["attribution"] for row in answer["elements"])
    difference = answer["output"] - answer["baseline"]
    assert total == pytest.approx(difference, abs=answer["error"] * abs(difference) + 1e-4)
    assert answer["drawing"]["svg"].startswith("<svg")
    with pytest.raises(DataError, match="has no 'logP'"):
        served.explain(upload, target="logP")
    with pytest.raises(DataError, match="must hold the example '9 C'"):
        served.explain(upload, example="9 C")


@pytest.mark.parametrize("kind", ["clouds", "meshes", "graphs", "molecules"])
def test_a_model_of_every_kind_is_described(kind, request):
    about = Answers(request.getfixturevalue(kind).model).about()

    assert json.loads(json.dumps(about, allow_nan=False)) == about
    assert about["kind"] == kind
    assert all(suffix.startswith(".") for suffix in about["suffixes"])
    assert about["notation"] == ("SMILES" if kind == "molecules" else None)


def test_a_cloud_is_predicted_and_drawn(clouds):
    cloud, file = clouds.test.clouds[0], io.BytesIO()
    np.save(file, np.concatenate([cloud.positions, cloud.signal], 1))
    served = Answers(clouds.model)
    upload = served.file_named("../../Cube.NPY", file.getvalue())

    (row,) = served.predict(upload, views=1)["rows"]
    answer = served.explain(upload, example=row["example"], views=1)

    assert upload.suffix == ".npy"
    assert row["prediction"]["class"] in clouds.model.classes
    assert answer["drawing"]["figure"]["data"]
    with pytest.raises(DataError, match="clouds are read from files"):
        served.file_of(["CCO"])


def test_a_mesh_is_predicted_and_drawn_by_its_regions(meshes):
    served = Answers(meshes.model)
    upload = served.file_named("torus.OFF", TORUS.export(file_type="off").encode())

    (row,) = served.predict(upload, views=1)["rows"]
    answer = served.explain(upload, example=row["example"], views=1)

    assert row["prediction"]["class"] in meshes.model.classes
    assert answer["drawing"]["figure"]["data"]
    assert {element["element"] for element in answer["elements"]} <= {meshes.model.kind.unit, meshes.model.kind.link}


def test_each_graph_of_an_archive_is_predicted_and_drawn(graphs):
    """The files of the TU collection: a triangle and a pair."""
    files = {
        "A": "1,2\n2,1\n2,3\n3,2\n1,3\n3,1\n4,5\n5,4\n",
        "graph_indicator": "1\n1\n1\n2\n2\n",
        "node_labels": "0\n1\n2\n3\n0\n",
        "edge_labels": "0\n0\n1\n1\n2\n2\n0\n0\n",
    }
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as file:
        for name, text in files.items():
            file.writestr(f"NEW/NEW_{name}.txt", text)
    served = Answers(graphs.model)
    upload = served.file_named("new.zip", archive.getvalue())

    rows = served.predict(upload)["rows"]
    answer = served.explain(upload, example=rows[1]["example"])

    assert len({row["example"] for row in rows}) == len(rows) == 2
    assert answer["prediction"] == rows[1]["prediction"]
    vertices = [element["index"] for element in answer["elements"] if element["element"] == graphs.model.kind.unit]
    assert sorted(vertices) == [0, 1]
    assert answer["drawing"]["figure"]["data"]


def test_rows_are_few(regression, monkeypatch):
    monkeypatch.setattr(answers, "MOST_ROWS", 3)
    served = Answers(regression.model)

    answer = served.predict(Upload(".csv", b"smiles\n" + b"CCO\n" * 5))

    assert (len(answer["rows"]), answer["more"]) == (3, True)
    with pytest.raises(DataError, match="from 1 to 3 lines"):
        served.file_of(["C"] * 4)
    with pytest.raises(DataError, match=r"more than 3 rows cannot be read; the first: upload\.csv, row 2"):
        served.predict(Upload(".csv", b"smiles\n" + b"what\n" * 5))


@pytest.mark.parametrize("content", [b"", b"smiles\n", b"smiles\nwhat\n", b"name\nCCO\n", b"\xff\x00" * 9])
def test_a_file_without_an_example_is_a_sentence_without_a_path_of_this_machine(content, regression):
    with pytest.raises(DataError) as error:
        Answers(regression.model).predict(Upload(".csv", content))

    assert "/" not in str(error.value)


def test_text_with_a_header_is_a_table(molecules):
    """Columns beside the molecules can be pasted too."""
    kind = molecules.model.kind

    assert kind.file_of(["name,SMILES", "ethanol,CCO"]) == (".csv", "name,SMILES\nethanol,CCO")
    assert kind.file_of(["CCO ethanol", "", "C"])[1].splitlines()[:2] == ["smiles", "CCO"]


def test_an_option_of_the_model_that_is_missing_is_a_sentence(regression):
    upload = Upload(".csv", b"smiles\nCCO\n")
    with pytest.raises(ValueError, match="need a calibration set"):
        Answers(regression.model).predict(upload, coverage=0.9)
