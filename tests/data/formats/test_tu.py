"""Graphs in the TU format: the datasets of Table 3, a naive reader to compare with, and optional files."""

from __future__ import annotations

import zipfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from edgecond.data.formats import tu
from edgecond.errors import DataError
from tests.data.datasets.tiny import naive, pack, plain, TINY, write
from tests.sentences import refused

# Table 3: graphs, mean |V|, mean |E|, classes, vertex labels, edge labels; the README of the data has the rest.
TABLE = {
    "nci1": (4110, 29.87, 32.30, 2, 37, 3),
    "nci109": (4127, 29.68, 32.13, 2, 38, 3),
    "mutag": (188, 17.93, 19.79, 2, 7, 4),  # the table has the 11 of the older release
    "mutag11": (188, 17.93, 19.79, 2, 7, 11),
    "enzymes": (600, 32.63, 62.14, 6, 3, 0),
    "dd": (1178, 284.32, 715.66, 2, 82, 0),
}


# The real data


@pytest.mark.parametrize("name", TABLE)
def test_datasets_have_the_counts_of_table_3(whole: Any, name: str):
    graphs = whole(name)
    count, vertices, edges, classes, vertex_labels, edge_labels = TABLE[name]

    assert len(graphs) == count
    assert graphs.num_vertices / count == pytest.approx(vertices, abs=0.005)
    assert graphs.num_edges / 2 / count == pytest.approx(edges, abs=0.005)
    assert (len(graphs.classes), len(np.unique(graphs.ys))) == (classes, classes)
    assert (len(graphs.vertex_values), len(np.unique(graphs.vertex_labels))) == (vertex_labels, vertex_labels)
    assert len(graphs.edge_values) == edge_labels
    assert f"{count} graphs, mean |V| {vertices:.2f}, mean |E| {edges:.2f}, {classes} classes" in repr(graphs)


@pytest.mark.parametrize(
    ("name", "classes", "isolated", "largest"),
    [
        ("nci1", {0: 2053, 1: 2057}, 428, 111),
        ("nci109", {0: 2048, 1: 2079}, 474, 111),
        ("mutag", {-1: 63, 1: 125}, 0, 28),
        ("mutag11", {-1: 63, 1: 125}, 0, 28),
        ("enzymes", dict.fromkeys(range(1, 7), 100), 106, 126),
        ("dd", {1: 691, 2: 487}, 0, 5748),
    ],
)
def test_classes_isolated_vertices_and_sizes_are_those_of_the_readme(
    whole: Any, name: str, classes: dict[int, int], isolated: int, largest: int
):
    """README-graphs.md beside the data, counted there by another script."""
    graphs = whole(name)

    assert Counter(graphs.classes[graphs.ys].tolist()) == classes
    assert graphs.sizes.max() == largest
    degree = graphs.graph().degree - 1  # without the self-connection
    assert int((degree == 0).sum()) == isolated


def test_bonds_are_those_of_the_readme(whole: Any):
    """Undirected edges per label: single, double and triple in NCI; aromatic first in MUTAG."""
    expected = {
        "nci1": {1: 98596, 2: 33852, 3: 305},
        "nci109": {1: 98218, 2: 34127, 3: 259},
        "mutag": {0: 2354, 1: 1004, 2: 362, 3: 1},
    }
    for name, bonds in expected.items():
        graphs = whole(name)
        assert Counter(graphs.edge_values[graphs.edge_labels].tolist()) == {k: 2 * v for k, v in bonds.items()}


def test_eleven_labels_of_mutag_depend_on_the_atoms_alone(whole: Any):
    """README-graphs.md: the code is 22 (label of the first atom - 1) + label of the second, renumbered."""
    graphs = whole("mutag11")
    codes = set()
    for g in (graphs[number] for number in range(len(graphs))):
        first, second = np.minimum(g.source, g.target), np.maximum(g.source, g.target)
        atoms = graphs.vertex_values[g.vertex_labels]
        codes |= set(zip((22 * (atoms[first] - 1) + atoms[second]).tolist(), g.edge_labels.tolist(), strict=True))

    assert sorted(codes) == list(zip((45, 46, 47, 48, 49, 50, 51, 113, 116, 117, 135), range(11), strict=True))


@pytest.mark.parametrize("name", ["mutag", "mutag11", "enzymes", pytest.param("nci1", marks=pytest.mark.slow)])
def test_a_naive_reader_finds_the_same_graphs(real: Callable[[str], Path], whole: Any, name: str):
    stem = tu.RELEASES[name].file
    path = real(f"tu/{stem}.zip")
    with zipfile.ZipFile(path) as archive:
        texts = {
            file.removeprefix(f"{stem}/{stem}_").removesuffix(".txt"): archive.read(file).decode()
            for file in archive.namelist()
            if file.startswith(f"{stem}/{stem}_")
        }

    assert plain(whole(name)) == naive(texts)


@pytest.mark.parametrize("name", TABLE)
def test_no_line_of_the_papers_datasets_is_a_loop_or_occurs_twice(real: Callable[[str], Path], whole: Any, name: str):
    """Each line became an edge, so none was left out."""
    stem = tu.RELEASES[name].file
    with zipfile.ZipFile(real(f"tu/{stem}.zip")) as archive:
        lines = archive.read(f"{stem}/{stem}_A.txt").count(b"\n")

    graphs = whole(name)

    assert graphs.num_edges == lines
    assert not (graphs.source == graphs.target).any()


def test_the_largest_dataset_has_every_vertex_and_edge(whole: Any):
    """README-graphs.md: 334,925 vertices and 1.7 million directed edges."""
    graphs = whole("dd")

    assert (graphs.num_vertices, graphs.num_edges) == (334925, 1686092)


def test_widths_of_the_network_input_are_those_of_the_paper(whole: Any):
    """Section 4.3: d_0 = 37 and s = 4 for NCI1; ENZYMES has 3 vertex labels in Table 3, and 18 attributes."""
    nci1, enzymes = whole("nci1").take(range(64)), whole("enzymes").take(range(64))

    assert (nci1.signal().shape[1], nci1.graph().labels.width, nci1.s) == (37, 4, 4)
    assert (enzymes.signal().shape[1], enzymes.graph().labels.width) == (3, 2)
    assert enzymes.signal(attributes=True).shape[1] == 21


def test_the_release_of_tu_without_edge_labels_is_refused(folder: Path, real: Callable[[str], Path]):
    data = real("tu/raw/NCI1_TU_release.zip").read_bytes()
    path = folder / "tu" / "NCI1.zip"
    path.parent.mkdir()
    path.write_bytes(data)

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("EDGECOND_DATA", str(folder))
        with refused(
            f"{path} must hold 4110 graphs of 2 classes with 37 vertex labels and 3 edge labels: found 4110 graphs of "
            "2 classes with 37 vertex labels and 0 edge labels. TU's own release lacks the edge labels: remove it and "
            "run `edgecond fetch nci1`.",
            DataError,
        ):
            tu.load("nci1")


# Files written here


def test_random_files_are_read_as_a_naive_reader_reads_them(tmp_path: Path):
    """Graphs of 1 to 6 vertices, edges in any order, labels that differ by direction, with or without loops."""
    rng = np.random.default_rng(2)
    for trial in range(30):
        sizes = rng.integers(1, 7, rng.integers(2, 9))
        indicator = np.repeat(np.arange(len(sizes)), sizes)
        n = len(indicator)
        upper = np.triu((rng.random((n, n)) < 0.5) & (indicator[:, None] == indicator), 1)
        edges = rng.permutation(np.argwhere(upper | upper.T))
        if not len(edges):
            continue
        texts = {
            "A": "".join(f"{j + 1},{i + 1}\n" for j, i in edges),
            "graph_indicator": "".join(f"{g + 1}\n" for g in indicator),
            "graph_labels": "".join(f"{k % 2}\n" for k in range(len(sizes))),
            "node_labels": "".join(f"{k}\n" for k in rng.integers(-3, 3, n)),
            "edge_labels": "".join(f"{k}\n" for k in rng.integers(0, 4, len(edges))),
        }
        rest: dict[str, None] = dict.fromkeys(["node_attributes", "edge_attributes", "graph_attributes"])

        graphs = tu.read(write(tmp_path, f"R{trial}", **texts, **rest))

        assert plain(graphs) == naive(texts)


def test_folder_and_zip_and_line_ends_are_the_same_data(tmp_path: Path):
    path = write(tmp_path)
    folder, packed = tu.read(path), tu.read(pack(path))
    windows = tu.read(write(tmp_path / "w", **{part: text.replace("\n", "\r\n") for part, text in TINY.items()}))

    assert plain(folder) == plain(packed) == plain(windows) == naive(TINY)
    assert folder.digest == packed.digest == windows.digest


def test_the_digest_depends_on_every_number_but_not_on_the_order_of_the_edges(tmp_path: Path):
    """Edges turned around with their labels and attributes are the same; a digit before a first number is not."""
    by_edge = {part: TINY[part].splitlines(keepends=True) for part in ("A", "edge_labels", "edge_attributes")}

    digest = tu.read(write(tmp_path)).digest

    assert tu.read(write(tmp_path, **{part: "".join(lines[::-1]) for part, lines in by_edge.items()})).digest == digest
    for part in set(TINY) - {"A", "graph_indicator"}:
        assert tu.read(write(tmp_path, **{part: "1" + TINY[part]})).digest != digest
    other = TINY["A"].replace("3, 1", "3, 4").replace("1, 3", "4, 3")
    assert tu.read(write(tmp_path, A=other)).digest != digest


def test_loops_are_left_out_and_lines_that_occur_twice_count_once(tmp_path: Path):
    """By hand: the loop 4, 4 and the second 5, 6 with the label and attribute of the first."""
    more = {"A": "4, 4\n5, 6\n", "edge_labels": "40\n10\n", "edge_attributes": "44\n56\n"}

    graphs = tu.read(write(tmp_path, **{part: TINY[part] + text for part, text in more.items()}))

    assert plain(graphs) == naive(TINY)


def test_hidden_files_are_skipped(tmp_path: Path):
    """Archives made on a Mac hold a second, hidden file for each."""
    path = pack(write(tmp_path))
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("__MACOSX/TINY/._TINY_A.txt", b"\0\5\x16\7")

    assert plain(tu.read(path)) == naive(TINY)
