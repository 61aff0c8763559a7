"""Read labelled clouds of user data: a folder with a sub-folder per class, each full of point files or meshes."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from scipy.spatial import cKDTree

from edgecond.data.examples import Clouds, Examples
from edgecond.data.formats import ENDINGS, Points, read_points, read_surface
from edgecond.data.formats.surface import areas
from edgecond.data.parsed import ParsedClouds
from edgecond.data.points import Columns, PointTargets, to_cloud, to_mesh
from edgecond.data.splits import PARTS
from edgecond.errors import counted, DataError
from edgecond.files import digest, path_text, Progress, reading, sha256, walk
from edgecond.graph import Cloud, Mesh

NONE: Mapping[str, Path] = {}


@dataclass(frozen=True, eq=False)
class Folder:
    """The contents of a folder.

    Attributes:
        examples: The clouds of the files that can be read, and their classes, which are the sub-folders.
        columns: Columns of the signal: those that all files have. Without any, the signal is the constant 1.
        left_out: Sentences about columns that only some files have.
        skipped: The files that cannot be read, each with the reason.
        unread: Sentences about clouds that are no examples because of where they are.
        files: The file of each example.
        parts: Part of each example, "train", "validation" or "test", by folders of these names; empty without such.
    """

    examples: Examples
    columns: tuple[str, ...]
    left_out: list[str]
    skipped: list[tuple[Path, str]]
    unread: list[str]
    files: list[Path]
    parts: list[str]


@dataclass(frozen=True, eq=False)
class Survey:
    """The contents of some files, each of which was parsed once.

    Attributes:
        readable: Indices of the files that can be read.
        clouds: The cloud or mesh of each of them.
        skipped: The other files, each with the reason.
        columns: Columns of the signal: those that all files have, without those that are 0 everywhere.
        left_out: Sentences about columns that only some files have.
        sums: Checksum of each file that can be read, by its name in the folder.
        targets: The targets of points, if a column of them was read.
    """

    readable: list[int]
    clouds: ParsedClouds
    skipped: list[tuple[Path, str]]
    columns: tuple[str, ...]
    left_out: list[str]
    sums: dict[str, str]
    targets: PointTargets


@dataclass(frozen=True, eq=False)
class FolderClouds:
    """Parsed clouds or meshes with some columns as their signal."""

    parsed: ParsedClouds
    columns: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.parsed)

    def __getitem__(self, index: int, /) -> Cloud:
        return self.parsed.get(index, self.columns)


def read(
    path: Path,
    *,
    meshes: bool = False,
    count: int = 1024,
    seed: int = 0,
    columns: Mapping[str, str] | None = None,
    up: str = "z",
    progress: Progress | None = None,
    others: Mapping[str, Path] = NONE,
) -> Folder:
    """Read the labelled clouds of a folder, sorted by class and file name.

    Every file is parsed once. A file that cannot be read is skipped and reported.

    Args:
        path: The folder.
        meshes: Use meshes as they are instead of sampling points from them; files without faces are then skipped.
        count: Number of points to sample from a mesh.
        seed: Random seed of that sampling.
        columns: The files' name of each column to rename, as in `{"x": "relative_x"}`; see `read_points`.
        up: Axis that points up in the files, "x", "y" or "z"; it becomes z.
        progress: Called with the number of files that have been read and their total.
        others: More folders whose classes are among those of the first, by the part that they are.
    """
    listing = _listed(path)
    for part, other in others.items():
        listing.add(_listed(other, least=1), part, other)
    files = [file for file, _, _, _ in listing.entries]
    layout: dict[str, Any] = {"columns": columns, "up": up}
    names = [name for _, name, _, _ in listing.entries]
    if meshes:
        surveyed = survey(files, names, partial(read_surface, **layout), to_mesh, progress=progress)
    else:
        read_file = partial(read_points, count=count, seed=seed, **layout)
        surveyed = survey(files, names, read_file, to_cloud, progress=progress)
    reasons = dict(surveyed.skipped)
    for folder in dict.fromkeys(file.parent for file in files):
        if all(file in reasons for file in files if file.parent == folder):
            first = next(file for file in files if file.parent == folder)
            count = sum(file.parent == folder for file in files)
            raise DataError(
                f"{folder} must hold a file that can be read: none of its {count} files can. "
                f"The first reason: {reasons[first]}"
            )
    clouds = FolderClouds(surveyed.clouds, surveyed.columns)
    kept = [listing.entries[index] for index in surveyed.readable]
    ys = torch.tensor([listing.classes.index(name) for _, _, name, _ in kept], dtype=torch.long)
    total = digest(surveyed.sums)
    examples = Examples(path.resolve().name, listing.classes, clouds, ys, total, list(surveyed.sums))
    parts = [part for _, _, _, part in kept]
    return Folder(
        examples,
        surveyed.columns,
        surveyed.left_out,
        surveyed.skipped,
        listing.unread,
        [file for file, *_ in kept],
        parts if any(parts) else [],
    )


def survey(
    files: Sequence[Path],
    names: Sequence[str],
    read_file: Callable[[Path], Any],
    convert: Callable[[Any, Sequence[str], Path], Cloud],
    *,
    progress: Progress | None = None,
) -> Survey:
    """Parse files and collect their clouds.

    Args:
        files: The files.
        names: Name of each file in the data, no two alike.
        read_file: Function that reads the `Points` of a file.
        convert: Function that converts them into a cloud with the columns of the given names: `to_cloud` or `to_mesh`.
        progress: Called with the number of files that have been read and their total.
    """
    sums: dict[str, str] = {}
    readable: list[int] = []
    skipped: list[tuple[Path, str]] = []
    common, clouds = Columns(), ParsedClouds()
    targets = PointTargets()
    for index, (file, name) in enumerate(zip(files, names, strict=True)):
        try:
            points: Points = read_file(file)
            cloud = convert(points, points.names, file)
            sums[name] = sha256(file)
        except DataError as error:
            skipped.append((file, str(error)))
        else:
            if points.y is not None:
                cloud = replace(cloud, y=torch.from_numpy(points.y))
                targets.add(points.y)
            readable.append(index)
            clouds.add(cloud, points.names)
            common.add(points, name)
        if progress:
            progress(len(readable) + len(skipped), len(files))
    return Survey(readable, clouds, skipped, common.names, common.left_out, sums, targets)


@dataclass
class _Listing:
    """The files of a folder: path, name, class and part of each; the names of the classes; and notes on other files."""

    entries: list[tuple[Path, str, str, str]]
    classes: tuple[str, ...]
    unread: list[str]

    def add(self, other: _Listing, part: str, path: Path) -> None:
        """Add the files of another folder, all of one part."""
        if unknown := [name for name in other.classes if name not in self.classes]:
            raise DataError(
                f"{path} must hold classes of the training data, {', '.join(self.classes[:10])}: found {unknown[0]}. "
                "Remove its folder, or add such files to the training data."
            )
        if part == "test":
            self.entries = [(file, name, of, "train") for file, name, of, _ in self.entries]
        self.entries += [(file, f"{part}/{name}", of, part) for file, name, of, _ in other.entries]
        self.unread += other.unread


def part_folders(path: Path) -> dict[Path, str]:
    """Return the sub-folders of a folder with the part of each, if they are train and test, and maybe validation."""
    folders = _sub_folders(path)
    parts = {folder: PARTS.get(folder.name.lower(), "") for folder in folders}
    named = set(parts.values()) >= {"train", "test"} and all(parts.values())
    return parts if named and len(set(parts.values())) == len(parts) else {}


def _sub_folders(path: Path) -> list[Path]:
    with reading(path):
        return sorted(e for e in path.iterdir() if e.is_dir() and not hidden(e) and not _holds_models(e))


def _class_folders(path: Path, folders: Sequence[Path]) -> list[tuple[str, str, Path]]:
    """The folders with files: class, part and path. Folders train and test hold those of classes, or are in them."""
    parts = part_folders(path)
    if parts and all(_sub_folders(folder) for folder in parts):
        return sorted(
            (path_text(each.relative_to(folder)), part, each)
            for folder, part in parts.items()
            for each in _sub_folders(folder)
        )
    below = {folder: part_folders(folder) for folder in folders}
    if all(below.values()):
        return [
            (path_text(folder.relative_to(path)), part, each)
            for folder in folders
            for each, part in below[folder].items()
        ]
    return [(path_text(folder.relative_to(path)), "", folder) for folder in folders]


def _listed(path: Path, least: int = 2) -> _Listing:
    """Return the files of each class, of which there are at least so many, sorted."""
    if not path.is_dir():
        raise DataError(f"{path} must be a folder with a sub-folder per class: there is no such folder.")
    folders = _sub_folders(path)
    placed = _class_folders(path, folders)
    classes = tuple(dict.fromkeys(name for name, _, _ in placed))
    if len(classes) < least:
        names = f"only {classes[0]}" if folders else "none"
        raise DataError(
            f"{path} must hold two or more sub-folders, one for each class, with the files of that class: "
            f"found {names}. Sort the files into folders named after their classes or, if each point has a class, name "
            "its column, as in --vertices label."
        )
    listing = _Listing([], classes, [])
    for name, part, folder in placed:
        with reading(folder):
            entries = sorted(entry for entry in folder.iterdir() if entry.is_file())
        kept = [entry for entry in entries if entry.suffix.lower() in ENDINGS and not hidden(entry)]
        if not kept:
            raise DataError(
                f"{folder} must hold the clouds or meshes of a class, files that end in {', '.join(ENDINGS)}: "
                f"found {sum(1 for _ in folder.iterdir())} other files and folders. Fill it, or remove it."
            )
        listing.entries += [(file, path_text(file.relative_to(path)), name, part) for file in kept]
    listing.unread = unread(path, {file for file, *_ in listing.entries}, [folder for _, _, folder in placed])
    return listing


def unread(path: Path, files: Collection[Path], folders: Sequence[Path] = ()) -> list[str]:
    """Return a sentence for each place in a folder with clouds that are not read.

    Args:
        path: The folder.
        files: The files that are read.
        folders: The folders of classes; none if files may be anywhere.
    """
    places: dict[tuple[str, str], list[str]] = {}
    for file in _clouds_below(path):
        if file in files:
            continue
        if not file.exists():
            place = "broken link", ""
        elif any(folder in file.parents for folder in folders):
            place = "file", " in sub-folders of classes"
        else:
            place = "file", " beside the folders of classes"
        places.setdefault(place, []).append(path_text(file.relative_to(path)))
    return [f"not read: {counted(len(names), noun)}{where}, as {names[0]}" for (noun, where), names in places.items()]


def _clouds_below(path: Path) -> Iterator[Path]:
    """Yield what may be clouds in a folder by their names, sorted, but nothing hidden and no folders with models."""
    for entry in sorted(path.iterdir()):
        if hidden(entry) or (entry.is_dir() and _holds_models(entry)):
            continue
        for file in sorted(walk(entry, lambda sentence: None)) if entry.is_dir() else [entry]:
            parts = file.relative_to(path).parts
            if file.suffix.lower() in ENDINGS and not file.is_dir() and not any(hidden(Path(part)) for part in parts):
                yield file


def _holds_models(folder: Path) -> bool:
    """Whether a folder holds models: `edgecond train .`, run among the classes, saves them there."""
    return any(file.name.endswith(".safetensors") for file in walk(folder))


def hidden(path: Path) -> bool:
    """Whether a file or folder is hidden, or was added by macOS."""
    return path.name.startswith((".", "__MACOSX"))


def point_spacing(clouds: Clouds, most: int = 64) -> float:
    """Return the typical distance of a point to the next: the median over clouds of the median over a cloud's points.

    Resolutions and radii are multiples of it: with this radius every other point has a neighbour. Points at the same
    position count as one.

    Args:
        clouds: The clouds.
        most: Number of clouds to measure; they are spread evenly, and so over the classes of sorted examples.
    """
    medians = []
    for cloud in _spread(clouds, most):
        places = np.unique(cloud.positions.double().numpy(), axis=0)
        if len(places) > 1:
            medians.append(np.median(cKDTree(places).query(places, k=2)[0][:, 1]))
    if not medians:
        raise DataError(
            f"the spacing of points needs a cloud with points at two positions: none of {len(clouds)} clouds has."
        )
    return float(np.median(medians))


def surface_spacing(meshes: Clouds, count: int = 1024, most: int = 64) -> float:
    """Return the distance between `count` points that share the area of a mesh evenly: the median over meshes.

    Resolutions and radii are multiples of it, as those of clouds are of `point_spacing`; it does not depend on the size
    of the triangles.

    Args:
        meshes: The meshes.
        count: Number of points on each mesh.
        most: Number of meshes to measure.
    """
    totals = [
        float(areas(mesh.positions.double().numpy(), mesh.faces.numpy()).sum())
        for mesh in _spread(meshes, most)
        if isinstance(mesh, Mesh)
    ]
    area = float(np.median(totals)) if totals else 0.0
    if not area > 0:
        raise DataError(f"the spacing on surfaces needs meshes with an area: none of {len(meshes)} has.")
    return float(np.sqrt(area / count))


def _spread(clouds: Clouds, most: int) -> Iterator[Cloud]:
    """Yield some of the clouds, spread evenly."""
    for index in np.unique(np.linspace(0, len(clouds) - 1, min(most, len(clouds))).round().astype(int)):
        yield clouds[int(index)]
