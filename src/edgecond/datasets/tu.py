"""Labelled graphs in the format of TU Dortmund: NCI1, NCI109, MUTAG, ENZYMES, D&D and others (Section 4.3).

A dataset NAME is a folder or a zip file of texts with one line per row, vertices and graphs numbered from 1:

| file | a line is |
|---|---|
| `NAME_A.txt` | an edge `j, i`; every undirected edge is listed in both directions |
| `NAME_graph_indicator.txt` | the graph of a vertex; isolated vertices are listed here and nowhere else |
| `NAME_graph_labels.txt` | the class of a graph |
| `NAME_node_labels.txt`, `NAME_edge_labels.txt` | the label of a vertex, of an edge: a whole number (may be absent) |
| `NAME_node_attributes.txt`, `..._edge_...`, `..._graph_...` | real numbers, separated by commas (may be absent) |
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path, PurePosixPath

import numpy as np
import torch
from jaxtyping import Float, Int
from numpy import ndarray as Array
from torch import Tensor

from edgecond.datasets._files import data_directory, DataError, digest, read_archive, reading, sha256
from edgecond.graph import Graph, Labels

FOLDS = 10
_PARTS = (
    "A",
    "graph_indicator",
    "graph_labels",
    "node_labels",
    "edge_labels",
    "node_attributes",
    "edge_attributes",
    "graph_attributes",
)
_REQUIRED = _PARTS[:3]


# One graph, many graphs


@dataclass(frozen=True, eq=False)
class Single:
    """One graph of a dataset: views into the arrays of its `Graphs`, where all of them are explained."""

    n: int
    source: Int[Array, " m"]
    target: Int[Array, " m"]
    vertex_labels: Int[Array, " n"]
    edge_labels: Int[Array, " m"]
    vertex_attributes: Float[Array, "n a"]
    edge_attributes: Float[Array, "m b"]
    attributes: Float[Array, " c"]
    y: int


@dataclass(frozen=True, eq=False, repr=False)
class Graphs:
    """Graphs with the classes to predict, packed side by side in flat arrays that cannot be written to.

    Vertices of graph $g$ are the rows `vertex_pointer[g]` to `vertex_pointer[g + 1]`, its edges the rows
    `edge_pointer[g]` to `edge_pointer[g + 1]`. What is absent is empty, never none: without labels the `values` are
    empty and every label is 0, and attributes that are not there have no columns.

    The constructor trusts its arguments; `read` and `load` check files.

    Attributes:
        name: The dataset.
        ys: Class of each graph, numbered from 0.
        classes: What the file calls each class, ascending.
        vertex_pointer: Where the vertices of each graph begin.
        edge_pointer: Where the edges of each graph begin.
        source: Vertex $j$ of each edge, counted from 0 *within its graph*: rows move between stores as they are.
        target: Vertex $i$ of each edge, likewise; the edges of a graph are sorted by target, then by source.
        vertex_labels: Label of each vertex, numbered from 0.
        vertex_values: What the file calls each vertex label, ascending.
        edge_labels: Label of each edge, numbered from 0.
        edge_values: What the file calls each edge label, ascending.
        vertex_attributes: Real numbers per vertex.
        edge_attributes: Real numbers per edge.
        attributes: Real numbers per graph.
        digest: Sum of the whole dataset's contents, for the records: equal digests, equal data.
    """

    name: str
    ys: Int[Array, " graphs"]
    classes: Int[Array, " classes"]
    vertex_pointer: Int[Array, " graphs+1"]
    edge_pointer: Int[Array, " graphs+1"]
    source: Int[Array, " m"]
    target: Int[Array, " m"]
    vertex_labels: Int[Array, " n"]
    vertex_values: Int[Array, " u"]
    edge_labels: Int[Array, " m"]
    edge_values: Int[Array, " v"]
    vertex_attributes: Float[Array, "n a"]
    edge_attributes: Float[Array, "m b"]
    attributes: Float[Array, "graphs c"]
    digest: str

    def __post_init__(self) -> None:
        for field in fields(self):
            if isinstance(array := getattr(self, field.name), Array):
                view = array.view()
                view.flags.writeable = False
                object.__setattr__(self, field.name, view)

    def __len__(self) -> int:
        return len(self.ys)

    def __repr__(self) -> str:
        """The column of the dataset in Table 3, where $|E|$ counts an edge and its reverse once."""
        count = max(len(self), 1)
        return (
            f"{self.name}: {len(self)} graphs, mean |V| {self.num_vertices / count:.2f}, "
            f"mean |E| {self.num_edges / 2 / count:.2f}, {len(self.classes)} classes, "
            f"{len(self.vertex_values)} vertex labels, {len(self.edge_values)} edge labels"
        )

    def __getitem__(self, index: int) -> Single:
        number = range(len(self))[index]
        vertices = slice(*self.vertex_pointer[number : number + 2].tolist())
        edges = slice(*self.edge_pointer[number : number + 2].tolist())
        return Single(
            vertices.stop - vertices.start,
            self.source[edges],
            self.target[edges],
            self.vertex_labels[vertices],
            self.edge_labels[edges],
            self.vertex_attributes[vertices],
            self.edge_attributes[edges],
            self.attributes[number],
            int(self.ys[number]),
        )

    @property
    def num_vertices(self) -> int:
        """Vertices of all graphs."""
        return len(self.vertex_labels)

    @property
    def num_edges(self) -> int:
        """Directed edges of all graphs: two for each undirected edge."""
        return len(self.source)

    @property
    def sizes(self) -> Int[Array, " graphs"]:
        """Vertices of each graph."""
        return np.diff(self.vertex_pointer)

    @property
    def s(self) -> int:
        """Width of the edge labels of `graph`: one element per label, and one for self-connections."""
        return max(len(self.edge_values), 1) + 1

    def take(self, indices: Sequence[int] | Int[Array, " b"]) -> Graphs:
        """Some of the graphs, in the given order: a fold or a batch, gathered by a few array operations."""
        chosen = np.arange(len(self))[np.asarray(indices) if len(indices) else np.zeros(0, int)]
        vertex_pointer, vertices = _gather(self.vertex_pointer, chosen)
        edge_pointer, edges = _gather(self.edge_pointer, chosen)
        return Graphs(
            self.name,
            self.ys[chosen],
            self.classes,
            vertex_pointer,
            edge_pointer,
            self.source[edges],
            self.target[edges],
            self.vertex_labels[vertices],
            self.vertex_values,
            self.edge_labels[edges],
            self.edge_values,
            self.vertex_attributes[vertices],
            self.edge_attributes[edges],
            self.attributes[chosen],
            self.digest,
        )

    def signal(self, *, attributes: bool = False) -> Float[Tensor, "n d0"]:
        """$X^0$ of all graphs: one-hot vertex labels, as in the paper ($d_0 = 37$ for NCI1).

        The paper names no other input: its Table 3 counts the 3 vertex labels of ENZYMES and calls them categorical,
        and neither Section 4.3 nor Appendix B mentions the 18 continuous attributes that ENZYMES also has. So the
        paper's ENZYMES has $d_0 = 3$. Without vertex labels the signal is one everywhere.

        Args:
            attributes: Append the vertex attributes as the file has them; scaling them is a matter of training data.
        """
        labels = torch.zeros(self.num_vertices, max(len(self.vertex_values), 1))
        labels[torch.arange(self.num_vertices), torch.tensor(self.vertex_labels)] = 1
        if not attributes:
            return labels
        return torch.cat([labels, torch.tensor(self.vertex_attributes, dtype=labels.dtype)], 1)

    def graph(self) -> Graph:
        """$G^{(0)}$ of all graphs side by side, with self-connections, which have the last label ($s = 4$ for NCI1).

        Labels are one-hot; edges without labels share one, which differs from that of self-connections: where the
        paper is silent (ENZYMES, D&D), $s = 2$. The self-connection is the last edge into a vertex.
        """
        n, m = self.num_vertices, self.num_edges
        first = np.repeat(self.vertex_pointer[:-1], np.diff(self.edge_pointer))  # vertex of the edge's graph
        vertices, target = np.arange(n), self.target + first
        # Edges are sorted by target: before edge e into vertex i stand i self-connections.
        place = np.arange(m) + target
        pointer = np.append(0, np.cumsum(np.bincount(target, minlength=n) + 1))
        source, labels = np.empty(n + m, np.int64), np.empty(n + m, np.int64)
        source[place], labels[place] = self.source + first, self.edge_labels
        loops = pointer[1:] - 1
        source[loops], labels[loops] = vertices, self.s - 1
        return Graph(
            torch.from_numpy(source),
            torch.from_numpy(np.repeat(vertices, np.diff(pointer))),
            torch.from_numpy(pointer),
            Labels.one_hot(torch.from_numpy(labels), self.s),
            torch.from_numpy(self.sizes),
        )


def _gather(pointer: Int[Array, " r+1"], chosen: Int[Array, " b"]) -> tuple[Int[Array, " b+1"], Int[Array, " rows"]]:
    """The pointer of the chosen runs one after the other, and the rows that are in them."""
    begin, counts = pointer[chosen], pointer[chosen + 1] - pointer[chosen]
    ends = np.append(0, np.cumsum(counts))
    return ends, np.repeat(begin - ends[:-1], counts) + np.arange(ends[-1])


# Datasets by name


@dataclass(frozen=True)
class Release:
    """A dataset of Table 3, the file that holds it, and how many of everything must be in it."""

    file: str
    graphs: int
    classes: int
    vertex_labels: int
    edge_labels: int


RELEASES = {
    "nci1": Release("NCI1", 4110, 2, 37, 3),
    "nci109": Release("NCI109", 4127, 2, 38, 3),
    "mutag": Release("MUTAG", 188, 2, 7, 4),
    "mutag11": Release("MUTAG_ETH", 188, 2, 7, 11),
    "enzymes": Release("ENZYMES", 600, 6, 3, 0),
    "dd": Release("DD", 1178, 2, 82, 0),
}
"""The five datasets of the paper; `mutag` has TU's four bond types, `mutag11` the 11 labels that Table 3 counts.

Those 11 are a function of the two atoms and of the order in which they are stored: they tell no bond from another.
`mutag11` holds the molecules of `mutag` in another order. TU's own NCI1 and NCI109 have no edge labels; the files
must be those with the labels of Shervashidze et al. (1 single, 2 double, 3 triple bond).
"""


def load(name: str) -> Graphs:
    """A dataset of `RELEASES` from the folder or zip file in `EDGECOND_DATA/tu`, with the counts of Table 3."""
    release = _release(name)
    folder = data_directory() / "tu"
    path = folder / release.file
    if not path.is_dir():
        path = folder / f"{release.file}.zip"
        if not path.is_file():
            raise DataError(
                f"{name} needs {path}, or a folder {release.file} beside it, and neither is there. "
                "Set EDGECOND_DATA to the directory that holds your copy in tu."
            )
    graphs = read(path)
    found = Release(release.file, len(graphs), len(graphs.classes), len(graphs.vertex_values), len(graphs.edge_values))
    if found != release:
        hint = " TU's own release lacks the edge labels." if release.edge_labels and not found.edge_labels else ""
        raise DataError(f"{path} must hold {_counts(release)}: found {_counts(found)}.{hint}")
    return graphs


def _release(name: str) -> Release:
    if name not in RELEASES:
        near = difflib.get_close_matches(name.lower(), RELEASES, cutoff=0.5)
        hint = f"did you mean {' or '.join(near)}?" if near else f"there are {', '.join(RELEASES)}."
        raise DataError(f"there is no dataset of graphs {name!r}: {hint}")
    return RELEASES[name]


def _counts(release: Release) -> str:
    return (
        f"{release.graphs} graphs of {release.classes} classes "
        f"with {release.vertex_labels} vertex labels and {release.edge_labels} edge labels"
    )


# Reading


def read(path: Path) -> Graphs:
    """All graphs of a folder or zip file in the TU format.

    The files must agree with each other: vertices grouped by graph and graphs numbered in order, none of them empty;
    edges within a graph, in both directions (a list that was cut short rarely is); one line per vertex, edge or graph
    in the other files; at least two classes. Self-loops and lines of `NAME_A.txt` that occur twice are in none of the
    paper's datasets. Elsewhere self-loops are left out, since the network has self-connections with a label of their
    own, and an edge listed twice counts once if its label and attributes agree, or is refused.
    """
    name, files = _files(path)
    where = {part: path / f"{name}_{part}.txt" if path.is_dir() else f"{path}, {name}_{part}.txt" for part in _PARTS}

    def table(part: str, kind: type, rows: int | None = None, of: str = "", columns: int | None = 1) -> Array:
        if part not in files:
            return np.zeros((rows or 0, 0), kind)
        found = _table(where[part], files[part], kind, columns)
        if rows is not None and len(found) != rows:
            raise DataError(
                f"{where[part]} must have a line for each of the {rows} {of}: it ends after line {len(found)}."
            )
        return found

    def categories(part: str, rows: int, of: str) -> tuple[Int[Array, " rows"], Int[Array, " u"]]:
        found = table(part, np.int64, rows, of)
        if not found.size:
            return np.zeros(rows, np.int64), np.zeros(0, np.int64)
        values, index = np.unique(found[:, 0], return_inverse=True)
        return index.astype(np.int64), values

    vertex_pointer = _vertex_pointer(where["graph_indicator"], table("graph_indicator", np.int64)[:, 0])
    g, n = len(vertex_pointer) - 1, int(vertex_pointer[-1])
    ys, classes = categories("graph_labels", g, f"graphs of {name}_graph_indicator.txt")
    if len(classes) < 2:
        raise DataError(f"{where['graph_labels']} must hold at least two classes: lines 1 to {g} are all {classes[0]}.")
    lines = table("A", np.int64, columns=2)
    membership = np.repeat(np.arange(g), np.diff(vertex_pointer))
    _check_ends(where["A"], lines, membership)
    edges, vertices = f"edges of {name}_A.txt", f"vertices of {name}_graph_indicator.txt"
    edge_labels, edge_values = categories("edge_labels", len(lines), edges)
    edge_attributes = table("edge_attributes", np.float64, len(lines), edges, columns=None)
    order = _order(where["A"], lines, n, edge_labels, edge_attributes)
    source, target = lines[order].T - 1
    graph = membership[target]
    vertex_labels, vertex_values = categories("node_labels", n, vertices)
    return Graphs(
        name,
        ys,
        classes,
        vertex_pointer,
        np.searchsorted(graph, np.arange(g + 1)),
        source - vertex_pointer[graph],
        target - vertex_pointer[graph],
        vertex_labels,
        vertex_values,
        edge_labels[order],
        edge_values,
        table("node_attributes", np.float64, n, vertices, columns=None),
        edge_attributes[order],
        table("graph_attributes", np.float64, g, f"graphs of {name}_graph_indicator.txt", columns=None),
        digest({f"{name}_{part}.txt": sha256(data) for part, data in files.items()}),
    )


def _files(path: Path) -> tuple[str, dict[str, bytes]]:
    """The name of the dataset, and the contents of its files by what follows the name."""
    if not path.exists():
        raise DataError(f"{path} must be a folder or a zip file in the TU format: there is nothing.")
    texts: list[tuple[str, bytes | Path]]
    if path.is_dir():
        with reading(path):
            texts = [(file.name, file) for file in sorted(path.iterdir()) if _is_part(file.name)]
    else:
        # All files are read, for their sums: a part whose name was damaged would pass for absent.
        texts = [(PurePosixPath(name).name, data) for name, data in read_archive(path).items() if _is_part(name)]
    names = [name.removesuffix("_A.txt") for name, _ in texts if name.endswith("_A.txt")]
    by_name = dict(texts)
    if len(names) != 1 or len(by_name) != len(texts):
        raise DataError(f"{path} must hold one dataset, with one file NAME_A.txt: found {len(names)}.")
    files = {}
    for part in _PARTS:
        data = by_name.get(f"{names[0]}_{part}.txt")
        if isinstance(data, Path):
            with reading(data):
                data = data.read_bytes()
        if data is not None:
            files[part] = data
        elif part in _REQUIRED:
            raise DataError(f"{path} must hold {names[0]}_{part}.txt, which is not there.")
    return names[0], files


def _is_part(name: str) -> bool:
    file = PurePosixPath(name).name
    return file.endswith(tuple(f"_{part}.txt" for part in _PARTS)) and not file.startswith(".")


def _table(where: object, data: bytes, kind: type, columns: int | None) -> Array:
    """The numbers of a text; `columns` of them per line, or as many as in the first."""
    lines = data.rstrip().replace(b"\r\n", b"\n").decode("ascii", "replace").split("\n")
    if lines == [""]:
        raise DataError(f"{where} must hold at least one line: it is empty.")
    columns = columns or lines[0].count(",") + 1
    found = _numbers(lines, kind, columns)
    if found is not None:
        return found
    low, high = 0, len(lines)  # the first line that is no row of numbers is among these
    while high - low > 1:
        middle = (low + high) // 2
        if _numbers(lines[low:middle], kind, columns) is None:
            high = middle
        else:
            low = middle
    what = "whole number" if kind is np.int64 else "finite number"
    must = f"one {what}" if columns == 1 else f"{columns} {what}s with commas between them"
    raise DataError(f"{where}, line {low + 1} must hold {must}: found {lines[low][:60]!r}.")


def _numbers(lines: list[str], kind: type, columns: int) -> Array | None:
    if not all(map(str.strip, lines)):
        return None  # NumPy would pass over blank lines
    try:
        rows: Array = np.loadtxt(lines, kind, delimiter=",", comments=None, ndmin=2)
    except ValueError:
        return None
    return rows if rows.shape == (len(lines), columns) and np.isfinite(rows).all() else None


def _vertex_pointer(where: object, indicator: Int[Array, " n"]) -> Int[Array, " graphs+1"]:
    """Where the vertices of each graph begin; graphs are numbered 1, 2, 3 and so on, and have vertices."""
    before = np.append(0, indicator[:-1])
    # Compared, not subtracted: a difference of any two numbers need not be one.
    begins = indicator != before
    bad = np.flatnonzero(begins & (indicator != before + 1))
    if len(bad):
        line, now, last = bad[0] + 1, indicator[bad[0]], before[bad[0]]
        if not last:
            raise DataError(f"{where}, line 1 must begin with graph 1: found {now}.")
        why = f"graph {last + 1} would be empty" if now > last else "the vertices of a graph stand together"
        raise DataError(
            f"{where}, line {line} must go on with graph {last} or begin graph {last + 1}: found {now}, but {why}."
        )
    if not begins[0]:
        raise DataError(f"{where}, line 1 must begin with graph 1: found {indicator[0]}.")
    return np.append(np.flatnonzero(begins), len(indicator))


def _check_ends(where: object, lines: Int[Array, "m 2"], membership: Int[Array, " n"]) -> None:
    n = len(membership)
    bad = np.flatnonzero(((lines < 1) | (lines > n)).any(1))
    if len(bad):
        j, i = lines[bad[0]]
        raise DataError(f"{where}, line {bad[0] + 1} must join two of the vertices 1 to {n}: found {j}, {i}.")
    ends = membership[lines - 1] + 1
    bad = np.flatnonzero(ends[:, 0] != ends[:, 1])
    if len(bad):
        (j, i), (of_j, of_i) = lines[bad[0]], ends[bad[0]]
        raise DataError(
            f"{where}, line {bad[0] + 1} must join two vertices of one graph: "
            f"found {j}, {i}, which are in graphs {of_j} and {of_i}."
        )


def _order(
    where: object, lines: Int[Array, "m 2"], n: int, labels: Int[Array, " m"], attributes: Float[Array, "m b"]
) -> Int[Array, " kept"]:
    """The lines that are edges of their own, sorted by target and then by source."""
    source, target = lines.T
    key, back = target * (n + 1) + source, source * (n + 1) + target
    order = np.argsort(key, kind="stable")
    sorted_key = key[order]
    again = np.flatnonzero(sorted_key[1:] == sorted_key[:-1]) + 1
    one, two = order[again - 1], order[again]
    differ = np.flatnonzero((labels[one] != labels[two]) | (attributes[one] != attributes[two]).any(1))
    if len(differ):
        line, first = two[differ[0]], one[differ[0]]
        raise DataError(
            f"{where}, line {line + 1} must agree with line {first + 1}, which lists the same edge "
            f"{source[line]}, {target[line]}: their labels or attributes differ."
        )
    order = np.delete(order, again)
    if not np.array_equal(key[order], np.sort(back[order])):
        line = np.flatnonzero(~np.isin(back, key))[0]
        raise DataError(
            f"{where}, line {line + 1} must have its reverse, as every edge is listed in both directions: "
            f"found {source[line]}, {target[line]} and nowhere {target[line]}, {source[line]}. "
            "The file may be cut short."
        )
    return order[source[order] != target[order]]


# Splits


@dataclass(frozen=True, eq=False)
class Fold:
    """Numbers of the graphs to train on, to select models by (may be none) and to test, each ascending."""

    train: Int[Array, " train"]
    validation: Int[Array, " validation"]
    test: Int[Array, " test"]


def stratified_folds(ys: Int[Array, " graphs"], count: int = FOLDS, seed: int = 0) -> tuple[Fold, ...]:
    """Folds that are equal from run to run: each graph in one test part, each class spread evenly.

    Section 4.3 has 9 folds for training and 1 for testing; the paper's own folds are not public.
    """
    from sklearn.model_selection import StratifiedKFold

    least = int(np.bincount(ys).min()) if len(ys) else 0
    if least < count:
        raise DataError(f"{count} stratified folds need at least {count} graphs of each class: found {least} of one.")
    folds = StratifiedKFold(count, shuffle=True, random_state=seed).split(np.zeros(len(ys)), ys)
    return tuple(Fold(train, np.zeros(0, np.int64), test) for train, test in folds)


def dgcnn_folds(name: str) -> tuple[Fold, ...]:
    """The ten public folds of Zhang et al. (DGCNN), from `EDGECOND_DATA/tu/splits/pytorch_DGCNN_10fold.zip`.

    Test parts have a tenth of the graphs, rounded down, so a few graphs are in none. Those of MUTAG are in the order
    of `mutag11`.
    """
    release = _release(name)
    if name == "mutag":
        raise DataError("the folds of DGCNN number the graphs of mutag11, which has another order than mutag.")
    path = _split_file(name, "pytorch_DGCNN_10fold.zip")
    stem = f"{release.file.removesuffix('_ETH')}/"
    files = {"/".join(PurePosixPath(file).parts[-2:]): data for file, data in read_archive(path).items()}
    folds = []
    for number in range(1, FOLDS + 1):
        parts = {}
        for part in ("train", "test"):
            file = f"{stem}{part}_idx-{number}.txt"
            if file not in files:
                raise DataError(f"{path} must hold {file}, which is not there.")
            parts[part] = np.sort(_table(f"{path}, {file}", files[file], np.int64, 1)[:, 0])
        folds.append(Fold(parts["train"], np.zeros(0, np.int64), parts["test"]))
    return _checked_folds(path, folds, release.graphs)


def fair_folds(name: str) -> tuple[Fold, ...]:
    """The ten folds of Errica et al., each with an inner hold-out: NCI1, ENZYMES and DD.

    From `EDGECOND_DATA/tu/splits/gnn-comparison_NAME_splits.json`.
    """
    release = _release(name)
    if name not in ("nci1", "enzymes", "dd"):
        raise DataError(f"the fair protocol has public folds of nci1, enzymes and dd: got {name}.")
    path = _split_file(name, f"gnn-comparison_{release.file}_splits.json")
    with reading(path):
        text = path.read_bytes()
    try:
        folds = [
            Fold(*[np.sort(_indices(part)) for part in (inner["train"], inner["validation"], fold["test"])])
            for fold in json.loads(text)
            for inner in fold["model_selection"]
        ]
    except (ValueError, KeyError, TypeError, OverflowError, RecursionError) as error:
        raise DataError(
            f"{path} must hold a list of folds, each with the graphs to test and a model_selection of the graphs "
            f"to train and of those for validation: found something else ({type(error).__name__}: {error})."
        ) from error
    return _checked_folds(path, folds, release.graphs)


def _split_file(name: str, file: str) -> Path:
    path = data_directory() / "tu" / "splits" / file
    if not path.is_file():
        raise DataError(
            f"the public folds of {name} need {path}, which is not there. "
            "Set EDGECOND_DATA to the directory that holds your copy in tu/splits."
        )
    return path


def _indices(numbers: object) -> Int[Array, " k"]:
    if not isinstance(numbers, list) or not all(type(number) is int for number in numbers):
        raise TypeError("a part must be a list of whole numbers")
    return np.array(numbers, np.int64)


def _checked_folds(path: Path, folds: Sequence[Fold], graphs: int) -> tuple[Fold, ...]:
    if len(folds) != FOLDS:
        raise DataError(f"{path} must hold {FOLDS} folds: found {len(folds)}.")
    for number, fold in enumerate(folds):
        used = np.sort(np.concatenate([fold.train, fold.validation, fold.test]))
        if not np.array_equal(used, np.arange(graphs)):
            raise DataError(
                f"{path} must have each of the graphs 0 to {graphs - 1} once in each fold: fold {number} has not."
            )
    tests = np.concatenate([fold.test for fold in folds])
    if len(np.unique(tests)) != len(tests):
        raise DataError(f"{path} must test no graph twice: the test parts of its folds overlap.")
    return tuple(folds)
