"""The interface of a kind of data: reading it, settings that fit it, samples made of it, and describing an example."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from edgecond.data.kinds.elements import Elements
from edgecond.data.kinds.examples import Batch, Learned, Report, RowReader, Rows, Total
from edgecond.data.kinds.inputs import Inputs
from edgecond.data.kinds.pictures import Description, FilterLabels, LevelsPicture
from edgecond.data.kinds.reading import ReadOptions, UserData
from edgecond.data.kinds.searching import Space, training_space
from edgecond.data.kinds.splitting import Indices, listed_parts, METHODS, Random, Split, split_by, unlisted_note
from edgecond.data.preparation import no_progress, Preparation, Progress, SampleSettings
from edgecond.data.scans import Scan
from edgecond.data.splits import Split as Parts
from edgecond.errors import DataError

NONE: Mapping[str, Path] = {}
MOST_VIEWS = 1000
"""Largest number of views of an example: more differ too little, and a file may ask for as many as it likes."""


class Kind(ABC):
    """A kind of data.

    Attributes:
        name: Name, in the plural.
        unit: What a per-vertex task predicts for, and an explanation is about: an atom, a point, or a vertex.
        link: What connects two units.
        element_columns: Names of the columns that describe a unit or a link.
        provides: What the methods of others can take from an example: its "graph" with discrete labels, its "SMILES",
            the "positions" of its vertices, or "points" that are spread over its surface.
        baseline: Name of the baseline in `edgecond.runs.baselines` that takes the shortest time to fit.
        regions: Whether units have positions, such that explanations add up what is around each of them.
        base: The row of the paper whose settings are the start for user data of this kind.
        options: Names of the `ReadOptions` that this kind takes.
        place: Names of the columns that say where an example is from.
        suffixes: How the names of files end that hold examples to predict.
        notation: What a line of text is that writes an example, as "SMILES"; none if there is no such text.
        listed_by: The column of a file of parts that names an example.
        methods: Names of the methods to split this kind of data by.
        precomputes: Whether pyramids are computed before training, for all folds.
        averages_views: Whether the metrics of one view are means over all views, instead of those of the first.
        writes_points: Whether predictions for points can be written as a PLY file.
    """

    name: ClassVar[str]
    unit: ClassVar[str]
    link: ClassVar[str] = "edge"
    element_columns: ClassVar[tuple[str, ...]]
    provides: ClassVar[frozenset[str]]
    baseline: ClassVar[str]
    regions: ClassVar[bool] = False
    base: ClassVar[str]
    options: ClassVar[frozenset[str]]
    place: ClassVar[tuple[str, ...]]
    suffixes: ClassVar[tuple[str, ...]]
    notation: ClassVar[str | None] = None
    listed_by: ClassVar[str]
    methods: ClassVar[frozenset[str]] = frozenset({Random.name})
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
    def read(self, path: Path, options: ReadOptions, others: Mapping[str, Path] = NONE) -> UserData:
        """Read all examples of a path.

        Args:
            path: The data.
            options: How to read them.
            others: More data of this kind, by the part that they are, "validation" or "test"; with a test set, all
                examples of the path are for training.
        """

    def split(self, data: UserData, split: Split, strata: NDArray[np.int64] | None) -> tuple[Parts, list[str]]:
        """Return the numbers of the training, validation and test examples, and what there is to note.

        Args:
            data: The data.
            split: How to split them.
            strata: Class of each example, to be spread evenly; none if there are no classes.
        """
        count, notes, parts = len(data.examples), list[str](), data.parts
        method = self._method(data, split)
        if split.file is not None and parts:
            raise DataError(
                f"{data.name} has its parts in another way: {split.file} cannot choose them too. Leave one out."
            )
        if split.file is not None:
            parts, extra = listed_parts(split.file, self.listed_by, data.names)
            notes = [f"split: by {split.file}", *unlisted_note(split.file, extra)]
        elif data.folders and method is None and split.folds is None and not split.fold:
            parts, notes = data.folders, ["split: by the folders train and test"]
        elif method not in (None, Random.name):
            notes = [f"split: by {method}"]

        classes = () if strata is None else data.examples.classes
        values = partial(self._values, data, strata)
        return split_by(replace(split, method=method), parts or [""] * count, values, classes), notes

    def hold_out(
        self, data: UserData, split: Split, strata: NDArray[np.int64] | None, among: Indices, share: float
    ) -> Indices:
        """Return a share of some examples, chosen in the same way as the test set.

        Args:
            data: The data.
            split: How they are split.
            strata: Class of each example, to be spread evenly; none if there are no classes.
            among: The numbers of the examples.
            share: Share of them.
        """
        method = METHODS[self._method(data, split) or Random.name]
        return method(np.asarray(self._values(data, strata, method.name)), split.seed).part(among, share)

    def _values(self, data: UserData, strata: NDArray[np.int64] | None, method: str) -> Any:
        """What a method splits by, for each example."""
        if method == Random.name:
            return np.zeros(len(data.examples), np.int64) if strata is None else strata
        return data.columns[method] if method in data.columns else self.scaffolds(data)

    def _method(self, data: UserData, split: Split) -> str | None:
        """The method that a split asks for, by its name or by a column."""
        if split.method is not None and split.method not in self.methods:
            raise DataError(f"--split {split.method} is for molecules: {data.name} holds {self.name}. Leave it out.")
        by = [*([split.method] if split.method else []), *(name for name in data.columns if name != split.method)]
        if len(by) > 1:
            raise DataError(f"{self.name} are split by {by[0]} or by {by[1]}: got both. Leave one out.")
        if split.method in ("group", "time") and split.method not in data.columns:
            raise DataError(
                f"--split {split.method} needs a column of the table to split by. Name it with --{split.method}."
            )
        return by[0] if by else None

    equality: ClassVar[str]
    """When two examples count as equal."""

    @abstractmethod
    def keys(self, examples: Any) -> Sequence[Hashable]:
        """Return what equal examples have in common, for each example: two of them in one split are leakage."""

    def fingerprints(self, examples: Any) -> Sequence[Any] | None:
        """Return what near-duplicates are found by, if they are looked for."""
        return None

    def scaffolds(self, data: UserData) -> Sequence[str]:
        """Return the scaffold of each example."""
        raise NotImplementedError

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

    def search_space(self, settings: Mapping[str, Any]) -> Space:
        """Return what `edgecond tune` searches unless another space is given: values around those of some settings.

        Args:
            settings: The settings that fit the data, by their dotted names; each is in the space of its name.
        """
        return training_space(settings)

    # Samples

    @abstractmethod
    def prepare(
        self,
        settings: SampleSettings,
        examples: Any,
        *,
        progress: Progress = no_progress,
        transient: bool = False,
        start: Any = None,
    ) -> Preparation:
        """Return what makes samples, for a training set.

        Args:
            settings: How samples are made.
            examples: The training set.
            progress: Called while pyramids are computed ahead.
            transient: Whether nothing is to be kept of the examples.
            start: The preparation of a model to start from, whose units are kept.
        """

    @abstractmethod
    def inputs(self, learned: Learned, widths: Sequence[int]) -> Inputs:
        """Return the names of what enters the network of a model, whose edge labels have these widths."""

    def extended(self, examples: Any, learned: Learned) -> Any:
        """Return examples whose vocabulary of labels is that of a model to start from, extended by theirs."""
        return examples

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

    def file_of(self, lines: Sequence[str]) -> tuple[str, str]:
        """Return lines in the `notation` as the suffix and the text of a file."""
        raise NotImplementedError

    def scan(self, path: Path, learned: Learned) -> Scan:
        """Return a file whose points are read some at a time, and written again; where `writes_points` is true."""
        raise NotImplementedError

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
    def elements(self, examples: Any, number: int, preparation: Any, view: int, views: int) -> Elements:
        """Return what the vertices of an example's graph stand for, in one of several views.

        Args:
            examples: Some examples.
            number: Number of the example.
            preparation: What makes samples of them.
            view: Number of the view.
            views: Number of views.
        """

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
