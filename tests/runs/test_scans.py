"""Predictions written back: a tiled scan has those of the scan in one piece, and files are whole or not there."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import laspy
import numpy as np
import pytest
import torch

from edgecond.data.datasets import PointExamples
from edgecond.data.formats import ply, read_points
from edgecond.data.points import unlabelled
from edgecond.errors import DataWarning
from edgecond.graph import Cloud
from edgecond.notation import Architecture
from edgecond.runs import scans
from edgecond.runs.model import Model
from edgecond.runs.prediction import predictions
from edgecond.runs.recipe import find
from tests.data.formats.scans import differences

CLASSES = ("2", "5", "6")
NETWORK = "C(4)-MP(1.5,2)-C(4)-MP(2.5,3)-C(4)-V-FC(8)-FC(3)"


def new_model(*, columns: tuple[str, ...] = ("intensity",), classes: tuple[str, ...] = CLASSES, **settings) -> Model:
    """Return an untrained model of user data, whose batch normalisation has statistics of its own."""
    recipe = find("scenes/ecc")
    changed = {"dataset": "folder", "options": {"columns": [*columns]}, "network": Architecture(NETWORK)}
    changed |= {"input": recipe.input.model_copy(update={"resolution": 0.5, "radius": 1.0}), "orientations": 1}
    torch.manual_seed(0)
    cloud = Cloud(torch.rand(50, 3), torch.rand(50, max(1, len(columns))), torch.arange(50) % len(classes))
    examples = PointExamples("some", classes, [cloud, cloud], "0")
    model = Model.new(recipe.model_copy(update=changed | settings), examples, 1)
    with torch.no_grad():
        for name, buffer in model.network.named_buffers():
            if name.endswith(("running_mean", "running_var")):
                buffer.copy_(torch.rand(buffer.shape) + 0.1)
    return model


def write_las(path: Path, count: int = 4000, seed: int = 0) -> None:
    """Write points of a hilly strip of 400 m by 8 m far from the origin, in random order."""
    rng = np.random.default_rng(seed)
    x, y, z = (rng.random((count, 3)) * [400, 8, 2]).T
    file = laspy.create(point_format=6, file_version="1.4")
    file.header.scales, file.header.offsets = [0.001] * 3, [500_000.0, 5_000_000.0, 0.0]
    file.x, file.y, file.z = x + 500_000, y + 5_000_000, z + np.sin(x / 3) + 100
    file.intensity, file.gps_time = rng.integers(1, 5, count), np.arange(count)
    file.write(str(path))


def in_one_piece(model: Model, path: Path, views: int) -> np.ndarray:
    """Return the probabilities of all classes for the points of a file, as `edgecond predict` computes them."""
    return model.outputs(unlabelled([model.kind.read_file(path, model.learned)]), views)


@pytest.mark.parametrize("views", [1, 3])
def test_a_tiled_scan_has_the_predictions_of_the_scan_in_one_piece(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, views: int
):
    """The same voxels, edges and pool maps within the receptive field; sums may be rounded differently."""
    write_las(path := tmp_path / "scan.las")
    model, sizes = new_model(), []
    predicted = scans._predicted

    def counted(*arguments):
        sizes.append(len(arguments[-1].rows))
        return predicted(*arguments)

    monkeypatch.setattr(scans, "_predicted", counted)
    to = tmp_path / "to.las"
    scans.write(model, path, to, "las", views=views, probabilities=True, tile=1500)

    expected = in_one_piece(model, path, views)
    assert len(sizes) >= 4
    assert max(sizes) <= 1500
    file = laspy.read(to)
    np.testing.assert_allclose(file["probability"], expected.max(1), rtol=0, atol=1e-5)
    names = np.array([int(name) for name in CLASSES])
    assert np.asarray(file.classification).tolist() == names[expected.argmax(1)].tolist()
    assert len({*expected.argmax(1).tolist()}) > 1


def agreement(one: np.ndarray, other: np.ndarray) -> float:
    """Return the share of points with equal probabilities."""
    return (np.abs(one - other) < 1e-4).mean()


@pytest.mark.parametrize("wide", ["corridor", "country", "stray"])
@pytest.mark.parametrize("views", [1, 3])
def test_a_wide_scan_in_utm_coordinates_has_the_predictions_of_the_one_at_the_origin(tmp_path: Path, wide, views: int):
    """Labels are functions of offsets: a corridor of 6 km, two places 600 km apart, and a tile with a stray point."""
    rng = np.random.default_rng(0)
    place = np.column_stack([rng.random((600, 3)) * [30, 8, 2], rng.integers(1, 5, 600)])
    other = {"corridor": [0, 6000, 0, 0], "country": [0, 600_000, 0, 0], "stray": [0, 0, 3, 0]}[wide]
    table = np.concatenate([place, place + other])
    scans_of = {"near": table, "utm": table + np.array([500_000, 5_400_000, 100, 0])}
    if wide == "stray":
        scans_of = {name: np.concatenate([rows, [[0, 0, 0, 1]]]) for name, rows in scans_of.items()}
        scans_of["near"][-1] = [-500_000, -5_400_000, -100, 1]
    model, found = new_model(), {}
    for name, rows in scans_of.items():
        np.savetxt(path := tmp_path / f"{name}.csv", rows, delimiter=",", header="x,y,z,intensity", fmt="%.6f")
        to = tmp_path / f"{name}.ply"
        scans.write(model, path, to, "ply", views=views, probabilities=True, tile=700)
        points = read_points(to)
        found[name] = points.signal[:, points.names.index("probability")]
        if wide != "country":  # 300 km have steps of 0.03 in one piece
            assert agreement(found[name], in_one_piece(model, path, views).max(1)) > 0.99

    assert agreement(found["utm"], found["near"]) > 0.98  # a few points change their voxel
    if wide == "country" and views == 1:
        np.savetxt(path := tmp_path / "place.csv", place, delimiter=",", header="x,y,z,intensity", fmt="%.6f")
        assert agreement(found["utm"][:600], in_one_piece(model, path, views).max(1)) > 0.8  # another grid


def test_without_a_size_tiles_take_as_much_memory_as_they_may(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    write_las(path := tmp_path / "scan.las")
    model = new_model()

    files = []
    for memory in (2**30, 4 * 2**20):
        monkeypatch.setattr(scans, "MEMORY", memory)
        done: list[int] = []
        to = tmp_path / f"{memory}.las"
        scans.write(model, path, to, "las", views=1, progress=lambda points, total, done=done: done.append(points))
        files.append((len(done), to.read_bytes()))
        assert done[-1] == 4000

    assert files[0][0] == 1
    assert files[1][0] > 2
    assert files[0][1] == files[1][1]


@pytest.mark.parametrize("form", ["las", "laz"])
def test_a_copy_has_all_fields_and_records_of_the_scan(tmp_path: Path, form: str):
    write_las(path := tmp_path / "scan.laz", 300)
    rows = list(scans.written(new_model(), [path], tmp_path / "out", form, report=pytest.fail))

    assert rows == [{"file": str(path), "written": str(tmp_path / "out" / f"scan.{form}")}]
    assert differences(path, tmp_path / "out" / f"scan.{form}") == {"classification"}


@pytest.mark.parametrize("form", ["las", "laz", "ply"])
@pytest.mark.parametrize("ending", ["csv", "npy", "pcd", "ply"])
def test_files_of_other_formats_are_written_with_predictions(tmp_path: Path, form: str, ending: str):
    """The points in their order; a property that the model does not use stays in PLY."""
    rng, path = np.random.default_rng(0), tmp_path / f"cloud.{ending}"
    table = np.column_stack([rng.random((200, 3)) * 10, rng.integers(1, 5, 200), rng.random(200)]).astype(np.float32)
    names = ("x", "y", "z", "intensity", "roughness")
    columns = dict(zip(names, table.T, strict=True))
    if ending == "csv":
        np.savetxt(path, table, delimiter=",", header=",".join(names), comments="")
    elif ending == "npy":
        np.save(path, np.rec.fromarrays([*columns.values()], names=[*names]))
    elif ending == "pcd":
        fields = f"FIELDS {' '.join(names)}\nSIZE 4 4 4 4 4\nTYPE F F F F F\nPOINTS 200\nDATA binary\n"
        path.write_bytes(fields.encode() + table.astype("<f4").tobytes())
    else:
        path.write_bytes(ply.write(columns))
    model = new_model()

    rows = list(scans.written(model, [path], tmp_path / "out", form, probabilities=True, report=pytest.fail))

    expected = in_one_piece(model, path, 1)
    codes = np.array([2, 5, 6])[expected.argmax(1)].tolist()
    to = Path(rows[0]["written"])
    if form == "ply":
        points = read_points(to, column="class")
        assert points.y.tolist() == codes
        signal = dict(zip(points.names, points.signal.T, strict=True))
        np.testing.assert_allclose(signal["roughness"], table[:, 4], rtol=1e-6)
        np.testing.assert_allclose(signal["probability"], expected.max(1), atol=1e-5)
        np.testing.assert_allclose(points.positions, table[:, :3], rtol=1e-6)
    else:
        file = laspy.read(to)
        assert np.asarray(file.classification).tolist() == codes
        np.testing.assert_allclose(file.xyz, table[:, :3], atol=1e-6)
        assert file.intensity.tolist() == table[:, 3].tolist()


def test_a_laser_scan_is_written_as_ply_with_its_columns(tmp_path: Path):
    write_las(path := tmp_path / "scan.las", 300)
    model = new_model(classes=("ground", "tree", "house"))

    (row,) = scans.written(model, [path], tmp_path / "out", "ply", report=pytest.fail)

    points, file = read_points(Path(row["written"]), column="class"), laspy.read(path)
    assert points.y.tolist() == in_one_piece(model, path, 1).argmax(1).tolist()
    np.testing.assert_allclose(points.positions, file.xyz, rtol=1e-12)
    assert {"intensity", "return_number", "classification"} <= {*points.names}
    assert b"comment class 1 is tree\n" in Path(row["written"]).read_bytes()


@pytest.mark.parametrize("jobs", [1, 2])
def test_points_without_a_position_are_noted_for_each_file(tmp_path: Path, jobs: int):
    """NaN where a scanner had no return, as in organized clouds: by rows and by copies, in one process and in two."""
    fields = "FIELDS x y z intensity\nSIZE 4 4 4 4\nTYPE F F F F\nPOINTS 50\nDATA binary\n"
    table, paths = np.random.default_rng(0).random((50, 4)).astype("<f4"), [tmp_path / f"{k}.pcd" for k in range(3)]
    for number, path in enumerate(paths):
        table[:number, :3] = np.nan
        path.write_bytes(fields.encode() + table.tobytes())
    model, notes = new_model(), {}

    for name, run in {
        "rows": lambda: predictions(model, paths, jobs=jobs, report=pytest.fail),
        "copies": lambda: scans.written(model, paths, tmp_path / "out", "ply", jobs=jobs, report=pytest.fail),
    }.items():
        with pytest.warns(DataWarning) as caught:
            rows = list(run())
        notes[name] = [str(each.message) for each in caught]

    expected = [f"{paths[number]} has {number} points without a position: they are left out" for number in (1, 2)]
    assert [note.split(",")[0] for note in notes["rows"]] == expected
    assert [note.split(",")[0] for note in notes["copies"]] == expected
    assert [len(read_points(Path(row["written"]))) for row in rows] == [50, 49, 48]


def test_what_cannot_be_written_is_reported_and_left_out(tmp_path: Path):
    """A damaged file, two files of one name, a file that would be replaced by its copy, and a missing column."""
    (tmp_path / "more").mkdir()
    for path in (tmp_path / "a.las", tmp_path / "more" / "a.laz"):
        write_las(path, 100)
    (tmp_path / "b.las").write_bytes(b"LASF")
    np.save(tmp_path / "c.npy", np.random.default_rng(0).random((9, 3)))
    files = [tmp_path / name for name in ("a.las", "more/a.laz", "b.las", "c.npy")]
    said: list[str] = []

    rows = list(scans.written(new_model(), files, tmp_path, "laz", report=said.append))
    again = list(scans.written(new_model(), [tmp_path / "a.laz"], tmp_path, "laz", report=said.append))

    assert ([Path(row["written"]).name for row in rows], again) == (["a.laz"], [])
    assert len(said) == 4
    assert "a.laz must have a name of its own" in said[0]
    assert "b.las cannot be read" in said[1]
    assert "c.npy must have the column 'intensity'" in said[2]
    assert "it would be replaced itself" in said[3]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.las", "a.laz", "b.las", "c.npy", "more"]


@pytest.mark.parametrize("count", [1, 3], ids=["tiles by processes", "files by processes"])
def test_several_processes_write_the_bytes_of_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, count: int):
    """With one thread each, as products round by threads; a file that cannot be read is reported by both."""
    paths, threads = [tmp_path / f"{number}.las" for number in range(count)], torch.get_num_threads()
    for seed, path in enumerate(paths):
        write_las(path, 2000, seed)
    if count > 1:
        paths[1].write_bytes(b"LASF")
    predicted = scans._predicted

    def noted(*arguments):
        (tmp_path / f"process {os.getpid()}").touch()
        return predicted(*arguments)

    monkeypatch.setattr(scans, "_predicted", noted)
    torch.set_num_threads(1)
    model, runs = new_model(), {}
    for jobs in (1, 2):
        said, done, out = list[str](), list[tuple[int, int | None]](), tmp_path / f"{jobs}"
        calls = {"report": said.append, "progress": lambda *numbers, done=done: done.append(numbers)}
        rows = list(scans.written(model, paths, out, "laz", probabilities=True, tile=800, jobs=jobs, **calls))
        assert [Path(row["file"]) for row in rows] == [path for path in paths if path.stem != "1"]
        assert done[-1][0] == done[-1][1]
        runs[jobs] = said, {path.name: path.read_bytes() for path in out.iterdir()}
    torch.set_num_threads(threads)

    assert runs[1] == runs[2]
    assert len(runs[2][1]) == len(rows) == (1 if count == 1 else 2)
    processes = {path.name for path in tmp_path.glob("process *")}
    assert len(processes - {f"process {os.getpid()}"}) == 2


def test_by_default_processes_take_half_of_the_memory_of_the_machine(monkeypatch: pytest.MonkeyPatch):
    """Tiles of 1 GiB: 4 of them are half of 8 GiB; below 4 GiB a tile takes a quarter of the memory, so that 2 fit."""
    monkeypatch.setattr(scans, "cores", lambda: 64)
    pages = {"SC_PAGE_SIZE": 4096, "SC_PHYS_PAGES": 0}
    monkeypatch.setattr(os, "sysconf", pages.__getitem__)
    found = []
    for gibibytes in (2, 8, 1024):
        pages["SC_PHYS_PAGES"] = gibibytes * 2**30 // 4096
        found.append(scans.processes())

    assert found == [2, 4, 64]


def test_infinite_outputs_write_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    write_las(path := tmp_path / "scan.las", 100)
    monkeypatch.setattr(Model, "outputs", lambda *_: np.full((100, 3), np.nan))
    said: list[str] = []

    assert list(scans.written(new_model(), [path], tmp_path / "out", "las", report=said.append)) == []
    assert "gives no finite outputs" in said[0]
    assert list((tmp_path / "out").iterdir()) == []


@pytest.mark.parametrize("count", [1, 2], ids=["tiles by processes", "files by processes"])
@pytest.mark.parametrize("kind", [signal.SIGINT, signal.SIGKILL], ids=["interrupted", "killed"])
def test_nothing_half_written_has_the_name_of_a_copy(tmp_path: Path, kind: signal.Signals, count: int):
    """Interrupted among the first tiles; scratch directories that killed processes left are removed by the next."""
    paths, out = [tmp_path / f"{number}.las" for number in range(count)], tmp_path / "out"
    for path in paths:
        write_las(path)
    new_model().save(tmp_path / "model.safetensors")
    command = [sys.executable, "-m", "edgecond", "predict", str(tmp_path / "model.safetensors"), *map(str, paths)]
    command += ["--to", "las", "--out", str(out), "--tile", "1", "--jobs", "2"]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    while not (out.exists() and len([*out.iterdir()]) == count) and process.poll() is None:
        time.sleep(0.01)
    assert process.poll() is None, process.communicate()[1]

    os.kill(process.pid, kind)

    process.communicate()  # until all processes have ended
    assert process.returncode != 0
    left = [each.name for each in out.iterdir()]
    assert not any(name.endswith(".las") for name in left)
    assert left == [] or kind == signal.SIGKILL
    scans.write(new_model(), paths[0], out / "0.las", "las", views=1)
    assert [each.name for each in out.iterdir()] == ["0.las"]


def test_a_model_of_a_named_data_set_is_refused(tmp_path: Path):
    write_las(path := tmp_path / "scan.las", 100)
    model = new_model()
    model = replace(model, recipe=model.recipe.model_copy(update={"dataset": "scenes", "options": {}}))
    said: list[str] = []

    assert list(scans.written(model, [path], tmp_path / "out", "las", report=said.append)) == []
    assert "points are written back for models of your data" in said[0]
