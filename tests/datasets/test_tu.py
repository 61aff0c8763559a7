"""Graphs in the TU format: the datasets of Table 3, a naive reader beside ours, and files that are not right."""

from __future__ import annotations

import hashlib
import zipfile
from collections import Counter
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from edgecond.datasets import DataError, tu
from edgecond.datasets.graphs import Graphs
from edgecond.graph import collate, Graph, Labels, Pyramid, Sample
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
FILES = {"mutag11": "MUTAG_ETH"}

# Two graphs: a triangle 1-2-3 with the isolated vertex 4, and the edge 5-6.
TINY = {
    "A": "1, 2\n2, 3\n3, 1\n5, 6\n2, 1\n3, 2\n1, 3\n6, 5\n",
    "graph_indicator": "1\n1\n1\n1\n2\n2\n",
    "graph_labels": "1\n-1\n",
    "node_labels": "7\n5\n7\n9\n5\n5\n",
    "edge_labels": "30\n20\n10\n10\n30\n20\n10\n10\n",
    "node_attributes": "0.5, 1\n1.5, 2\n2.5, 3\n3.5, 4\n4.5, 5\n5.5, -6e-1\n",
    "edge_attributes": "12\n23\n31\n56\n21\n32\n13\n65\n",
    "graph_attributes": "0.25\n-8\n",
}


def write(folder: Path, name: str = "TINY", **changes: str | None) -> Path:
    """The tiny dataset as a folder, with some files replaced or left out."""
    path = folder / "tu" / name
    path.mkdir(parents=True, exist_ok=True)
    for part, text in (TINY | changes).items():
        if text is not None:
            (path / f"{name}_{part}.txt").write_text(text)
    return path


def pack(path: Path) -> Path:
    """The same folder as a zip file beside it."""
    target = path.with_suffix(".zip")
    with zipfile.ZipFile(target, "w") as archive:
        for file in path.iterdir():
            archive.write(file, f"{path.name}/{file.name}")
    return target


def naive(texts: dict[str, str]) -> list[dict[str, Any]]:
    """The graphs of a dataset, a line at a time: vertices in order, and edges by their two ends."""
    rows = {
        part: [[float(cell) for cell in line.split(",")] for line in text.splitlines()] for part, text in texts.items()
    }
    graphs: list[dict[str, Any]] = [{"vertices": [], "edges": {}, "y": int(y)} for (y,) in rows["graph_labels"]]
    place = {}
    for vertex, (number,) in enumerate(rows["graph_indicator"]):
        vertices = graphs[int(number) - 1]["vertices"]
        place[vertex + 1] = (int(number) - 1, len(vertices))
        label = int(rows["node_labels"][vertex][0]) if "node_labels" in rows else None
        vertices.append((label, rows["node_attributes"][vertex] if "node_attributes" in rows else []))
    for edge, (j, i) in enumerate(rows["A"]):
        (number, source), (_, target) = place[int(j)], place[int(i)]
        label = int(rows["edge_labels"][edge][0]) if "edge_labels" in rows else None
        attributes = rows["edge_attributes"][edge] if "edge_attributes" in rows else []
        graphs[number]["edges"][source, target] = (label, attributes)
    return graphs


def plain(graphs: Graphs) -> list[dict[str, Any]]:
    """What `naive` gives, from ours."""
    found = []
    for g in (graphs[number] for number in range(len(graphs))):
        names = [graphs.vertex_values.tolist() or [None], graphs.edge_values.tolist() or [None]]
        vertices = zip(g.vertex_labels.tolist(), g.vertex_attributes.tolist(), strict=True)
        edges = zip(
            g.source.tolist(), g.target.tolist(), g.edge_labels.tolist(), g.edge_attributes.tolist(), strict=True
        )
        found.append(
            {
                "vertices": [(names[0][label], attributes) for label, attributes in vertices],
                "edges": {(j, i): (names[1][label], attributes) for j, i, label, attributes in edges},
                "y": int(graphs.classes[g.y]),
            }
        )
    return found


@cache
def loaded(name: str) -> Graphs:
    return tu.load(name)


@pytest.fixture
def load(real: Callable[[str], Path]) -> Callable[[str], Graphs]:
    """`tu.load` of the real data, once for all tests."""

    def find(name: str) -> Graphs:
        real(f"tu/{FILES.get(name, name.upper())}.zip")
        return loaded(name)

    return find


# The real data


@pytest.mark.parametrize("name", TABLE)
def test_datasets_have_the_counts_of_table_3(load: Any, name: str):
    graphs = load(name)
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
    load: Any, name: str, classes: dict[int, int], isolated: int, largest: int
):
    """README-graphs.md beside the data, counted there by another script."""
    graphs = load(name)

    assert Counter(graphs.classes[graphs.ys].tolist()) == classes
    assert graphs.sizes.max() == largest
    degree = graphs.graph().degree - 1  # without the self-connection
    assert int((degree == 0).sum()) == isolated


def test_bonds_are_those_of_the_readme(load: Any):
    """Undirected edges per label: single, double and triple in NCI; aromatic first in MUTAG."""
    expected = {
        "nci1": {1: 98596, 2: 33852, 3: 305},
        "nci109": {1: 98218, 2: 34127, 3: 259},
        "mutag": {0: 2354, 1: 1004, 2: 362, 3: 1},
    }
    for name, bonds in expected.items():
        graphs = load(name)
        assert Counter(graphs.edge_values[graphs.edge_labels].tolist()) == {k: 2 * v for k, v in bonds.items()}


def test_eleven_labels_of_mutag_tell_the_atoms_and_nothing_else(load: Any):
    """README-graphs.md: the code is 22 (label of the first atom - 1) + label of the second, renumbered."""
    graphs = load("mutag11")
    codes = set()
    for g in (graphs[number] for number in range(len(graphs))):
        first, second = np.minimum(g.source, g.target), np.maximum(g.source, g.target)
        atoms = graphs.vertex_values[g.vertex_labels]
        codes |= set(zip((22 * (atoms[first] - 1) + atoms[second]).tolist(), g.edge_labels.tolist(), strict=True))

    assert sorted(codes) == list(zip((45, 46, 47, 48, 49, 50, 51, 113, 116, 117, 135), range(11), strict=True))


@pytest.mark.parametrize("name", ["mutag", "mutag11", "enzymes", pytest.param("nci1", marks=pytest.mark.slow)])
def test_a_naive_reader_finds_the_same_graphs(real: Callable[[str], Path], load: Any, name: str):
    stem = FILES.get(name, name.upper())
    path = real(f"tu/{stem}.zip")
    with zipfile.ZipFile(path) as archive:
        texts = {
            file.removeprefix(f"{stem}/{stem}_").removesuffix(".txt"): archive.read(file).decode()
            for file in archive.namelist()
            if file.startswith(f"{stem}/{stem}_")
        }

    assert plain(load(name)) == naive(texts)


@pytest.mark.parametrize("name", TABLE)
def test_no_line_of_the_papers_datasets_is_a_loop_or_occurs_twice(real: Callable[[str], Path], load: Any, name: str):
    """Each line became an edge, so none was left out."""
    stem = FILES.get(name, name.upper())
    with zipfile.ZipFile(real(f"tu/{stem}.zip")) as archive:
        lines = archive.read(f"{stem}/{stem}_A.txt").count(b"\n")

    graphs = load(name)

    assert graphs.num_edges == lines
    assert not (graphs.source == graphs.target).any()


def test_the_largest_dataset_has_every_vertex_and_edge(load: Any):
    """README-graphs.md: 334,925 vertices and 1.7 million directed edges."""
    graphs = load("dd")

    assert (graphs.num_vertices, graphs.num_edges) == (334925, 1686092)


def test_widths_of_the_network_input_are_those_of_the_paper(load: Any):
    """Section 4.3: d_0 = 37 and s = 4 for NCI1; ENZYMES has 3 vertex labels in Table 3, and 18 attributes."""
    nci1, enzymes = load("nci1").take(range(64)), load("enzymes").take(range(64))

    assert (nci1.signal().shape[1], nci1.graph().labels.width, nci1.s) == (37, 4, 4)
    assert (enzymes.signal().shape[1], enzymes.graph().labels.width) == (3, 2)
    assert enzymes.signal(attributes=True).shape[1] == 21


def test_the_release_of_tu_without_edge_labels_is_not_taken_for_the_papers(folder: Path, real: Callable[[str], Path]):
    data = real("tu/raw/NCI1_TU_release.zip").read_bytes()
    path = folder / "tu" / "NCI1.zip"
    path.parent.mkdir()
    path.write_bytes(data)

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("EDGECOND_DATA", str(folder))
        with refused(
            f"{path} must hold 4110 graphs of 2 classes with 37 vertex labels and 3 edge labels: found 4110 graphs of "
            "2 classes with 37 vertex labels and 0 edge labels. TU's own release lacks the edge labels.",
            DataError,
        ):
            tu.load("nci1")


# The packed store


def test_a_graph_holds_its_own_rows(tmp_path: Path):
    """By hand: edges sorted by target and then by source, labels numbered in the order of their values."""
    graphs = tu.read(write(tmp_path))

    assert (graphs.classes.tolist(), graphs.ys.tolist()) == ([-1, 1], [1, 0])
    assert (graphs.vertex_values.tolist(), graphs.edge_values.tolist()) == ([5, 7, 9], [10, 20, 30])
    assert (graphs.vertex_pointer.tolist(), graphs.edge_pointer.tolist()) == ([0, 4, 6], [0, 6, 8])
    triangle, pair = graphs[0], graphs[-1]
    assert (triangle.n, triangle.y, pair.n, pair.y) == (4, 1, 2, 0)
    assert list(zip(triangle.source, triangle.target, strict=True)) == [(1, 0), (2, 0), (0, 1), (2, 1), (0, 2), (1, 2)]
    assert triangle.edge_labels.tolist() == [2, 0, 2, 1, 0, 1]
    assert triangle.edge_attributes[:, 0].tolist() == [21, 31, 12, 32, 13, 23]
    assert triangle.vertex_labels.tolist() == [1, 0, 1, 2]
    assert (pair.source.tolist(), pair.target.tolist()) == ([1, 0], [0, 1])
    assert pair.vertex_attributes.tolist() == [[4.5, 5], [5.5, -0.6]]
    assert pair.attributes.tolist() == [-8]
    with pytest.raises(IndexError):
        graphs[2]


def test_what_is_absent_is_empty(tmp_path: Path):
    absent = {part: None for part in TINY if part not in ("A", "graph_indicator", "graph_labels")}
    graphs = tu.read(write(tmp_path, **absent))

    assert (graphs.vertex_values.size, graphs.edge_values.size) == (0, 0)
    assert (graphs.vertex_attributes.shape, graphs.edge_attributes.shape, graphs.attributes.shape) == (
        (6, 0),
        (8, 0),
        (2, 0),
    )
    assert graphs.signal().tolist() == [[1.0]] * 6
    assert graphs.s == 2


def test_arrays_cannot_be_written_to(tmp_path: Path):
    graphs = tu.read(write(tmp_path))

    for array in (graphs.source, graphs.take([1]).vertex_labels, graphs[0].edge_labels):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1


def test_taking_graphs_equals_picking_them_one_by_one(load: Any):
    graphs = load("enzymes")
    indices = np.random.default_rng(0).integers(0, 600, 50)

    taken = graphs.take(indices)

    everything = plain(graphs)
    assert plain(taken) == [everything[index] for index in indices]
    assert plain(graphs.take([-1])) == [everything[-1]]
    assert len(graphs.take([])) == 0
    assert graphs.take([]).graph().num_vertices == 0
    with pytest.raises(IndexError):
        graphs.take([600])


def test_self_connections_have_the_last_label(tmp_path: Path):
    """By hand: the edge 5-6 with the first of three labels, and a self-connection at the end of each row."""
    graph = tu.read(write(tmp_path)).take([1]).graph()

    assert (graph.source.tolist(), graph.target.tolist()) == ([1, 0, 0, 1], [0, 0, 1, 1])
    assert (graph.pointer.tolist(), graph.sizes.tolist()) == ([0, 2, 4], [2])
    assert graph.labels.per_edge(graph.labels.values).tolist() == [
        [1, 0, 0, 0],
        [0, 0, 0, 1],
        [1, 0, 0, 0],
        [0, 0, 0, 1],
    ]


def test_a_gathered_batch_equals_a_collated_one(load: Any):
    """The same batch by another method: sort each graph with its loops, then collate."""
    graphs = load("nci1")
    indices = np.random.default_rng(1).permutation(4110)[:64]
    samples = []
    for g in (graphs[index] for index in indices):
        loops = np.arange(g.n)
        source, target = np.append(g.source, loops), np.append(g.target, loops)
        labels = Labels.one_hot(torch.tensor(np.append(g.edge_labels, np.full(g.n, 3))), 4)
        single = Graph.from_edges(torch.tensor(source), torch.tensor(target), labels, num_vertices=g.n)
        x = torch.nn.functional.one_hot(torch.tensor(g.vertex_labels), 37).float()
        samples.append(Sample(x, Pyramid((single,)), torch.tensor([g.y])))
    expected = collate(samples)

    batch = graphs.take(indices)

    ours, theirs = batch.graph(), expected.pyramid.graphs[0]
    assert torch.equal(batch.signal(), expected.x)
    assert batch.ys.tolist() == expected.y.tolist()
    for field in ("source", "target", "pointer", "sizes"):
        assert torch.equal(getattr(ours, field), getattr(theirs, field))
    assert torch.equal(ours.labels.index, theirs.labels.index)


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
    sums = sorted((f"TINY_{part}.txt", hashlib.sha256(text.encode()).hexdigest()) for part, text in TINY.items())
    lines = "".join(f"{total}  {name}\n" for name, total in sums)
    assert folder.digest == packed.digest == hashlib.sha256(lines.encode()).hexdigest()


def test_loops_are_left_out_and_lines_that_occur_twice_count_once(tmp_path: Path):
    """By hand: the loop 4, 4 and the second 5, 6 with the label and attribute of the first."""
    more = {"A": "4, 4\n5, 6\n", "edge_labels": "40\n10\n", "edge_attributes": "44\n56\n"}

    graphs = tu.read(write(tmp_path, **{part: TINY[part] + text for part, text in more.items()}))

    assert plain(graphs) == naive(TINY)


@pytest.mark.parametrize(
    ("part", "text", "sentence"),
    [
        ("A", None, "{folder} must hold one dataset, with one file NAME_A.txt: found 0."),
        ("graph_labels", None, "{folder} must hold TINY_graph_labels.txt, which is not there."),
        ("graph_indicator", None, "{folder} must hold TINY_graph_indicator.txt, which is not there."),
        ("A", "", "{path} must hold at least one line: it is empty."),
        ("node_labels", "\n\n", "{path} must hold at least one line: it is empty."),
        (
            "A",
            "1, 2\n2; 1\n",
            "{path}, line 2 must hold 2 whole numbers with commas between them: found '2; 1'.",
        ),
        ("A", "1, 2\n2, 1, 3\n", "{path}, line 2 must hold 2 whole numbers with commas between them: found '2, 1, 3'."),
        ("A", "1, 2\n\n2, 1\n", "{path}, line 2 must hold 2 whole numbers with commas between them: found ''."),
        ("A", "1, 2\n2,", "{path}, line 2 must hold 2 whole numbers with commas between them: found '2,'."),
        ("A", "1, 2\n2, 1.0\n", "{path}, line 2 must hold 2 whole numbers with commas between them: found '2, 1.0'."),
        ("A", "1, 2\n2, 0\n", "{path}, line 2 must join two of the vertices 1 to 6: found 2, 0."),
        ("A", "1, 2\n7, 2\n", "{path}, line 2 must join two of the vertices 1 to 6: found 7, 2."),
        (
            "A",
            "1, 2\n2, 1\n4, 5\n5, 4\n",
            "{path}, line 3 must join two vertices of one graph: found 4, 5, which are in graphs 1 and 2.",
        ),
        (
            "A",
            TINY["A"] + "2, 4\n",
            "{folder}/TINY_edge_labels.txt must have a line for each of the 9 edges of TINY_A.txt: "
            "it ends after line 8.",
        ),
        (
            "A",
            TINY["A"].replace("6, 5", "5, 6"),
            "{path}, line 8 must agree with line 4, which lists the same edge 5, 6: their labels or attributes differ.",
        ),
        (
            "A",
            TINY["A"].replace("6, 5", "3, 4"),
            "{path}, line 4 must have its reverse, as every edge is listed in both directions: "
            "found 5, 6 and nowhere 6, 5. The file may be cut short.",
        ),
        ("graph_indicator", "2\n2\n", "{path}, line 1 must begin with graph 1: found 2."),
        ("graph_indicator", "0\n1\n", "{path}, line 1 must begin with graph 1: found 0."),
        (
            "graph_indicator",
            "1\n1\n3\n",
            "{path}, line 3 must go on with graph 1 or begin graph 2: found 3, but graph 2 would be empty.",
        ),
        (
            "graph_indicator",
            "1\n2\n2\n1\n",
            "{path}, line 4 must go on with graph 2 or begin graph 3: found 1, "
            "but the vertices of a graph stand together.",
        ),
        (
            "graph_labels",
            "1\n",
            "{path} must have a line for each of the 2 graphs of TINY_graph_indicator.txt: it ends after line 1.",
        ),
        ("graph_labels", "4\n4\n", "{path} must hold at least two classes: lines 1 to 2 are all 4."),
        ("graph_labels", "1\nyes\n", "{path}, line 2 must hold one whole number: found 'yes'."),
        (
            "node_labels",
            "1\n" * 7,
            "{path} must have a line for each of the 6 vertices of TINY_graph_indicator.txt: it ends after line 7.",
        ),
        ("node_labels", "1\n1\n1\n1\n1\n9e99\n", "{path}, line 6 must hold one whole number: found '9e99'."),
        ("node_labels", f"1\n{10**30}\n", "{path}, line 2 must hold one whole number: found '1" + "0" * 30 + "'."),
        ("node_labels", "1\n½\n", "{path}, line 2 must hold one whole number: found '\ufffd\ufffd'."),
        (
            "node_attributes",
            "1, 2\n3, nan\n",
            "{path}, line 2 must hold 2 finite numbers with commas between them: found '3, nan'.",
        ),
        ("edge_attributes", "1\n2\ninf\n", "{path}, line 3 must hold one finite number: found 'inf'."),
        (
            "graph_attributes",
            "1\n2\n3\n",
            "{path} must have a line for each of the 2 graphs of TINY_graph_indicator.txt: it ends after line 3.",
        ),
    ],
)
def test_files_that_contradict_themselves_are_a_sentence(tmp_path: Path, part: str, text: str | None, sentence: str):
    """In a folder, and in a zip file, where the name of the file follows that of the archive."""
    changes: Any = {part: text}
    path = write(tmp_path, **changes)
    said = sentence.format(path=path / f"TINY_{part}.txt", folder=path)
    with refused(said, DataError):
        tu.read(path)

    packed = pack(path)
    with refused(said.replace(f"{path}/", f"{packed}, ").replace(f"{path} ", f"{packed} "), DataError):
        tu.read(packed)


def test_a_list_of_edges_cut_anywhere_is_noticed(tmp_path: Path):
    """Each edge is far from its reverse, so the reverse is missing, or the number that is cut names another vertex."""
    text = TINY["A"]
    changes: dict[str, None] = {"edge_labels": None, "edge_attributes": None}
    for end in range(len(text) - 1):
        path = write(tmp_path, **changes, A=text[:end])
        with pytest.raises(DataError, match=r"TINY_A\.txt"):
            tu.read(path)


def test_a_bit_that_fell_over_in_a_zip_never_changes_a_number(tmp_path: Path):
    """Each bit in turn is either noticed or does not matter, as in a date."""
    path = pack(write(tmp_path))
    data, expected = path.read_bytes(), tu.read(path).digest
    noticed = 0
    for bit in range(0, 8 * len(data), 7):
        flipped = bytearray(data)
        flipped[bit // 8] ^= 1 << bit % 8
        path.write_bytes(flipped)
        try:
            assert tu.read(path).digest == expected
        except DataError:
            noticed += 1

    assert noticed > len(data) / 4


@pytest.mark.parametrize(("label", "attribute"), [("20", "56"), ("10", "57")])
def test_an_edge_listed_twice_must_have_one_label_and_one_attribute(tmp_path: Path, label: str, attribute: str):
    """Line 9 repeats the edge 5, 6 of line 4, which has the label 10 and the attribute 56."""
    more = {"A": "5, 6\n", "edge_labels": f"{label}\n", "edge_attributes": f"{attribute}\n"}
    path = write(tmp_path, **{part: TINY[part] + text for part, text in more.items()})

    with refused(
        f"{path / 'TINY_A.txt'}, line 9 must agree with line 4, which lists the same edge 5, 6: "
        "their labels or attributes differ.",
        DataError,
    ):
        tu.read(path)


def test_hidden_files_are_passed_over(tmp_path: Path):
    """Archives made on a Mac hold a second, hidden file for each."""
    path = pack(write(tmp_path))
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("__MACOSX/TINY/._TINY_A.txt", b"\0\5\x16\7")

    assert plain(tu.read(path)) == naive(TINY)


def test_two_datasets_in_one_archive_are_refused(tmp_path: Path):
    path = pack(write(tmp_path))
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("copy/TINY_A.txt", TINY["A"])

    with refused(f"{path} must hold one dataset, with one file NAME_A.txt: found 2.", DataError):
        tu.read(path)


def test_an_archive_that_leads_out_of_its_directory_is_refused(tmp_path: Path):
    path = pack(write(tmp_path))
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("../TINY_B.txt", "1")

    with pytest.raises(DataError, match="leads out of the directory"):
        tu.read(path)


def test_names_that_are_not_there_are_a_sentence(folder: Path):
    with refused(f"{folder / 'X'} must be a folder or a zip file in the TU format: there is nothing.", DataError):
        tu.read(folder / "X")
    with refused("there is no dataset of graphs 'NCI': did you mean nci1 or nci109?", DataError):
        tu.load("NCI")
    with refused("there is no dataset of graphs 'qq': there are nci1, nci109, mutag, mutag11, enzymes, dd.", DataError):
        tu.load("qq")
    with refused(
        f"dd needs {folder / 'tu' / 'DD.zip'}, or a folder DD beside it, and neither is there. "
        "Set EDGECOND_DATA to the directory that holds your copy in tu.",
        DataError,
    ):
        tu.load("dd")
