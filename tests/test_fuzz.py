"""Reading a damaged file gives something consistent or one of our own errors, never anything else."""

from __future__ import annotations

import gzip
import io
import json
import random
import tarfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from safetensors.torch import save

from edgecond.data import folder
from edgecond.data.datasets import matlab, mnist, modelnet, sydney
from edgecond.data.datasets.fetching import sum_is
from edgecond.data.formats import batch, off, smiles, tu
from edgecond.data.formats.columns import read_csv
from edgecond.errors import CheckpointError, DataError, RecipeError
from edgecond.files import sha256
from edgecond.nn.checkpoint import KEY
from edgecond.runs.model import Model
from edgecond.runs.recipe import read
from tests.data.datasets import tiny
from tests.fuzzing import changed, changes, quickly
from tests.runs.test_model_files import CLOUDS, GRAPHS, parts

ROOT = Path(__file__).parents[1]


def or_error(reading: Callable[[], Any], kind: type[Exception] = DataError) -> Any:
    """Return the result of reading, or nothing where it raises an error of our own."""
    try:
        return reading()
    except kind:
        return None


# Graphs and tables


@pytest.mark.parametrize("part", tiny.TINY)
@quickly
@given(steps=changes, classes=st.booleans())
def test_damaged_tu_files_give_graphs_or_an_error(tmp_path: Path, part: str, steps: list[tuple], classes: bool):
    path = tiny.write(tmp_path)
    (path / f"TINY_{part}.txt").write_bytes(changed(tiny.TINY[part].encode(), steps))

    graphs = or_error(lambda: tu.read(path, classes=classes))

    if graphs is not None:
        assert graphs.graph().num_sources == graphs.num_vertices == graphs.sizes.sum()
        assert graphs.signal(attributes=True).isfinite().all()
        learned = replace(graphs, vertex_values=np.array([5, 7]), edge_values=np.array([10]))
        or_error(lambda: graphs.relabelled(learned))


@quickly
@given(steps=changes)
def test_a_damaged_zip_of_tu_files_gives_graphs_or_an_error(tmp_path: Path, steps: list[tuple]):
    path = tiny.pack(tiny.write(tmp_path))
    path.write_bytes(changed(path.read_bytes(), steps))

    or_error(lambda: tu.read(path))


BATCH = {
    "edge_index": torch.tensor([[0, 1, 2, 3], [1, 0, 3, 2]]),
    "batch": torch.tensor([0, 0, 1, 1]),
    "x": torch.eye(2)[[0, 1, 1, 0]],
    "edge_attr": torch.tensor([0.5, 0.5, 1.5, 1.5]),
    "y": torch.tensor([0, 1]),
}


@quickly
@given(steps=changes)
def test_a_damaged_batch_gives_graphs_or_an_error(tmp_path: Path, steps: list[tuple]):
    path = tmp_path / "batch.safetensors"
    path.write_bytes(changed(save(BATCH), steps))

    found = or_error(lambda: batch.read(path))

    if found is not None:
        assert found.graphs.graph().num_sources == found.graphs.num_vertices


TABLE = b'smiles,logS,kind\nCCO,-0.77,a\nc1ccccc1,-1.64,b\n"C[C@H](O)N",,a\nC/C=C/C,1e3,b\n[Na+].[Cl-],2,a\n'


@quickly
@given(steps=changes, zipped=st.booleans())
def test_a_damaged_table_gives_molecules_or_an_error(tmp_path: Path, steps: list[tuple], zipped: bool):
    """What is damaged is the compressed file, or the text."""
    pytest.importorskip("rdkit")
    path = tmp_path / ("table.csv.gz" if zipped else "table.csv")
    path.write_bytes(changed(gzip.compress(TABLE, mtime=0), steps) if zipped else changed(TABLE, steps))

    or_error(lambda: read_csv(path))
    for target in ("logS", "kind", ()):
        or_error(lambda target=target: smiles.read(path, target=target))
    pieces = or_error(lambda: list(smiles.iterate(path, size=2)))
    whole = or_error(lambda: smiles.read(path, target=()))
    if whole is not None:
        assert [text for piece in pieces for text in piece.smiles] == list(whole.smiles)
        assert [row for piece in pieces for row in piece.rows] == list(whole.rows)
        assert sorted(skip for piece in pieces for skip in piece.skipped) == whole.skipped


@quickly
@given(text=st.text(alphabet="CNOc1()=#[]@+-/\\%.*HBrl2 |", max_size=40))
def test_any_text_is_a_molecule_or_an_error(text: str):
    pytest.importorskip("rdkit")
    graphs, skipped = smiles.featurise([text])

    assert len(graphs) + len(skipped) == 1


def matlab_file() -> bytes:
    from scipy.io import savemat

    record = np.dtype([("nl", object), ("al", object), ("el", object)])
    graphs = np.zeros(2, record)
    for graph in graphs:
        graph["nl"] = {"values": np.array([[1], [2]], np.uint8)}
        neighbours, kinds = np.empty((2, 1), object), np.empty((2, 1), object)
        neighbours[:, 0] = [np.array([[2]], np.uint8), np.array([[1]], np.uint8)]
        kinds[:, 0] = [np.array([[3]], np.uint8), np.array([[3]], np.uint8)]
        graph["al"], graph["el"] = neighbours, {"values": kinds}
    buffer = io.BytesIO()
    savemat(buffer, {"NCI1": graphs, "lnci1": np.array([1, -1])}, do_compression=False)
    return buffer.getvalue()


MATLAB = matlab_file()


def test_the_matlab_file_can_be_read_before_it_is_damaged(tmp_path: Path):
    (tmp_path / "whole.mat").write_bytes(MATLAB)

    matlab.rewrite(tmp_path / "whole.mat", tmp_path / "WHOLE.zip", check=sum_is(sha256(MATLAB)))

    assert len(tu.read(tmp_path / "WHOLE.zip")) == 2


@quickly
@given(steps=changes)
def test_a_damaged_matlab_file_is_an_error_before_scipy_reads_it(tmp_path: Path, steps: list[tuple]):
    """Some of them crash the process in scipy 1.17."""
    path, target = tmp_path / "damaged.mat", tmp_path / "DAMAGED.zip"
    path.write_bytes(changed(MATLAB, steps))

    or_error(lambda: matlab.rewrite(path, target, check=sum_is(sha256(MATLAB))))

    assert target.exists() == (path.read_bytes() == MATLAB)
    target.unlink(missing_ok=True)


# Clouds


@quickly
@given(steps=changes, zipped=st.booleans())
def test_a_damaged_idx_file_gives_an_array_or_an_error(tmp_path: Path, steps: list[tuple], zipped: bool):
    whole = b"\0\0\x08\x03" + np.array([2, 3, 4], ">u4").tobytes() + bytes(range(24))
    path = tmp_path / ("images.gz" if zipped else "images")
    path.write_bytes(changed(gzip.compress(whole, mtime=0), steps) if zipped else changed(whole, steps))

    or_error(lambda: mnist.read_idx(path))


def sydney_archive(damage: Callable[[bytes], bytes]) -> bytes:
    """Four objects in four folds; what is damaged is the tar file, or an object in it."""
    point = np.zeros(5, sydney._POINT)
    point["position"] = np.arange(15).reshape(5, 3)
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for number in range(4):
            object_ = point.tobytes() if number else damage(point.tobytes())
            name = f"car.{number}.{number}.bin"
            texts = {f"s/objects/{name}": object_, f"s/folds/fold{number}.txt": f"{name}\n".encode()}
            for path, data in texts.items():
                member = tarfile.TarInfo(path)
                member.size = len(data)
                archive.addfile(member, io.BytesIO(data))
    return buffer.getvalue()


@pytest.mark.parametrize("where", ["archive", "tar", "object"])
@quickly
@given(steps=changes)
def test_a_damaged_archive_of_sydney_gives_clouds_or_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, where: str, steps: list[tuple]
):
    monkeypatch.setenv("EDGECOND_DATA", str(tmp_path))
    (tmp_path / "sydney").mkdir(exist_ok=True)
    tar = sydney_archive(lambda data: changed(data, steps) if where == "object" else data)
    packed = gzip.compress(changed(tar, steps) if where == "tar" else tar, 1, mtime=0)
    (tmp_path / "sydney" / sydney.FILE).write_bytes(changed(packed, steps) if where == "archive" else packed)

    or_error(lambda: sydney.load(0))


def shapes_file() -> bytes:
    buffer = io.BytesIO()
    points = np.arange(2 * 1024 * 3, dtype=np.int16).reshape(2, 1024, 3)
    np.savez(buffer, points=points, labels=np.array([0, 1], np.uint8), ids=np.array([1, 2], np.uint16))
    return buffer.getvalue()


SHAPES = shapes_file()


@quickly
@given(steps=changes, near=st.sampled_from([0, 12_300]))
def test_a_damaged_file_of_shapes_gives_points_or_an_error(tmp_path: Path, steps: list[tuple], near: int):
    """What is damaged is the first header, or what follows the points: the other arrays and the directory."""
    path = tmp_path / "modelnet10_train.npz"
    path.write_bytes(SHAPES[:near] + changed(SHAPES[near : near + 400], steps) + SHAPES[near + 400 :])

    or_error(lambda: modelnet._read(path))


@quickly
@given(steps=changes)
def test_a_damaged_mesh_of_modelnet_gives_triangles_or_an_error(steps: list[tuple]):
    mesh = b"OFF4 3 0\n0 0 0\n1 0 0\n0 1 0\n0 0 1.5\n3 0 1 2\n3 0 1 3\n4 0 1 2 3\n"

    found = or_error(lambda: off.parse(changed(mesh, steps)))

    if found is not None:
        vertices, triangles = found
        assert np.isfinite(vertices).all()
        assert not len(triangles) or triangles.max() < len(vertices)


@quickly
@given(steps=changes)
def test_a_folder_with_a_damaged_file_gives_clouds_or_an_error(tmp_path: Path, steps: list[tuple]):
    whole = b"".join(b"%d %d %d 7\n" % (n, n * n, -n) for n in range(9))
    for kind, data in (("a", whole), ("b", changed(whole, steps))):
        (tmp_path / kind).mkdir(exist_ok=True)
        (tmp_path / kind / "1.xyz").write_bytes(data)

    found = or_error(lambda: folder.read(tmp_path))

    if found is not None:
        assert all(cloud.positions.isfinite().all() for cloud, _ in found.examples)


# Recipes and models


@pytest.mark.parametrize("name", ["sydney.toml", "modelnet10.toml", "nci1.toml"])
@quickly
@given(steps=changes)
def test_a_damaged_recipe_gives_rows_or_an_error(name: str, steps: list[tuple]):
    whole = (ROOT / "src/edgecond/paper/recipes" / name).read_bytes()

    or_error(lambda: read(changed(whole, steps).decode("utf-8", "replace"), name), RecipeError)


@pytest.mark.parametrize("path", [CLOUDS, GRAPHS], ids=lambda path: path.stem)
@quickly
@given(steps=changes)
def test_a_damaged_model_loads_or_is_an_error(tmp_path: Path, path: Path, steps: list[tuple]):
    damaged = tmp_path / "damaged.safetensors"
    damaged.write_bytes(changed(path.read_bytes(), steps))

    or_error(lambda: Model.load(damaged), CheckpointError)


odd = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(max_size=8),
    st.sampled_from(
        [10**30, "C(4)", "smiles", "folder", "tu", "one-hot", "answers", "multilabel", [], {}, [[]], "../../etc/passwd"]
    ),
    st.lists(st.integers(-2, 9), max_size=4),
    st.dictionaries(st.text(max_size=4), st.integers(), max_size=3),
)


def leaves(value: Any, path: tuple = ()) -> list[tuple]:
    """The place of every value in JSON, whole branches among them."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(place for key, part in items for place in leaves(part, (*path, key)))]


@pytest.mark.parametrize("path", [CLOUDS, GRAPHS], ids=lambda path: path.stem)
@quickly
@given(value=odd, seed=st.integers(0, 10**6), drop=st.booleans())
def test_a_model_with_any_json_loads_or_is_an_error(tmp_path: Path, path: Path, value: Any, seed: int, drop: bool):
    about, tensors = parts(path)
    place = random.Random(seed).choice(leaves(about)[1:])
    inner = about
    for key in place[:-1]:
        inner = inner[key]
    if drop:
        del inner[place[-1]]
    else:
        inner[place[-1]] = value
    edited = tmp_path / "edited.safetensors"
    edited.write_bytes(save(tensors, {KEY: json.dumps(about)}))

    or_error(lambda: Model.load(edited), CheckpointError)
