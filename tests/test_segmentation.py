"""Segmentation of clouds, from files to predictions for points; vertices of graphs are in test_graph_vertices.py."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import numpy as np
import pytest
import torch
from typer.testing import CliRunner

from edgecond.cli import app
from edgecond.data import datasets, segmented
from edgecond.data.formats import ply, read_points
from edgecond.errors import DataError
from edgecond.graph import Cloud
from edgecond.runs import user_data
from edgecond.runs.model import Model
from edgecond.runs.recipe import find
from edgecond.runs.run import train, Trained
from tests.sentences import mentions


@pytest.fixture(scope="module")
def scenes(tmp_path_factory) -> tuple[Trained, Path]:
    directory = tmp_path_factory.mktemp("scenes")
    return train(find("scenes/ecc"), directory=directory), directory


class TestClouds:
    def test_points_of_the_test_scenes_are_classified(self, scenes):
        """Spheres and cubes of equal density: more than 95 of 100 predictions are right."""
        metrics = scenes[0].metrics()

        assert metrics["accuracy"] > 0.95
        assert metrics["mean_iou"] > 0.9
        assert metrics["train_accuracy"] > 0.9

    def test_every_point_has_outputs_and_they_are_the_same_after_loading(self, scenes):
        trained, directory = scenes
        test = trained.test
        expected = trained.model.outputs_per_view(test)[0]

        restored = Model.load(directory)

        assert expected.shape == (sum(len(cloud) for cloud in test.clouds), 2)
        np.testing.assert_array_equal(restored.outputs_per_view(test)[0], expected)
        assert restored.evaluate(test) == {
            name: value for name, value in trained.metrics().items() if name != "train_accuracy"
        }

    def test_outputs_are_in_the_order_of_points(self, scenes):
        """Centroids do not depend on the order of points, and neither do the outputs for a point."""
        model, cloud = scenes[0].model, scenes[0].test.clouds[0]
        order = torch.randperm(len(cloud), generator=torch.Generator().manual_seed(0))
        shuffled = Cloud(cloud.positions[order], cloud.signal[order])

        (one,), (other,) = (model.outputs_per_view([(each, 0)]) for each in (cloud, shuffled))

        np.testing.assert_allclose(other, one[order], atol=1e-6)

    def test_several_views_are_averaged(self, scenes):
        model, test = scenes[0].model, scenes[0].test.take(range(4))

        views = model.outputs_per_view(test, views=3)

        assert len(views) == 3
        right = np.mean(views, axis=0).argmax(1) == test.ys.numpy()
        assert model.evaluate(test, views=3)["accuracy"] == pytest.approx(right.mean())

    def test_the_command_line_evaluates_it_and_writes_a_report(self, scenes):
        directory = str(scenes[1])

        evaluated = CliRunner().invoke(app, ["evaluate", directory])
        page = CliRunner().invoke(app, ["report", directory])

        accuracy = 100 * scenes[0].metrics()["accuracy"]
        assert f"16 test examples: accuracy {accuracy:.2f}" in evaluated.output
        assert sum(map(int, evaluated.output.splitlines()[3].replace("·", "0").split()[2:4])) == int(
            (scenes[0].test.ys == 0).sum()
        )
        assert page.exit_code == 0, page.output
        written = (scenes[1] / "report.html").read_text(encoding="utf-8")
        assert "Mean intersection over union" in written
        assert "Test vertices by class" in written


def test_points_of_unknown_class_are_not_trained_on(tmp_path):
    """Where the class of all cubes is unknown, nothing is predicted as a cube."""
    training, test = datasets.load("scenes", train=8, test=2)
    clouds = [Cloud(c.positions, c.signal, torch.where(c.y == 1, -1, c.y)) for c in training.clouds]
    recipe = find("scenes/ecc").model_copy(update={"balanced": True})
    parts = datasets.PointExamples("some", training.classes, clouds, "0"), test

    trained = train(recipe, directory=tmp_path, parts=parts, epochs=6)

    log = [json.loads(line) for line in (tmp_path / "log.jsonl").read_text().splitlines()]
    assert log[-1]["accuracy"] > 0.99
    assert trained.model.outputs_per_view(test)[0].argmax(1).max() == 0


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """Ten scenes in files of two formats, some in a sub-folder; the classes are 2 and 6."""
    directory = tmp_path_factory.mktemp("scans")
    (directory / "more").mkdir()
    scenes, _ = datasets.load("scenes", train=10, test=0)
    for number, cloud in enumerate(scenes.clouds):
        x, y, z = cloud.positions.double().numpy().T
        label = np.where(cloud.y == 1, 6, 2)
        place = directory / "more" if number > 6 else directory
        if number % 2:
            (place / f"{number}.ply").write_bytes(ply.write({"x": x, "y": y, "z": z, "label": label}))
        else:
            rows = "".join(f"{a},{b},{c},{k}\n" for a, b, c, k in zip(x, y, z, label, strict=True))
            (place / f"{number}.csv").write_text(f"x,y,z,Label\n{rows}")
    (directory / "notes.md").write_text("none")
    return directory


class TestUserData:
    def test_a_column_holds_the_classes_of_points(self, folder: Path):
        """The network is that of ModelNet10 with V in place of GMP; a fold is a fifth of the clouds."""
        dataset = user_data.read(folder, vertices="label")

        assert [type(layer).__name__ for layer in dataset.recipe.network] == [
            *("C", "C", "MP", "C", "C", "MP", "C", "V", "FC", "D", "FC")
        ]
        assert (dataset.recipe.task, dataset.train.classes) == ("segmentation", ("2", "6"))
        assert (len(dataset.train), len(dataset.test)) == (8, 2)
        scenes, _ = datasets.load("scenes", train=10, test=0)
        counts = np.bincount(scenes.ys)
        assert dataset.notes[0] == (
            f"10 clouds of {len(scenes.ys):,} points in 2 classes: 2 ({counts[0]:,}), 6 ({counts[1]:,})"
        )
        assert dataset.notes[1] == "signal: none, so 1 everywhere"

    def test_predictions_for_points_are_written_as_rows_or_as_files(self, folder: Path, tmp_path: Path):
        run, small = str(tmp_path / "run"), "network=C(8)-MP(0.5,1.2)-C(16)-MP(1,2.5)-C(16)-V-FC(16)-FC(2)"
        words = ["--vertices", "label", "--epochs", "40", "--set", small, "--set", "train.batch_size=2", "--out", run]
        words += ["--set", "train.learning_rate=0.01"]  # few steps

        trained = CliRunner().invoke(app, ["train", str(folder), *words])
        evaluated = CliRunner().invoke(app, ["evaluate", run])
        rows = CliRunner().invoke(app, ["predict", run, str(folder / "0.csv"), str(folder / "1.ply")])
        files = CliRunner().invoke(app, ["predict", run, str(folder), "--ply", str(tmp_path / "out")])

        assert trained.exit_code == 0, trained.output
        assert trained.output.splitlines()[-3] == evaluated.output.splitlines()[-2]
        assert evaluated.output.splitlines()[-2].startswith("2 test examples: accuracy ")
        assert evaluated.output.splitlines()[-1] == "(mean of 12 views)"
        scenes, _ = datasets.load("scenes", train=10, test=0)
        predictions = list(csv.DictReader(io.StringIO(rows.stdout)))
        first, second = (len(scenes.clouds[number]) for number in (0, 1))
        assert [int(row["point"]) for row in predictions] == [*range(first), *range(second)]
        assert list(predictions[0]) == ["file", "point", "class", "probability"]
        assert files.exit_code == 0, files.output
        assert len(list((tmp_path / "out").iterdir())) == 10
        written = read_points(tmp_path / "out" / "0.csv.ply", column="class")
        assert written.y.tolist() == [int(row["class"]) for row in predictions[:first]]
        np.testing.assert_allclose(written.positions, scenes.clouds[0].positions, atol=1e-6)
        assert (written.y == np.where(scenes.clouds[0].y == 1, 6, 2)).mean() > 0.8

    def test_a_model_of_whole_clouds_writes_no_ply(self, tmp_path: Path):
        training, _ = datasets.load("synthetic", train=6, test=6, points=50)
        Model.new(find("synthetic/ecc"), training, 0).save(tmp_path / "model.safetensors")

        answer = CliRunner().invoke(app, ["predict", str(tmp_path), "cloud.npy", "--ply", "out"])

        assert (answer.exit_code, answer.output.count("\n")) == (2, 1)
        assert "--ply" in answer.output
        assert "synthetic/ecc" in answer.output

    @pytest.mark.parametrize("form", [["--ply", "out"], ["--json"], []], ids=["ply", "json", "csv"])
    def test_a_cloud_with_infinite_outputs_is_reported_once_in_every_form(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, form: list[str]
    ):
        """The argmax of NaNs is no class. Of three clouds of four points, the second has two such points."""
        monkeypatch.chdir(tmp_path)
        Model.new(find("scenes/ecc"), datasets.load("scenes", train=2, test=0)[0], 0).save(Path("model.safetensors"))
        for name in "abc":
            np.save(f"{name}.npy", np.random.default_rng(0).random((4, 4), np.float32))
        outputs = np.tile(np.array([[0.25, 0.75]]), (12, 1))
        outputs[5:7] = np.nan, np.inf
        monkeypatch.setattr(Model, "outputs_and_spread", lambda *_: (outputs, None))

        answer = CliRunner().invoke(app, ["predict", "model.safetensors", "a.npy", "b.npy", "c.npy", *form])

        assert answer.exit_code == 1, answer.output
        assert answer.stderr.startswith("b.npy gives no finite outputs")
        assert answer.stderr.count("\n") == 1
        named = [name for name in "abc" for _ in range(answer.stdout.count(f"{name}.npy"))]
        assert named == (["a", "a", "c", "c"] if "--ply" in form else ["a"] * 4 + ["c"] * 4)
        written = sorted(path.name for path in Path("out").glob("*"))
        assert written == (["a.npy.ply", "c.npy.ply"] if "--ply" in form else [])

    def test_a_folder_that_cannot_be_trained_on_is_an_error(self, folder: Path, tmp_path: Path):
        with mentions(folder.name, "at least 11 clouds", "10", "fewer folds", kind=DataError):
            user_data.read(folder, vertices="label", folds=11)
        with mentions("--vertices", f"{folder} holds meshes", "Leave it out", kind=DataError):
            user_data.read(folder, vertices="label", meshes=True)
        with mentions("none of its 10 files", "in a column 'kind'", "x, y, z", kind=DataError):
            user_data.read(folder, vertices="kind")
        with mentions("--vertices", "clouds", folder / "0.csv", kind=DataError):
            user_data.read(folder / "0.csv", vertices="label")
        with mentions(tmp_path, "must hold clouds", "found none", kind=DataError):
            user_data.read(tmp_path, vertices="label")
        (tmp_path / "one.csv").write_text("x,y,z,label\n0,0,0,1\n1,0,0,-1\n")
        with mentions("the column 'label' must have 2 to 256 classes", "1 classes", tmp_path, kind=DataError):
            user_data.read(tmp_path, vertices="label")

    def test_a_file_that_changes_after_it_was_read_does_not_matter(self, tmp_path: Path):
        path = tmp_path / "one.csv"
        path.write_text("x,y,z,label\n0,0,0,1\n1,0,0,7\n2,0,0,-1\n")
        clouds = segmented.read(tmp_path, "label").examples.clouds
        assert clouds[0].y.tolist() == [0, 1, -1]

        path.write_text("x,y,z,label\n0,0,0,1\n1,0,0,5\n")

        assert clouds[0].y.tolist() == [0, 1, -1]
