"""Every reader of the package, each with a small whole file to be damaged by `tests.fuzzing`.

The tests damage each file some times, and `python -m benchmarks.fuzz` a million times.
"""

from __future__ import annotations

import gzip
import io
import json
import os
import re
import tarfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors.torch import save

from edgecond.data import folder, segmented
from edgecond.data.datasets import matlab, mnist, modelnet, public_folds, sydney
from edgecond.data.datasets.fetching import sum_is
from edgecond.data.formats import batch, MESHES, off, read_points, read_surface, smiles, tu
from edgecond.data.formats.columns import read_csv
from edgecond.data.points import to_cloud, to_mesh
from edgecond.data.samples.clouds import Builder, CloudSource
from edgecond.data.samples.store import pyramids
from edgecond.errors import DataError
from edgecond.files import sha256
from tests.data.datasets import tiny
from tests.data.formats.files import every_kind
from tests.fuzzing import damaged_json, Reader
from tests.model_readers import MODELS


def or_error(reading: Callable[[], Any]) -> Any:
    """Return the result of reading, or nothing where it raises an error of our own."""
    try:
        return reading()
    except DataError:
        return None


def always(data: bytes) -> Callable[[], bytes]:
    return lambda: data


zipped = partial(gzip.compress, compresslevel=1, mtime=0)


@contextmanager
def data_directory(path: Path) -> Iterator[None]:
    """Name the data directory for a while."""
    before = os.environ.get("EDGECOND_DATA")
    os.environ["EDGECOND_DATA"] = str(path)
    try:
        yield
    finally:
        if before is None:
            del os.environ["EDGECOND_DATA"]
        else:
            os.environ["EDGECOND_DATA"] = before


# Clouds and meshes

RESOLUTIONS = ((0.5, 1.0), (2.0, 4.0))


def points(path: Path) -> None:
    try:
        found = read_points(path, count=8)
    except DataError as error:
        sentence = str(error)
    else:
        sentence = f"{path} has points."
        assert found.positions.shape == (len(found), 3)
        assert found.signal.shape == (len(found), len(found.names))
        assert len(found) > 0
        assert np.isfinite(found.positions).all()
        assert np.isfinite(found.signal).all()
    assert re.fullmatch(rf"{re.escape(str(path))} .+\.", sentence)


def pyramid_of_points(path: Path) -> None:
    cloud = to_cloud(read_points(path, count=8), (), path)
    CloudSource([(cloud, 0)], Builder(RESOLUTIONS)).sample([0], 0)


def pyramid_of_mesh(path: Path) -> None:
    surface = read_surface(path)
    assert 0 <= surface.triangles.min() <= surface.triangles.max() < len(surface)
    CloudSource([(to_mesh(surface, (), path), 0)], Builder(RESOLUTIONS, meshes=True)).sample([0], 0)


def modelnet_mesh(path: Path) -> None:
    vertices, triangles = off.parse(path.read_bytes())
    assert np.isfinite(vertices).all()
    assert not len(triangles) or triangles.max() < len(vertices)


XYZ = b"".join(b"%d %d %d 7\n" % (n, n * n, -n) for n in range(9))
CLASSED = b"x,y,z,intensity,class\n" + b"".join(b"%d,%d,%d,7,%d\n" % (n, n * n, -n, n % 3) for n in range(9))


def folder_of_clouds(path: Path) -> None:
    found = folder.read(path.parents[1])
    assert all(cloud.positions.isfinite().all() for cloud, _ in found.examples)


def folder_of_segmented_clouds(path: Path) -> None:
    for numbers in (False, True):
        found = or_error(lambda numbers=numbers: segmented.read(path.parent, "class", numbers=numbers))
        for cloud in found.examples.clouds if found else ():
            assert cloud.positions.isfinite().all()
            assert len(cloud.y) == len(cloud)


IDX = b"\0\0\x08\x03" + np.array([2, 3, 4], ">u4").tobytes() + bytes(range(24))


def sydney_tar(damaged_object: bytes | None = None) -> bytes:
    """Four objects in four folds, the first of them with other bytes."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for number in range(4):
            name = f"car.{number}.{number}.bin"
            content = sydney_object() if number or damaged_object is None else damaged_object
            for path, data in {
                f"s/objects/{name}": content,
                f"s/folds/fold{number}.txt": f"{name}\n".encode(),
            }.items():
                member = tarfile.TarInfo(path)
                member.size = len(data)
                archive.addfile(member, io.BytesIO(data))
    return buffer.getvalue()


def sydney_object() -> bytes:
    points = np.zeros(5, sydney._POINT)
    points["position"] = np.arange(15).reshape(5, 3)
    return points.tobytes()


def sydney_archive(path: Path) -> None:
    with data_directory(path.parents[1]):
        sydney.load(0)


@cache
def shapes() -> bytes:
    buffer = io.BytesIO()
    points = np.arange(2 * 1024 * 3, dtype=np.int16).reshape(2, 1024, 3)
    np.savez(buffer, points=points, labels=np.array([0, 1], np.uint8), ids=np.array([1, 2], np.uint16))
    return buffer.getvalue()


def part_of_shapes(near: int) -> Reader:
    """Damage the first header, or what follows the points: the other arrays and the directory."""

    def whole() -> bytes:
        return shapes()[near : near + 400]

    def pack(data: bytes) -> bytes:
        return shapes()[:near] + data + shapes()[near + 400 :]

    return Reader("modelnet10_train.npz", whole, modelnet._read, pack=pack)


DUPLICATES = {"groups": [["chair/train/chair_0001", "chair/test/chair_0900"], ["sofa/train/a", "desk/test/b"]]}


def duplicates(path: Path) -> None:
    with data_directory(path.parents[1]):
        modelnet.duplicates_across_split()


CLOUDS = {
    **{name: Reader(f"damaged{ending}", always(data), points) for name, (ending, data) in every_kind().items()},
    **{
        f"pyramid of {name}": Reader(f"damaged{ending}", always(data), pyramid_of_mesh)
        for name, (ending, data) in every_kind().items()
        if ending in MESHES or name == "ply mesh binary_little_endian"
    },
    "pyramid of points": Reader("damaged.xyz", always(XYZ), pyramid_of_points),
    "off of ModelNet": Reader(
        "mesh.off", always(b"OFF4 3 0\n0 0 0\n1 0 0\n0 1 0\n0 0 1.5\n3 0 1 2\n3 0 1 3\n4 0 1 2 3\n"), modelnet_mesh
    ),
    "folder": Reader("b/1.xyz", always(XYZ), folder_of_clouds, beside={"a/1.xyz": XYZ}),
    "segmented": Reader("1.csv", always(CLASSED), folder_of_segmented_clouds, beside={"2.csv": CLASSED}),
    "idx": Reader("images", always(IDX), mnist.read_idx),
    "idx, compressed": Reader("images.gz", always(zipped(IDX)), mnist.read_idx),
    "sydney archive": Reader(f"sydney/{sydney.FILE}", lambda: zipped(sydney_tar()), sydney_archive),
    "sydney tar": Reader(f"sydney/{sydney.FILE}", sydney_tar, sydney_archive, pack=zipped),
    "sydney object": Reader(
        f"sydney/{sydney.FILE}", sydney_object, sydney_archive, pack=lambda data: zipped(sydney_tar(data))
    ),
    "shapes, first header": part_of_shapes(0),
    "shapes, directory": part_of_shapes(12_300),
    "duplicate shapes": Reader(
        "modelnet/modelnet40-duplicate-meshes.json", always(json.dumps(DUPLICATES).encode()), duplicates, damaged_json
    ),
}


# Graphs and molecules


def tu_folder(path: Path) -> None:
    for classes in (True, False):
        graphs = or_error(lambda classes=classes: tu.read(path.parent, classes=classes))
        if graphs is not None:
            assert graphs.graph().num_sources == graphs.num_vertices == graphs.sizes.sum()
            assert graphs.signal(attributes=True).isfinite().all()
            learned = replace(graphs, vertex_values=np.array([5, 7]), edge_values=np.array([10]))
            or_error(lambda graphs=graphs, learned=learned: graphs.relabelled(learned))


@cache
def tu_zip() -> bytes:
    import tempfile

    with tempfile.TemporaryDirectory() as directory:
        return tiny.pack(tiny.write(Path(directory))).read_bytes()


def tensors_of_a_batch(path: Path) -> None:
    graphs = batch.read(path).graphs
    assert graphs.graph().num_sources == graphs.num_vertices
    pyramids(graphs, 2, jobs=1, alone=True)


@cache
def tensors() -> bytes:
    return save(
        {
            "edge_index": torch.tensor([[0, 1, 2, 3], [1, 0, 3, 2]]),
            "batch": torch.tensor([0, 0, 1, 1]),
            "x": torch.eye(2)[[0, 1, 1, 0]],
            "edge_attr": torch.tensor([0.5, 0.5, 1.5, 1.5]),
            "y": torch.tensor([0, 1]),
        }
    )


TABLE = b'smiles,logS,kind\nCCO,-0.77,a\nc1ccccc1,-1.64,b\n"C[C@H](O)N",,a\nC/C=C/C,1e3,b\n[Na+].[Cl-],2,a\n'


def molecules(path: Path) -> None:
    or_error(lambda: read_csv(path))
    for target in ("logS", "kind"):
        or_error(lambda target=target: smiles.read(path, target=target))
    pieces = or_error(lambda: [smiles.read_chunk(chunk) for chunk in smiles.chunks(path, size=2)])
    whole = or_error(lambda: smiles.read(path, target=()))
    if whole is not None:
        assert [text for piece in pieces for text in piece.smiles] == list(whole.smiles)
        assert [row for piece in pieces for row in piece.rows] == list(whole.rows)
        assert sorted(skip for piece in pieces for skip in piece.skipped) == whole.skipped


@cache
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


def matlab_archive(path: Path) -> None:
    """Some damaged files crash the process in scipy 1.17: they must be refused before it reads them."""
    target = path.with_suffix(".zip")
    try:
        or_error(lambda: matlab.rewrite(path, target, check=sum_is(sha256(matlab_file()))))
        assert target.exists() == (path.read_bytes() == matlab_file())
    finally:
        target.unlink(missing_ok=True)


def folds_of_errica(path: Path) -> None:
    with data_directory(path.parents[2]):
        public_folds.fair_folds("enzymes")


@cache
def folds() -> bytes:
    """Ten folds of the 600 graphs of ENZYMES."""
    order = np.arange(600)
    return json.dumps(
        [
            {
                "test": order[k::10].tolist(),
                "model_selection": [
                    {"train": order[(order - k) % 10 > 1].tolist(), "validation": order[(k + 1) % 10 :: 10].tolist()}
                ],
            }
            for k in range(10)
        ]
    ).encode()


GRAPHS = {
    **{
        f"tu {part}": Reader(
            f"TINY/TINY_{part}.txt",
            always(text.encode()),
            tu_folder,
            beside={f"TINY/TINY_{name}.txt": other.encode() for name, other in tiny.TINY.items() if name != part},
        )
        for part, text in tiny.TINY.items()
    },
    "tu, packed": Reader("TINY.zip", tu_zip, tu.read),
    "batch": Reader("batch.safetensors", tensors, tensors_of_a_batch),
    "table": Reader("table.csv", always(TABLE), molecules),
    "table, compressed": Reader("table.csv.gz", always(zipped(TABLE)), molecules),
    "matlab": Reader("damaged.mat", matlab_file, matlab_archive),
    "folds": Reader("tu/" + public_folds.FAIR.format("ENZYMES"), folds, folds_of_errica, damaged_json),
}

READERS: dict[str, Reader] = {**CLOUDS, **GRAPHS, **MODELS}
