"""ModelNet: the official shapes become clouds, meshes are sampled, and invalid files are errors."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from edgecond.data.datasets import fetch, modelnet
from edgecond.data.datasets import load as load_now
from edgecond.data.datasets.modelnet import sample_meshes, scale_to_box
from edgecond.data.formats.off import parse as read_off
from edgecond.data.formats.surface import sample_surface
from edgecond.errors import DataError
from edgecond.graph import Cloud
from tests.sentences import refused

FILE = "modelnet/modelnet10_train.npz"
SQUARE = b"OFF\n4 2 0\n0 0 0\n1 0 0\n1 1 0\n0 1 0\n3 0 1 2\n3 0 2 3\n"


def write(folder: Path, shapes: int = 2, **changes: np.ndarray) -> Path:
    """Write tiny files of the stored format: shapes of random points, bathtubs and toilets in turn."""
    (folder / "modelnet").mkdir(exist_ok=True)
    arrays = {
        "points": np.random.default_rng(0).integers(-8192, 8192, (shapes, 1024, 3), np.int16),
        "labels": np.array([1, 35], np.uint8)[np.arange(shapes) % 2],
        "ids": np.arange(shapes, dtype=np.uint16),
    }
    for split in ("train", "test"):
        np.savez(folder / f"modelnet/modelnet10_{split}.npz", **(arrays | changes))
    return folder / FILE


# The real data


@pytest.mark.parametrize(("name", "train", "test"), [("modelnet10", 3991, 908), ("modelnet40", 9843, 2468)])
def test_modelnet_has_the_number_of_shapes_of_the_paper(
    real: Callable[[str], Path], load: Any, name: str, train: int, test: int
):
    """Section 4.2."""
    real("modelnet/modelnet40rest_train.npz" if name == "modelnet40" else FILE)
    parts = load(name)

    assert [len(part) for part in parts] == [train, test]
    for part in parts:
        assert len(part.classes) == int(name[-2:])
        assert part.ys.bincount().min() >= 20
        assert all(title.rpartition("_")[0] == part.classes[y] for title, y in zip(part.names, part.ys, strict=True))
    assert not set(parts[0].names) & set(parts[1].names)


def test_shapes_have_1000_points_in_a_unit_box_and_the_signal_1(real: Callable[[str], Path], load: Any):
    """Section 4.2: 1,000 points; r = 1/32 divides the largest side of the box into 32 cells."""
    real(FILE)
    train, test = load("modelnet10")

    for part, index in ((train, 0), (train, 2000), (test, 907)):
        cloud = part.clouds[index]
        assert cloud.signal.equal(torch.ones(1000, 1))
        assert float((cloud.positions.amax(0) - cloud.positions.amin(0)).max()) == pytest.approx(1)


def test_a_box_of_side_32_scales_the_cloud_by_32(real: Callable[[str], Path], load: Any):
    """The authors' code scales to 32 units, where the paper's radius 2.5/32 is 2.5."""
    real(FILE)
    small, large = (load("modelnet10", side=side)[1].clouds[5] for side in (1.0, 32.0))

    torch.testing.assert_close(large.positions, 32 * small.positions)


def test_test_shapes_that_occur_in_the_training_set_are_listed(real: Callable[[str], Path]):
    """Counted from hashes of the mesh files: 87 test shapes of ModelNet40, 4 of ModelNet10."""
    real("modelnet/modelnet40-duplicate-meshes.json")

    assert modelnet.duplicates_across_split(10) == [
        "dresser/dresser_0231",
        "dresser/dresser_0272",
        "night_stand/night_stand_0223",
        "night_stand/night_stand_0257",
    ]
    assert len(modelnet.duplicates_across_split(40)) == 87


def test_the_local_copy_is_complete(real: Callable[[str], Path]):
    path = real(FILE)

    assert fetch("modelnet10") == (
        f"modelnet10 is in {path.parent}: 3991 train and 908 test shapes; nothing to download."
    )


@pytest.mark.parametrize("name", ["bathtub_0001", "bathtub_0002"])
def test_sampled_points_have_the_distribution_of_the_stored_points(real: Callable[[str], Path], load: Any, name: str):
    """In two samples of one surface, nearest neighbours are as far apart between the samples as within one."""
    mesh = read_off(real(f"modelnet/off-samples/{name}.off").read_bytes())
    train, _ = load("modelnet10", points=1024)
    stored = train.clouds[train.names.index(name)].positions

    sampled = torch.tensor(sample_surface(*mesh, 1024, np.random.default_rng(0)), dtype=torch.float32)

    spread = [(points - points.mean(0)) / (points - points.mean(0)).norm(dim=1).mean() for points in (stored, sampled)]
    across = torch.cdist(*spread).amin(1).mean()
    within = (torch.cdist(spread[0], spread[0]) + 9 * torch.eye(1024)).amin(1).mean()
    assert float(across / within) == pytest.approx(1, abs=0.2)


# Small files


def test_the_first_points_are_selected_and_scaled(folder: Path):
    points = np.zeros((2, 1024, 3), np.int16)
    points[:, 0] = [100, 0, 0]
    points[:, 1] = [-100, 50, 0]
    points[:, 1023] = 8000
    write(folder, points=points)

    train, _ = load_now("modelnet10", points=3)

    cloud, y = train[1]
    assert train.classes[y] == "toilet"
    assert train.names == ["bathtub_0000", "toilet_0001"]
    assert cloud.positions.tolist() == [[0.5, 0, 0], [-0.5, 0.25, 0], [0, 0, 0]]


def test_a_single_point_is_not_scaled(folder: Path):
    write(folder)
    assert load_now("modelnet10", points=1)[0].clouds[0].positions.isfinite().all()

    cloud = Cloud(torch.full((2, 3), 5.0), torch.ones(2, 1))
    assert scale_to_box(cloud, 32).positions.equal(cloud.positions)


def test_up_to_1024_points_are_stored(folder: Path):
    for points in (0, 1025):
        with pytest.raises(DataError, match=f"modelnet10 has 1 to 1024 points per shape: got points={points}"):
            load_now("modelnet10", points=points)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"labels": np.array([0, 40])},
            "{path} must number its classes from 0 to 39: found 40.",
        ),
        (
            {"points": np.zeros((2, 0, 3), np.int16)},
            "{path} must hold 1024 int16 points, one class and one number per shape: "
            "found points (2, 0, 3) of int16, 2 classes and 2 numbers.",
        ),
        (
            {"ids": np.array([0.5, 1])},
            "{path} must hold an integer array called ids: found points, labels, ids.",
        ),
        (
            {"labels": np.array([0, 1])},
            "{path} must hold shapes of the ten classes only: found airplane.",
        ),
    ],
    ids=["class", "empty", "type", "other subset"],
)
def test_invalid_contents_are_an_error_that_names_them(folder: Path, changes: Any, message: str):
    path = write(folder, **changes)

    with refused(message.format(path=path), DataError):
        load_now("modelnet10")


def test_a_damaged_file_is_an_error(folder: Path):
    path = write(folder)
    path.write_bytes(path.read_bytes()[:5000])

    with pytest.raises(DataError, match=rf"^{path} is damaged or cut short \(.+\)\. Remove it and fetch it again\.$"):
        load_now("modelnet10")


def test_an_incomplete_copy_is_an_error(folder: Path):
    write(folder)

    with refused(
        f"modelnet10 must have 3991 train shapes: {folder / 'modelnet'} has 2. "
        "Remove modelnet10_train.npz and fetch again.",
        DataError,
    ):
        fetch("modelnet10")


def test_missing_files_are_an_error_that_says_where_to_put_the_archive(folder: Path):
    with refused(
        f"modelnet10 needs modelnet10_train.npz, modelnet10_test.npz in {folder / 'modelnet'}. Put ModelNet10.zip from "
        "https://modelnet.cs.princeton.edu there and run `edgecond fetch modelnet10` again to sample its meshes.",
        DataError,
    ):
        fetch("modelnet10")


def test_a_damaged_list_of_duplicates_is_an_error(folder: Path):
    (folder / "modelnet").mkdir()
    for content in (b"{", json.dumps({"groups": [["a/b"]]}).encode()):
        (folder / "modelnet/modelnet40-duplicate-meshes.json").write_bytes(content)
        with pytest.raises(DataError, match=r"modelnet40-duplicate-meshes.json is damaged or cut short"):
            modelnet.duplicates_across_split()


# Meshes


def meshes(path: Path, *names: str) -> Path:
    path.parent.mkdir(exist_ok=True)
    with zipfile.ZipFile(path, "w") as archive:
        for name in names:
            archive.writestr(f"ModelNet10/{name}", SQUARE)
        archive.writestr("__MACOSX/ModelNet10/bed/train/._bed_0001.off", b"\0")
        archive.writestr("ModelNet10/README.txt", b"hello")
    return path


def test_meshes_become_the_files_that_load_reads(folder: Path):
    """A square is flat; its mean is the origin and its farthest point at distance 1, up to the stored precision."""
    names = ("toilet/train/toilet_0002.off", "bed/train/bed_0001.off", "bed/test/bed_0516.off")
    archive = meshes(folder / "modelnet/ModelNet10.zip", *names)
    steps: list[Any] = []

    sample_meshes(archive, folder / "modelnet", progress=lambda *step: steps.append(step))

    train, test = load_now("modelnet10", points=1024)
    assert (train.names, test.names) == (["bed_0001", "toilet_0002"], ["bed_0516"])
    with np.load(folder / FILE, allow_pickle=False) as stored:
        points = stored["points"][0] * stored["scale"]
    assert np.linalg.norm(points, axis=1).max() == pytest.approx(1, abs=2e-4)
    np.testing.assert_allclose(points.mean(0), 0, atol=2e-4)
    assert not points[:, 2].any()
    assert not train.clouds[0].positions.equal(train.clouds[1].positions)  # equal meshes are sampled differently
    assert steps[-1] == (3, 4899)


def test_an_unknown_class_of_meshes_is_an_error_and_nothing_is_written(folder: Path):
    archive = meshes(folder / "modelnet/ModelNet10.zip", "bed/train/bed_0001.off", "boat/test/boat_0001.off")

    with pytest.raises(DataError, match=rf"^{archive} must hold .*: \S+/boat_0001\.off is of the class 'boat'\.$"):
        fetch("modelnet10")

    assert [path.name for path in archive.parent.iterdir()] == ["ModelNet10.zip"]


def test_fetch_samples_an_archive_of_meshes_and_counts(folder: Path):
    meshes(folder / "modelnet/ModelNet40.zip", "bed/train/bed_0001.off", "bed/test/bed_0516.off")

    with pytest.raises(DataError, match=r"^modelnet10 must have 3991 train shapes: .* has 1\."):
        fetch("modelnet10")


def test_a_pickled_array_is_not_read(folder: Path):
    buffer = io.BytesIO()
    np.savez(buffer, points=np.array([None], dtype=object))
    write(folder).write_bytes(buffer.getvalue())

    with pytest.raises(DataError, match=r"modelnet10_train.npz is damaged .*Python objects, which are never unpickled"):
        load_now("modelnet10")
