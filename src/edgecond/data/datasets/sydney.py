"""Sydney Urban Objects: 588 LiDAR scans of street objects in 14 classes, with four folds (Section 4.1)."""

from __future__ import annotations

from pathlib import Path, PurePosixPath

import numpy as np
import torch

from edgecond.data.archives import read_archive
from edgecond.data.datasets.fetching import obtain, Source
from edgecond.data.examples import checked_cloud, Examples
from edgecond.errors import DataError
from edgecond.files import AGAIN, digest, locate, Progress, sha256
from edgecond.graph import Cloud

FOLDS = 4
METRICS = ("f1_legacy",)  # the paper gives this one

CLASSES = (
    "4wd",
    "building",
    "bus",
    "car",
    "pedestrian",
    "pillar",
    "pole",
    "traffic_lights",
    "traffic_sign",
    "tree",
    "truck",
    "trunk",
    "ute",
    "van",
)
FILE = "sydney-urban-objects-dataset.tar.gz"
DIGEST = "b62cd8efab2cb8a4d6512c55bbc134af8ad3efde155817f4cad17436eeeac1b7"  # of the four folds and their 588 objects

_POINT = np.dtype(
    [
        ("time", "<i8"),
        ("intensity", "u1"),
        ("laser", "u1"),
        ("position", "<f4", 3),
        ("azimuth", "<f4"),
        ("range", "<f4"),
        ("id", "<i4"),
    ]
)


def load(fold: int = 0) -> tuple[Examples, Examples]:
    """Load the objects of one fold as test set, and those of the three others as training set.

    Positions are in metres in the frame of the sensor, whose z axis points down. As in the authors' code they are not
    flipped: the vertical is the z axis either way. The signal is the intensity of the laser return, 0 to 255 in the
    files, scaled to [-0.5, 0.5].
    """
    path = locate("sydney", FILE)
    lists, objects = _read(path)
    total = _digest(lists, objects)

    def examples(chosen: list[int]) -> Examples:
        files = [name for number in chosen for name in lists[number]]
        ys = torch.tensor([_class(path, name) for name in files], dtype=torch.long)
        clouds = [_cloud(f"{path}, {name}", objects[name]) for name in files]
        return Examples("sydney", CLASSES, clouds, ys, total, [name.removesuffix(".bin") for name in files])

    return examples([number for number in range(FOLDS) if number != fold]), examples([fold])


def fetch(progress: Progress | None = None) -> str:
    """Verify the archive, or download it from the Australian Centre for Field Robotics if it is missing."""
    url = f"https://www.acfr.usyd.edu.au/papers/data/{FILE}"
    return obtain("sydney", [Source(FILE, url, _check, most=2**28)], progress)


def _read(path: Path) -> tuple[list[list[str]], dict[str, bytes]]:
    """Return the four lists of objects, and the contents of the objects in them."""

    def wanted(name: str) -> bool:
        return (name.endswith(".bin") and "/objects/" in name) or "/folds/" in name

    files = {PurePosixPath(name).name: data for name, data in read_archive(path, wanted).items()}
    lists = [files.get(f"fold{number}.txt", b"").decode("ascii", "replace").split() for number in range(FOLDS)]
    for number, names in enumerate(lists):
        if not names:
            raise DataError(f"{path} must hold folds/fold{number}.txt with the names of objects: found no names.")
        for name in names:
            if name not in files:
                raise DataError(f"{path} must hold every object of its folds: {name} of fold {number} is missing.")
    return lists, {name: files[name] for names in lists for name in names}


def _class(path: Path, name: str) -> int:
    kind = name.split(".")[0]
    if kind not in CLASSES:
        raise DataError(
            f"{path} must hold objects of the classes {', '.join(CLASSES)}: {name} is of the class {kind!r}."
        )
    return CLASSES.index(kind)


def _cloud(source: str, data: bytes) -> Cloud:
    if len(data) % _POINT.itemsize:
        raise DataError(
            f"{source} must hold {_POINT.itemsize} bytes per point: found {len(data)} bytes, which is no multiple."
        )
    points = np.frombuffer(data, _POINT)
    return checked_cloud(points["position"], points["intensity"][:, None] / np.float32(255) - np.float32(0.5), source)


def _digest(lists: list[list[str]], objects: dict[str, bytes]) -> str:
    """Return the digest of the contents, which does not depend on how they are packed or on the full scans."""
    folds = {f"fold{number}.txt": "\n".join(names).encode() for number, names in enumerate(lists)}
    return digest({name: sha256(data) for name, data in (folds | objects).items()})


def _check(path: Path) -> None:
    if (actual := _digest(*_read(path))) != DIGEST:
        raise DataError(f"the contents of {path} must have the digest {DIGEST}: found {actual}.{AGAIN}")
