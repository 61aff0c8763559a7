"""Malformed files in the TU format: each error names the file and the line."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from edgecond.cli import app
from edgecond.data import datasets
from edgecond.data.formats import tu
from edgecond.errors import DataError
from tests.data.datasets.tiny import pack, TINY, write
from tests.sentences import refused


@pytest.mark.parametrize(
    ("part", "text", "sentence"),
    [
        ("A", None, "{folder} must hold one dataset in the TU format, with one file NAME_A.txt: found 0."),
        ("graph_labels", None, "{folder} must hold TINY_graph_labels.txt, which is missing."),
        ("graph_indicator", None, "{folder} must hold TINY_graph_indicator.txt, which is missing."),
        ("A", "", "{path} must hold at least one line: it is empty."),
        ("node_labels", "\n\n", "{path} must hold at least one line: it is empty."),
        (
            "A",
            "1, 2\n2; 1\n",
            "{path}, line 2 must hold 2 whole numbers separated by commas: found '2; 1'.",
        ),
        ("A", "1, 2\n2, 1, 3\n", "{path}, line 2 must hold 2 whole numbers separated by commas: found '2, 1, 3'."),
        ("A", "1, 2\n\n2, 1\n", "{path}, line 2 must hold 2 whole numbers separated by commas: found ''."),
        ("A", "1, 2\n2,", "{path}, line 2 must hold 2 whole numbers separated by commas: found '2,'."),
        ("A", "1, 2\n2, 1.0\n", "{path}, line 2 must hold 2 whole numbers separated by commas: found '2, 1.0'."),
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
            "{folder}/TINY_edge_labels.txt must have a line for each of the 9 edges of TINY_A.txt: found 8 lines.",
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
            "found 5, 6, but not 6, 5. The file may be cut short.",
        ),
        ("graph_indicator", "2\n2\n", "{path}, line 1 must begin with graph 1: found 2."),
        ("graph_indicator", "0\n1\n", "{path}, line 1 must begin with graph 1: found 0."),
        (
            "graph_indicator",
            "1\n1\n3\n",
            "{path}, line 3 must continue graph 1 or begin graph 2: found 3, but graph 2 would be empty.",
        ),
        (
            "graph_indicator",
            "1\n2\n2\n1\n",
            "{path}, line 4 must continue graph 2 or begin graph 3: found 1, "
            "but the vertices of a graph must be listed together.",
        ),
        (
            "graph_labels",
            "1\n",
            "{path} must have a line for each of the 2 graphs of TINY_graph_indicator.txt: found 1 lines.",
        ),
        ("graph_labels", "4\n4\n", "{path} must hold at least two classes: lines 1 to 2 are all 4."),
        ("graph_labels", "1\nyes\n", "{path}, line 2 must hold one whole number: found 'yes'."),
        (
            "node_labels",
            "1\n" * 7,
            "{path} must have a line for each of the 6 vertices of TINY_graph_indicator.txt: found 7 lines.",
        ),
        ("node_labels", "1\n1\n1\n1\n1\n9e99\n", "{path}, line 6 must hold one whole number: found '9e99'."),
        ("node_labels", f"1\n{10**30}\n", "{path}, line 2 must hold one whole number: found '1" + "0" * 30 + "'."),
        ("node_labels", "1\n½\n", "{path}, line 2 must hold one whole number: found '\ufffd\ufffd'."),
        (
            "node_attributes",
            "1, 2\n3, nan\n",
            "{path}, line 2 must hold 2 finite numbers separated by commas: found '3, nan'.",
        ),
        ("edge_attributes", "1\n2\ninf\n", "{path}, line 3 must hold one finite number: found 'inf'."),
        (
            "graph_attributes",
            "1\n2\n3\n",
            "{path} must have a line for each of the 2 graphs of TINY_graph_indicator.txt: found 3 lines.",
        ),
    ],
)
def test_files_that_contradict_each_other_are_reported(tmp_path: Path, part: str, text: str | None, sentence: str):
    """In a folder, and in a zip file, where the name of the file follows that of the archive."""
    changes: Any = {part: text}
    path = write(tmp_path, **changes)
    said = sentence.format(path=path / f"TINY_{part}.txt", folder=path)
    with refused(said, DataError):
        tu.read(path)

    packed = pack(path)
    with refused(said.replace(f"{path}/", f"{packed}, ").replace(f"{path} ", f"{packed} "), DataError):
        tu.read(packed)


@pytest.mark.parametrize(
    ("part", "text", "sentence"),
    [
        ("graph_labels", None, "{folder} must hold MUTAG_graph_labels.txt, which is missing."),
        ("A", "1, 2\n2, 7\n", "{path}, line 2 must join two of the vertices 1 to 6: found 2, 7."),
        (
            "node_labels",
            "1\n1\n",
            "{path} must have a line for each of the 6 vertices of MUTAG_graph_indicator.txt: found 2 lines.",
        ),
        ("edge_labels", "0\nsingle\n", "{path}, line 2 must hold one whole number: found 'single'."),
        (
            "graph_indicator",
            "1\n3\n",
            "{path}, line 2 must continue graph 1 or begin graph 2: found 3, but graph 2 would be empty.",
        ),
        ("graph_labels", "1\n1\n", "{path} must hold at least two classes: lines 1 to 2 are all 1."),
    ],
    ids=["missing file", "out of range", "wrong count", "text", "empty graph", "one class"],
)
def test_a_fault_gives_the_same_error_by_name_and_on_the_command_line(
    folder: Path, part: str, text: str | None, sentence: str
):
    changes: Any = {part: text}
    path = write(folder, "MUTAG", **changes)
    said = sentence.format(path=path / f"MUTAG_{part}.txt", folder=path)

    with refused(said, DataError):
        datasets.load("mutag")
    answer = CliRunner().invoke(app, ["fetch", "mutag"])

    assert (answer.exit_code, answer.output) == (2, f"{said}\n")


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


def test_two_datasets_in_one_archive_are_refused(tmp_path: Path):
    path = pack(write(tmp_path))
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("copy/TINY_A.txt", TINY["A"])

    with refused(f"{path} must hold one dataset in the TU format, with one file NAME_A.txt: found 2.", DataError):
        tu.read(path)


def test_an_archive_that_leads_out_of_its_directory_is_refused(tmp_path: Path):
    path = pack(write(tmp_path))
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("../TINY_B.txt", "1")

    with pytest.raises(DataError, match=r"TINY_B\.txt.* leads out of the archive"):
        tu.read(path)


def test_unknown_names_are_reported(folder: Path):
    with refused(f"{folder / 'X'} must be a folder or a zip file in the TU format: it does not exist.", DataError):
        tu.read(folder / "X")
    with refused("there is no dataset of graphs 'NCI'. Did you mean nci1 or nci109?", DataError):
        tu.load("NCI")
    with refused(
        "there is no dataset of graphs 'qq'. Known names: nci1, nci109, mutag, mutag11, enzymes, dd.", DataError
    ):
        tu.load("qq")
    with refused(
        f"dd needs {folder / 'tu' / 'DD.zip'}, or a folder DD beside it: neither exists. "
        "Run `edgecond fetch dd`, or set EDGECOND_DATA to the directory that holds your copy in tu.",
        DataError,
    ):
        tu.load("dd")


def test_an_attribute_beyond_single_precision_is_refused(tmp_path: Path):
    """Networks compute in single precision, where 1e39 is infinite."""
    folder = write(tmp_path, node_attributes="1e39, 0\n" + "0, 0\n" * 5)

    with pytest.raises(DataError, match=r"line 1 must hold 2 finite numbers .*: found '1e39"):
        tu.read(folder)
