"""ModelNet: the official shapes as points, meshes in all their variants, and files that are not what they should be."""

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
    """Tiny files of the stored format: shapes of random points, a bathtub and a toilet in turn."""
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
def test_the_paper_has_these_numbers_of_shapes(
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


def test_shapes_have_a_thousand_points_in_a_unit_box_and_the_signal_one(real: Callable[[str], Path], load: Any):
    """Section 4.2: 1,000 points, so that r = 1/32 cuts the box into 32 cells along its largest side."""
    real(FILE)
    train, test = load("modelnet10")

    for part, index in ((train, 0), (train, 2000), (test, 907)):
        cloud = part.clouds[index]
        assert cloud.signal.equal(torch.ones(1000, 1))
        assert float((cloud.positions.amax(0) - cloud.positions.amin(0)).max()) == pytest.approx(1)


def test_radii_read_2_5_in_a_box_of_32(real: Callable[[str], Path], load: Any):
    """The authors' code scales to 32 units; it is the same cloud 32 times as large."""
    real(FILE)
    small, large = (load("modelnet10", side=side)[1].clouds[5] for side in (1.0, 32.0))

    torch.testing.assert_close(large.positions, 32 * small.positions)


def test_test_shapes_that_occur_in_training_are_known(real: Callable[[str], Path]):
    """Counted from hashes of the mesh files: 87 test shapes of ModelNet40, 4 of ModelNet10."""
    real("modelnet/modelnet40-duplicate-meshes.json")

    assert modelnet.duplicates_across_split(10) == [
        "dresser/dresser_0231",
        "dresser/dresser_0272",
        "night_stand/night_stand_0223",
        "night_stand/night_stand_0257",
    ]
    assert len(modelnet.duplicates_across_split(40)) == 87


def test_the_copy_that_is_there_is_complete(real: Callable[[str], Path]):
    path = real(FILE)

    assert fetch("modelnet10") == (
        f"modelnet10 is in {path.parent}: 3991 train and 908 test shapes; nothing to download."
    )


@pytest.mark.parametrize(
    ("name", "vertices", "triangles"),
    [
        ("bathtub_0001.off", 3514, 3546),
        ("bathtub_0002.off", 700, 664),
        ("bed_0001.crlf.off", 2095, 1807),
        ("stool_0002.off", 547, 344),
        ("bathtub_0137.glued-header.reconstructed.off", 216, 183),
    ],
)
def test_meshes_of_modelnet_are_read(real: Callable[[str], Path], name: str, vertices: int, triangles: int):
    """Counts from the heads of the files."""
    path = real(f"modelnet/off-samples/{name}")

    mesh = read_off(path.read_bytes(), path)

    assert [len(part) for part in mesh] == [vertices, triangles]


@pytest.mark.parametrize("name", ["bathtub_0001", "bathtub_0002"])
def test_sampled_points_lie_where_the_stored_ones_do(real: Callable[[str], Path], load: Any, name: str):
    """Two samples of one surface: the point nearest to one is about as far away as in the sample itself."""
    mesh = read_off(real(f"modelnet/off-samples/{name}.off").read_bytes())
    train, _ = load("modelnet10", points=1024)
    stored = train.clouds[train.names.index(name)].positions

    sampled = torch.tensor(sample_surface(*mesh, 1024, np.random.default_rng(0)), dtype=torch.float32)

    spread = [(points - points.mean(0)) / (points - points.mean(0)).norm(dim=1).mean() for points in (stored, sampled)]
    across = torch.cdist(*spread).amin(1).mean()
    within = (torch.cdist(spread[0], spread[0]) + 9 * torch.eye(1024)).amin(1).mean()
    assert float(across / within) == pytest.approx(1, abs=0.2)


# Files written here


def test_the_first_points_are_taken_and_scaled(folder: Path):
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
        with refused(f"modelnet10 has up to 1024 points per shape: got points={points}.", DataError):
            load_now("modelnet10", points=points)


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        (
            {"labels": np.array([0, 40])},
            "{path} has 40 classes, numbered from 0: found the unknown class 40.",
        ),
        (
            {"points": np.zeros((2, 0, 3), np.int16)},
            "{path} must hold 1024 points of int16 per shape and one class and number: "
            "got (2, 0, 3) of int16 for 2 classes and 2 numbers.",
        ),
        (
            {"ids": np.array([0.5, 1])},
            "{path} must hold an array of integers called ids: it holds points, labels, ids.",
        ),
        (
            {"labels": np.array([0, 1])},
            "{path} must hold shapes of the ten classes: it holds airplane.",
        ),
    ],
    ids=["class", "empty", "type", "other subset"],
)
def test_contents_that_are_not_what_they_should_be_are_a_sentence(folder: Path, changes: Any, sentence: str):
    path = write(folder, **changes)

    with refused(sentence.format(path=path), DataError):
        load_now("modelnet10")


def test_a_damaged_file_is_a_sentence(folder: Path):
    path = write(folder)
    path.write_bytes(path.read_bytes()[:5000])

    with pytest.raises(DataError, match=rf"^{path} is damaged or cut short \(.+\)\. Remove it and fetch it again\.$"):
        load_now("modelnet10")


def test_an_incomplete_copy_is_a_sentence(folder: Path):
    write(folder)

    with refused(
        f"modelnet10 must have 3991 train shapes: {folder / 'modelnet'} holds 2. "
        "Remove modelnet10_train.npz and fetch again.",
        DataError,
    ):
        fetch("modelnet10")


def test_what_to_put_where_is_said(folder: Path):
    with refused(
        f"modelnet10 needs modelnet10_train.npz, modelnet10_test.npz in {folder / 'modelnet'}. Put ModelNet10.zip from "
        "https://modelnet.cs.princeton.edu there and run `edgecond fetch modelnet10` again to sample its meshes.",
        DataError,
    ):
        fetch("modelnet10")


def test_a_broken_list_of_duplicates_is_a_sentence(folder: Path):
    (folder / "modelnet").mkdir()
    for content in (b"{", json.dumps({"groups": [["a/b"]]}).encode()):
        (folder / "modelnet/modelnet40-duplicate-meshes.json").write_bytes(content)
        with pytest.raises(DataError, match=r"modelnet40-duplicate-meshes.json is damaged or cut short"):
            modelnet.duplicates_across_split()


# Meshes


@pytest.mark.parametrize(
    "data",
    [
        SQUARE,
        SQUARE.replace(b"OFF\n", b"OFF"),
        SQUARE.replace(b"OFF\n", b"OFF "),
        SQUARE.replace(b"\n", b"\r\n"),
        b"# a comment\n" + SQUARE.replace(b"\n3 0 1 2", b"\n\n# another\n3 0 1 2 # and one more"),
        SQUARE.replace(b"3 0 1 2\n", b"3 0 1 2 0.5 0.5 0.5\n"),
        SQUARE.replace(b"4 2 0", b"4 1 0").replace(b"3 0 1 2\n3 0 2 3", b"4 0 1 2 3"),
    ],
    ids=["plain", "glued", "one line", "CRLF", "comments", "colours", "polygon"],
)
def test_a_square_is_two_triangles_however_it_is_written(data: bytes):
    vertices, triangles = read_off(data)

    assert vertices.tolist() == [[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]]
    assert triangles.tolist() == [[0, 1, 2], [0, 2, 3]]


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        (b"ply\n", "a.off must begin with OFF: it is not an OFF file."),
        (b"", "a.off must begin with OFF: it is not an OFF file."),
        (SQUARE[:-8], "a.off is cut short: 4 vertices and 2 faces need 6 lines, found 5."),
        (SQUARE.replace(b"1 1 0", b"1 nan 0"), "a.off must hold finite numbers: vertex 2 is at [1.0, nan, 0.0]."),
        (SQUARE.replace(b"3 0 2 3", b"3 0 2 4"), "a.off must number vertices from 0 to 3: found vertex 4 in a face."),
        (SQUARE.replace(b"3 0 2 3", b"3 0 -2 3"), "a.off must number vertices from 0 to 3: found vertex -2 in a face."),
        (
            SQUARE.replace(b"3 0 2 3", b"9 0 2 3"),
            "a.off cannot be read as an OFF file: a face has fewer corners than its count.",
        ),
    ],
)
def test_a_mesh_that_is_not_what_it_should_be_is_a_sentence(data: bytes, sentence: str):
    with refused(sentence, DataError):
        read_off(data, "a.off")


@pytest.mark.parametrize(
    "data",
    [
        b"OFF\n",
        b"OFF\na b c\n",
        SQUARE.replace(b"1 1 0", b"1 x 0"),
        SQUARE.replace(b"3 0 2 3", b"4 0 1 2 99999999999999999999"),
        SQUARE.replace(b"4 2 0", b"-4 2 0"),
    ],
)
def test_words_where_numbers_should_be_are_a_sentence(data: bytes):
    with pytest.raises(DataError, match=r"^a\.off cannot be read as an OFF file: "):
        read_off(data, "a.off")


def meshes(path: Path, *names: str) -> Path:
    path.parent.mkdir(exist_ok=True)
    with zipfile.ZipFile(path, "w") as archive:
        for name in names:
            archive.writestr(f"ModelNet10/{name}", SQUARE)
        archive.writestr("__MACOSX/ModelNet10/bed/train/._bed_0001.off", b"\0")
        archive.writestr("ModelNet10/README.txt", b"hello")
    return path


def test_meshes_become_the_files_that_load_reads(folder: Path):
    """A square is flat, has its mean at the origin and its farthest point at distance 1, up to the stored 1/8192."""
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
    assert not train.clouds[0].positions.equal(train.clouds[1].positions)  # each mesh has points of its own
    assert steps[-1] == (3, 4899)


def test_an_unknown_class_of_meshes_leaves_nothing_behind(folder: Path):
    archive = meshes(folder / "modelnet/ModelNet10.zip", "bed/train/bed_0001.off", "boat/test/boat_0001.off")

    with refused(f"{archive} holds ModelNet10/boat/test/boat_0001.off of the unknown class 'boat'.", DataError):
        fetch("modelnet10")

    assert [path.name for path in archive.parent.iterdir()] == ["ModelNet10.zip"]


def test_fetch_samples_an_archive_of_meshes_and_counts(folder: Path):
    meshes(folder / "modelnet/ModelNet40.zip", "bed/train/bed_0001.off", "bed/test/bed_0516.off")

    with pytest.raises(DataError, match=r"^modelnet10 must have 3991 train shapes: .* holds 1\."):
        fetch("modelnet10")


def test_a_stored_array_needs_no_pickle(folder: Path):
    buffer = io.BytesIO()
    np.savez(buffer, points=np.array([None], dtype=object))
    write(folder).write_bytes(buffer.getvalue())

    with pytest.raises(DataError, match=r"modelnet10_train.npz is damaged or cut short \(Object arrays"):
        load_now("modelnet10")
