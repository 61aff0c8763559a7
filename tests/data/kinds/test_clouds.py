"""Settings of clouds are in units of their spacing, and a model keeps how its files are read."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
import torch

from edgecond.data.formats import read_points
from edgecond.data.kinds import KINDS, ReadOptions
from edgecond.data.points import labelled, to_cloud
from edgecond.graph import Cloud
from edgecond.runs import user_data
from edgecond.runs.model import Model
from edgecond.runs.recipe import find

CLOUDS = KINDS["clouds"]


def line(spacing: float, n: int = 50) -> Cloud:
    positions = torch.zeros(n, 3)
    positions[:, 0] = spacing * torch.arange(n)
    return Cloud(positions, torch.ones(n, 1))


def test_lengths_of_the_network_are_in_units_of_the_spacing():
    """Points 0.5 apart: the resolution of the base row becomes 0.5, and all lengths keep their ratio to it."""
    examples = labelled([line(0.5), line(0.5)], torch.tensor([0, 1]), ["a", "b"])
    base = find(CLOUDS.base)

    settings = CLOUDS.settings(examples, base.dotted(), "folder", per_vertex=False)

    assert base.input is not None
    assert settings["input.resolution"] == pytest.approx(0.5)
    assert settings["input.radius"] / 0.5 == pytest.approx(base.input.radius / base.input.resolution)
    assert settings["network"].endswith("FC(2)")
    assert (settings["train.epochs"], settings["train.batch_size"]) == (150, 32)  # few clouds: the most epochs


def test_where_points_have_targets_global_pooling_becomes_v():
    examples = labelled([line(0.5), line(0.5)], torch.tensor([0, 1]), ["a", "b"])

    settings = CLOUDS.settings(examples, find(CLOUDS.base).dotted(), "folder", per_vertex=True)

    assert "-V-" in settings["network"]
    assert "GAP" not in settings["network"]


def test_an_example_is_described_by_its_name_and_its_cloud():
    examples = labelled([line(1.0)], torch.tensor([0]), ["a"])

    description = CLOUDS.describe(examples, 0)

    assert (description.name, description.picture) == ("", examples.clouds[0])


def test_columns_and_the_up_axis_are_kept_in_the_model_so_that_predict_needs_no_option(tmp_path):
    """The same shapes with other names of columns and y up, read as named: predictions are those of plain files."""
    rng = np.random.default_rng(0)
    for folder in ("plain", "renamed"):
        for number in range(6):
            (tmp_path / folder / f"{number % 2}").mkdir(parents=True, exist_ok=True)
    for number in range(6):
        x, y, z = (rng.random((60, 3)) * ([1, 1, 5] if number % 2 else [3, 3, 1])).T
        write = {
            "plain": ("x,y,z", (x, y, z)),
            "renamed": ("rel_a,rel_b,rel_c", (x, z, -y)),  # rotated about x, so that y is up
        }
        for folder, (header, columns) in write.items():
            rows = "\n".join(",".join(f"{value:.6f}" for value in row) for row in zip(*columns, strict=True))
            (tmp_path / folder / f"{number % 2}" / f"{number}.csv").write_text(f"{header}\n{rows}\n")
    names = {"x": "rel_a", "y": "rel_b", "z": "rel_c"}
    plain = user_data.read(tmp_path / "plain", folds=3, epochs=1)
    renamed = user_data.read(tmp_path / "renamed", folds=3, epochs=1, columns=names, up="y")

    for one, other in zip(plain.train.clouds, renamed.train.clouds, strict=True):
        torch.testing.assert_close(one.positions, other.positions)
    Model.new(renamed.recipe, renamed.train, 0).save(tmp_path / "model.safetensors")
    model = Model.load(tmp_path / "model.safetensors")

    files = [tmp_path / "renamed" / "0" / "0.csv"]
    assert model.recipe.options["column_names"] == names
    torch.testing.assert_close(model.kind.read_file(files[0], model.learned).positions, plain_cloud(tmp_path).positions)
    assert model.predict(files).shape == (1, 2)


def test_normals_are_kept_as_vectors_that_turn_with_the_points(tmp_path):
    """By their names in files, or by those that `columns` gives them."""
    rng = np.random.default_rng(0)
    for number in range(12):
        path = tmp_path / "scans" / str(number % 2) / f"{number}.csv"
        path.parent.mkdir(parents=True, exist_ok=True)
        header = "x,y,z,intensity,Normal_X,Normal_Y,Normal_Z,u,v,w"
        np.savetxt(path, rng.random((40, 10)), delimiter=",", header=header, comments="")

    for columns, expected in (
        ({}, [["normal_x", "normal_y"]]),
        ({"nx": "u", "ny": "v", "nz": "w"}, [["nx", "ny"], ["normal_x", "normal_y"]]),
    ):
        dataset = user_data.read(tmp_path / "scans", columns=columns)
        model = Model.new(dataset.recipe, dataset.train, 0)
        names = dataset.recipe.options["columns"]
        assert dataset.recipe.options["vectors"] == expected
        model.save(tmp_path / "model.safetensors")
        kept = Model.load(tmp_path / "model.safetensors").preparation.vectors
        assert [[names[x], names[y]] for x, y in kept] == expected


def test_notes_shorten_many_columns_and_name_numbers_to_predict(tmp_path):
    """120 columns without names; the numbers of points have a name and a range."""
    rows = np.random.default_rng(0).random((5, 30, 120))
    rows[:, 0, 3], rows[:, 1, 3] = 0.25, 6.5
    rows[:, 2:, 3] = 0.5
    for number, table in enumerate(rows):
        np.save(tmp_path / f"{number}.npy", table)

    notes = user_data.read(tmp_path, vertices="column 4").notes

    assert notes[0] == "5 clouds of 150 points with column 4 from 0.25 to 6.5"
    assert notes[1].startswith("signal: column 5, column 6, ")
    assert notes[1].endswith("column 24 and 96 more")
    assert (
        "3 training examples, 1 validation example, 1 test example"
        in user_data.read(tmp_path, vertices="column 4", validation=0.2).notes
    )


def test_a_path_that_does_not_exist_is_reported_as_such(tmp_path):
    said = []

    shards = CLOUDS.shards(SimpleNamespace(batch_size=1), [tmp_path / "nowhere"], ReadOptions(), said.append, print)

    assert list(shards) == []
    place = tmp_path / "nowhere"
    assert said == [f"{place} must be a file with a cloud, or a folder of them: there is no such file or folder."]


def plain_cloud(tmp_path):
    return to_cloud(read_points(tmp_path / "plain" / "0" / "0.csv"), (), "plain")
