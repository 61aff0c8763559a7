"""Clouds of files are parsed once, and are the same from memory and from the temporary file."""

from __future__ import annotations

import gc
import multiprocessing
import os
import pickle
import shutil
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
import torch
from torch.utils.data import DataLoader

from edgecond.data import folder, parsed, segmented
from edgecond.data.formats import read_points, read_surface, text
from edgecond.data.parsed import ParsedClouds
from edgecond.data.points import to_cloud, to_mesh
from edgecond.errors import DataError
from edgecond.graph import Cloud
from tests.data.formats.files import ply, ply_faces
from tests.sentences import mentions

LIMITS = pytest.mark.parametrize("limit", [parsed.MEMORY, 100, 0], ids=["memory", "both", "file"])


@pytest.fixture
def cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    directory = tmp_path_factory.mktemp("cache")
    monkeypatch.setenv("EDGECOND_CACHE", str(directory))
    return directory


@pytest.fixture
def files(tmp_path: Path) -> list[Path]:
    """Clouds of two classes, whose points have classes too."""
    rng = np.random.default_rng(0)
    paths = [tmp_path / f"{kind}/{number}.csv" for kind in ("car", "tree") for number in range(5)]
    for path in paths:
        path.parent.mkdir(exist_ok=True)
        rows = np.c_[rng.normal(size=(20, 3)), rng.integers(0, 3, 20), rng.random((20, 2))]
        np.savetxt(path, rows, delimiter=",", header="x,y,z,label,red,intensity", comments="")
    return paths


def same(one: Cloud, two: Cloud) -> bool:
    names = ("positions", "signal", "y", "faces")
    pairs = [(getattr(one, name, None), getattr(two, name, None)) for name in names]
    return all((a is None and b is None) or (a.dtype == b.dtype and torch.equal(a, b)) for a, b in pairs)


@LIMITS
@pytest.mark.parametrize("workers", [0, 2])
def test_each_file_is_parsed_once_whatever_is_done_with_it(
    files: list[Path], cache: Path, monkeypatch: pytest.MonkeyPatch, limit: int, workers: int
):
    """The files are gone after the first time, so no worker could parse them again unseen."""
    parses: Counter[bytes] = Counter()
    read = text.read
    monkeypatch.setattr(text, "read", lambda data: parses.update([data]) or read(data))
    monkeypatch.setattr(parsed, "MEMORY", limit)
    root = files[0].parents[1]

    examples = folder.read(root).examples
    shutil.rmtree(root)
    folder.point_spacing(examples.clouds)
    train, test = examples.take(range(7)), examples.take(range(7, 10))
    epochs = [[cloud for cloud, _ in DataLoader(train, batch_size=None, num_workers=workers)] for _ in range(3)]

    assert sorted(parses.values()) == [1] * len(files)
    assert [len(epoch) for epoch in epochs] == [7, 7, 7]
    assert all(same(epochs[0][k], epochs[2][k]) for k in range(7))
    assert len(list(test)) == 3


@LIMITS
def test_clouds_are_those_that_the_files_hold(
    files: list[Path], cache: Path, monkeypatch: pytest.MonkeyPatch, limit: int
):
    """Read from the files again, one by one, without the store."""
    monkeypatch.setattr(parsed, "MEMORY", limit)

    contents = folder.read(files[0].parents[1])

    assert contents.columns == ("label", "red", "intensity")
    for path, (cloud, _) in zip(files, contents.examples, strict=True):
        assert same(cloud, to_cloud(read_points(path), contents.columns, path))


@LIMITS
def test_classes_of_points_are_those_that_the_files_hold(
    files: list[Path], cache: Path, monkeypatch: pytest.MonkeyPatch, limit: int
):
    monkeypatch.setattr(parsed, "MEMORY", limit)

    contents = segmented.read(files[0].parents[1], "label")

    assert (contents.columns, contents.examples.classes) == (("red", "intensity"), ("0", "1", "2"))
    for index, path in enumerate(files):
        points = read_points(path, column="label")
        assert contents.examples.clouds[index].y.tolist() == points.y.tolist()


@LIMITS
def test_meshes_are_those_that_the_files_hold(tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch, limit: int):
    monkeypatch.setattr(parsed, "MEMORY", limit)
    for kind in ("a", "b"):
        (tmp_path / kind).mkdir()
        (tmp_path / kind / "mesh.ply").write_bytes(ply(faces=ply_faces("ascii", [0, 1, 2], [1, 2, 3])))

    contents = folder.read(tmp_path, meshes=True)

    for path, (mesh, _) in zip(sorted(tmp_path.glob("*/*")), contents.examples, strict=True):
        assert same(mesh, to_mesh(read_surface(path), contents.columns, path))


def test_the_temporary_file_is_removed_with_the_clouds(files: list[Path], cache: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(parsed, "MEMORY", 0)
    contents = folder.read(files[0].parents[1])
    assert len(os.listdir(cache)) == 1

    del contents
    gc.collect()

    assert os.listdir(cache) == []


def read_and_die(root: Path) -> None:
    contents = folder.read(root)
    assert len(contents.examples) == 10
    os._exit(0)  # as if killed


def test_the_temporary_file_of_a_killed_process_is_removed_by_the_next(
    files: list[Path], cache: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(parsed, "MEMORY", 0)
    process = multiprocessing.get_context("fork").Process(target=read_and_die, args=(files[0].parents[1],))
    process.start()
    process.join()
    (left,) = os.listdir(cache)

    contents = folder.read(files[0].parents[1])

    assert left not in os.listdir(cache)
    assert len(contents.examples.clouds[0]) == 20


def test_a_copy_for_another_process_reads_the_same_clouds_and_leaves_the_file(cache: Path):
    """As where processes are spawned and receive a pickle."""
    clouds = ParsedClouds()
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(parsed, "MEMORY", 0)
        clouds.add(Cloud(torch.zeros(2, 3), torch.tensor([[1.0, 2.0], [3.0, 4.0]])), ("a", "b"))

    copy = pickle.loads(pickle.dumps(clouds))
    assert copy.get(0, ("b", "a")).signal.tolist() == [[2, 1], [4, 3]]
    del copy
    gc.collect()

    assert clouds.get(0, ()).signal.tolist() == [[1], [1]]


def test_a_cache_that_cannot_be_written_is_reported_with_what_to_do(
    files: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """It is no fault of the file that is being read, which would be skipped."""
    (tmp_path / "taken").write_bytes(b"")
    monkeypatch.setenv("EDGECOND_CACHE", str(tmp_path / "taken"))
    monkeypatch.setattr(parsed, "MEMORY", 0)

    with mentions(tmp_path / "taken", "cannot be written", "EDGECOND_CACHE", kind=DataError):
        folder.read(files[0].parents[1])
