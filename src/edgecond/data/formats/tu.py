"""Labelled graphs in the format of TU Dortmund: NCI1, NCI109, MUTAG, ENZYMES, D&D and others (Section 4.3).

A dataset NAME is a folder or a zip file of text files; vertices and graphs are numbered from 1:

| file | a line is |
|---|---|
| `NAME_A.txt` | an edge `j, i`; every undirected edge is listed in both directions |
| `NAME_graph_indicator.txt` | the graph of a vertex; isolated vertices are listed here and nowhere else |
| `NAME_graph_labels.txt` | the class of a graph |
| `NAME_node_labels.txt`, `NAME_edge_labels.txt` | the label of a vertex, of an edge: a whole number (may be absent) |
| `NAME_node_attributes.txt`, `..._edge_...`, `..._graph_...` | real numbers, separated by commas (may be absent) |
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path, PurePosixPath

import numpy as np
from jaxtyping import Float, Int
from numpy import ndarray as Array

from edgecond.data.archives import is_archive, read_archive
from edgecond.data.budget import MOST_LABELS
from edgecond.data.graphs import check_one_hot, Graphs, LARGEST
from edgecond.errors import DataError, did_you_mean
from edgecond.files import data_directory, digest, reading, sha256

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


# Datasets of the paper


@dataclass(frozen=True)
class Release:
    """A dataset of Table 3: the name of its file and the counts that it must have."""

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

Those 11 are a function of the two atoms and of the order in which they are stored: they do not distinguish bonds.
`mutag11` holds the molecules of `mutag` in another order. TU's own NCI1 and NCI109 have no edge labels; the files
must be those with the labels of Shervashidze et al. (1 single, 2 double, 3 triple bond).
"""


def load(name: str) -> Graphs:
    """Load a dataset of `RELEASES` from the folder or zip file in `EDGECOND_DATA/tu`, with the counts of Table 3.

    The last two are cached until their files change: the folds of a dataset share one copy.
    """
    path = place_of(name)
    if not path.exists():
        raise DataError(
            f"{name} needs {path}, or a folder {path.stem} beside it: neither exists. "
            f"Run `edgecond fetch {name}`, or set EDGECOND_DATA to the directory that holds your copy in tu."
        )
    with reading(path):
        states = [file.stat() for file in (path, *(sorted(path.iterdir()) if path.is_dir() else ()))]
    return _cached(name, path, tuple((state.st_mtime_ns, state.st_size) for state in states))


@lru_cache(maxsize=2)
def _cached(name: str, path: Path, state: tuple[tuple[int, int], ...]) -> Graphs:
    return read_release(name, path)


def place_of(name: str) -> Path:
    """Return the folder of a dataset in `EDGECOND_DATA/tu` or, if there is none, its zip file, which need not exist."""
    path = data_directory() / "tu" / release_of(name).file
    return path if path.is_dir() else path.with_suffix(".zip")


def read_release(name: str, path: Path) -> Graphs:
    """Read the dataset of this name from a folder or zip file, which must have the counts of Table 3."""
    release, graphs = release_of(name), read(path)
    counts = (len(graphs), len(graphs.classes), len(graphs.vertex_values), len(graphs.edge_values))
    actual = Release(release.file, *counts)
    if actual != release:
        plain = release.edge_labels and not actual.edge_labels
        why = f" TU's own release lacks the edge labels: remove it and run `edgecond fetch {name}`." if plain else ""
        raise DataError(f"{path} must hold {_counts(release)}: found {_counts(actual)}.{why}")
    return replace(graphs, name=name)


def release_of(name: str) -> Release:
    """Return the release of this name."""
    if name not in RELEASES:
        raise DataError(f"there is no dataset of graphs {name!r}.{did_you_mean(name, RELEASES)}")
    return RELEASES[name]


def _counts(release: Release) -> str:
    return (
        f"{release.graphs} graphs of {release.classes} classes "
        f"with {release.vertex_labels} vertex labels and {release.edge_labels} edge labels"
    )


# Reading


def read(path: Path, *, classes: bool = True) -> Graphs:
    """Read all graphs of a folder or zip file in the TU format.

    The files must be consistent: vertices are grouped by graph; graphs are numbered in order and not empty; edges join
    vertices of one graph and are listed in both directions (a file that was cut short rarely has them); the other files
    have one line per vertex, edge or graph; there are at least two classes. Self-loops and repeated lines of
    `NAME_A.txt` do not occur in the paper's datasets. Elsewhere self-loops are removed, since the network adds
    self-connections with a label of their own, and a repeated edge counts once if its labels and attributes agree.

    Args:
        path: The folder or zip file.
        classes: Read the classes; new graphs have none, and their file need not exist.
    """
    name, files = _files(path, _REQUIRED if classes else _REQUIRED[:2])
    where = {part: path / f"{name}_{part}.txt" if path.is_dir() else f"{path}, {name}_{part}.txt" for part in _PARTS}

    def table(part: str, kind: type, rows: int | None = None, of: str = "", columns: int | None = 1) -> Array:
        if part not in files:
            return np.zeros((rows or 0, 0), kind)
        values = read_table(where[part], files[part], kind, columns)
        if rows is not None and len(values) != rows:
            raise DataError(f"{where[part]} must have a line for each of the {rows} {of}: found {len(values)} lines.")
        return values

    def categories(part: str, rows: int, of: str) -> tuple[Int[Array, " rows"], Int[Array, " u"]]:
        labels = table(part, np.int64, rows, of)
        if not labels.size:
            return np.zeros(rows, np.int64), np.zeros(0, np.int64)
        values, index = np.unique(labels[:, 0], return_inverse=True)
        if len(values) > MOST_LABELS:
            raise DataError(f"{where[part]} must have at most {MOST_LABELS:,} categories: found {len(values):,}.")
        return index.astype(np.int64), values

    vertex_pointer = _vertex_pointer(where["graph_indicator"], table("graph_indicator", np.int64)[:, 0])
    g, n = len(vertex_pointer) - 1, int(vertex_pointer[-1])
    ys, values = np.zeros(g, np.int64), np.zeros(0, np.int64)
    if classes:
        ys, values = categories("graph_labels", g, f"graphs of {name}_graph_indicator.txt")
        if len(values) < 2:
            raise DataError(
                f"{where['graph_labels']} must hold at least two classes: lines 1 to {g} are all {values[0]}."
            )
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
    check_one_hot(path, n, len(vertex_values), sum(map(len, files.values())))
    arrays = {
        "ys": ys,
        "classes": values,
        "vertex_pointer": vertex_pointer,
        "edge_pointer": np.searchsorted(graph, np.arange(g + 1)),
        "source": source - vertex_pointer[graph],
        "target": target - vertex_pointer[graph],
        "vertex_labels": vertex_labels,
        "vertex_values": vertex_values,
        "edge_labels": edge_labels[order],
        "edge_values": edge_values,
        "vertex_attributes": table("node_attributes", np.float64, n, vertices, columns=None),
        "edge_attributes": edge_attributes[order],
        "attributes": table("graph_attributes", np.float64, g, f"graphs of {name}_graph_indicator.txt", columns=None),
    }
    return Graphs(name, **arrays, digest=_digest(arrays))


def _digest(arrays: dict[str, Array]) -> str:
    """Return the digest of the numbers, which does not depend on the archive or on the order of the edges."""
    return digest(
        {name: sha256(array.astype(array.dtype.newbyteorder("<")).tobytes()) for name, array in arrays.items()}
    )


def _files(path: Path, required: Sequence[str]) -> tuple[str, dict[str, bytes]]:
    """Return the name of the dataset, and the contents of its files by the part of their name after it."""
    with reading(path):
        exists = path.exists()
    if not exists:
        raise DataError(f"{path} must be a folder or a zip file in the TU format: it does not exist.")
    if path.is_file() and not is_archive(path):
        raise DataError(f"{path} must be a folder or a zip file in the TU format: it is neither.")
    texts: list[tuple[str, bytes | Path]]
    if path.is_dir():
        with reading(path):
            texts = [(file.name, file) for file in sorted(path.iterdir()) if _is_part(file.name)]
    else:
        # Read all files to verify their checksums: a file whose name is damaged would seem absent.
        texts = [(PurePosixPath(name).name, data) for name, data in read_archive(path).items() if _is_part(name)]
    names = [name.removesuffix("_A.txt") for name, _ in texts if name.endswith("_A.txt")]
    by_name = dict(texts)
    if len(names) != 1 or len(by_name) != len(texts):
        raise DataError(f"{path} must hold one dataset in the TU format, with one file NAME_A.txt: found {len(names)}.")
    files = {}
    for part in _PARTS:
        data = by_name.get(f"{names[0]}_{part}.txt")
        if isinstance(data, Path):
            with reading(data):
                data = data.read_bytes()
        if data is not None:
            files[part] = data
        elif part in required:
            raise DataError(f"{path} must hold {names[0]}_{part}.txt, which is missing.")
    return names[0], files


def _is_part(name: str) -> bool:
    file = PurePosixPath(name).name
    return file.endswith(tuple(f"_{part}.txt" for part in _PARTS)) and not file.startswith(".")


def read_table(where: object, data: bytes, kind: type, columns: int | None) -> Array:
    """Parse lines with `columns` numbers each, or as many as the first line has."""
    lines = data.rstrip().replace(b"\r\n", b"\n").decode("ascii", "replace").split("\n")
    if lines == [""]:
        raise DataError(f"{where} must hold at least one line: it is empty.")
    columns = columns or lines[0].count(",") + 1
    numbers = _numbers(lines, kind, columns)
    if numbers is not None:
        return numbers
    low, high = 0, len(lines)  # search for the first line that is not a row of numbers
    while high - low > 1:
        middle = (low + high) // 2
        if _numbers(lines[low:middle], kind, columns) is None:
            high = middle
        else:
            low = middle
    what = "whole number" if kind is np.int64 else "finite number"
    must = f"one {what}" if columns == 1 else f"{columns} {what}s separated by commas"
    raise DataError(f"{where}, line {low + 1} must hold {must}: found {lines[low][:60]!r}.")


def _numbers(lines: list[str], kind: type, columns: int) -> Array | None:
    if not all(map(str.strip, lines)):
        return None  # NumPy would skip blank lines
    try:
        rows: Array = np.loadtxt(lines, kind, delimiter=",", comments=None, ndmin=2)
    except ValueError:
        return None
    finite = kind is np.int64 or (np.abs(rows) <= LARGEST).all()
    return rows if rows.shape == (len(lines), columns) and finite else None


def _vertex_pointer(where: object, indicator: Int[Array, " n"]) -> Int[Array, " graphs+1"]:
    """Return the first vertex of each graph; graphs must be numbered 1, 2, 3 and so on, and not be empty."""
    before = np.append(0, indicator[:-1])
    # Compare rather than subtract: the difference of two numbers may overflow.
    begins = indicator != before
    bad = np.flatnonzero(begins & (indicator != before + 1))
    if len(bad):
        line, now, last = bad[0] + 1, indicator[bad[0]], before[bad[0]]
        if not last:
            raise DataError(f"{where}, line 1 must begin with graph 1: found {now}.")
        why = f"graph {last + 1} would be empty" if now > last else "the vertices of a graph must be listed together"
        raise DataError(
            f"{where}, line {line} must continue graph {last} or begin graph {last + 1}: found {now}, but {why}."
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
    """Return the lines without repetitions and self-loops, sorted by target and then by source."""
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
            f"found {source[line]}, {target[line]}, but not {target[line]}, {source[line]}. "
            "The file may be cut short."
        )
    return order[source[order] != target[order]]
