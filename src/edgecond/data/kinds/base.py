"""The interface of a kind of data: reading it, settings that fit it, samples made of it, and describing an example."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, ClassVar, Protocol, Self

import numpy as np
from jaxtyping import Int
from numpy.typing import NDArray
from torch import Tensor

from edgecond.data.kinds.pictures import Description, FilterLabels, LevelsPicture
from edgecond.data.preparation import no_progress, Preparation, Progress, SampleSettings
from edgecond.data.splits import stratified_folds
from edgecond.errors import DataError

Rows = list[Any]
Targets = tuple[tuple[str, ...], ...]
"""The class names of each target, none for a number."""
Report = Callable[[str], None]
"""Called with a sentence about a file or a row that cannot be used."""
Total = Callable[[int], None]
"""Called with the number of all examples, where it is known in advance."""


MOST_VIEWS = 1000
"""Largest number of views of an example: more differ too little, and a file may ask for as many as it likes."""


class LabelledExamples(Protocol):
    """Examples with their targets: the training set or the test set."""

    @property
    def name(self) -> str:
        """Name of the data set."""

    @property
    def classes(self) -> tuple[str, ...]:
        """Name of each class, or of each target."""

    @property
    def ys(self) -> Tensor:
        """Targets of all examples, or of all their vertices."""

    @property
    def digest(self) -> str:
        """Digest of the whole data set."""

    def __len__(self) -> int: ...

    def take(self, indices: Any, /) -> Self:
        """Return some of the examples, in the given order."""


@dataclass(frozen=True)
class ReadOptions:
    """How to read user data; each kind takes some of these options.

    Attributes:
        smiles: Column of the SMILES in a table.
        target: Columns to predict.
        group: Column of a table whose equal values stay in one part of a split.
        vertices: Column of the targets of points or vertices, if those are to be predicted.
        numbers: Whether targets are numbers to predict, even if they are few and whole.
        meshes: Whether meshes are graphs along their edges, instead of clouds of sampled points.
        features: Columns of a table beside the molecules, which the network sees too.
        descriptors: Whether the network sees all of RDKit's descriptors of molecules, or none; by default it sees those
            of size and polarity.
        columns: The file's column for x, y, z or a column of the signal, by our name.
        up: The axis that points up.
    """

    smiles: str | None = None
    target: tuple[str, ...] = ()
    group: str | None = None
    vertices: str | None = None
    meshes: bool = False
    columns: Mapping[str, str] = field(default_factory=dict)
    up: str = "z"
    numbers: bool = False
    features: tuple[str, ...] = ()
    descriptors: bool | None = None

    def given(self) -> list[str]:
        """Return the names of the options that differ from their defaults."""
        default = ReadOptions()
        return [item.name for item in fields(self) if getattr(self, item.name) != getattr(default, item.name)]


@dataclass(frozen=True)
class Split:
    """How examples are split into a training set and a test set.

    Attributes:
        folds: Number of parts; classes are spread evenly over them.
        fold: The part to test on.
        seed: Random seed of the split.
        scaffold: Test on molecules with rare scaffolds, a tenth of all, instead of a fold.
    """

    folds: int = 5
    fold: int = 0
    seed: int = 0
    scaffold: bool = False

    def __post_init__(self) -> None:
        if not 0 <= self.fold < self.folds:
            raise DataError(f"folds are numbered from 0 to {self.folds - 1}: got {self.fold}.")

    def stratified(
        self, count: int, strata: NDArray[np.int64] | None, classes: Sequence[str]
    ) -> tuple[Int[np.ndarray, " train"], Int[np.ndarray, " test"]]:
        """Return the numbers of the training examples and of the test examples, with classes spread evenly."""
        ys = np.zeros(count, np.int64) if strata is None else strata
        chosen = stratified_folds(ys, self.folds, self.seed, () if strata is None else classes)[self.fold]
        return chosen.train, chosen.test


@dataclass(frozen=True, eq=False)
class UserData:
    """What a path holds.

    Attributes:
        name: Name of the data, after their path.
        examples: All examples.
        targets: What is to be predicted.
        per_vertex: Whether each vertex has a target of its own.
        dataset: Name of this form of user data in recipes.
        options: Options that recipes and model files keep, to read other files alike.
        notes: What was found, in sentences.
        groups: Group of each example, where a column of groups was asked for.
    """

    name: str
    examples: Any
    targets: Targets
    per_vertex: bool
    dataset: str
    options: dict[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    groups: Sequence[str] = ()


@dataclass(frozen=True)
class Learned:
    """What a model has learned of its data, as far as reading other data alike needs it."""

    settings: SampleSettings
    preparation: Preparation
    dataset: str
    d0: int
    batch_size: int
    per_vertex: bool


@dataclass(frozen=True, eq=False)
class Batch:
    """Some examples to predict, where each of them is from, and the number of its points or vertices."""

    places: list[dict[str, Any]]
    examples: Any
    sizes: Sequence[int]

    def __len__(self) -> int:
        return len(self.places)

    def singles(self) -> Iterator[Batch]:
        """Yield the examples one by one."""
        for number, (place, size) in enumerate(zip(self.places, self.sizes, strict=True)):
            yield Batch([place], self.examples.take([number]), [size])


class RowReader(Protocol):
    """Reads rows in memory: clouds, graphs or SMILES."""

    @property
    def width(self) -> int | None:
        """Number of columns of a point, if the rows are arrays of points."""

    @property
    def about(self) -> dict[str, Any]:
        """What a model file holds of it, for `Kind.restore_reader`."""

    def examples(self, rows: Rows, ys: NDArray[Any], names: Sequence[str]) -> Any:
        """Return examples with their targets, and the names of the classes or of the targets."""

    def unlabelled(self, rows: Rows) -> Any:
        """Return examples without targets."""


class Kind(ABC):
    """A kind of data.

    Attributes:
        name: Name, in the plural.
        unit: What a per-vertex task predicts for: a point, or a vertex.
        base: The row of the paper whose settings are the start for user data of this kind.
        options: Names of the `ReadOptions` that this kind takes.
        place: Names of the columns that say where an example is from.
        precomputes: Whether pyramids are computed before training, for all folds.
        averages_views: Whether the metrics of one view are means over all views, instead of those of the first.
        writes_points: Whether predictions for points can be written as a PLY file.
    """

    name: ClassVar[str]
    unit: ClassVar[str]
    base: ClassVar[str]
    options: ClassVar[frozenset[str]]
    place: ClassVar[tuple[str, ...]]
    precomputes: ClassVar[bool] = False
    averages_views: ClassVar[bool] = True
    writes_points: ClassVar[bool] = False

    def __eq__(self, other: object) -> bool:
        """Return whether another kind is the same, which it is after pickling too."""
        return type(self) is type(other)

    def __hash__(self) -> int:
        return hash(type(self))

    # User data

    @abstractmethod
    def holds(self, path: Path, options: ReadOptions) -> bool:
        """Return whether a path is data of this kind, by its name and its options."""

    @abstractmethod
    def read(self, path: Path, options: ReadOptions) -> UserData:
        """Read all examples of a path."""

    def split(
        self, data: UserData, split: Split, strata: NDArray[np.int64] | None
    ) -> tuple[Int[np.ndarray, " train"], Int[np.ndarray, " test"]]:
        """Return the numbers of the training examples and of the test examples."""
        if split.scaffold:
            raise DataError(f"a scaffold is that of a molecule: {data.name} holds {self.name}. Leave --scaffold out.")
        return split.stratified(len(data.examples), strata, data.examples.classes)

    @abstractmethod
    def settings(self, examples: Any, base: Mapping[str, Any], dataset: str, per_vertex: bool) -> dict[str, Any]:
        """Return the settings that fit some examples, by their dotted names, where they differ from the base row.

        Args:
            examples: All examples.
            base: The settings of the base row, by their dotted names.
            dataset: Name of this form of user data.
            per_vertex: Whether each vertex has a target of its own.
        """

    def settings_note(self, settings: Mapping[str, Any]) -> str | None:
        """Return a sentence on how the settings were derived."""
        return None

    # Samples

    @abstractmethod
    def prepare(
        self, settings: SampleSettings, examples: Any, *, progress: Progress = no_progress, transient: bool = False
    ) -> Preparation:
        """Return what makes samples, for a training set.

        Args:
            settings: How samples are made.
            examples: The training set.
            progress: Called while pyramids are computed ahead.
            transient: Whether nothing is to be kept of the examples.
        """

    @abstractmethod
    def restore(
        self, settings: SampleSettings, tensors: Mapping[str, Tensor], d0: int, encoding: Mapping[str, Any]
    ) -> Preparation:
        """Return what makes samples, from the tensors of a model file; raise a `ValueError` if they do not fit.

        Args:
            settings: How samples are made.
            tensors: Tensors by name.
            d0: Width of the signal.
            encoding: How columns beside the graph are encoded; see `Preparation`.
        """

    @abstractmethod
    def views(self, settings: SampleSettings) -> int:
        """Return the number of views of a test example."""

    def views_to_predict(self, settings: SampleSettings) -> int:
        """Return the number of views of a new example, unless another is asked for."""
        return self.views(settings)

    def most_views(self, settings: SampleSettings) -> int:
        """Return the largest number of views that there can be."""
        return MOST_VIEWS

    # Predictions

    @abstractmethod
    def shards(
        self,
        learned: Learned,
        files: Sequence[Path],
        options: ReadOptions,
        report: Report,
        total: Total,
    ) -> Iterator[Any]:
        """Yield parts of some files, in their order, each of which `read_shard` reads: by another process if need be.

        Args:
            learned: What the model has learned.
            files: Files or directories.
            options: How to read them.
            report: Called with a sentence about what cannot be read.
            total: Called with the number of all examples, where it is known in advance.
        """

    @abstractmethod
    def read_shard(self, learned: Learned, shard: Any, report: Report) -> Iterator[Batch]:
        """Yield the examples of a shard, in their order, a batch at a time.

        Args:
            learned: What the model has learned.
            shard: One of `shards`.
            report: Called with a sentence about what cannot be read.
        """

    # Rows in memory

    @abstractmethod
    def accepts(self, row: Any) -> bool:
        """Return whether an object in memory is an example of this kind."""

    @abstractmethod
    def reader(self, rows: Rows) -> RowReader:
        """Return the reader of rows like these, at least one."""

    @abstractmethod
    def restore_reader(self, learned: Learned, about: Mapping[str, Any] | None) -> RowReader:
        """Return the reader of a model file.

        Args:
            learned: What the model has learned.
            about: What `RowReader.about` returned, or none for a model of the command line.
        """

    def with_features(self, examples: Any, columns: Any, learned: Learned | None) -> Any:
        """Return examples in memory with columns beside them.

        Args:
            examples: What a `RowReader` returned.
            columns: A mapping from names to sequences with a value for each example, or none.
            learned: What the model has learned; none for its training set.
        """
        if columns is not None:
            raise DataError(f"features are for graphs and molecules: X holds {self.name}. Leave them out.")
        return examples

    rows_dataset: ClassVar[str]
    """Name of rows in memory in recipes."""

    def rows_options(self, reader: Any) -> dict[str, Any]:
        """Return the options that recipes keep of rows in memory."""
        return {}

    # Descriptions

    @abstractmethod
    def describe(self, examples: Any, number: int) -> Description:
        """Return the name of an example and what to draw of it."""

    @abstractmethod
    def levels(self, examples: Any, preparation: Any, most: int) -> tuple[int, LevelsPicture] | None:
        """Return the number of a typical example, and the levels of its pyramid; none if all are too large.

        Args:
            examples: Some examples.
            preparation: What makes samples of them.
            most: Number of vertices of a drawing, at most.
        """

    @abstractmethod
    def filter_labels(self, examples: Any, preparation: Any) -> FilterLabels:
        """Return the labels whose filters a report shows."""
