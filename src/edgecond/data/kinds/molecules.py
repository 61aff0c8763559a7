"""Molecules: SMILES in tables and in memory, as graphs of atoms and bonds."""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from edgecond.data.examples import checked_weights
from edgecond.data.features import Features
from edgecond.data.formats import atoms, smiles
from edgecond.data.formats.columns import number
from edgecond.data.formats.descriptors import descriptor_names, SIZE_AND_POLARITY
from edgecond.data.graphs import GraphExamples, Graphs
from edgecond.data.kinds.base import Batch, Learned, NONE, ReadOptions, Report, RowReader, Rows, Total, UserData
from edgecond.data.kinds.graphs import batch_of, examples_of, GeneralGraphs, labelled
from edgecond.data.kinds.joining import joined_features, joined_graphs, joined_targets
from edgecond.data.kinds.leakage import canonical_smiles, morgan_fingerprints, MOST_COMPARED
from edgecond.data.kinds.pictures import Description, MoleculePicture
from edgecond.data.kinds.searching import Space
from edgecond.data.kinds.splitting import given_parts, METHODS, part_of, times_of
from edgecond.data.kinds.wording import data_name, skipped
from edgecond.data.preparation import GraphPreparation
from edgecond.data.splits import scaffolds
from edgecond.errors import DataError
from edgecond.files import csv_line

NETWORK = "C(64)-C(64)-C(64)-GAP-FC(64)-D(0.1)-FC(1)"
"""Network of molecules, which are small: on validation parts of ESOL it is as accurate as one with a pyramid."""
STEPS, BATCH_SIZE, FEW, MANY = 3000, 32, 200, 2000
"""Training takes about so many steps, where that is 50 to 200 epochs. Few molecules give few steps and have a higher
learning rate; batches of many are twice as large."""
MOST_ROWS = 512
"""Number of molecules that are read at once while predicting."""


class Molecules(GeneralGraphs):
    """Molecules as SMILES."""

    name: ClassVar[str] = "molecules"
    unit: ClassVar[str] = "atom"
    link: ClassVar[str] = "bond"
    provides: ClassVar[frozenset[str]] = frozenset({"graph", "SMILES"})
    baseline: ClassVar[str] = "forest"
    options: ClassVar[frozenset[str]] = frozenset(
        {"smiles", "target", "group", "numbers", "features", "descriptors", "time", "split_column", "weights"}
    )
    methods: ClassVar[frozenset[str]] = frozenset(METHODS)
    listed_by: ClassVar[str] = "row"
    place: ClassVar[tuple[str, ...]] = ("file", "row", "smiles")
    suffixes: ClassVar[tuple[str, ...]] = (".csv", ".tsv", ".csv.gz", ".tsv.gz")
    notation: ClassVar[str | None] = "SMILES"
    standardises: ClassVar[bool] = False  # all attributes are zeros and ones

    def holds(self, path: Path, options: ReadOptions) -> bool:
        return path.is_file() and path.name.lower().endswith((".csv", ".tsv", ".gz"))

    def read(self, path: Path, options: ReadOptions, others: Mapping[str, Path] = NONE) -> UserData:
        asked = (options.group, options.time, options.split_column, options.weights)
        columns = [name for name in asked if name is not None]
        paths = [path, *others.values()]
        tables = [_table(each, options, () if number else columns) for number, each in enumerate(paths)]
        table = _joined(tables, paths)
        examples = replace(
            examples_of(table, str(path)),
            smiles=table.smiles,
            features=table.features,
            weights=_weights(path, tables[0], options.weights, len(table)),
        )
        sources = [each for each, some in zip(paths, tables, strict=True) for _ in range(len(some))]
        rows = zip(sources, table.rows.tolist(), table.smiles, strict=True)
        unread = [f"row {row}: {sentence}" for row, sentence in tables[0].skipped]
        for each, some in zip(paths[1:], tables[1:], strict=True):
            unread += [f"{each}, row {row}: {sentence}" for row, sentence in some.skipped]
        return UserData(
            data_name(path),
            examples,
            table.classes,
            False,
            "smiles",
            _kept(options),
            notes=(
                f"{len(table)} molecules; {len(unread)} rows skipped",
                *skipped(unread),
                f"target: {', '.join(table.target_names)}",
                *([] if table.features is None else [f"features: {_summary(table.features)}"]),
            ),
            parts=given_parts(
                _listed_parts(path, tables[0], options.split_column), dict(zip(others, tables[1:], strict=True))
            ),
            columns=_split_columns(path, tables[0], options, len(table)),
            places=[{"file": each, "row": row, "smiles": text} for each, row, text in rows],
            names=[str(row) for row in table.rows.tolist()],
        )

    def settings(
        self, examples: GraphExamples, base: Mapping[str, Any], dataset: str, per_vertex: bool
    ) -> dict[str, Any]:
        batch_size = BATCH_SIZE if len(examples) < MANY else 2 * BATCH_SIZE
        return super().settings(examples, {**base, "network": NETWORK}, dataset, per_vertex) | {
            "identity": False,
            "counts": False,  # descriptors show the size
            "train.epochs": int(np.clip(STEPS * batch_size // len(examples), 50, 200)),
            "train.batch_size": batch_size,
            "train.learning_rate": 0.001 if len(examples) > FEW else base["train.learning_rate"],
            "train.weight_decay": 0.1,
        }

    def search_space(self, settings: Mapping[str, Any]) -> Space:
        space = super().search_space(settings)
        return {name: values for name, values in space.items() if name != "counts"}  # descriptors show the size

    equality: ClassVar[str] = "equal canonical SMILES"

    def keys(self, examples: GraphExamples) -> Sequence[Hashable]:
        return canonical_smiles(examples.smiles)

    def fingerprints(self, examples: GraphExamples) -> Sequence[Any] | None:
        return morgan_fingerprints(examples.smiles) if len(examples) <= MOST_COMPARED else None

    def scaffolds(self, data: UserData) -> Sequence[str]:
        return scaffolds(data.examples.smiles)

    def shards(
        self,
        learned: Learned,
        files: Sequence[Path],
        options: ReadOptions,
        report: Report,
        total: Total,
    ) -> Iterator[smiles.Chunk]:
        assert isinstance(learned.preparation, GraphPreparation)
        features = learned.preparation.encoder.numeric
        for path in files:
            try:
                yield from smiles.chunks(path, smiles=options.smiles, size=MOST_ROWS, features=features)
            except DataError as error:
                report(str(error))

    def read_shard(self, learned: Learned, shard: smiles.Chunk, report: Report) -> Iterator[Batch]:
        assert isinstance(learned.preparation, GraphPreparation)
        table = smiles.read_chunk(shard, descriptors=learned.preparation.encoder.described)
        for row, sentence in table.skipped:
            report(f"{shard.path}, row {row}: {sentence}")
        rows = zip(table.rows.tolist(), table.smiles, strict=True)
        batch = batch_of([{"file": shard.path, "row": row, "smiles": text} for row, text in rows], table.graphs)
        yield replace(batch, examples=replace(batch.examples, smiles=table.smiles, features=table.features))

    def file_of(self, lines: Sequence[str]) -> tuple[str, str]:
        """Return a table with a column of the first words of the lines; lines with a header are a table already."""
        header = {smiles.plain(word.strip(' "')) for word in re.split("[,;\t]", lines[0])}
        if header & set(smiles.COLUMNS):
            return ".csv", "\n".join(lines)
        words = ([*line.split(maxsplit=1), ""][0] for line in lines)
        return ".csv", "".join(csv_line([word], raw=True) for word in (smiles.COLUMNS[0], *words))

    def accepts(self, row: Any) -> bool:
        return isinstance(row, str)

    rows_dataset: ClassVar[str] = "smiles"

    def reader(self, rows: Rows) -> RowReader:
        return MoleculeReader(SIZE_AND_POLARITY)

    def restore_reader(self, learned: Learned, about: Mapping[str, Any] | None) -> MoleculeReader:
        assert isinstance(learned.preparation, GraphPreparation)
        return MoleculeReader(learned.preparation.encoder.described)

    def vertex_name(self, value: int) -> str:
        return atoms.symbol(value)

    def edge_label_name(self, value: int) -> str:
        return atoms.bond_name(value)

    def edge_name(self, one: str, other: str, value: int | None) -> str:
        return f"{one}{atoms.bond_sign(value or 0)}{other}"

    def describe(self, examples: GraphExamples, number: int) -> Description:
        if not examples.smiles:
            return super().describe(examples, number)
        text = examples.smiles[int(examples.numbers[number])]
        return Description(text, MoleculePicture(text))


def _table(path: Path, options: ReadOptions, others: Sequence[str]) -> smiles.Molecules:
    return smiles.read(
        path,
        smiles=options.smiles,
        target=list(options.target) or None,
        numbers=options.numbers,
        others=others,
        features=options.features,
        descriptors=_descriptors(options.descriptors),
    )


def _kept(options: ReadOptions) -> dict[str, Any]:
    """The options that recipes and model files keep, to read other files alike."""
    kept: dict[str, Any] = {"features": list(options.features)} if options.features else {}
    return kept | ({} if options.descriptors is None else {"descriptors": options.descriptors})


def _joined(tables: Sequence[smiles.Molecules], paths: Sequence[Path]) -> smiles.Molecules:
    """The molecules of several tables, with the classes of the first."""
    table = tables[0]
    for other, path in zip(tables[1:], paths[1:], strict=True):
        table = replace(
            table,
            graphs=joined_graphs(table.graphs, other.graphs),
            targets=joined_targets(table, other, path),
            smiles=table.smiles + other.smiles,
            rows=np.append(table.rows, other.rows),
            features=joined_features(table.features, other.features, path),
        )
    return table


def _listed_parts(path: Path, table: smiles.Molecules, column: str | None) -> list[str]:
    """The part of each row of a table that has a column of parts; "" for each row without one."""
    if column is None:
        return [""] * len(table)
    where, rows = f"{path}, column {column!r}, row", table.rows.tolist()
    return [part_of(word, f"{where} {row}") for word, row in zip(table.columns[column], rows, strict=True)]


def _split_columns(path: Path, table: smiles.Molecules, options: ReadOptions, count: int) -> dict[str, NDArray[Any]]:
    """The group and the time of each of `count` molecules; those of other tables have neither."""
    columns, more = dict[str, NDArray[Any]](), count - len(table)
    if options.group is not None:
        columns["group"] = np.array([*table.columns[options.group], *[""] * more], object)
    if options.time is not None:
        where = f"{path}, column {options.time!r}"
        times = times_of(table.columns[options.time], table.rows.tolist(), where, comma=table.comma)
        columns["time"] = np.append(times, np.full(more, -np.inf))
    return columns


def _weights(path: Path, table: smiles.Molecules, column: str | None, count: int) -> Tensor | None:
    """The weight of each of `count` molecules; those of other tables, which are not trained on, have 1."""
    if column is None:
        return None
    where = f"{path}, column {column!r}"
    weights = [number(text, comma=table.comma) for text in table.columns[column]]
    for row, weight, text in zip(table.rows.tolist(), weights, table.columns[column], strict=True):
        if weight is None or not 0 <= weight < np.inf:
            raise DataError(f"{where} must hold a weight of at least 0 in each row: found {text[:60]!r} in row {row}.")
    return checked_weights([*weights, *[1.0] * (count - len(table))], count, where)


@dataclass(frozen=True)
class MoleculeReader:
    """Reads SMILES, whose encoding is fixed, and their descriptors where a model needs them."""

    descriptors: tuple[str, ...] = ()
    width: ClassVar[None] = None

    @property
    def about(self) -> dict[str, Any]:
        return {}

    def examples(self, rows: Rows, ys: NDArray[Any], names: Sequence[str]) -> GraphExamples:
        graphs = _featurised(rows, self.descriptors)
        return replace(labelled(graphs, ys, names), features=self._features(graphs))

    def unlabelled(self, rows: Rows) -> GraphExamples:
        graphs = _featurised(rows, self.descriptors)
        return GraphExamples(graphs, np.arange(len(rows)), smiles=tuple(rows), features=self._features(graphs))

    def _features(self, graphs: Graphs) -> Features | None:
        return Features(descriptors=smiles.descriptors_of(graphs, self.descriptors)) if self.descriptors else None


def _summary(features: Features) -> str:
    """Return what the columns beside molecules hold."""
    parts = []
    for name, values in features.columns.items():
        is_text = values.dtype == object
        what = f"{len(set(values.tolist()) - {''})} texts" if is_text else "numbers"
        blanks = int((values == "").sum() if is_text else np.isnan(values).sum())
        parts.append(f"{name} ({what}{f', {blanks} blank' if blanks else ''})")
    return ", ".join([*parts, *([f"{len(features.descriptors)} descriptors"] if features.descriptors else [])])


def _descriptors(every: bool | None) -> tuple[str, ...]:
    """Return the names of the descriptors to compute: all, none, or by default those of size and polarity."""
    if every is None:
        return SIZE_AND_POLARITY
    return descriptor_names() if every else ()


def _featurised(rows: Rows, descriptors: Sequence[str]) -> Graphs:
    graphs, unread = smiles.featurise(rows, descriptors=descriptors)
    if unread:
        others = f" So are {len(unread) - 1} more rows." if len(unread) > 1 else ""
        raise DataError(f"every row of X must be a molecule: row {unread[0][0]} is not. {unread[0][1]}{others}")
    return graphs
