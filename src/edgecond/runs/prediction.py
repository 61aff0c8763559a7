"""Predictions for new files, from a model file alone and a batch at a time."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing, contextmanager
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np
import torch
from jaxtyping import Float

from edgecond.data.formats import ply as ply_format
from edgecond.data.formats import read_points
from edgecond.data.kinds import Batch, ReadOptions
from edgecond.data.processes import mapped
from edgecond.errors import DataError, DataWarning
from edgecond.files import path_text, write_atomic
from edgecond.nn.tasks import Outputs
from edgecond.runs import cluster
from edgecond.runs.model import Model

Row = dict[str, Any]
_Row = Float[np.ndarray, " t"]  # the outputs for one example
Report = Callable[[str], None]
Progress = Callable[[int, int | None], None]
I = TypeVar("I")
R = TypeVar("R")
Prediction = tuple[Row, Outputs, Any, float | None]
"""Place, outputs, spread and distance of an example."""


class Shard(NamedTuple):
    """What was predicted of a shard: predictions, what cannot be read and what is remarkable, and the examples read."""

    found: list[Prediction]
    unread: list[str]
    remarks: list[str]
    size: int


class Wanted:
    """What is wanted of each prediction.

    Args:
        model: A trained model.
        probabilities: Whether the probability of every class is wanted.
        coverage: Probability with which an interval or a set of classes is to hold the truth; none for neither.
        applicability: Whether the distance to the training set is wanted.
    """

    def __init__(
        self,
        model: Model,
        probabilities: bool = False,
        coverage: float | None = None,
        applicability: bool = False,
    ) -> None:
        if probabilities and not model.task.has_classes:
            raise DataError(
                f"probabilities are for models that predict classes: {model.recipe.name} predicts numbers. "
                "Leave them out."
            )
        self.task, self.names, self.probabilities = model.task, model.classes, probabilities
        self.limits: list[float] | None = None
        if coverage is not None:
            self.task.check_calibrates("coverage", coverage)
            self.limits = model.uncertainty.limits(coverage, model.task.targets(model.classes))
        self.applicability = applicability and bool(model.uncertainty.reference)
        self.spread = bool(model.members)

    def columns(self) -> list[str]:
        """Return the names of the columns of a prediction, in order."""
        zeros = np.zeros(len(self.names))
        beside = self._beside(zeros, zeros if self.spread else None, 0.0 if self.applicability else None)
        return [*self.task.columns(self.names, self.probabilities), *beside]

    def row(self, output: _Row, spread: _Row | None, distance: float | None) -> Row:
        """Return the prediction for one example, or one vertex, by the names of columns."""
        return self.task.row(self.names, output, self.probabilities) | self._beside(output, spread, distance)

    def parts(self, model: Model, examples: Any, views: int) -> tuple[Outputs, Any, Any]:
        """Return outputs, spreads and distances, with None in the place of each that there is not."""
        outputs, spread = model.outputs_and_spread(examples, views)
        none = [None] * len(outputs)
        distances = model.distances(examples) if self.applicability else none
        return outputs, none if spread is None else spread, distances

    def _beside(self, output: _Row, spread: _Row | None, distance: float | None) -> Row:
        """Return how sure a prediction is."""
        cells: Row = {} if spread is None else {**self.task.spread_row(self.names, output, spread)}
        if self.limits is not None:
            cells |= self.task.bounds_row(self.names, output, spread, self.limits)
        return cells if distance is None else cells | {"distance": round(float(distance), 4)}


class Embedding:
    """The signal before the last FC of a model in the place of its predictions; see `Model.embed`."""

    def __init__(self, model: Model) -> None:
        self.names = [f"e{number}" for number in range(model.network.embedding_width)]

    def columns(self) -> list[str]:
        """Return the names of the columns of an embedding."""
        return self.names

    def row(self, output: _Row, spread: _Row | None, distance: float | None) -> Row:
        """Return the embedding of one example, or one vertex, by the names of columns."""
        return dict(zip(self.names, output.astype(np.float32), strict=True))

    def parts(self, model: Model, examples: Any, views: int) -> tuple[Outputs, Any, Any]:
        """Return the embeddings, and None in the place of spreads and distances."""
        found = model.embeddings(examples)
        none = [None] * len(found)
        return found, none, none


def columns(model: Model, wanted: Wanted | Embedding | None = None, ply: Path | None = None) -> list[str]:
    """Return the names of the columns of `predictions`, in order."""
    if ply is not None:
        if not model.kind.writes_points or not model.task.per_vertex:
            raise DataError(f"--ply is for models that predict for points: {model.recipe.name} does not. Leave it out.")
        return ["file", "written"]
    return [*place_columns(model), *(wanted or Wanted(model)).columns()]


def place_columns(model: Model) -> list[str]:
    """Return the names of the columns that say which example, and which of its vertices, a prediction is for."""
    return [*model.kind.place, *([model.kind.unit] if model.task.per_vertex else [])]


def predicted(model: Model, X: Any, *, views: int | None = None, features: Any = None, **options: Any) -> list[Row]:
    """Return what `edgecond predict` writes, for rows in memory: a table for each, or for each point or vertex.

    Args:
        model: A trained model.
        X: The rows; see `Model.predict`.
        views: Number of views whose outputs are averaged.
        features: Columns beside the rows; see `Model.predict`.
        options: What is wanted; see `Wanted`.
    """
    wanted, examples, model = Wanted(model, **options), model.rows(X, features), model.transient()
    return [wanted.row(*parts) for parts in zip(*wanted.parts(model, examples, model.views(views)), strict=True)]


def predictions(
    model: Model,
    files: Sequence[Path],
    *,
    views: int | None = None,
    smiles: str | None = None,
    wanted: Wanted | Embedding | None = None,
    ply: Path | None = None,
    jobs: int | None = 1,
    on: str | None = None,
    report: Report,
    progress: Progress = lambda done, total: None,
) -> Iterator[Row]:
    """Yield a prediction for each example in some files, in their order.

    Memory is that of a batch for each process, and for graphs that of the largest file. What cannot be read is reported
    and left out.

    Args:
        model: A trained model.
        files: Clouds, meshes or directories of them; tables of molecules; folders or zip files of graphs.
        views: Number of views whose outputs are averaged: orientations of a cloud or sparsifications of a graph, those
            of the recipe by default.
        smiles: Column of the SMILES in a table.
        wanted: What is wanted of each example: its prediction, or its embedding.
        ply: Where there are predictions for points: directory for a file of each cloud with them.
        jobs: Number of processes that read and predict; their predictions are the same.
        on: `ray` for tasks of a Ray cluster instead of processes, by default as many as it has CPUs.
        report: Called with a sentence about what cannot be read.
        progress: Called with the number of examples done and, where it is known, of all.
    """
    wanted, model, count = wanted or Wanted(model), model.transient(), model.views(views)
    model.check_views(count)
    total: list[int] = []
    done, unreadable = 0, 0

    def report_file(sentence: str) -> None:
        nonlocal unreadable
        unreadable += 1
        report(sentence)

    written: dict[Path, Path] = {}
    options = ReadOptions(smiles=smiles)
    shards = model.kind.shards(model.learned, files, options, report_file, total.append)
    remarked: set[str] = set()
    for shard in computed(partial(_predicted, model, count, wanted), shards, jobs, on, files):
        for sentence in shard.unread:
            report_file(sentence)
        for sentence in dict.fromkeys(shard.remarks):
            if sentence not in remarked:
                warnings.warn(sentence, DataWarning, stacklevel=2)
        remarked |= set(shard.remarks)
        for place, output, spread, distance in shard.found:
            path = place["file"]
            shown = place | {"file": path_text(path)}
            if not np.isfinite(output).all():
                report(f"{' '.join(map(str, shown.values()))} gives no finite outputs: its numbers are too large.")
            elif ply is not None:
                yield from _written(model, path, output, ply, written, report)
            elif model.task.per_vertex:
                unit = model.kind.unit
                spreads = [None] * len(output) if spread is None else spread
                for number, (row, beside) in enumerate(zip(output, spreads, strict=True)):
                    yield shown | {unit: number} | wanted.row(row, beside, distance)
            else:
                yield shown | wanted.row(output, spread, distance)
        done += shard.size
        progress(done + unreadable, total[0] if total else None)


def computed(
    work: Callable[[I], R], shards: Iterator[I], jobs: int | None, on: str | None = None, files: Sequence[Path] = ()
) -> Generator[R, None, None]:
    """Yield the result of each shard, in order, computed by tasks, or by processes if there are several shards.

    Args:
        work: Computes the result of a shard.
        shards: Parts of the input: some examples, a file, or a tile of a scan.
        jobs: Number of processes or tasks.
        on: `ray` for tasks of a Ray cluster.
        files: The files that tasks read.
    """
    begin = partial(torch.set_num_threads, 1)
    if on is not None:
        with closing(cluster.mapped(work, shards, jobs, begin, files)) as results:
            yield from results
        return
    first = list(islice(shards, 2))
    if jobs is None or jobs == 1 or len(first) < 2:
        yield from map(work, chain(first, shards))
        return
    with closing(mapped(work, chain(first, shards), jobs, begin)) as results:
        yield from results


def _predicted(model: Model, views: int, wanted: Wanted | Embedding, shard: Any) -> Shard:
    """Read a shard and predict its examples."""
    found: list[Prediction] = []
    unread: list[str] = []
    size = 0
    with collected() as remarks:
        for batch in model.kind.read_shard(model.learned, shard, unread.append):
            found += _outputs(model, batch, views, wanted, unread.append)
            size += len(batch)
    return Shard(found, unread, remarks, size)


@contextmanager
def collected() -> Iterator[list[str]]:
    """Yield a list that fills with what is remarkable about data at the end, for the process that reports it."""
    remarks: list[str] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", DataWarning)
        yield remarks
    for each in caught:
        if issubclass(each.category, DataWarning):
            remarks.append(str(each.message))
        else:
            warnings.warn_explicit(each.message, each.category, each.filename, each.lineno)


def _outputs(
    model: Model, batch: Batch, views: int, wanted: Wanted | Embedding, report: Report
) -> Iterator[Prediction]:
    """Yield outputs, spread and distance of each example; if no graph can be made of one, each is predicted alone."""
    if not len(batch):
        return
    try:
        outputs, spread, distances = wanted.parts(model, batch.examples, views)
    except ValueError as error:
        if len(batch) > 1:
            for single in batch.singles():
                yield from _outputs(model, single, views, wanted, report)
        else:
            report(f"{path_text(batch.places[0]['file'])} cannot be converted to a graph: {error}")
        return
    if not model.task.per_vertex:
        yield from zip(batch.places, outputs, spread, distances, strict=True)
        return
    ends = np.cumsum(batch.sizes)
    for place, start, end in zip(batch.places, ends - batch.sizes, ends, strict=True):
        yield place, outputs[start:end], spread[start:end] if model.members else None, None


def _written(
    model: Model, path: Path, output: Outputs, to: Path, written: dict[Path, Path], report: Report
) -> Iterator[Row]:
    """Write the points of a cloud with the predictions for them, and yield the row of that file."""
    target = to / f"{path.name}.ply"
    if target in written:
        report(f"{path} must have a name of its own among the files: {written[target]} has it too.")
        return
    _write_ply(model, path, output, target)
    written[target] = path
    yield {"file": path_text(path), "written": path_text(target)}


def _write_ply(model: Model, path: Path, outputs: Outputs, to: Path) -> None:
    """Write the points of a file with the predictions for them."""
    names = model.recipe.options.get("column_names")  # positions stay as in the file, whatever axis points up
    positions = dict(zip("xyz", read_points(path, count=None, columns=names).positions.T, strict=True))
    columns, comments = model.task.point_columns(model.classes, outputs)
    write_atomic(to, ply_format.write(positions | columns, comments))
