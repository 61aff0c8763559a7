"""Point clouds: folders of files, arrays of points, and the settings of Section 4.2 in units of their spacing."""

from __future__ import annotations

import warnings
from collections.abc import Hashable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree
from torch import Tensor

from edgecond.data import datasets, folder, segmented
from edgecond.data.examples import Examples, PointExamples
from edgecond.data.formats import ENDINGS, Points, read_points
from edgecond.data.formats.axes import vectors
from edgecond.data.kinds.base import Batch, Kind, Learned, NONE, Parts, ReadOptions, Report, Rows, Total, UserData
from edgecond.data.kinds.cloud_rows import CloudReader, is_cloud
from edgecond.data.kinds.elements import PointElements
from edgecond.data.kinds.inputs import Inputs, numbered
from edgecond.data.kinds.leakage import cloud_key
from edgecond.data.kinds.networks import adapted
from edgecond.data.kinds.pictures import Description, FilterLabels, LevelsPicture, OffsetLabels
from edgecond.data.kinds.searching import choices, network_sizes, Range, Space
from edgecond.data.kinds.splitting import FOLDS, Split
from edgecond.data.kinds.wording import class_counts, data_name, number_range, skipped
from edgecond.data.points import read_cloud, to_cloud, unlabelled
from edgecond.data.preparation import CloudPreparation, no_progress, Progress, SampleSettings
from edgecond.data.scans import Scan
from edgecond.errors import DataError, DataWarning, listed
from edgecond.files import reading, walk
from edgecond.graph import Cloud
from edgecond.notation import Architecture

STEPS, BATCH_SIZE = 4000, 32
"""Training takes about so many steps of so many clouds, where that is 50 to 150 epochs."""
POINTS = 2**15
"""Number of points in a batch where points have targets; a batch has at least one cloud."""
ORIENTATIONS = 12
"""Views of a cloud of user data whose scores are averaged, as many as the paper has for ModelNet (Section 4.2)."""
MOST_CLOUDS = 256
"""Number of clouds in memory while predicting, at most."""
DATASET = "folder"


class Clouds(Kind):
    """Point clouds in files or arrays."""

    name: ClassVar[str] = "clouds"
    unit: ClassVar[str] = "point"
    element_columns: ClassVar[tuple[str, ...]] = ("x", "y", "z")
    provides: ClassVar[frozenset[str]] = frozenset({"positions", "points"})
    baseline: ClassVar[str] = "shape"
    regions: ClassVar[bool] = True
    base: ClassVar[str] = "plus/modelnet10"
    options: ClassVar[frozenset[str]] = frozenset({"vertices", "numbers", "columns", "up"})
    place: ClassVar[tuple[str, ...]] = ("file",)
    suffixes: ClassVar[tuple[str, ...]] = ENDINGS
    listed_by: ClassVar[str] = "file"
    writes_points: ClassVar[bool] = True
    from_meshes: ClassVar[bool] = False

    # User data

    def holds(self, path: Path, options: ReadOptions) -> bool:
        return path.is_dir()

    def read(self, path: Path, options: ReadOptions, others: Mapping[str, Path] = NONE) -> UserData:
        if options.vertices is not None:
            return self._read_points(path, options.vertices, options, others)
        columns = options.columns or None
        contents = folder.read(path, meshes=self.from_meshes, columns=columns, up=options.up, others=others)
        examples = contents.examples
        number = len(examples.classes)
        notes = (
            f"{len(examples)} {self.name} in {number} classes: {', '.join(examples.classes)}",
            self._signal(contents.columns),
            *contents.left_out,
            *contents.unread,
            *skipped([sentence for _, sentence in contents.skipped]),
        )
        kept = _kept(contents.columns, options)
        split = _split_by_folder(contents, others)
        return UserData(data_name(path), examples, (examples.classes,), False, DATASET, kept, notes, **split)

    def _read_points(self, path: Path, column: str, options: ReadOptions, others: Mapping[str, Path]) -> UserData:
        """Read clouds whose points have targets."""
        columns = options.columns or None
        contents = segmented.read(path, column, numbers=options.numbers, columns=columns, up=options.up, others=others)
        examples = contents.examples
        number = len(examples.classes)
        if contents.has_classes:
            values = f"in {number} classes: {class_counts(examples)}"
        else:
            values = f"with {number_range(examples)}"
        notes = (
            f"{len(examples)} clouds of {len(examples.ys):,} points {values}",
            self._signal(contents.columns),
            *contents.left_out,
            *contents.unread,
            *skipped([sentence for _, sentence in contents.skipped]),
        )
        kept = _kept(contents.columns, options)
        targets = (examples.classes if contents.has_classes else (),)
        split = _split_by_folder(contents, others)
        return UserData(data_name(path), examples, targets, True, DATASET, kept, notes, **split)

    def split(self, data: UserData, split: Split, strata: NDArray[np.int64] | None) -> tuple[Parts, list[str]]:
        folds, given = split.folds or FOLDS, data.parts or data.folders or split.file
        if data.per_vertex and not given and len(data.examples) < folds:
            raise DataError(
                f"{data.name} must hold at least {folds} clouds that can be read, one for each fold: it holds "
                f"{len(data.examples)}. Ask for fewer folds, or cut the clouds."
            )
        return super().split(data, split, strata)

    equality: ClassVar[str] = "equal points"

    def keys(self, examples: Examples | PointExamples) -> Sequence[Hashable]:
        return [cloud_key(examples.clouds[index]) for index in range(len(examples))]

    def settings(self, examples: Any, base: Mapping[str, Any], dataset: str, per_vertex: bool) -> dict[str, Any]:
        unit = self._spacing(examples) / base["input.resolution"]
        batch_size = BATCH_SIZE
        if per_vertex:
            batch_size = int(np.clip(POINTS * len(examples) // len(examples.ys), 1, BATCH_SIZE))
        epochs = int(np.clip(STEPS * batch_size // len(examples), 50, 150))
        network = adapted(base["network"], len(examples.classes), unit=unit, per_vertex=per_vertex)
        return {
            "network": str(network),
            "input.resolution": base["input.resolution"] * unit,
            "input.radius": base["input.radius"] * unit,
            "train.epochs": epochs,
            "train.batch_size": batch_size,
            "shape": False,
            "augment.rotate": True,  # unlike plus/modelnet10: clouds of users may face any way
            "orientations": ORIENTATIONS,
        }

    def settings_note(self, settings: Mapping[str, Any]) -> str | None:
        spacing = settings["input.resolution"]
        return f"the spacing of points is {spacing:.3g}: resolutions and radii are multiples of it"

    def search_space(self, settings: Mapping[str, Any]) -> Space:
        return {
            "network": network_sizes(settings["network"]),
            "hidden": choices([16], [16, 32], [32, 64], default=settings["hidden"]),
            "labels": choices("cartesian+spherical", "cartesian", "spherical", default=settings["labels"]),
            "radius_scale": Range(0.8, 1.5),
            "dropout": Range(0.0, 0.3),
            "augment.scale": Range(1.0, 1.5),
            "augment.drop": Range(0.0, 0.4),
            **({} if Architecture(settings["network"]).per_vertex else {"shape": (False, True)}),
            **super().search_space(settings),
        }

    def _signal(self, columns: Sequence[str]) -> str:
        return f"signal: {listed(columns) or 'none, so 1 everywhere'}"

    def _spacing(self, examples: Examples | PointExamples) -> float:
        return folder.point_spacing(examples.clouds)

    # Samples

    def prepare(
        self,
        settings: SampleSettings,
        examples: Any,
        *,
        progress: Progress = no_progress,
        transient: bool = False,
        start: Any = None,
    ) -> CloudPreparation:
        return CloudPreparation.fit(settings, examples, meshes=self.from_meshes, start=start)

    def inputs(self, learned: Learned, widths: Sequence[int]) -> Inputs:
        offsets = learned.preparation.tensors  # of one-hot labels, which have an element for each
        levels = [
            [f"offset {offset}" for offset in offsets[f"offsets.{level}"].tolist()]
            if offsets
            else numbered([], width, learned.settings.labels)
            for level, width in enumerate(widths)
        ]
        signal = numbered(list(learned.settings.options.get("columns", ())), learned.d0, "signal")
        return Inputs(signal, levels, learned.preparation.feature_names)

    def restore(
        self, settings: SampleSettings, tensors: Mapping[str, Tensor], d0: int, encoding: Mapping[str, Any]
    ) -> CloudPreparation:
        _check_options(settings.options)
        return CloudPreparation.restore(settings, tensors, encoding, meshes=self.from_meshes)

    def views(self, settings: SampleSettings) -> int:
        return settings.orientations

    # Predictions

    def shards(
        self,
        learned: Learned,
        files: Sequence[Path],
        options: ReadOptions,
        report: Report,
        total: Total,
    ) -> Iterator[list[Path]]:
        paths = [path for given in files for path in _listed(given, report)]
        total(len(paths))
        size = min(learned.batch_size, MOST_CLOUDS)
        yield from (paths[start : start + size] for start in range(0, len(paths), size))

    def read_shard(self, learned: Learned, shard: list[Path], report: Report) -> Iterator[Batch]:
        clouds: list[tuple[Path, Cloud]] = []
        for path in shard:
            try:
                clouds.append((path, self.read_file(path, learned)))
            except DataError as error:
                report(str(error))
        yield Batch(
            [{"file": path} for path, _ in clouds],
            unlabelled([cloud for _, cloud in clouds]),
            [len(cloud) for _, cloud in clouds],
        )

    def read_file(self, path: Path, learned: Learned) -> Cloud:
        """Read the cloud in a file as those that were learned."""
        # All points of a mesh are predicted for where points have targets, and a sample of its surface otherwise.
        sampling: dict[str, Any] = {"count": None} if learned.per_vertex else {}
        options = learned.settings.options
        if learned.dataset == DATASET:
            points = read_points(path, **sampling, **layout_of(options))
            if learned.per_vertex:
                _note_unmeasured(points, path)
            return to_cloud(points, options.get("columns", ()), path)
        if datasets.signal_is_one(learned.dataset):
            cloud = to_cloud(read_points(path, **sampling), (), path)
        else:
            cloud = read_cloud(path, learned.d0, **sampling)
        return datasets.adapt(learned.dataset, cloud, options)

    def scan(self, path: Path, learned: Learned) -> Scan:
        options = learned.settings.options
        if learned.dataset != DATASET:
            raise DataError(
                f"points are written back for models of your data: {learned.settings.name} is one of the data set "
                f"{learned.dataset}. Train it on files with a class for every point."
            )
        scan = Scan(path, options.get("columns", ()), **layout_of(options))
        _note_unmeasured(scan, path)
        return scan

    # Rows in memory

    def accepts(self, row: Any) -> bool:
        return is_cloud(row)

    def reader(self, rows: Rows) -> CloudReader:
        return CloudReader.of(rows)

    rows_dataset: ClassVar[str] = DATASET

    def rows_options(self, reader: CloudReader) -> dict[str, Any]:
        return {"columns": list(reader.columns)}

    def restore_reader(self, learned: Learned, about: Mapping[str, Any] | None) -> CloudReader:
        if about is not None:
            return CloudReader(tuple(about["columns"]), about["width"])
        options = learned.settings.options
        unnamed = [f"column {4 + k}" for k in range(learned.d0)]
        if learned.dataset == DATASET:
            return CloudReader(tuple(options.get("columns", unnamed)), layout=layout_of(options))
        adapt = partial(datasets.adapt, learned.dataset, options=options)
        if datasets.signal_is_one(learned.dataset):
            return CloudReader((), adapt=adapt, others=True)
        return CloudReader(tuple(unnamed), adapt=adapt)

    # Descriptions

    def elements(
        self, examples: Examples | PointExamples, number: int, preparation: CloudPreparation, view: int, views: int
    ) -> PointElements:
        """Return the points. A vertex that no point was merged into, of a divided mesh, stands for the nearest.

        What is around a point is a ball as wide as a voxel of the coarsest level: that level sees nothing smaller.
        """
        cloud = examples.clouds[number]
        points = preparation.turned(cloud, view, views)
        levels = preparation.builder.levels([points])
        unit, vertex, at = np.arange(len(cloud)), levels.voxel.numpy(), points.positions.numpy()
        if len(others := np.setdiff1d(np.arange(len(levels.x)), vertex)):
            nearest = cKDTree(at - at.min(0)).query(levels.levels[0].positions.numpy()[others])[1]
            unit, vertex = np.append(unit, nearest), np.append(vertex, others)
        radius = (preparation.builder.resolutions[-1][0] or 0.0) / 2
        return PointElements(len(cloud), unit, vertex, cloud.positions.numpy(), radius)

    def describe(self, examples: Examples | PointExamples, number: int) -> Description:
        name = str(examples.names[number]) if examples.names else ""
        return Description(name, examples.clouds[number])

    def levels(
        self, examples: Examples | PointExamples, preparation: CloudPreparation, most: int
    ) -> tuple[int, LevelsPicture]:
        levels = preparation.builder.levels([examples.clouds[0]])
        return 0, LevelsPicture(levels, self._explanation)

    _explanation = "The points of a voxel become one, and edges connect points within the radius of their level."

    def filter_labels(self, examples: Any, preparation: CloudPreparation) -> FilterLabels:
        return OffsetLabels(preparation.builder)


def layout_of(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return how the columns of files are named and which axis points up, from the options that a model keeps."""
    return {"columns": options.get("column_names"), "up": options.get("up", "z")}


def _note_unmeasured(points: Points | Scan, path: Path) -> None:
    """Note how many points of a file have no prediction."""
    if points.unmeasured:
        warnings.warn(
            f"{path} has {points.unmeasured:,} points without a position: they are left out, and the others are "
            "numbered without them.",
            DataWarning,
            stacklevel=2,
        )


def _split_by_folder(contents: folder.Folder | segmented.Segmented, others: Mapping[str, Path]) -> dict[str, Any]:
    """What user data have of a folder: the places and names of its files, and their parts."""
    places = [{"file": file} for file in contents.files]
    return {
        "places": places,
        "names": list(contents.examples.names),
        "parts" if others else "folders": contents.parts,
    }


def _kept(columns: Sequence[str], options: ReadOptions) -> dict[str, Any]:
    """The options that recipes and model files keep, to read other files alike."""
    kept: dict[str, Any] = {"columns": list(columns)}
    if turning := vectors(columns):
        kept["vectors"] = [list(pair) for pair in turning]
    if options.columns:
        kept["column_names"] = dict(options.columns)
    return kept | ({"up": options.up} if options.up != "z" else {})


def _check_options(options: Mapping[str, Any]) -> None:
    columns, names = options.get("columns", ()), options.get("column_names", {})
    if not isinstance(columns, list | tuple) or not all(isinstance(name, str) for name in columns):
        raise ValueError("the columns of the signal must be a list of names.")
    pairs = options.get("vectors", [])
    if not isinstance(pairs, list) or not all(
        isinstance(pair, list) and len(pair) == 2 and all(name in columns for name in pair) for pair in pairs
    ):
        raise ValueError("the vectors of the signal must be a list of pairs of its columns.")
    if not isinstance(names, dict) or not all(isinstance(name, str) for name in (*names, *names.values())):
        raise ValueError("the names of columns in files must be a table of names.")
    if options.get("up", "z") not in ("x", "y", "z"):
        raise ValueError(f"the axis that points up must be x, y or z: got {options['up']!r}.")


def _listed(given: Path, report: Report) -> list[Path]:
    """The files to read: one, or those in a directory."""
    try:
        with reading(given):
            if not given.exists():
                report(f"{given} must be a file with a cloud, or a folder of them: there is no such file or folder.")
                return []
            if not given.is_dir():
                return [given]
    except DataError as error:
        report(str(error))
        return []
    files = sorted(f for f in walk(given, report) if f.suffix.lower() in ENDINGS and not f.name.startswith("."))
    if not files:
        report(f"{given} must hold clouds or meshes, files that end in {', '.join(ENDINGS)}: it holds none.")
    return files
