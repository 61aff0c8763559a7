"""Labelled clouds of one's own: a folder with a sub-folder per class, full of files of points or meshes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import torch
from scipy.spatial import cKDTree

from edgecond.data.examples import Clouds, Examples
from edgecond.data.formats import ENDINGS, Points, read_points, read_surface
from edgecond.data.formats.surface import areas
from edgecond.data.points import Columns, to_cloud, to_mesh
from edgecond.errors import DataError
from edgecond.files import digest, Progress, sha256
from edgecond.graph import Cloud, Mesh


@dataclass(frozen=True, eq=False)
class Folder:
    """What a folder holds.

    Attributes:
        examples: The clouds of the files that can be read, made on access, and their classes: the sub-folders.
        columns: What the signal is: the columns that all of the files have, or none, and then it is the constant 1.
        skipped: The files that cannot be read, each with the reason, a sentence.
        ignored: How many files are hidden or of other kinds, as README.txt beside the classes or .DS_Store.
    """

    examples: Examples
    columns: tuple[str, ...]
    skipped: list[tuple[Path, str]]
    ignored: int


@dataclass(frozen=True, eq=False)
class Survey:
    """What some files hold, of which each was read once and forgotten.

    Attributes:
        readable: The files that can be read.
        skipped: The others, each with the reason, a sentence.
        columns: What the signal is: the columns that all files have, without those that are 0 everywhere.
        sums: Checksum of each file that can be read, by its name in the folder.
        values: The classes of points that occur, ascending, if a column of them was asked for.
    """

    readable: list[Path]
    skipped: list[tuple[Path, str]]
    columns: tuple[str, ...]
    sums: dict[str, str]
    values: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class FolderClouds:
    """The clouds in some files, or their meshes, each read when it is asked for."""

    paths: Sequence[Path]
    columns: tuple[str, ...]
    count: int = 1024
    seed: int = 0
    meshes: bool = False

    def __len__(self) -> int:
        return len(self.paths)

    def __getitem__(self, index: int, /) -> Cloud:
        path = self.paths[index]
        if self.meshes:
            return to_mesh(read_surface(path), self.columns, path)
        return to_cloud(read_points(path, count=self.count, seed=self.seed), self.columns, path)


def read(
    path: Path, *, meshes: bool = False, count: int = 1024, seed: int = 0, progress: Progress | None = None
) -> Folder:
    """The labelled clouds of a folder, in the order of the names of classes and files.

    Every file is read once, since the digest is of their contents and the signal of the columns that all have in
    common (`Columns`), and forgotten again: memory is that of the largest file. A file that cannot be read is skipped
    and reported.

    Args:
        path: The folder.
        meshes: Take meshes as they are, instead of sampling points from them; files without faces cannot be read then.
        count: Points to sample from a mesh.
        seed: Of that sampling.
        progress: Told how many files of how many have been read.
    """
    files, ignored = _listed(path)
    class_of = {file: y for y, paths in enumerate(files.values()) for file in paths}
    how = partial(_readable, count=count, seed=seed, meshes=meshes)
    found = survey(list(class_of), path, how, progress)
    reasons = dict(found.skipped)
    for paths in files.values():
        if all(file in reasons for file in paths):
            raise DataError(
                f"{paths[0].parent} must hold a file that can be read: of {len(paths)} there is none, "
                f"and the first reason is that {reasons[paths[0]]}"
            )
    clouds = FolderClouds(found.readable, found.columns, count, seed, meshes)
    ys = torch.tensor([class_of[file] for file in found.readable], dtype=torch.long)
    examples = Examples(path.resolve().name, tuple(files), clouds, ys, digest(found.sums), list(found.sums))
    return Folder(examples, found.columns, found.skipped, ignored)


def survey(
    files: Sequence[Path], folder: Path, how: Callable[[Path], Points], progress: Progress | None = None
) -> Survey:
    """What files hold.

    Args:
        files: The files.
        folder: Where they are, which their names begin after.
        how: Reads a file.
        progress: Told how many files of how many have been read.
    """
    sums: dict[str, str] = {}
    readable: list[Path] = []
    skipped: list[tuple[Path, str]] = []
    columns = Columns()
    values: set[int] = set()
    for file in files:
        try:
            points = how(file)
            sums[_name(file, folder)] = sha256(file)
        except DataError as error:
            skipped.append((file, str(error)))
        else:
            readable.append(file)
            columns.add(points)
            values |= set() if points.y is None else set(np.unique(points.y[points.y >= 0]).tolist())
        if progress:
            progress(len(readable) + len(skipped), len(files))
    return Survey(readable, skipped, columns.names, sums, tuple(sorted(values)))


def _readable(file: Path, count: int, seed: int, meshes: bool) -> Points:
    """What a file holds; that of a mesh which cannot be one is told here, not when it is asked for."""
    if not meshes:
        return read_points(file, count=count, seed=seed)
    surface = read_surface(file)
    to_mesh(surface, (), file)
    return surface


def _listed(path: Path) -> tuple[dict[str, list[Path]], int]:
    """The files of each class, and how many there are besides."""
    if not path.is_dir():
        raise DataError(f"{path} must be a folder with a sub-folder per class: there is none.")
    folders = sorted(e for e in path.iterdir() if e.is_dir() and not hidden(e) and not _holds_models(e))
    if len(folders) < 2:
        found = f"only {folders[0].name}" if folders else "none"
        raise DataError(
            f"{path} must hold two or more sub-folders, each with the files of the class it is named after: "
            f"it holds {found}. Sort the files into folders, one for each class."
        )
    files, others = {}, sum(entry.is_file() for entry in path.iterdir())
    for folder in folders:
        entries = sorted(entry for entry in folder.iterdir() if entry.is_file())
        kept = [entry for entry in entries if entry.suffix.lower() in ENDINGS and not hidden(entry)]
        if not kept:
            raise DataError(
                f"{folder} must hold the clouds or meshes of a class, files of the kinds {', '.join(ENDINGS)}: "
                f"it holds {sum(1 for _ in folder.iterdir())} other files and folders. Fill it, or take it away."
            )
        files[_name(folder, path)] = kept
        others += len(entries) - len(kept)
    return files, others


def _holds_models(folder: Path) -> bool:
    """Whether it is no class but where `edgecond train .`, called among the classes, has put what it learned."""
    return any(folder.rglob("*.safetensors"))


def hidden(path: Path) -> bool:
    """Whether a file or folder is none that people mean, by its name."""
    return path.name.startswith((".", "__MACOSX"))


def _name(path: Path, folder: Path) -> str:
    """The path in the folder; a letter of an encoding other than UTF-8 is written as its number."""
    return path.relative_to(folder).as_posix().encode("utf-8", "backslashreplace").decode()


def point_spacing(clouds: Clouds, most: int = 64) -> float:
    """How far a point typically is from the next one: the median over clouds of the median over a cloud's points.

    Resolutions and radii go by it: a radius of this spacing gives every other point a neighbour. Points at the same
    place count as one.

    Args:
        clouds: The clouds.
        most: How many of them to look at; these are spread evenly, and so over the classes of sorted examples.
    """
    medians = []
    for cloud in _spread(clouds, most):
        places = np.unique(cloud.positions.double().numpy(), axis=0)
        if len(places) > 1:
            medians.append(np.median(cKDTree(places).query(places, k=2)[0][:, 1]))
    if not medians:
        raise DataError(
            f"the spacing of points needs a cloud with points at two places: among {len(clouds)} clouds there is none."
        )
    return float(np.median(medians))


def surface_spacing(meshes: Clouds, count: int = 1024, most: int = 64) -> float:
    """How far apart points on a mesh are if `count` of them share its area evenly: the median over meshes.

    Resolutions and radii go by it, as those of clouds by `point_spacing`; it does not depend on how large the triangles
    are.

    Args:
        meshes: The meshes.
        count: Points on each.
        most: How many of the meshes to look at.
    """
    found = [
        float(areas(mesh.positions.double().numpy(), mesh.faces.numpy()).sum())
        for mesh in _spread(meshes, most)
        if isinstance(mesh, Mesh)
    ]
    area = float(np.median(found)) if found else 0.0
    if not area > 0:
        raise DataError(f"the spacing on surfaces needs meshes with an area: among {len(meshes)} there is none.")
    return float(np.sqrt(area / count))


def _spread(clouds: Clouds, most: int) -> Iterator[Cloud]:
    """Some of the clouds, evenly."""
    for index in np.unique(np.linspace(0, len(clouds) - 1, min(most, len(clouds))).round().astype(int)):
        yield clouds[int(index)]
