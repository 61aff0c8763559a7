"""Predictions for the points of scans of any size, written into copies of their files.

A scan is cut into tiles that overlap by the receptive field of the network, and each point has the prediction of the
tile whose core it lies in. Tiles share the voxel grid of the whole scan, so predictions are those of the scan in one
piece, up to rounding.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, ExitStack
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from edgecond.data import COARSE
from edgecond.data.augment import orientation, rotation
from edgecond.data.formats.las_copy import CLASS
from edgecond.data.kinds import ReadOptions
from edgecond.data.points import centre, unlabelled
from edgecond.data.preparation import CloudPreparation
from edgecond.data.processes import cores
from edgecond.data.scans import Scan
from edgecond.data.tiles import CellFile, Cells, Tile, tiles
from edgecond.errors import DataError, DataWarning
from edgecond.files import atomic_file, path_text, remove_leftovers
from edgecond.runs.model import Model
from edgecond.runs.prediction import collected, computed

MEMORY = 2**30
"""Bytes that a tile may take, unless a quarter of the memory of the machine is less."""
_POINT = 300  # bytes that a point takes beside its outputs, while a tile is read and voxelised
_SOME = 2**17  # points whose median is that of a scan

Row = dict[str, Any]
Report = Callable[[str], None]
Progress = Callable[[int, int | None], None]
Shift = Float[np.ndarray, " 3"] | None
Copy = tuple[Path, Path]
"""A file, and the path of its copy."""


def columns(model: Model) -> list[str]:
    """Return the names of the columns of `written`, in order; refuse a model whose predictions are not for points."""
    if not model.kind.writes_points or not model.task.per_vertex:
        raise DataError(f"--to is for models that predict for points: {model.recipe.name} does not. Leave it out.")
    return ["file", "written"]


def written(
    model: Model,
    files: Sequence[Path],
    folder: Path,
    form: str,
    *,
    views: int | None = None,
    probabilities: bool = False,
    tile: int | None = None,
    jobs: int = 1,
    report: Report,
    progress: Progress = lambda done, total: None,
) -> Iterator[Row]:
    """Write a copy of each file with the predictions for its points, and yield its row.

    Each process takes a file at a time or, if there are fewer files than processes, a tile at a time of one file after
    the other. What cannot be read or written is reported and left out.

    Args:
        model: A trained model, whose predictions are for points.
        files: Clouds, or directories of them.
        folder: Directory of the copies, which have the names of the files and the ending of the format.
        form: Format of the copies; see `edgecond.data.scans.FORMATS`.
        views: Number of views whose outputs are averaged; those of the recipe by default.
        probabilities: Whether the probability of the predicted class is written too.
        tile: Number of points of a tile with its margin, at most; by default as many as take `MEMORY`.
        jobs: Number of processes; their predictions are the same.
        report: Called with a sentence about what cannot be read.
        progress: Called with the number of points of a file that are done, and of all its points, or with the number of
            files that are done, and of all files, if processes take whole files.
    """
    columns(model)
    model, count = model.transient(), model.views(views)
    model.check_views(count)
    copies = list(_copies(model, files, folder, form, report))
    by_file = 1 < jobs <= len(copies)
    options: dict[str, Any] = {"views": count, "probabilities": probabilities, "tile": tile}
    if not by_file:
        options |= {"jobs": jobs, "progress": progress}
    work = partial(_written, model, form, **options)
    try:
        with closing(computed(work, iter(copies), jobs if by_file else 1)) as results:
            for number, ((path, to), (unwritten, remarks)) in enumerate(zip(copies, results, strict=True), 1):
                for sentence in remarks:
                    warnings.warn(sentence, DataWarning, stacklevel=2)
                if by_file:
                    progress(number, len(copies))
                if unwritten is not None:
                    report(unwritten)
                else:
                    yield {"file": path_text(path), "written": path_text(to)}
    finally:
        remove_leftovers(folder)  # of processes that were ended


def processes() -> int:
    """Return the number of cores, or fewer if the tiles of as many processes take more than half of the memory."""
    return min(cores(), max(1, _machine_memory() // 2 // _tile_memory()))


def _copies(model: Model, files: Sequence[Path], folder: Path, form: str, report: Report) -> Iterator[Copy]:
    """Yield each file and the path of its copy; report those without a path of their own."""
    sources: dict[Path, Path] = {}
    for shard in model.kind.shards(model.learned, files, ReadOptions(), report, lambda total: None):
        for path in shard:
            to = folder / f"{path.stem}.{form}"
            if to in sources or to.resolve() == path.resolve():
                taken = f"{sources[to]} has it too" if to in sources else "it would be replaced itself"
                report(f"{path} must have a name of its own in {folder}: {taken}. Name another directory.")
                continue
            sources[to] = path
            yield path, to


def _written(model: Model, form: str, copy: Copy, **options: Any) -> tuple[str | None, list[str]]:
    """Write one copy; return a sentence if that is impossible, and what is remarkable."""
    with collected() as remarks:
        try:
            write(model, *copy, form, **options)
        except DataError as error:
            return str(error), remarks
    return None, remarks


def write(
    model: Model,
    path: Path,
    to: Path,
    form: str,
    *,
    views: int,
    probabilities: bool = False,
    tile: int | None = None,
    jobs: int = 1,
    progress: Progress = lambda done, total: None,
) -> None:
    """Write a copy of one file with the predictions for its points; see `written`."""
    scan = model.kind.scan(path, model.learned)
    preparation = model.preparation
    assert isinstance(preparation, CloudPreparation)
    names, _ = model.task.point_columns(model.classes, np.zeros((1, len(model.classes))))
    kept = [name for name in names if probabilities or name == CLASS or CLASS not in names]
    kind = np.dtype([(name, "<i4" if name == CLASS else "<f4") for name in kept])
    most, fits = _limits(model, preparation, views, tile)
    with ExitStack() as stack:
        file = stack.enter_context(atomic_file(to))
        parsed = _Parsed(scan, stack.enter_context(CellFile(to.parent, np.array([scan.count]), scan.record)))
        frame = _surveyed(parsed, preparation.receptive_field, views)
        points = stack.enter_context(CellFile(to.parent, frame.counts, scan.record))
        results = stack.enter_context(CellFile(to.parent, frame.counts, kind))
        for rows in parsed.chunks():
            points.put(frame.cells.of(rows["position"]), rows)
        done = 0
        work = partial(_predicted, model, scan, frame, views, kind)
        with closing(computed(work, tiles(points, frame.cells, most, fits), jobs)) as parts:
            for core in parts:
                for place, predicted in core:
                    results.write(place, predicted)
                    done += len(predicted)
                progress(done, scan.count)
        predictions = ({name: rows[name] for name in kept} for rows in _in_order(parsed, frame, results))
        classes = model.task.class_numbers(model.classes)
        scan.write(file, form, predictions, classes, [name for name in kept if name != CLASS])


@dataclass(frozen=True, eq=False)
class _Frame:
    """Where the points of a scan are.

    Attributes:
        shift: What is subtracted from positions; see `edgecond.data.points.centre`.
        cells: The grid that they are sorted by.
        counts: Number of points of each cell.
        origins: Smallest coordinates in each view, where the voxel grid begins.
    """

    shift: Shift
    cells: Cells
    counts: Int[np.ndarray, " cells"]
    origins: list[Float[np.ndarray, " 3"]]


class _Parsed:
    """The points of a scan in a temporary file, in their order, so that the scan is parsed once.

    Args:
        scan: The scan, with at least one point.
        file: The file, for one cell of all points.

    Attributes:
        low: Smallest coordinates of all points.
        high: Largest coordinates of all points.
        shift: What is subtracted from positions; see `edgecond.data.points.centre`.
    """

    def __init__(self, scan: Scan, file: CellFile) -> None:
        self.scan, self._file, self._ends = scan, file, [0]
        self.low, self.high = np.full(3, np.inf), np.full(3, -np.inf)
        some, step = [], 1 + scan.count // _SOME
        for rows in scan.chunks():
            self._file.write(self._ends[-1], rows)
            self._ends.append(self._ends[-1] + len(rows))
            self.low = np.minimum(self.low, rows["position"].min(0))
            self.high = np.maximum(self.high, rows["position"].max(0))
            some.append(rows["position"][::step])
        if self._ends[-1] == 0:
            raise DataError(f"{scan.path} must hold at least one point: it is empty.")
        self.shift = centre(np.concatenate(some), self.low, self.high)

    def chunks(self) -> Iterator[np.ndarray]:
        """Yield the records that `Scan.chunks` yields."""
        return (self._file.read(start, stop) for start, stop in pairwise(self._ends))


def _surveyed(parsed: _Parsed, margin: float, views: int) -> _Frame:
    """Return how many points are where, and where the grids of all views begin."""
    cells = Cells(parsed.low, parsed.high, margin)
    counts = np.zeros(cells.shape[0] * cells.shape[1], np.int64)
    origins = [np.full(3, np.inf) for _ in range(views)]
    for rows in parsed.chunks():
        counts += np.bincount(cells.of(rows["position"]), minlength=len(counts))
        cloud = parsed.scan.positions(rows, parsed.shift)
        for view, origin in enumerate(origins):
            turned = orientation(cloud, view, views).positions
            np.minimum(origin, turned.amin(0).double().numpy(), out=origin)
    return _Frame(parsed.shift, cells, counts, origins)


def _predicted(
    model: Model, scan: Scan, frame: _Frame, views: int, kind: np.dtype, tile: Tile
) -> list[tuple[int, np.ndarray]]:
    """Return the predictions for the points of each part of the core of a tile, after its place in the file."""
    assert isinstance(model.preparation, CloudPreparation)
    shift, origins = _placed(frame, tile, views)
    model = replace(model, preparation=replace(model.preparation, origins=origins))
    try:
        outputs = model.outputs(unlabelled([scan.cloud(tile.rows, shift)]), views)
    except ValueError as error:
        raise DataError(f"{scan.path} cannot be converted to a graph: {error}") from error
    if not np.isfinite(outputs).all():
        raise DataError(f"{scan.path} gives no finite outputs: its numbers are too large.")
    found, _ = model.task.point_columns(model.classes, outputs)
    predicted = np.empty(len(tile.rows), kind)
    for name in kind.names or ():
        predicted[name] = found[name]
    return [(place, predicted[span]) for span, place in tile.core]


def _placed(frame: _Frame, tile: Tile, views: int) -> tuple[Shift, list[Float[np.ndarray, " 3"]]]:
    """Return what is subtracted from the positions of a tile, and where the grids of all views begin after that.

    Tiles that are far from the median of their scan have a median of their own, such that single precision holds them.
    """
    before = np.zeros(3) if frame.shift is None else frame.shift
    further = np.median(tile.rows["position"], axis=0) - before
    if np.abs(further).max() <= COARSE:
        return frame.shift, frame.origins
    turned = [rotation(view, views) @ further for view in range(views)]
    return before + further, [origin - moved for origin, moved in zip(frame.origins, turned, strict=True)]


def _in_order(parsed: _Parsed, frame: _Frame, results: CellFile) -> Iterator[np.ndarray]:
    """Yield the predictions in the order of the points of the file."""
    results.rewind()
    for rows in parsed.chunks():
        yield results.take(frame.cells.of(rows["position"]))


def _limits(
    model: Model, preparation: CloudPreparation, views: int, tile: int | None
) -> tuple[int, Callable[[np.ndarray], bool]]:
    """Return the number of points of a tile, at most, and whether those of one take as little memory as they may."""
    if tile is not None:
        return tile, lambda rows: True
    memory = _tile_memory()
    point = _POINT + 16 * len(model.classes) * views * len(model.networks)
    resolution, voxel = preparation.resolution, preparation.voxel_bytes

    def fits(rows: np.ndarray) -> bool:
        return len(rows) * point + _voxels(rows["position"], resolution) * voxel <= memory

    return max(1, memory // point), fits


def _tile_memory() -> int:
    return min(MEMORY, _machine_memory() // 4)


def _machine_memory() -> int:
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def _voxels(positions: Float[np.ndarray, "n 3"], resolution: float | None) -> int:
    """Return the number of voxels that hold points."""
    if not resolution:
        return len(positions)
    cells = ((positions - positions.min(0)) // resolution).astype(np.int64)
    _, y, z = cells.max(0) + 1
    return len(np.unique((cells[:, 0] * y + cells[:, 1]) * z + cells[:, 2]))
